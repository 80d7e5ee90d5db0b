"""Gains of changes that make kernels faster: as predicted, and as a GPU took them.

    python benchmarks/changes.py [PATH …]                     grades on the GPU at hand
    python benchmarks/changes.py --write FOLDER [PATH …]      without a GPU: what `time_launches.py FOLDER OUT` times
    python benchmarks/changes.py --compare FOLDER OUT         afterwards

Takes kernels that are known to be right (or what lies at the paths, `lab/…/file.cu`).  On a GPU every change that was
graded to be timed is a pair; without one every changed kernel that is right and was predicted is, told in the end or
not.  Prints each pair, how many gains are within a quarter of the predicted one and within its interval, and of how
many kernels that could be faster by prediction a change was told.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from prediction_launches import OWN, measured, write_launches
from prediction_own_launches import Measured

from grader.compiler.process import CompilerProcess
from grader.files import data_root
from grader.grading import pipeline
from grader.grading.options import GradeOptions, Warm
from grader.lab import labs
from grader.lab.records import Lab
from grader.launching.kernel import BoundKernel
from grader.launching.programs import ProgramStore
from grader.measured import FasterChange, Ratio
from grader.repair import faster
from grader.result import Result
from grader.timing.prediction import ratio_of

KERNELS = data_root() / "tests" / "kernels"
LABS = tuple(sorted(folder.name for folder in KERNELS.iterdir() if (folder / "good").is_dir()))
NEAR = 1.25


def paths_of(given: Sequence[Path]) -> list[Path]:
    """The files that are graded."""
    return list(given) or [path for lab in LABS for path in sorted((KERNELS / lab / "good").glob("*.cu"))]


def lab_of(path: Path) -> Lab:
    """The lab in whose folder a file lies, as one has it who may see the changes; no sweeps."""
    found = labs.find(next(part for part in reversed(path.resolve().parts[:-1]) if part in LABS))
    return replace(found, sweeps=(), repairs="student")


def summary(pairs: Sequence[tuple[float, Ratio]]) -> str:
    """A line about measured gains; pairs: each over the predicted one, and that."""
    near = sum(1 / NEAR <= ratio <= NEAR for ratio, _predicted in pairs)
    inside = sum(p.low <= ratio * p.value <= p.high for ratio, p in pairs)
    right = sum(ratio * p.value > 1 for ratio, p in pairs)
    return (
        f"{len(pairs)} changes: {right} made a kernel faster, {near} within {NEAR} times of the prediction, {inside} "
        f"within its interval; measured over predicted: median {statistics.median(ratio for ratio, _p in pairs):.2f}"
    )


def on_gpu(paths: Sequence[Path]) -> int:
    """Grade, print; 1 where no change was timed."""
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
            lab = lab_of(path)
            named = f"{lab.id}/{path.name}"
            result = pipeline.grade(path, lab, GradeOptions(backend="gpu", predict="auto"), warm=warm)
            # As all are where a program is not run, for want of a compiler of host code: no change is tried then.
            errors = sum(check.status == "error" for check in result.checks)
            if errors:
                print(f"{named}: {errors} checks of {len(result.checks)} could not be judged", flush=True)
    if not pairs:
        print("no change was timed")
        return 1
    print(summary(pairs))
    return 0


# -- without a GPU -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pair:
    """Two launches by their names, and how many times as fast the second is predicted to be."""

    before: str
    after: str
    kind: str
    predicted: tuple[float, float, float]


@dataclass
class Noted:
    """What a search for faster kernels tried while files are graded."""

    launches: dict[str, Measured]
    cubins: dict[str, bytes]
    pairs: list[Pair]
    named: str = ""
    lab: Lab | None = None

    def launch(self, kernel: BoundKernel, sizes: dict[str, int], name: str, prediction: faster.Prediction) -> str:
        """Keep a kernel's launch; its name."""
        loaded = kernel.load(prediction.stores[1], sizes)
        request = kernel.launch_without_data(loaded, sizes)
        self.cubins[name] = loaded.built.result.cubin
        assert self.lab is not None
        self.launches[name] = replace(measured(self.lab, name, name, request, ""), id=name)
        return name

    def searched(self, search: faster._Search, wanted: Sequence[tuple[str, BoundKernel, faster._Program]]) -> None:
        """Keep the launches of changed kernels that were predicted."""
        for subject in search.subjects:
            before, size = f"change/{self.named}/{subject.name}/as it is", subject.time.size
            for name, kernel, program in wanted:
                time = program.times.get(name)
                if name != subject.name or time is None:
                    continue
                if before not in self.launches:
                    self.launch(subject.kernel, size, before, search.prediction)
                after = self.launch(kernel, size, f"change/{self.named}/{name}/{len(self.pairs)}", search.prediction)
                gain = ratio_of(subject.time, time, search.prediction.processor)
                text, old = program.source.text.splitlines(), subject.parsed.source.text.splitlines()
                kind = next((new.strip() for new, was in zip(text, old, strict=False) if new != was), "")
                self.pairs.append(Pair(before, after, kind, (gain.value, gain.low, gain.high)))


def graded(paths: Sequence[Path], device: str, noted: Noted) -> Iterator[tuple[str, Result, list[Pair]]]:
    """Results of files, on the emulator, with what was tried to make them faster; `noted` is added to."""
    predict = faster._Search.predict

    def kept(search: faster._Search, wanted: Sequence[tuple[str, BoundKernel, faster._Program]]) -> None:
        predict(search, wanted)
        noted.searched(search, wanted)

    faster._Search.predict = kept  # type: ignore[assignment,method-assign]
    with Warm() as warm:
        for path in paths:
            noted.lab = lab_of(path)
            noted.named = f"{noted.lab.id}/{path.parent.name}/{path.stem}"
            tried = len(noted.pairs)
            result = pipeline.grade(path, noted.lab, GradeOptions(backend="emulator", predict=device), warm=warm)
            yield noted.named, result, noted.pairs[tried:]


def write(folder: Path, paths: Sequence[Path], device: str) -> int:
    """Grade without a GPU, print what was told, and write what was tried to be timed."""
    could = told = 0
    noted = Noted({}, {}, [])
    for named, result, pairs in graded(paths, device, noted):
        for name, variant in result.variants.items():
            if variant.predicted is None:
                continue
            without = variant.predicted.predicted_without_us
            gain = variant.predicted.predicted_us / min([variant.predicted.predicted_us, *without.values()])
            best = max((pair.predicted[0] for pair in pairs if f"/{name}/" in pair.after), default=1.0)
            is_slow = max(gain, best) >= faster.LEAST_GAIN
            could += is_slow
            told += is_slow and variant.faster is not None
            change = variant.faster
            shown = f"{change.kind} {change.predicted_times.value:.2f}" if change else "-"
            print(
                f"{named} {name}: {variant.predicted.predicted_us} us, without its costs {gain:.2f}, "
                f"best tried {best:.2f}, told {shown}",
                flush=True,
            )
    print(f"of {could} kernels that could be {faster.LEAST_GAIN} times as fast a change was told of {told}")
    if not noted.pairs:
        return 1
    # What fills arrays and empties the caches is in this program.
    file, launches_of = OWN["own"]
    with CompilerProcess() as compiler:
        own = ProgramStore(compiler, "sm_90").get_text({file.name: file.read_text("utf-8")}, [])
    launches = [launches_of()[0], *noted.launches.values()]
    write_launches(folder, launches, {"own": own.result.cubin, **noted.cubins})
    (folder / "pairs.json").write_text(json.dumps([asdict(pair) for pair in noted.pairs]), encoding="utf-8")
    return 0


def compare(folder: Path, out: Path) -> int:
    """Print predicted gains beside measured ones."""
    times = {
        row["id"]: row["cold_us"] for row in map(json.loads, (out / "times.jsonl").read_text("utf-8").splitlines())
    }
    found: list[tuple[float, Ratio]] = []
    for row in json.loads((folder / "pairs.json").read_text("utf-8")):
        before, after = times.get(row["before"]), times.get(row["after"])
        if before is None or after is None:
            print(f"{row['after']}: not timed")
            continue
        predicted = Ratio(*row["predicted"])
        print(f"{row['after']}: predicted {predicted.value:.2f}, measured {before / after:.2f}: {row['kind']}")
        found.append((before / after / predicted.value, predicted))
    if not found:
        return 1
    large = [one for one in found if max(one[1].value, one[0] * one[1].value) >= NEAR]
    useful = [one for one in found if one[1].value >= faster.LEAST_GAIN]
    for name, some in (("all", found), ("that differ by a quarter", large), ("told by prediction", useful)):
        print(f"{name}: {summary(some)}" if some else f"{name}: none")
    return 0


def main() -> int:
    """Grade, or compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--write", type=Path, help="folder for what is timed elsewhere")
    parser.add_argument("--compare", type=Path, nargs=2, help="that folder, and that of the times")
    parser.add_argument("--device", default="h200", help="what times are predicted for without a GPU")
    given = parser.parse_args()
    if given.compare:
        return compare(*given.compare)
    paths = paths_of(given.paths)
    return write(given.write, paths, given.device) if given.write else on_gpu(paths)


if __name__ == "__main__":
    sys.exit(main())
