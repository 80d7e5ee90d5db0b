"""The labs' `best` kernels and functions beside what the device can do: a copy of the same bytes, cuBLAS's float32
product, CUB's reduction, scan, histogram and sort.

    python benchmarks/references.py [--rounds 21] [--out benchmarks/references.md]

Needs an NVIDIA GPU, CuPy and, for functions, nvcc.  In each round every contender runs once, the L2 cache overwritten
before each launch, so that slow drifts of the clock meet all of them alike; medians are shown.  cuBLAS computes in
float32 without tensor cores (no TF32).  Every kernel's result is compared with one computed in double precision first,
a function's with its lab's oracle.  Exit code 1 when a result is wrong or a target is missed.

A function is timed as its launches, fills and copies on the device: what it allocates comes from memory that is there,
and copies from and to the host are made in a first call alone.  CUB's temporary memory is there before, too.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Decides how CuPy asks cuBLAS to compute; read when CuPy is imported.
os.environ["CUPY_TF32"] = "0"

import cupy as cp
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from grader.lab import formula, labs
from grader.lab.expected import Oracle
from grader.lab.records import Lab, ReferenceKernel, Sizes

Arrays = Mapping[str, Any]
Launch = Callable[[], None]

L2_BYTES = 256 << 20
"""Written before each launch: several times any L2 cache."""


HEAD = """\
# Reference kernels on a GPU

What `python benchmarks/references.py --out benchmarks/references.md` measured: each lab's `best` kernel beside the
fastest that the device can do for the same bytes or the same product, in one run, the contenders taking turns. Every
result was compared with double precision first.
"""


@dataclass(frozen=True)
class Race:
    """One line of the table: a lab at a size, and the share of the comparison's speed that `best` is to reach."""

    lab: str
    sizes: Sizes
    target: float


RACES = (
    Race("transpose", {"rows": 4096, "cols": 4096}, 0.97),
    Race("transpose", {"rows": 8192, "cols": 8192}, 0.97),
    Race("transpose", {"rows": 16384, "cols": 16384}, 0.97),
    Race("transpose", {"rows": 32768, "cols": 32768}, 0.97),
    Race("matmul", {"n": 1024}, 0.85),
    Race("matmul", {"n": 2048}, 0.9),
    Race("matmul", {"n": 4096}, 0.97),
    Race("batch-square", {"n": 2, "count": 1_000_000}, 0.9),
    Race("batch-square", {"n": 4, "count": 1_000_000}, 0.97),
    Race("batch-square", {"n": 5, "count": 1_000_000}, 0.97),
    Race("batch-square", {"n": 8, "count": 1_000_000}, 0.97),
    Race("batch-square", {"n": 10, "count": 1_000_000}, 0.97),
    Race("box-blur", {"count": 16 << 20, "radius": 2}, 0.97),
    Race("box-blur", {"count": 64 << 20, "radius": 2}, 0.97),
)


@dataclass(frozen=True)
class FunctionRace:
    """A lab of a function at a size; traffic: bytes that have to be moved at least, as a formula of its sizes.

    against: what is compared with; call: that of the function's arguments, with `temp` and `bytes` first; "": a copy
    of as many bytes.
    """

    lab: str
    sizes: Sizes
    target: float
    traffic: str
    against: str = "copy"
    call: str = ""


FUNCTION_RACES = (
    FunctionRace("saxpy", {"n": 1 << 26}, 0.9, "12 * n"),
    FunctionRace("convolution-2d", {"rows": 8192, "cols": 8192}, 0.9, "8 * rows * cols"),
    FunctionRace("heat-equation", {"rows": 8192, "cols": 4096, "steps": 8}, 0.9, "8 * rows * cols * steps"),
    FunctionRace(
        "csr-product",
        {"rows": 1 << 20, "cols": 1 << 20, "nonzeros": 1 << 25},
        0.9,
        "8 * nonzeros + 12 * rows",
        "cuSPARSE",
        "multiply(temp, row_start, columns, values, x, y, rows, cols, nonzeros)",
    ),
    FunctionRace("vector-sum", {"n": 1 << 26}, 0.97, "4 * n", "CUB", "cub::DeviceReduce::Sum(temp, bytes, in, out, n)"),
    FunctionRace("vector-max", {"n": 1 << 26}, 0.97, "4 * n", "CUB", "cub::DeviceReduce::Max(temp, bytes, in, out, n)"),
    FunctionRace(
        "inclusive-scan", {"n": 1 << 26}, 0.97, "8 * n", "CUB", "cub::DeviceScan::InclusiveSum(temp, bytes, in, out, n)"
    ),
    FunctionRace(
        "histogram",
        {"n": 1 << 26},
        0.67,
        "n",
        "CUB",
        "cub::DeviceHistogram::HistogramEven(temp, bytes, data, (int *)bins, 257, 0, 256, n)",
    ),
    FunctionRace(
        "bitonic-sort",
        {"n": 1 << 16},
        0.67,
        "8 * n",
        "CUB",
        "cub::DeviceRadixSort::SortKeys(temp, bytes, (const int *)data, (int *)other, n)",
    ),
    FunctionRace(
        "bitonic-sort",
        {"n": 1 << 24},
        0.0,
        "8 * n",
        "CUB",
        "cub::DeviceRadixSort::SortKeys(temp, bytes, (const int *)data, (int *)other, n)",
    ),
)
"""Where memory bounds them 0.9 of a copy, CUB's speed for reduction and scan, two thirds of it for the histogram and
for a sort of few elements: of many, a network compares each far more often than a radix sort touches it."""

FUNCTION_SOURCE = """\
#include <cub/cub.cuh>
#include <cusparse.h>
static void multiply(void *temp, const int *row_start, const int *columns, const float *values, const float *x,
                     float *y, int rows, int cols, int nonzeros) {
    static cusparseHandle_t handle;
    static cusparseSpMatDescr_t a;
    static cusparseDnVecDescr_t from, to;
    const float one = 1.0f, zero = 0.0f;
    if (!handle) {
        cusparseCreate(&handle);
        cusparseCreateCsr(&a, rows, cols, nonzeros, (void *)row_start, (void *)columns, (void *)values,
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
        cusparseCreateDnVec(&from, cols, (void *)x, CUDA_R_32F);
        cusparseCreateDnVec(&to, rows, y, CUDA_R_32F);
    }
    cusparseSpMV(handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, a, from, &zero, to, CUDA_R_32F, CUSPARSE_SPMV_CSR_ALG2,
                 temp);
}
static char *pool;
static size_t taken;
static bool copies = true;
template <typename T> cudaError_t from_pool(T **to, size_t bytes) {
    *to = (T *)(pool + taken);
    taken += (bytes + 255) / 256 * 256;
    return cudaSuccess;
}
#define cudaMalloc from_pool
#define cudaFree(array) ((void)(array), cudaSuccess)
#define cudaMemcpy(to, from, bytes, kind) \\
    (copies || (kind) == cudaMemcpyDeviceToDevice ? cudaMemcpyAsync(to, from, bytes, kind) : cudaSuccess)
#define cudaMemcpyToSymbol(...) (copies ? (cudaMemcpyToSymbol)(__VA_ARGS__) : cudaSuccess)
#include "@FILE@"
extern "C" void run(char *memory, bool with_copies, @PARAMETERS@) {
    pool = memory, taken = 0, copies = with_copies;
    @NAME@(@ARGUMENTS@);
}
extern "C" void compared(char *memory, bool, @PARAMETERS@) {
    void *other = memory, *temp = memory + (1ull << 30);
    size_t bytes = 1ull << 30;
    (void)other;
    @CALL@;
}
"""
"""Of a shared library: a lab's function, and what it is compared with; the pool is handed in."""
POOL_BYTES = 2 << 30
LARGE_SUMS = 1e-5
"""Of the largest element, how far sums of 2²⁶ floats may be off."""


def compile_function(lab: Lab, race: FunctionRace, library: Path) -> Path:
    """The shared library of a lab's function and what it is compared with."""
    assert lab.function is not None
    signature = lab.function.signature
    parameters = ", ".join(f"{a.spelled}{'' if a.pointers else ' '}{a.name}" for a in signature.arguments)
    text = FUNCTION_SOURCE
    for mark, with_ in {
        "FILE": str(lab.variants[0].reference.file),
        "PARAMETERS": parameters,
        "NAME": signature.name,
        "ARGUMENTS": ", ".join(argument.name for argument in signature.arguments),
        "CALL": race.call,
    }.items():
        text = text.replace(f"@{mark}@", with_)
    source = library.with_suffix(".cu")
    source.write_text(text, encoding="utf-8")
    options = ("-O3", "-std=c++17", "-arch=native", "-w", "-shared", "-Xcompiler", "-fPIC", "-lcusparse")
    subprocess.run(["nvcc", *options, "-o", library, source], check=True)
    return library


def function_contenders(lab: Lab, race: FunctionRace, library: Path) -> tuple[dict[str, Launch], list[str]]:
    """What is compared with, then the function; and whether its result is wrong."""
    rule = lab.function
    assert rule is not None
    oracle, types = Oracle(lab), {p.name: p.dtype for p in lab.parameters if p.is_array}
    inputs, outputs = oracle.case(race.sizes, types)
    arrays: dict[str, Any] = {name: inputs[name] if name in inputs else np.zeros_like(outputs[name]) for name in types}
    if rule.memory == "device":
        arrays = {name: cp.asarray(array) for name, array in arrays.items()}
    else:
        arrays = {name: array.copy() for name, array in arrays.items()}
    pool = cp.zeros(POOL_BYTES, dtype=cp.uint8)
    loaded = ctypes.CDLL(str(library))

    def argument(name: str) -> Any:
        if name in arrays:
            array = arrays[name]
            return ctypes.c_void_p(array.data.ptr if isinstance(array, cp.ndarray) else array.ctypes.data)
        if name in race.sizes:
            return ctypes.c_int(race.sizes[name])
        return ctypes.c_float(float(inputs[name]))

    def call(function: Any, *, with_copies: bool = False) -> Launch:
        given = [argument(a.name) for a in rule.signature.arguments]
        return lambda: function(ctypes.c_void_p(pool.data.ptr), ctypes.c_bool(with_copies), *given)

    call(loaded.run, with_copies=True)()
    cp.cuda.runtime.deviceSynchronize()
    wrong = []
    for name, right in outputs.items():
        tolerance = lab.tolerance.at(race.sizes, str(right.dtype))
        came = cp.asnumpy(arrays[name])
        # Labs whose sums float32 holds exactly do so for as many elements as are graded.
        absolute = tolerance.absolute + LARGE_SUMS * float(np.abs(right).max())
        if not np.allclose(came, right, rtol=tolerance.relative, atol=absolute):
            error = np.abs(came.astype(np.float64) - right).max()
            wrong.append(f"{lab.id} {dict(race.sizes)}: {name} is off by {error:g} of {np.abs(right).max():g}")
    if race.call:
        return {race.against: call(loaded.compared), "best": call(loaded.run)}, wrong
    half = int(formula.evaluate(race.traffic, race.sizes)) // 2
    arrays["from"], arrays["to"] = cp.zeros(half, dtype=cp.uint8), cp.zeros(half, dtype=cp.uint8)
    return {"copy": copier(arrays["to"], arrays["from"]), "best": call(loaded.run)}, wrong


def function_rows(rounds: int) -> tuple[list[str], list[str]]:
    """Rows of the table, and what is wrong or misses its target."""
    rows, problems = [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{i}.so" for i in range(len(FUNCTION_RACES))]
        asked = [labs.find(race.lab) for race in FUNCTION_RACES]
        with ThreadPoolExecutor() as threads:
            list(threads.map(compile_function, asked, FUNCTION_RACES, paths))
        for lab, race, library in zip(asked, FUNCTION_RACES, paths, strict=True):
            run, wrong = function_contenders(lab, race, library)
            problems += wrong
            times = timed(run, rounds)
            against = next(iter(run))
            share = times[against] / times["best"]
            if share < race.target:
                problems.append(f"{race.lab} {dict(race.sizes)}: {share:.3f} of {against}, {race.target} is asked")
            size = ", ".join(f"{name} {value}" for name, value in race.sizes.items())
            moved = formula.evaluate(race.traffic, race.sizes) / times["best"] / 1e3
            rows.append(
                f"| {race.lab} | {size} | {against} | {times[against]:.1f} | {times['best']:.1f} | {moved:.0f} GB/s | "
                f"{share:.3f} | {race.target or '–'} | – |"
            )
            print(rows[-1], flush=True)
            del run
            cp.get_default_memory_pool().free_all_blocks()
    return rows, problems


def expected(lab: str, arrays: Arrays, sizes: Sizes) -> tuple[str, Any]:
    """The output's name and what it must hold, in double precision where the lab computes."""
    if lab == "transpose":
        return "out", arrays["in"].T
    if lab == "matmul":
        return "c", arrays["a"].astype(cp.float64) @ arrays["b"].astype(cp.float64)
    exact = arrays["in"].astype(cp.float64)
    if lab == "batch-square":
        return "out", exact @ exact
    radius, count = sizes["radius"], sizes["count"]
    mean = exact.copy()
    mean[radius:-radius] = sum(exact[k : count - 2 * radius + k] for k in range(2 * radius + 1)) / (2 * radius + 1)
    return "out", mean


def made(lab: Lab, sizes: Sizes) -> dict[str, Any]:
    """Every array of the lab, the inputs random."""
    arrays = {}
    for parameter in lab.parameters:
        if parameter.is_array:
            shape = tuple(sizes[n] if isinstance(n, str) else n for n in parameter.shape)
            # Filled in pieces: a random array of doubles may not fit beside the rest.
            arrays[parameter.name] = cp.random.random(shape, dtype=cp.float32)
    return arrays


def launcher(lab: Lab, kernel: ReferenceKernel, covers: Sequence[str], arrays: Arrays, sizes: Sizes) -> Launch:
    """A function that launches a reference kernel."""
    expression = kernel.expression(sizes)
    module = cp.RawModule(code=kernel.file.read_text("utf-8"), options=("--std=c++17",), name_expressions=[expression])
    function = module.get_function(expression)
    shared_bytes = kernel.shared_bytes_at(sizes)
    if shared_bytes > 48 * 1024:
        function.max_dynamic_shared_size_bytes = shared_bytes
    grid = tuple(-(-sizes[name] // tile) for name, tile in zip(covers, kernel.tile, strict=True))
    arguments = tuple(arrays[role] if role in arrays else np.int32(sizes[role]) for role in kernel.arguments)
    return lambda: function(grid, kernel.block, arguments, shared_mem=shared_bytes)


def copier(to: Any, source: Any) -> Launch:
    """A function that copies an array."""
    device_to_device = 3
    return lambda: cp.cuda.runtime.memcpyAsync(
        to.data.ptr, source.data.ptr, source.nbytes, device_to_device, cp.cuda.get_current_stream().ptr
    )


def contenders(lab: Lab, arrays: dict[str, Any], sizes: Sizes) -> dict[str, Launch]:
    """The comparison first, then `best`, then the teaching kernels of the variants."""
    found: dict[str, Launch] = {}
    if lab.id == "matmul":
        found["cuBLAS"] = lambda: cp.matmul(arrays["a"], arrays["b"], out=arrays["c"])
    else:
        found["copy"] = copier(arrays["out"], arrays["in"])
    best = next(kernel for kernel in lab.best if kernel.fits(sizes))
    found["best"] = launcher(lab, best, best.covers or lab.launch.covers, arrays, sizes)
    for variant in lab.variants:
        covers = lab.launch_of(variant).covers
        found[variant.name] = launcher(lab, variant.reference, covers, arrays, sizes)
    return found


def check(lab: Lab, run: dict[str, Launch], arrays: dict[str, Any], sizes: Sizes) -> list[str]:
    """Contenders whose result is wrong."""
    name, right = expected(lab.id, arrays, sizes)
    tolerance = lab.tolerance.at(sizes, "float32")
    wrong = []
    for contender, launch in run.items():
        if contender == "copy":
            continue
        arrays[name].fill(cp.nan)
        launch()
        error = float(cp.abs(arrays[name] - right).max())
        # A NaN, an element that nobody wrote, is not below anything.
        if not error <= tolerance.absolute:
            wrong.append(f"{lab.id} {dict(sizes)}: {contender} is off by {error:g}")
    return wrong


def timed(run: dict[str, Launch], rounds: int) -> dict[str, float]:
    """Median time of a launch, µs."""
    flush = cp.empty(L2_BYTES, dtype=cp.uint8)
    start, stop = cp.cuda.Event(), cp.cuda.Event()
    times: dict[str, list[float]] = {name: [] for name in run}
    for index in range(rounds + 2):
        for name, launch in run.items():
            flush.fill(index % 251)
            start.record()
            launch()
            stop.record()
            stop.synchronize()
            if index >= 2:
                times[name].append(1e3 * cp.cuda.get_elapsed_time(start, stop))
    return {name: statistics.median(values) for name, values in times.items()}


def rate(lab: Lab, arrays: Arrays, sizes: Sizes, time_us: float) -> str:
    """GB/s or TFLOP/s."""
    if lab.id == "matmul":
        return f"{2 * sizes['n'] ** 3 / time_us / 1e6:.1f} TFLOP/s"
    return f"{sum(a.nbytes for a in arrays.values()) / time_us / 1e3:.0f} GB/s"


def kept(file: Path) -> str:
    """What stands in an earlier table's file from its first section on: what people wrote about it."""
    earlier = file.read_text(encoding="utf-8") if file.is_file() else ""
    section = earlier.find("\n## ")
    return earlier[section:] if section >= 0 else ""


def main() -> int:
    """Measure, print the table, write it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--functions", action="store_true", help="functions alone")
    options = parser.parse_args()
    properties = cp.cuda.runtime.getDeviceProperties(0)
    driver, runtime = cp.cuda.runtime.driverGetVersion(), cp.cuda.runtime.runtimeGetVersion()
    lines = [
        f"{properties['name'].decode()}, driver for CUDA {driver // 1000}.{driver % 1000 // 10}, "
        f"CUDA {runtime // 1000}.{runtime % 1000 // 10}, median of {options.rounds} launches, the L2 cache overwritten "
        "before each.",
        "",
        "| lab | size | compared with | its time, µs | best, µs | best's rate | best / compared | target | "
        "teaching kernels, µs |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    problems = []
    for race in RACES if not options.functions else ():
        lab = labs.find(race.lab)
        arrays = made(lab, race.sizes)
        run = contenders(lab, arrays, race.sizes)
        problems += check(lab, run, arrays, race.sizes)
        times = timed(run, options.rounds)
        against = next(iter(run))
        share = times[against] / times["best"]
        if share < race.target:
            problems.append(f"{race.lab} {dict(race.sizes)}: {share:.3f} of {against}, {race.target} is asked")
        size = ", ".join(f"{name} {value}" for name, value in race.sizes.items())
        teaching = ", ".join(f"{name} {times[name]:.1f}" for name in run if name not in (against, "best"))
        lines.append(
            f"| {race.lab} | {size} | {against} | {times[against]:.1f} | {times['best']:.1f} | "
            f"{rate(lab, arrays, race.sizes, times['best'])} | {share:.3f} | {race.target or '–'} | {teaching} |"
        )
        print(lines[-1], flush=True)
        del arrays, run
        cp.get_default_memory_pool().free_all_blocks()
    rows, wrong = function_rows(options.rounds)
    problems += wrong
    text = "\n".join([*lines, *rows]) + "\n"
    print(text)
    if options.out:
        options.out.write_text(f"{HEAD}\n{text}{kept(options.out)}", encoding="utf-8")
    for problem in problems:
        print("!", problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
