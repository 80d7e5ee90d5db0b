"""Tables of what timing is worth on this machine's GPU: agreement with Nsight Compute, repeatability, duration.

python benchmarks/timing.py > benchmarks/timing_GPU.md
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from grader.compiler.process import CompilerProcess  # noqa: E402
from grader.gpu import unmarked  # noqa: E402
from grader.gpu.bench import sample_rounds  # noqa: E402
from grader.gpu.messages import NoDevice  # noqa: E402
from grader.gpu.process import GpuProcess  # noqa: E402
from grader.gpu.session import GpuSession, TimedKernel, compile_helpers  # noqa: E402
from grader.gpu.unmarked import ToolFailed  # noqa: E402
from grader.grading import pipeline  # noqa: E402
from grader.grading.options import GradeOptions  # noqa: E402
from grader.lab import labs  # noqa: E402
from grader.timing import sampling  # noqa: E402
from grader.timing.sampling import Plan, robust_deviation  # noqa: E402
from tests.gpu.test_times import COPIES, SOURCE, WORKS, requests  # noqa: E402

REGRADES = 20
SUBMISSION = ROOT / "submissions" / "ivanov"
NCU_REPEATS = 3


def main() -> None:
    """Print the tables as Markdown."""
    process = GpuProcess()
    ready = process.ready()
    if isinstance(ready, NoDevice):
        sys.exit(f"no GPU: {ready.reason}")
    with CompilerProcess() as compiler:
        helpers = compile_helpers(compiler, ready.architecture)
        kernels = compiler.compile({"kernels.cu": SOURCE}, [*COPIES, *WORKS], ready.architecture)
        session = GpuSession(process, helpers, {"test": kernels.cubin})
        warm = session.warm_up(sampling.WARM_UP_MS)
        print(f"# Timing on an {ready.name}\n")
        print(
            f"Driver {ready.driver}, NVRTC {compiler.nvrtc_version()}, {ready.architecture}; clocks left alone "
            f"({warm.sm_mhz:.0f} MHz). Best copy {warm.copy_gb_s:.0f} GB/s (read and written), "
            f"multiply-adds {warm.fp32_gflop_s / 1000:.1f} TFLOP/s.\n"
        )
        agreement(session)
        session.close()
    regrades()


def agreement(session: GpuSession) -> None:
    """The grader's times of ten kernels, and Nsight Compute's."""
    ours, batches = {}, {}
    values = {"in:float32": np.random.default_rng(1).random(1 << 16).astype(np.float32)}
    for name, request in requests(data=False).items():
        kernel = TimedKernel(name, "test", request)
        prepared = session.prepare([kernel], values, "cold", sampling.CLOCK_SHARE, sampling.MAX_BATCH, (0.0, 0.0))
        found, _mhz = sample_rounds(session, [name], [], Plan(stages=(31,)))
        ours[name], batches[name] = found.median(name), prepared.batch[name]
    theirs = nsight(session)
    print("## Against Nsight Compute's gpu__time_duration\n")
    print("| kernel | grader, µs | 99 % interval | launches a sample | Nsight Compute, µs | difference |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, interval in ours.items():
        assert interval is not None
        other = theirs.get(name)
        difference = "" if other is None else f"{interval.median - other:+.2f} µs, {interval.median / other - 1:+.1%}"
        print(
            f"| {name} | {interval.median:.3f} | {interval.low:.3f} … {interval.high:.3f} | {batches[name]} "
            f"| {'–' if other is None else f'{other:.3f}'} | {difference} |"
        )
    print()


def nsight(session: GpuSession) -> dict[str, float]:
    """Nsight Compute's times, µs, median of a few runs; {} where it cannot be asked."""
    launches = [("test", request) for request in requests(data=True).values()]
    code = {name: session.code()[name] for name in ("helpers", "test")}
    rows = []
    try:
        for _repeat in range(NCU_REPEATS):
            with tempfile.TemporaryDirectory() as folder:
                rows.append(unmarked.measure(Path(folder), code, launches, [unmarked.TIME]))
    except ToolFailed as failure:
        print(f"Nsight Compute was not asked: {failure}\n")
        return {}
    names = list(requests(data=False))
    return {name: statistics.median(row[i][unmarked.TIME] for row in rows) / 1000 for i, name in enumerate(names)}


def regrades() -> None:
    """The same submission graded again and again."""
    lab = replace(labs.find("transpose"), sweeps=())
    marks, seconds, ratios, verdicts = [], [], [], set()
    for _again in range(REGRADES):
        began = time.monotonic()
        result = pipeline.grade(SUBMISSION, lab, GradeOptions(backend="gpu", remeasure=True))
        seconds.append(time.monotonic() - began)
        marks.append(result.score.earned)
        verdicts.add(tuple((check.id, check.status) for check in result.checks))
        last = result.variants["padded"].timing[-1]
        assert last.speedup is not None
        ratios.append(last.speedup)
    print(f"## {REGRADES} gradings of `submissions/ivanov` with --remeasure\n")
    print("| | |\n| --- | --- |")
    print(f"| different sets of verdicts | {len(verdicts)} |")
    print(f"| marks | {min(marks):g} … {max(marks):g} |")
    print(f"| speed-up at 8192×8192 | {min(ratios):.3f} … {max(ratios):.3f} |")
    print(f"| its robust standard deviation | {robust_deviation(np.log(ratios).tolist()):.2%} |")
    print(f"| seconds a grading, everything timed anew | {statistics.median(seconds):.2f} |")


if __name__ == "__main__":
    main()
