"""The launches that predicted times are compared with: which kernels, at which sizes, with which data.

Kernels are those of the labs (references, and the good and bad kernels with their verdicts) and those of
`prediction_kernels.cu`.  Everything is decided here, without a GPU; `time_launches.py` times what `--write` puts into a
folder, and `prediction.py` predicts the same launches.

    python benchmarks/prediction_launches.py --write FOLDER
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

from grader.compiler.process import CompilerProcess  # noqa: E402
from grader.gpu.bench import compile_references, reference_request  # noqa: E402
from grader.grading.reading import Reading  # noqa: E402
from grader.lab import labs  # noqa: E402
from grader.lab.records import Lab, Sizes  # noqa: E402
from grader.launching.kernel import BoundKernel, Loaded, bound_kernels  # noqa: E402
from grader.launching.programs import Built, ProgramStore  # noqa: E402
from grader.submission.binding.bind import bind  # noqa: E402

OWN = ROOT / "benchmarks" / "prediction_kernels.cu"
LABS = ("transpose", "matmul", "batch-square", "box-blur")
GOLDEN = 0x9E3779B1


@dataclass(frozen=True)
class Data:
    """An array of a launch: so many elements, filled by a rule that the device and NumPy both follow.

    fill: "zero"; "unit", float32 in [0, 1); "unit64", the same as float64; "below", int32 below `parameter`;
    "chain", element i is (i + parameter) modulo elements, a pointer to follow; "rising", element i is i.
    """

    elements: int
    fill: str = "unit"
    parameter: int = 0

    @property
    def dtype(self) -> str:
        """NumPy name of the elements' type."""
        return {"unit": "float32", "unit64": "float64", "zero": "float32"}.get(self.fill, "int32")

    def values(self) -> np.ndarray:
        """(elements,) what it holds."""
        index = np.arange(self.elements, dtype=np.uint32)
        if self.fill == "zero":
            return np.zeros(self.elements, np.float32)
        if self.fill == "rising":
            return index.astype(np.int32)
        if self.fill == "chain":
            return ((index.astype(np.int64) + self.parameter) % self.elements).astype(np.int32)
        mixed = index * np.uint32(GOLDEN)
        mixed ^= mixed >> np.uint32(15)
        mixed *= np.uint32(0x85EBCA6B)
        mixed ^= mixed >> np.uint32(13)
        if self.fill == "below":
            return (mixed % np.uint32(self.parameter)).astype(np.int32)
        unit = (mixed >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
        return unit.astype(np.float64) if self.fill == "unit64" else unit


@dataclass(frozen=True)
class Number:
    """A number that a kernel is given."""

    value: float
    dtype: str = "int32"


@dataclass(frozen=True)
class Measured:
    """One launch that is timed; id: its name in the table of times.

    family: what is held back together: a program with all its variants and sizes.  lab: "" where it is no lab's.
    program: of `Catalogue.programs`.
    """

    id: str
    family: str
    lab: str
    program: str
    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: tuple[Data | Number, ...]


@dataclass(frozen=True)
class Catalogue:
    """All launches, and the programs that they are of, compiled for an emulator (PTX) and for a GPU (machine code)."""

    launches: Sequence[Measured]
    ptx: Mapping[str, str]
    cubins: Mapping[str, bytes]


def catalogue(architecture: str = "sm_90") -> Catalogue:
    """Every launch, its program compiled."""
    with CompilerProcess() as compiler:
        stores = ProgramStore(compiler, "compute_75"), ProgramStore(compiler, architecture)
        launches: list[Measured] = []
        ptx: dict[str, str] = {}
        cubins: dict[str, bytes] = {}

        def keep(name: str, oldest: Built, newest: Built) -> None:
            ptx[name], cubins[name] = oldest.result.ptx, newest.result.cubin

        text = OWN.read_text("utf-8")
        keep("own", *(store.get_text({OWN.name: text}, []) for store in stores))
        launches += own_launches()
        for name in LABS:
            lab = labs.find(name)
            for measured, built in [*_references(lab, stores), *_specimens(lab, stores)]:
                keep(measured.program, *built)
                launches.append(measured)
    launches = list({launch.id: launch for launch in launches}.values())
    return Catalogue(launches, ptx, cubins)


# -- labs ------------------------------------------------------------------------------------------------------------

REFERENCE_SIZES: dict[str, list[Sizes]] = {
    "transpose": [{"rows": n, "cols": n} for n in (256, 512, 1024, 2048, 4096, 8192)] + [{"rows": 4096, "cols": 1000}],
    "matmul": [{"n": n} for n in (128, 256, 512, 1024, 2048)],
    "batch-square": [{"n": n, "count": count} for count in (65536, 1000000) for n in (2, 3, 4, 5, 7, 8, 10)],
    "box-blur": [{"count": n, "radius": r} for n in (1 << 16, 1 << 20, 1 << 24) for r in (2, 5)],
}
SPECIMEN_SIZES: dict[str, list[Sizes]] = {
    "transpose": [{"rows": 1024, "cols": 1024}, {"rows": 4096, "cols": 4096}],
    "matmul": [{"n": 256}, {"n": 1024}],
    "batch-square": [{"n": 5, "count": 262144}, {"n": 8, "count": 1000000}],
    "box-blur": [{"count": 1 << 20, "radius": 2}, {"count": 1 << 24, "radius": 2}],
}
LEFT_OUT = (
    # Their threads wait for each other in vain on some device, or go on for ever.
    ["barrier_in_branch", "barrier_in_guard", "return_before_barrier", "fence_never_reached", "turns_among_the_idle"]
)
MOST_PRODUCTS = 2_000_000_000
"""Of a matrix product by few threads: beyond that a launch takes seconds."""


def _compiled(store: ProgramStore, kernel: BoundKernel, sizes: Sizes) -> tuple[Built, str | None]:
    loaded = kernel.load(store, sizes)
    return loaded.built, loaded.entry


def _name(sizes: Sizes) -> str:
    return "x".join(str(value) for value in sizes.values())


def _references(lab: Lab, stores: tuple[ProgramStore, ProgramStore]) -> Iterator[tuple[Measured, tuple[Built, Built]]]:
    wanted = REFERENCE_SIZES[lab.id]
    compiled = [compile_references(store, lab.variants, wanted) for store in stores]
    for variant in lab.variants:
        oldest, newest = (references[variant.name] for references in compiled)
        for sizes in wanted:
            request = reference_request(lab, newest, sizes)
            yield (
                _measured(lab, f"{lab.id}/{variant.name}", f"reference/{lab.id}/{variant.name}", request, _name(sizes)),
                (oldest.built, newest.built),
            )
            for block in _other_blocks(lab, variant.name, request.block):
                if sizes not in (wanted[-1], wanted[2]):
                    continue
                threads = prod(block)
                covered = [sizes[c] for c in lab.launch_of(variant).covers]
                tile = block if len(covered) == 2 else (1,) if variant.name in ("row", "column") else (threads,)
                grid = (*(-(-size // step) for size, step in zip(covered, tile, strict=False)), 1, 1, 1)[:3]
                shared = _shared(lab, variant.name, sizes, threads)
                changed = Measured(
                    f"{lab.id}/{variant.name}/{_name(sizes)}/block {'x'.join(map(str, block[:2]))}",
                    f"{lab.id}/{variant.name}",
                    lab.id,
                    f"reference/{lab.id}/{variant.name}",
                    request.entry,
                    grid,
                    block,
                    shared,
                    _arguments(request.arguments),
                )
                yield changed, (oldest.built, newest.built)


def _other_blocks(lab: Lab, variant: str, usual: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    """Blocks that the reference kernel of a variant works with as well."""
    square = [(8, 8, 1), (16, 16, 1), (32, 4, 1), (32, 8, 1), (32, 32, 1), (64, 4, 1)]
    line = [(t, 1, 1) for t in (32, 64, 128, 256, 512, 1024)]
    blocks = {"transpose": square if variant == "naive" else [], "matmul": square if variant == "naive" else []}
    if variant in ("row", "column", "simple") or lab.id == "box-blur":
        blocks[lab.id] = line
    return [block for block in blocks.get(lab.id, []) if block != usual]


def _shared(lab: Lab, variant: str, sizes: Sizes, threads: int) -> int:
    if variant in ("row", "column"):
        return 4 * sizes["n"]
    return 4 * (threads + 2 * sizes["radius"]) if (lab.id, variant) == ("box-blur", "shared") else 0


def _specimens(lab: Lab, stores: tuple[ProgramStore, ProgramStore]) -> Iterator[tuple[Measured, tuple[Built, Built]]]:
    for kind in ("good", "bad"):
        for file in sorted((ROOT / "tests" / "kernels" / lab.id / kind).glob("*.cu")):
            if file.stem in LEFT_OUT:
                continue
            reading = Reading(file, lab, None)
            submission = bind(reading.found, reading.sources, lab)
            for variant, kernel in bound_kernels(lab, submission).items():
                for sizes in SPECIMEN_SIZES[lab.id]:
                    found = _specimen(lab, stores, kernel, f"{kind}/{file.stem}", variant, sizes)
                    if found is not None:
                        yield found


def _specimen(
    lab: Lab, stores: tuple[ProgramStore, ProgramStore], kernel: BoundKernel, name: str, variant: str, sizes: Sizes
) -> tuple[Measured, tuple[Built, Built]] | None:
    if not kernel.sizes.fits(sizes) or min(kernel.geometry(sizes).grid) < 1:
        return None
    (oldest, entry), (newest, _same) = (_compiled(store, kernel, sizes) for store in stores)
    if entry is None or _same is None or entry != _same:
        return None
    request = kernel.launch_without_data(Loaded(newest, entry), sizes)
    if prod(request.block) > 1024 or request.shared_bytes > 227 * 1024:
        return None
    threads = prod(request.block) * prod(request.grid)
    if lab.id == "matmul" and sizes["n"] > 256 and threads * 32 < sizes["n"] ** 2:
        return None
    program = f"{lab.id}/{name}/{'_'.join(str(v) for v in kernel.interpretation.constants) and _name(sizes)}"
    return (
        _measured(lab, f"{lab.id}/{name}/{variant}", program, request, _name(sizes), f"{lab.id}/{variant}"),
        (oldest, newest),
    )


def _measured(lab: Lab, name: str, program: str, request, sizes: str, family: str = "") -> Measured:  # type: ignore[no-untyped-def]
    return Measured(
        f"{name}/{sizes}",
        family or name,
        lab.id,
        program,
        request.entry,
        request.grid,
        request.block,
        request.shared_bytes,
        _arguments(request.arguments),
    )


def _arguments(arguments) -> tuple[Data | Number, ...]:  # type: ignore[no-untyped-def]
    made: list[Data | Number] = []
    for argument in arguments:
        if hasattr(argument, "shape"):
            elements = prod(argument.shape) + argument.start
            wide = np.dtype(argument.dtype).itemsize == 8
            fill = "zero" if argument.is_output else "unit64" if wide else "unit"
            made.append(Data(elements * (2 if wide and fill == "zero" else 1), fill))
        else:
            made.append(Number(argument.value, argument.dtype))
    return tuple(made)


# -- kernels of one property, and of other courses -------------------------------------------------------------------

M = 1 << 20


def own_launches() -> list[Measured]:
    """Launches of `prediction_kernels.cu`."""
    made: list[Measured] = []

    def add(
        entry: str,
        grid: int | tuple[int, ...],
        block: int | tuple[int, ...],
        *arguments,
        shared: int = 0,
        family: str = "",
        tag: str = "",
    ) -> None:  # type: ignore[no-untyped-def]
        def three(sizes: int | tuple[int, ...]) -> tuple[int, int, int]:
            x, y, z = (*(sizes if isinstance(sizes, tuple) else (sizes,)), 1, 1)[:3]
            return x, y, z

        own = tuple(
            a if isinstance(a, (Data, Number)) else Number(a, "float32" if isinstance(a, float) else "int32")
            for a in arguments
        )
        grid3, block3 = three(grid), three(block)
        numbers = "x".join(f"{a.value:g}" for a in own if isinstance(a, Number) and a.dtype == "int32")
        shape = "x".join(map(str, block3)) + "@" + "x".join(map(str, grid3))
        name = f"own/{entry}/{numbers}/{shape}{tag}"
        made.append(Measured(name, family or f"own/{entry}", "", "own", entry, grid3, block3, shared, own))

    def flat(entry: str, n: int, *arguments, block: int = 256, **more) -> None:  # type: ignore[no-untyped-def]
        add(entry, -(-n // block), block, *arguments, **more)

    add("empty", 1, 32)
    add("empty", 1024, 256)
    add("empty", 132 * 64, 1024)
    for n in (M, 4 * M, 16 * M, 64 * M):
        flat("copy1", n, Data(n), Data(n, "zero"), n, family="own/copy")
        flat("copy4", n // 4, Data(n), Data(n, "zero"), n // 4, family="own/copy")
        flat("triad", n, Data(n), Data(n), Data(n, "zero"), 2.5, n, family="own/copy")
    n = 16 * M
    for block in (32, 64, 128, 512, 1024):
        flat("copy1", n, Data(n), Data(n, "zero"), n, block=block, family="own/copy")
    for blocks in (1, 8, 33, 66, 132, 264, 528, 1056):
        add("copy_loop", blocks, 256, Data(n), Data(n, "zero"), n)
    for blocks, threads in ((132, 32), (132, 64), (132, 128), (132, 512), (132, 1024), (264, 1024)):
        add("copy_loop", blocks, threads, Data(4 * M), Data(4 * M, "zero"), 4 * M)
    for each in (4, 16, 64):
        flat("copy_chunks", n // each, Data(n), Data(n, "zero"), each)
    for by in (1, 8, 17):
        flat("copy_shifted", 4 * M, Data(4 * M + 32), Data(4 * M, "zero"), 4 * M, by)
    for stride in (2, 4, 8, 16, 32):
        flat("copy_strided", 2 * M, Data(2 * M * stride), Data(2 * M, "zero"), 2 * M, stride)
        flat("store_strided", 2 * M, Data(2 * M), Data(2 * M * stride, "zero"), 2 * M, stride)
    flat("set_all", n, Data(n, "zero"), 1.5, n)
    flat("saxpy1", n, 2.0, Data(n), Data(n), n)
    flat("saxpy1", M, 2.0, Data(M), Data(M), M)
    flat("saxpy_double", 4 * M, Number(2.0, "float64"), Data(4 * M, "unit64"), Data(4 * M, "unit64"), 4 * M)
    for size in (64 * 1024, 4 * M, 64 * M):
        flat("gather", 4 * M, Data(size), Data(4 * M, "below", size), Data(4 * M, "zero"), 4 * M)
        flat("scatter", 4 * M, Data(4 * M), Data(4 * M, "below", size), Data(size, "zero"), 4 * M)
    flat("reversed_pairs", n, Data(n), Data(n, "zero"), n)
    flat("bytes_inverted", n, Data(n // 4), Data(n // 4, "zero"), n)
    flat("grey", 4 * M, Data(3 * M), Data(M, "zero"), 4 * M)
    for count in (M // 4, 4 * M):
        flat("particles_aos", count, Data(8 * count), 0.1, count, family="own/particles")
        flat("particles_soa", count, Data(8 * count), 0.1, count, family="own/particles")

    for n in (1024, 4096):
        for entry in ("turn_read", "turn_write"):
            for x, y in ((32, 8), (16, 16), (8, 32)):
                add(entry, (n // x, n // y), (x, y), Data(n * n), Data(n * n, "zero"), n, family="own/turn")
        for t, rows, pad in (
            (8, 8, 0),
            (16, 16, 0),
            (16, 16, 1),
            (32, 32, 2),
            (32, 8, 0),
            (32, 8, 1),
            (32, 4, 1),
            (32, 16, 1),
        ):
            add(
                f"turn_{t}_{rows}_{pad}",
                (n // t, n // t),
                (t, rows),
                Data(n * n),
                Data(n * n, "zero"),
                n,
                family="own/turn",
            )

    for n in (256, 1024):
        for entry, fill in (
            ("product", "unit"),
            ("product_swapped", "unit"),
            ("product_double", "unit64"),
            ("product_int", "rising"),
            ("product_of_turned", "unit"),
        ):
            for x, y in ((16, 16), (32, 8), (32, 32)):
                wide = 2 if fill == "unit64" else 1
                add(
                    entry,
                    (n // x, n // y),
                    (x, y),
                    Data(n * n, fill),
                    Data(n * n, fill),
                    Data(wide * n * n, "zero"),
                    n,
                    family="own/product",
                )
        for entry, t in (
            ("tiled_8", 8),
            ("tiled_16", 16),
            ("tiled_32", 32),
            ("tiled_turned_16", 16),
            ("tiled_turned_32", 32),
            ("tiled_turned_padded_32", 32),
        ):
            add(entry, (n // t, n // t), (t, t), Data(n * n), Data(n * n), Data(n * n, "zero"), n, family="own/tiled")
        add(
            "tiled_16_double",
            (n // 16, n // 16),
            (16, 16),
            Data(n * n, "unit64"),
            Data(n * n, "unit64"),
            Data(2 * n * n, "zero"),
            n,
            family="own/tiled",
        )
        add(
            "tiled_four_rows",
            (n // 32, n // 32),
            (32, 8),
            Data(n * n),
            Data(n * n),
            Data(n * n, "zero"),
            n,
            family="own/tiled",
        )
        add(
            "tiled_registers",
            (n // 64, n // 64),
            (16, 16),
            Data(n * n),
            Data(n * n),
            Data(n * n, "zero"),
            n,
            family="own/tiled_registers",
        )
    add(
        "product",
        (128, 128),
        (16, 16),
        Data(2048 * 2048),
        Data(2048 * 2048),
        Data(2048 * 2048, "zero"),
        2048,
        family="own/product",
    )
    for n in (1024, 4096):
        flat("vector_by_thread", n, Data(n * n), Data(n), Data(n, "zero"), n, family="own/vector")
        flat("vector_by_thread", n, Data(n * n), Data(n), Data(n, "zero"), n, block=32, family="own/vector")
        flat("vector_by_column", n, Data(n * n), Data(n), Data(n, "zero"), n, block=64, family="own/vector")
        flat("vector_by_warp", n * 32, Data(n * n), Data(n), Data(n, "zero"), n, family="own/vector")

    for n in (M, 16 * M):
        for entry in ("sum_divergent", "sum_conflicts", "sum_tree"):
            flat(entry, n, Data(n), Data(n // 256, "zero"), n, family="own/sum")
        for blocks in (132, 1056):
            add("sum_loop", blocks, 256, Data(n), Data(1, "zero"), n, family="own/sum")
            add("sum_loop4", blocks, 256, Data(n), Data(1, "zero"), n // 4, family="own/sum")
        for each in (16, 256):
            flat("sum_chunks", n // each, Data(n), Data(n // each, "zero"), each)
    flat("sum_atomics", M, Data(M), Data(1, "zero"), M)
    for bins in (1, 16, 256, 65536):
        flat("count_global", 4 * M, Data(4 * M, "below", bins), Data(bins, "zero"), 4 * M, family="own/count")
    for bins in (1, 16, 256, 4096):
        add(
            "count_shared",
            264,
            512,
            Data(4 * M, "below", bins),
            Data(bins, "zero"),
            4 * M,
            bins,
            shared=4 * bins,
            family="own/count",
        )
    for blocks in (64, 4096):
        add("prefix_doubling", blocks, 1024, Data(1024 * blocks), Data(1024 * blocks, "zero"), family="own/prefix")
        add("prefix_tree", blocks, 512, Data(1024 * blocks), Data(1024 * blocks, "zero"), family="own/prefix")
    for rows, n in ((4096, 1024), (512, 8192)):
        add("softmax_rows", rows, 256, Data(rows * n), Data(rows * n, "zero"), n)

    for n in (1024, 4096):
        for x, y in ((32, 8), (16, 16)):
            add("jacobi", (n // x, n // y), (x, y), Data(n * n), Data(n * n, "zero"), n, family="own/jacobi")
            add("jacobi_turned", (n // x, n // y), (x, y), Data(n * n), Data(n * n, "zero"), n, family="own/jacobi")
        add("jacobi_shared", (n // 32, n // 16), (32, 16), Data(n * n), Data(n * n, "zero"), n, family="own/jacobi")
        for r in (1, 2, 4):
            add(
                f"convolution_{r}",
                (n // 32, n // 8),
                (32, 8),
                Data(n * n),
                Data(81),
                Data(n * n, "zero"),
                n,
                family="own/convolution",
            )
        add("life", (n // 32, n // 8), (32, 8), Data(n * n, "below", 2), Data(n * n, "zero"), n)
    for n in (128, 256):
        add("heat_3d", (n // 32, n // 8), (32, 8), Data(n**3), Data(n**3, "zero"), n)
    for r in (1, 8, 32):
        flat("blur_radius", 4 * M, Data(4 * M), Data(4 * M, "zero"), 4 * M, r, family="own/blur")
        flat(
            "blur_radius_shared",
            4 * M,
            Data(4 * M),
            Data(4 * M, "zero"),
            4 * M,
            r,
            shared=4 * (256 + 2 * r),
            family="own/blur",
        )

    for n in (4096, 16384):
        flat("bodies", n, Data(4 * n), Data(4 * n, "zero"), n, family="own/bodies")
        flat("bodies_shared", n, Data(4 * n), Data(4 * n, "zero"), n, family="own/bodies")
    for n in (512, 2048):
        add("mandelbrot", (n // 16, n // 16), (16, 16), Data(n * n, "zero"), n, 256)
    for n in (65536, M):
        flat("collatz", n, Data(n, "zero"), n)
    for ways in (1, 2, 8, 32):
        flat("branches", 2 * M, Data(2 * M), Data(2 * M, "zero"), 2 * M, ways)
    flat("options", 4 * M, Data(4 * M), Data(4 * M), Data(4 * M, "zero"), 4 * M)
    flat("powers", 4 * M, Data(4 * M), Data(4 * M, "zero"), 4 * M)
    for degree in (8, 64, 512):
        flat("polynomial", 4 * M, Data(4 * M), Data(4 * M, "zero"), 4 * M, degree, family="own/polynomial")
        flat("polynomial_double", M, Data(M, "unit64"), Data(2 * M, "zero"), M, degree, family="own/polynomial")
    flat("remainders", M, Data(M, "below", 1 << 30), Data(M, "zero"), M, 7)
    flat("local_sort", M, Data(16 * M), Data(M, "zero"), M)
    flat("local_array", M // 4, Data(M // 4, "below", 32), Data(M // 4, "zero"), M // 4)
    for each in (8, 32):
        flat(
            "sparse_rows",
            262144,
            Data(262144 * each, "below", 262144),
            Data(262144 * each),
            Data(262144),
            Data(262144, "zero"),
            262144,
            each,
        )
    flat("search_sorted", M, Data(M, "rising"), Data(M, "below", M), Data(M, "zero"), M, M)
    add("serial_sum", 1, 1, Data(65536), Data(1, "zero"), 65536)
    add("serial_sum", 1, 32, Data(65536), Data(1, "zero"), 65536)
    add("distances", 1024, 256, Data(262144 * 8), Data(16 * 8), Data(262144, "zero"), 262144, 16, 8)

    # One property each: latencies and rates, from which a device's figures are read.
    for size, stride in ((4096, 32), (M // 2, 32), (M, 4096 + 32), (4 * M, 32), (128 * M, 32), (128 * M, 16384 + 32)):
        add(
            "chase",
            1,
            1,
            Data(size, "chain", stride),
            Data(1, "zero"),
            4096,
            family="own/chase",
            tag=f" {size}:{stride}",
        )
    add("chase_shared", 1, 32, Data(32, "rising"), Data(32, "zero"), 4096)
    chains = {
        "fma": "float32",
        "add": "float32",
        "imad": "int32",
        "iadd": "int32",
        "double": "float64",
        "rsqrt": "float32",
        "sin": "float32",
        "divide": "float32",
        "idiv": "int32",
        "shuffle": "float32",
        "sqrt": "float32",
        "exp": "float32",
        "min": "float32",
    }
    for chain, dtype in chains.items():
        b, c = (Number(0.9, dtype), Number(0.3, dtype)) if dtype.startswith("float") else (Number(12345), Number(77))
        steps = 512 if chain in ("idiv", "divide", "double", "exp") else 2048
        add(f"chain_{chain}", 1, 32, Data(1024, "zero"), b, c, steps)
        add(f"chain_{chain}", 132 * 4, 512, Data(132 * 4 * 512 * 2, "zero"), b, c, steps // 4)
    for warps in (1, 2, 4, 8, 16, 32):
        add(
            "chain_fma", 132, 32 * warps, Data(132 * 1024, "zero"), Number(0.9, "float32"), Number(0.3, "float32"), 2048
        )
        add("four_chains", 132, 32 * warps, Data(132 * 1024, "zero"), 0.9, 0.3, 1024)
    for threads in (32, 128, 256, 1024):
        add("barriers", 132, threads, Data(132 * 1024, "zero"), 2048)
    add("barriers", 132 * 8, 256, Data(132 * 8 * 256, "zero"), 2048)
    for stride in (1, 2, 4, 32):
        add("shared_reads", 132, 1024, Data(132 * 1024, "zero"), 256, stride, shared=16384)
        add("shared_reads", 132, 64, Data(132 * 64, "zero"), 256, stride, shared=16384)
    for each in (4, 32, 128):
        add("reads_again", 132, 256, Data(132 * 256 * each), Data(132 * 256, "zero"), each, 512 // each)
        add("reads_again", 132 * 4, 256, Data(132 * 4 * 256 * each), Data(132 * 4 * 256, "zero"), each, 512 // each)
    for n, times in ((M // 4, 16), (M, 8), (2 * M, 8), (16 * M, 2)):
        add("reads_whole", 132 * 2, 1024, Data(4 * n), Data(132 * 2 * 1024, "zero"), n, times)
    for blocks in (1, 16, 64):
        add("reads_whole", blocks, 1024, Data(4 * M), Data(blocks * 1024, "zero"), M, 2)
    for mask in (0, 31, 1023, M - 1):
        add("atomics_spread", 528, 256, Data(M, "zero"), 64, mask)
    add("atomics_same", 1, 32, Data(1, "zero"), 1024)
    add("atomics_same", 132, 256, Data(1, "zero"), 32)
    add("atomics_returned", 1, 32, Data(1024, "zero"), 512, 1023)
    add("atomics_returned", 528, 256, Data(M, "zero"), 32, M - 1)
    for ways in (1, 4, 32):
        add("shared_atomics", 132, 1024, Data(132 * 1024, "zero"), 128, ways)
    return made


def write(folder: Path) -> None:
    """Everything that timing the launches takes, as files."""
    made = catalogue()
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for number, (name, cubin) in enumerate(made.cubins.items()):
        files[name] = f"{number}.cubin"
        (folder / files[name]).write_bytes(cubin)
    rows = []
    for launch in made.launches:
        row = asdict(launch)
        row["arguments"] = [
            {
                "elements": a.elements,
                "fill": a.fill,
                "parameter": a.parameter,
                "bytes": a.elements * np.dtype(a.dtype).itemsize,
            }
            if isinstance(a, Data)
            else {"value": a.value, "dtype": a.dtype}
            for a in launch.arguments
        ]
        row["program"] = files[launch.program]
        rows.append(row)
    (folder / "launches.json").write_text(json.dumps(rows), encoding="utf-8")
    print(f"{len(rows)} launches of {len(files)} programs")


def main() -> None:
    """Write the launches."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, required=True)
    write(parser.parse_args().write)


if __name__ == "__main__":
    main()
