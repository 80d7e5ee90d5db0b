"""Gains of changes that make kernels faster: as predicted, and as a GPU took them.

    python benchmarks/changes.py [PATH …]

Grades kernels that are known to be right (or what lies at the paths, `lab/…/file.cu`) on the GPU at hand; every
change that was graded to be timed is a pair, told in the end or not.  Prints each pair, and how many gains are within a
quarter of the predicted one and within its interval.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.files import data_root
from grader.grading import pipeline
from grader.grading.options import GradeOptions, Warm
from grader.lab import labs
from grader.measured import FasterChange, Ratio
from grader.repair import faster

KERNELS = data_root() / "tests" / "kernels"
LABS = ("transpose", "matmul", "batch-square", "box-blur", "n-body")
NEAR = 1.25


def main() -> int:
    """Grade, print; 1 where no change was timed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    given = parser.parse_args().paths
    paths = given or [path for lab in LABS for path in sorted((KERNELS / lab / "good").glob("*.cu"))]
    pairs: list[tuple[float, Ratio]] = []
    named = ""
    fastest = faster.fastest

    def noted(changes: Sequence[FasterChange], gains: Sequence[Ratio | None], gpu: str) -> FasterChange | None:
        for change, gain in zip(changes, gains, strict=False):
            predicted = change.predicted_times
            shown = f"{gain.value:.2f} ({gain.low:.2f} to {gain.high:.2f})" if gain else "none"
            print(f"{named}:{change.line} {change.kind}: predicted {predicted.value:.2f}, measured {shown}", flush=True)
            if gain is not None:
                pairs.append((gain.value / predicted.value, predicted))
        return fastest(changes, gains, gpu)

    faster.fastest = noted
    with Warm() as warm:
        for path in paths:
            lab = labs.find(next(part for part in reversed(path.resolve().parts[:-1]) if part in LABS))
            named = f"{lab.id}/{path.name}"
            # As one is shown who may see the changes; no sweeps.
            plain = replace(lab, sweeps=(), repairs="student")
            result = pipeline.grade(path, plain, GradeOptions(backend="gpu", predict="auto"), warm=warm)
            # As all are where a program is not run, for want of a compiler of host code: no change is tried then.
            errors = sum(check.status == "error" for check in result.checks)
            if errors:
                print(f"{named}: {errors} checks of {len(result.checks)} could not be judged", flush=True)
    if not pairs:
        print("no change was timed")
        return 1
    near = sum(1 / NEAR <= ratio <= NEAR for ratio, _predicted in pairs)
    inside = sum(p.low <= ratio * p.value <= p.high for ratio, p in pairs)
    right = sum(ratio * p.value > 1 for ratio, p in pairs)
    print(
        f"{len(pairs)} changes: {right} made a kernel faster, {near} within {NEAR} times of the prediction, {inside} "
        f"within its interval; measured over predicted: median {statistics.median(ratio for ratio, _p in pairs):.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
