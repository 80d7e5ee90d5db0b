"""Launches of `prediction_kernels.cu`, kernels of one property each and of other courses, and what any launch is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
