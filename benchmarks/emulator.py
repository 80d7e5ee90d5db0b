"""Speed of the emulator, side by side with numba-cuda's simulator on the same kernels and sizes.

    pip install -e .[bench]     # left out without it: the comparison
    python benchmarks/emulator.py [--largest 1024] [--simulated 64] [--no-numba]

Times are the best of ten launches (three at N = 256, one from N = 512 on), of three in the simulator, of a module that
is compiled and parsed already; compiling and parsing are listed by themselves.  M/s are millions of thread-instructions
(PTX instructions times the threads that execute them) a second.  "observed" counts bank conflicts and sectors and looks
for races in every block.  Memory is the peak of a process of its own at N = 1024.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.compiler import worker
from grader.ptx.frontend.nodes import Module
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import Limits
from grader.ptx.memory import Device
from grader.ptx.records import LaunchReport

FOLDER = Path(__file__).parent
REGULAR = ("naive_transpose", "tiled_transpose", "naive_matmul", "in_memory_matmul", "tiled_matmul")
SIZES = (32, 64, 128, 256, 512, 1024)
SAMPLED_BATCHES = 8

Array = npt.NDArray[Any]


def compiled(source: str) -> str:
    """PTX of a source, compiled for the target that the grader's emulator works on."""
    options = ["--gpu-architecture=compute_75", "-lineinfo", "-default-device"]
    output = worker.compile_source("main.cu", source.encode(), {}, [], options)
    if not output.succeeded:
        sys.exit(output.log.decode())
    return output.ptx.decode()


def matrices(kernel: str, n: int) -> list[Array]:
    """Inputs of a regular kernel, and room for its result."""
    rng = np.random.default_rng(n)
    count = 2 if kernel.endswith("matmul") else 1
    return [*(rng.random((n, n), np.float32) for _ in range(count)), np.zeros((n, n), np.float32)]


def run(
    module: Module, kernel: str, grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any], **options: Any
) -> tuple[float, LaunchReport, Array]:
    """(seconds, report, last buffer) of one launch."""
    device = Device()
    passed = [device.buffer(f"b{k}", a) if isinstance(a, np.ndarray) else a for k, a in enumerate(arguments)]
    output = [(p, a) for p, a in zip(passed, arguments, strict=True) if isinstance(a, np.ndarray)][-1]
    started = time.perf_counter()
    report = launch(module, Launch(kernel, grid, block, passed, device=device, limits=Limits(seconds=600), **options))
    return time.perf_counter() - started, report, output[0].read(output[1].dtype, output[1].shape)


def best(times: int, measure: Callable[[], tuple[float, LaunchReport, Array]]) -> tuple[float, LaunchReport, Array]:
    """The fastest of some runs."""
    return min((measure() for _ in range(times)), key=lambda result: result[0])


def check(kernel: str, arguments: Sequence[Array], result: Array) -> None:
    """Whether a regular kernel computed what it should; ends the program otherwise."""
    expected = arguments[0].T if kernel.endswith("transpose") else arguments[0].astype(np.float64) @ arguments[1]
    if not np.allclose(result, expected, rtol=1e-4):
        sys.exit(f"{kernel} came out wrong")


def simulated(kernel: str, n: int) -> float:
    """Seconds that numba-cuda's simulator takes."""
    sys.path.insert(0, str(FOLDER))
    import numba_kernels

    arguments = matrices(kernel, n)
    flat = [a.reshape(-1) for a in arguments]
    started = time.perf_counter()
    getattr(numba_kernels, kernel)[(n // 16, n // 16), (16, 16)](*flat, n)
    elapsed = time.perf_counter() - started
    check(kernel, arguments, flat[-1].reshape(n, n))
    return elapsed


def regular(module: Module, largest: int, with_numba: int) -> None:
    """The table of transposes and products."""
    head = f"{'kernel':16}{'N':>6}{'M instr':>9} |{'plain s':>9}{'M/s':>7} |{'observed s':>11}{'M/s':>7} |"
    print(head + f"{'numba s':>9}{'plain':>8}{'observed':>10}")
    for kernel in REGULAR:
        for n in (size for size in SIZES if size <= largest):
            arguments = matrices(kernel, n)
            shape = ((n // 16, n // 16), (16, 16), [*arguments, np.int32(n)])
            times = 1 if n >= 512 else 3 if n >= 256 else 10
            plain, report, result = best(times, lambda: run(module, kernel, *shape))  # noqa: B023
            check(kernel, arguments, result)
            seen, report, _ = best(times, lambda: run(module, kernel, *shape, observe=True))  # noqa: B023
            if report.hazards:
                sys.exit(f"{kernel}: {report.hazards[0]}")
            millions = report.thread_instructions / 1e6
            row = f"{kernel:16}{n:6}{millions:9.1f} |{plain:9.4f}{millions / plain:7.0f} |"
            row += f"{seen:11.4f}{millions / seen:7.0f} |"
            if n <= with_numba:
                theirs = min(simulated(kernel, n) for _ in range(3))
                row += f"{theirs:9.3f}{theirs / plain:7.0f}x{theirs / seen:9.0f}x"
            print(row, flush=True)


def divergent(module: Module) -> None:
    """The table of kernels whose threads part."""
    rng = np.random.default_rng(0)
    n = 1 << 18
    numbers, words = rng.random(n, np.float32), rng.integers(0, 1 << 16, n).astype(np.int32)
    odd = rng.random((250, 250), np.float32)
    sums = np.zeros(n // 256, np.float32)
    cases: list[tuple[str, Any, Any, list[Any], int]] = [
        ("interleaved_sum", (n // 256,), (256,), [numbers, sums, np.int32(n - 3)], 1024),
        ("halving_sum", (n // 256,), (256,), [numbers, sums, np.int32(n - 3)], 1024),
        ("histogram", (64,), (256,), [words, np.zeros(256, np.int32), np.int32(n)], 0),
        ("naive_transpose", (16, 16), (16, 16), [odd, np.zeros_like(odd), np.int32(250)], 0),
        ("guarded_matmul", (16, 16), (16, 16), [odd, odd, np.zeros_like(odd), np.int32(250)], 0),
        ("collatz", (256,), (256,), [np.arange(65536, dtype=np.int32), np.zeros(65536, np.int32), np.int32(65000)], 0),
    ]
    print(f"\n{'divergent':18}{'M instr':>9} |{'plain s':>9}{'M/s':>7} |{'observed s':>11}{'M/s':>7}")
    for kernel, grid, block, arguments, shared in cases:
        plain, report, _ = best(3, lambda: run(module, kernel, grid, block, arguments, shared_bytes=shared))  # noqa: B023
        seen, report, _ = best(
            3,
            lambda: run(module, kernel, grid, block, arguments, shared_bytes=shared, observe=True),  # noqa: B023
        )
        millions = report.thread_instructions / 1e6
        print(
            f"{kernel:18}{millions:9.1f} |{plain:9.4f}{millions / plain:7.0f} |{seen:11.4f}{millions / seen:7.0f}",
            flush=True,
        )


def from_source(source: str) -> None:
    """How long it takes from a source text to a result that has been looked at."""
    compiled("__global__ void nothing() {}")
    started = time.perf_counter()
    ptx = compiled(source)
    translated = time.perf_counter()
    module = parse(ptx)
    parsed = time.perf_counter()
    n = 256
    run(module, "tiled_matmul", (n // 16, n // 16), (16, 16), [*matrices("tiled_matmul", n), np.int32(n)], observe=True)
    ended = time.perf_counter()
    print(
        f"\nfrom source to result, {len(source.splitlines())} lines with {len(module.entries())} kernels, tiled matmul"
        f" N=256 observed: NVRTC {translated - started:.3f} s, parsing {parsed - translated:.3f} s, launch"
        f" {ended - parsed:.3f} s, together {ended - started:.3f} s"
    )


def memory_of(kernel: str, observed_batches: int | None) -> None:
    """Run at N = 1024 and print the peak memory of this process."""
    n = 1024
    module = parse(compiled((FOLDER / "emulator_kernels.cu").read_text(encoding="utf-8")))
    arguments = [*matrices(kernel, n), np.int32(n)]
    seconds, report, _ = run(
        module, kernel, (n // 16, n // 16), (16, 16), arguments, observe=True, observed_batches=observed_batches
    )
    # Not getrusage(): a process starts with what its parent had at the fork.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    seen = report.counters
    observed = f"{seen.sampled_blocks:5} of {seen.total_blocks} blocks observed"
    print(f"{kernel:16} N={n} {observed} {seconds:7.2f} s {peak:7.0f} MB")


def memory() -> None:
    """The same in processes of their own."""
    print("\npeak memory of the whole process")
    for kernel in REGULAR:
        for batches in (SAMPLED_BATCHES, 0):
            subprocess.run([sys.executable, __file__, "--memory-of", kernel, "--batches", str(batches)], check=True)


def main() -> None:
    """Run everything and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1024, help="largest N of the regular kernels")
    parser.add_argument("--simulated", type=int, default=64, help="largest N that numba's simulator is given")
    parser.add_argument("--no-numba", action="store_true", help="leave numba's simulator out")
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--batches", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of:
        memory_of(options.memory_of, options.batches or None)
        return
    source = (FOLDER / "emulator_kernels.cu").read_text(encoding="utf-8")
    module = parse(compiled(source))
    print(f"{len(os.sched_getaffinity(0))} cores, Python {sys.version.split()[0]}, NumPy {np.__version__}\n")
    with_numba = not options.no_numba and importlib.util.find_spec("numba_cuda") is not None
    if not with_numba and not options.no_numba:
        print("numba-cuda is not installed: without its simulator\n")
    regular(module, options.largest, options.simulated if with_numba else 0)
    divergent(module)
    from_source(source)
    memory()


if __name__ == "__main__":
    main()
