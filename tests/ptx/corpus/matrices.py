"""Products of matrices on tensor cores, of whole numbers: whatever is added first, the sums are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from tests.ptx.corpus.case import Argument, Array, Case

F16, F32, I32 = np.float16, np.float32, np.int32


def bf16(values: Array) -> Array:
    """Whole numbers up to 256 as bit patterns."""
    return (values.astype(F32).view(np.uint32) >> 16).astype(np.uint16)


def f16_bits(values: Array) -> Array:
    return values.astype(F16).view(np.uint16)


def tf32(values: Array) -> Array:
    """With bits that do not count."""
    return values.astype(F32).view(np.uint32) | np.uint32(0x1FFF)


def small(
    a: tuple[int, int], b: tuple[int, int], code: Callable[[Array], Array], sums: type = F32
) -> Callable[[np.random.Generator], list[Argument]]:
    """Whole numbers, in the code of the factors, and in that of the sums."""

    def make(rng: np.random.Generator) -> list[Argument]:
        left, right, start = (rng.integers(-9, 9, shape) for shape in (a, b, (a[0], b[1])))
        return [code(left), code(right), start.astype(sums) if sums is not F16 else f16_bits(start)]

    return make


def decoded(code: Array) -> Array:
    if code.dtype == np.uint32:
        return (code & np.uint32(0xFFFFE000)).view(F32)
    return code


def product(decode: Callable[[Array], Array], sums: Callable[[Array], Array] = lambda x: x.astype(F32)) -> Any:
    def oracle(given: Sequence[Any]) -> dict[int, Array]:
        a, b = (decode(x).astype(np.float64) for x in given[:2])
        start = given[2] if given[2].dtype != np.uint16 else given[2].view(F16)
        return {2: sums(a @ b + start)}

    return oracle


def tiles(given: Sequence[Any]) -> dict[int, Array]:
    a, b = (x.astype(np.float64) for x in given[:2])
    return {2: (2 * a @ b.T).astype(F32)}


def long_ones(given: Sequence[Any]) -> dict[int, Array]:
    a, b, c = (x.astype(np.float64) for x in given)
    wide = a.reshape(16, 8).T @ b.reshape(16, 32) + c[:256].reshape(8, 32)
    tall = b.reshape(32, 16) @ a.reshape(8, 16).T + c[256:].reshape(8, 32).T
    return {2: np.concatenate([wide.ravel(), tall.T.ravel()]).astype(F16)}


def halves(*shapes: int | tuple[int, int]) -> Callable[[np.random.Generator], list[Argument]]:
    return lambda rng: [rng.integers(-4, 5, shape).astype(F16) for shape in shapes]


def tile_arguments(rng: np.random.Generator) -> list[Argument]:
    return [*halves((32, 48), (32, 48))(rng), np.zeros((32, 32), F32)]


def byte_arguments(rng: np.random.Generator) -> list[Argument]:
    return [
        rng.integers(-128, 128, (16, 32)).astype(np.int8),
        rng.integers(0, 256, (32, 8)).astype(np.uint8),
        rng.integers(-(2**20), 2**20, (16, 8)).astype(I32),
    ]


def matrices(name: str, arguments: Any, oracle: Any, grid: tuple[int, ...] = (1,), block: int = 32) -> Case:
    return Case(name, "matrices.cu", name, grid, (block,), arguments, oracle, options=("headers",))


def of_half(code: Array) -> Array:
    return code.view(F16)


def of_bf16(code: Array) -> Array:
    return (code.astype(np.uint32) << 16).view(F32)


def doubles(rng: np.random.Generator) -> list[Argument]:
    return [rng.normal(0, 1, (8, 4)), rng.normal(0, 1, (4, 8)), rng.normal(0, 1, (8, 8)), np.zeros((8, 8))]


def fused(given: Sequence[Any]) -> dict[int, Array]:
    """Product by product, rounded once each, by exact arithmetic."""
    a, b, c = given[:3]
    sums = c.copy()
    for i in range(8):
        for j in range(8):
            for k in range(4):
                sums[i, j] = float(Fraction(a[i, k]) * Fraction(b[k, j]) + Fraction(sums[i, j]))
    return {3: sums}


CASES = [
    matrices("mma_f64", doubles, fused),
    matrices("wmma_tiles", tile_arguments, tiles, (2, 2)),
    matrices("wmma_long", halves(128, 512, 512), long_ones, block=64),
    matrices("mma_f16_k8", small((16, 8), (8, 8), f16_bits), product(of_half)),
    matrices("mma_f16_k16", small((16, 16), (16, 8), f16_bits), product(of_half)),
    matrices("mma_bf16_k16", small((16, 16), (16, 8), bf16), product(of_bf16)),
    matrices("mma_half_sums", small((16, 16), (16, 8), f16_bits, F16), product(of_half, f16_bits)),
    matrices("mma_tf32_k8", small((16, 8), (8, 8), tf32), product(decoded)),
    matrices("mma_bytes", byte_arguments, product(lambda x: x, lambda x: x.astype(I32))),
]
