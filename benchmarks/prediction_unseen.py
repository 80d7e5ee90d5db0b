"""Launches of `prediction_unseen.cu`: kernels that neither the model of times nor its coefficients were made with."""

from __future__ import annotations

from prediction_own_launches import Data, M, Measured, Number


class Launches:
    """Launches of one program, whose families are its kernels."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.all: list[Measured] = []

    def add(self, entry: str, grid: tuple[int, ...], block: tuple[int, ...], *arguments, shared: int = 0) -> None:  # type: ignore[no-untyped-def]
        """A launch; numbers among its arguments are int32 or float32."""
        own = tuple(
            a if isinstance(a, (Data, Number)) else Number(a, "float32" if isinstance(a, float) else "int32")
            for a in arguments
        )
        grid3, block3 = ((*sizes, 1, 1)[:3] for sizes in (grid, block))
        numbers = "x".join(f"{a.value:g}" for a in own if isinstance(a, Number) and a.dtype == "int32")
        shape = "x".join(map(str, block3)) + "@" + "x".join(map(str, grid3))
        family = f"{self.program}/{entry}"
        name = f"{family}/{numbers}/{shape}"
        self.all.append(Measured(name, family, self.program, self.program, entry, grid3, block3, shared, own))

    def flat(self, entry: str, threads: int, *arguments, block: int = 256, shared: int = 0) -> None:  # type: ignore[no-untyped-def]
        """A launch of so many threads in a row."""
        self.add(entry, (-(-threads // block),), (block,), *arguments, shared=shared)

    def plane(self, entry: str, w: int, h: int, *arguments, block: tuple[int, int] = (16, 16), deep: int = 1) -> None:  # type: ignore[no-untyped-def]
        """A launch of a thread a point, and so many planes."""
        self.add(entry, (-(-w // block[0]), -(-h // block[1]), deep), (*block, 1), *arguments)


def zero(elements: int) -> Data:
    """An array that a kernel writes."""
    return Data(elements, "zero")


def unseen_launches() -> list[Measured]:
    """Each kernel at two sizes, in the blocks that its kind is usually given."""
    made = Launches("unseen")
    add, flat, plane = made.add, made.flat, made.plane
    for n in (2 * M, 12 * M):
        flat("add_four_apart", n // 4, Data(n), Data(n), zero(n), n)
        flat("add_neighbours", n // 4, Data(n), Data(n), zero(n), n)
        flat("split_complex", n, Data(2 * n), zero(n), zero(n), n)
        flat("join_complex", n, Data(n), Data(n), zero(2 * n), n, block=512)
        flat("mirror", n, Data(n), zero(n), n)
        flat("mirror_shared", n, Data(n), zero(n), n, block=128, shared=512)
        flat("shuffle_cards", n, Data(n), zero(n), n)
        flat("black_scholes", n // 2, Data(n // 2), Data(n // 2), Data(n // 2), zero(n // 2), zero(n // 2), n // 2)
        flat("odd_even_work", n, Data(n), zero(n), n)
        add("dot_shared", (264,), (256,), Data(n), Data(n), zero(264), n)
        flat("sum_shuffles", n, Data(n), zero(1), n)
        flat("sum_two_at_load", n // 2, Data(n), zero(n // 512), shared=1024)
        flat("scan_in_place", n, Data(n), block=512)
        flat("scan_by_warps", n, Data(n), zero(n), block=1024)
        flat("stencil_1d", n, Data(n), zero(n), n)
        flat("heat_steps", n // 4, Data(n // 4), zero(n // 4), 16)
        flat("fir", n // 4, Data(n // 4 + 32), Data(32), zero(n // 4), n // 4, 31)
        flat("fir_shared", n // 4, Data(n // 4 + 32), Data(32), zero(n // 4), n // 4, 31, shared=4 * (256 + 62))
        flat("move_float3", n // 4, Data(3 * n // 4), Data(3 * n // 4), 0.1, n // 4)
        flat("mat4_products", n // 32, Data(n // 2), Data(n // 2), zero(n // 2), n // 32, block=128)
    for n in (1 << 20, 1 << 23):
        flat("butterfly", n // 2, Data(2 * n), n, 1)
        flat("butterfly", n // 2, Data(2 * n), n, 4096)
        flat("sort_step", n, Data(n), n, 1, 1024, block=512)
        flat("sort_step", n, Data(n), n, 65536, 131072, block=512)
        flat("random_walks", n, zero(n), n, 64)
        flat("small_divisors", n // 4, zero(n // 4), n // 4)
    for rows, cols in ((2048, 1024), (512, 8192)):
        flat("row_sums_thread", rows, Data(rows * cols), zero(rows), rows, cols, block=128)
        flat("column_sums", cols, Data(rows * cols), zero(cols), rows, cols, block=128)
        add("column_sums_strips", (cols // 256, 32), (256,), Data(rows * cols), zero(cols), rows, cols)
        add("layer_norm", (rows,), (256,), Data(rows * cols), zero(rows * cols), cols)
        flat("softmax_by_warp", 32 * rows, Data(rows * cols), zero(rows * cols), rows, cols, block=128)
        flat("matrix_add_row", rows, Data(rows * cols), Data(rows * cols), zero(rows * cols), rows, cols, block=64)
    for n in (1000, 3000):
        plane("matrix_add", n, n, Data(n * n), Data(n * n), zero(n * n), n, n)
        plane("matrix_add_swapped", n, n, Data(n * n), Data(n * n), zero(n * n), n, n, block=(32, 8))
        plane("eliminate", n, n, Data(n * n), n, 10)
        plane("shortest_paths", n, n, Data(n * n), n, 100, block=(32, 32))
        plane("distance_matrix", n, n, Data(16 * n), zero(n * n), n, 16)
    for n in (1024, 3072):
        plane("outer", n, n, Data(n), Data(n), zero(n * n), n, block=(32, 8))
        plane("turn_in_registers", n // 4, n // 4, Data(n * n), zero(n * n), n // 4)
        add("turn_diagonal", (n // 32, n // 32), (32, 16), Data(n * n), zero(n * n), n)
        flat("vector_shared", n, Data(n * n), Data(n), zero(n), n)
        flat("triangle_times_vector", n, Data(n * n), Data(n), zero(n), n, block=64)
        plane("laplace_tile", n, n, Data(n * n), zero(n * n), n)
        plane("julia", n, n, zero(n * n), n, 64)
    for n in (320, 960):
        plane("gemm_guarded", n, n, Data(n * n), Data(n * n), Data(n * n), n, 1.5, 0.5)
        plane("gemm_two_by_two", n // 2, n // 2, Data(n * n), Data(n * n), zero(n * n), n)
    for n in (384, 1152):
        add("gemm_coarse", (n // 128, n // 8), (32, 8), Data(n * n), Data(n * n), zero(n * n), n)
    for n in (96, 200):
        add("laplace_point", (-(-n // 32), -(-n // 8), n), (32, 8, 1), Data(n**3), zero(n**3), n)
        plane("laplace_walk", n, n, Data(n**3), zero(n**3), n, block=(32, 8))
    for w, h in ((1280, 720), (3840, 2160)):
        plane("sobel", w, h, Data(w * h // 4), zero(w * h // 4), w, h)
        plane("gauss_constant", w, h, Data(w * h), zero(w * h), w, h)
        plane("blur_columns", w, h, Data(w * h), zero(w * h), w, h, 7, block=(32, 8))
        plane("grey_struct", w, h, Data(3 * w * h // 4), zero(w * h // 4), w, h, block=(32, 16))
        plane("flip_rows", w, h, Data(w * h), zero(w * h), w, h, block=(32, 32))
        plane("rotate_right", w, h, Data(w * h), zero(w * h), w, h, block=(32, 8))
        plane("resize_linear", w, h, Data(w * h), zero(w * h), w, h, 0.5, block=(32, 8))
    for n in (4096, 16384):
        points = [Data(n)] * 3 + [zero(n)] * 3
        flat("forces_tiled", n, *points, n, block=128)
    return made.all
