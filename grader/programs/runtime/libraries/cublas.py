"""cuBLAS through NumPy: handles, what it has beyond BLAS, and its calls for batches and mixed types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import cublas_matrices, cublas_vectors
from grader.programs.runtime.libraries.calls import (
    INVALID_VALUE,
    Array,
    Call,
    Operand,
    Refused,
    new_handle,
    of_types,
    served,
)
from grader.programs.runtime.libraries.cublas_matrices import LEFT, NO, operand, product_of, solve, solve_with
from grader.programs.runtime.libraries.cublas_vectors import ALL, COMPLEX
from grader.programs.runtime.state import Handlers

VERSION = 130_000
NOT_SUPPORTED = 15
MAX_BATCH = 1 << 20
# `cudaDataType` as NumPy has it; what is not in it, bfloat16 and 8-bit floats, NumPy has not.
DATA_TYPES = {0: "f4", 1: "f8", 2: "f2", 3: "i1", 4: "c8", 5: "c16", 8: "u1", 10: "i4"}
# `cublasComputeType_t`: what products and factors are of.
_COMPUTED = {
    64: "f2",
    65: "f2",
    68: "f4",
    69: "f4",
    70: "f8",
    71: "f8",
    72: "i4",
    73: "i4",
    74: "f4",
    75: "f4",
    77: "f4",
}


def create(call: Call, handle: int) -> None:
    new_handle(call.state, handle, {"pointer_mode": 0, "stream": 0, "math": 0}, 3)


def destroy(state_call: Call, handle: int) -> int:
    return 0 if state_call.state.libraries.pop(handle, None) is not None else 1


def _set(name: str) -> Callable[..., None]:
    def setter(call: Call, value: int) -> None:
        call.handle[name] = value

    return setter


def _get(name: str, layout: str) -> Callable[..., None]:
    def getter(call: Call, pointer: int) -> None:
        call.state.guest.pack(layout, pointer, call.handle.get(name, 0))

    return getter


def version(call: Call, pointer: int) -> None:
    call.state.guest.pack("i", pointer, VERSION)


def workspace(call: Call, address: int, size: int) -> None:
    """It is the library's to use, and of no use here."""
    if address % 256:
        raise Refused(INVALID_VALUE)


def geam(call: Call, ta: int, tb: int, m: int, n: int, alpha: int, a: int, lda: int, beta: int, b: int, ldb: int, c: int, ldc: int) -> None:  # fmt: skip
    call.work(m, n)
    target, total = call.matrix(c, m, n, ldc), np.zeros((m, n), call.dtype)
    for scale, t, address, leading in ((call.scalar(alpha), ta, a, lda), (call.scalar(beta), tb, b, ldb)):
        if scale:
            matrix = call.matrix(address, *((m, n) if t == NO else (n, m)), leading)
            call.read(matrix)
            total = total + scale * operand(matrix[0], t)
    call.store(target, total)


def dgmm(call: Call, side: int, m: int, n: int, a: int, lda: int, x: int, incx: int, c: int, ldc: int) -> None:
    call.work(m, n)
    matrix, target = call.matrix(a, m, n, lda), call.matrix(c, m, n, ldc)
    vector = call.vector(x, m if side == LEFT else n, incx)
    call.read(matrix, vector)
    call.store(target, matrix[0] * (vector[0][:, None] if side == LEFT else vector[0][None, :]))


# -- batches ------------------------------------------------------------------------------------------


def _count(count: int) -> range:
    if not 0 <= count <= MAX_BATCH:
        raise Refused(INVALID_VALUE)
    return range(count)


def gemm_batched(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int, count: int) -> None:  # fmt: skip
    of = [call.pointers(address, len(_count(count))) for address in (a, b, c)]
    factors = call.scalar(alpha), call.scalar(beta)
    for one, other, target in zip(*of, strict=True):
        product_of(call, (ta, tb), (m, n, k), factors, ((one, lda), (other, ldb), (target, ldc)))


def gemm_strided(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, sa: int, b: int, ldb: int, sb: int, beta: int, c: int, ldc: int, sc: int, count: int) -> None:  # fmt: skip
    width, factors = np.dtype(call.dtype).itemsize, (call.scalar(alpha), call.scalar(beta))
    for number in _count(count):
        shift = number * width
        places = (a + shift * sa, lda), (b + shift * sb, ldb), (c + shift * sc, ldc)
        product_of(call, (ta, tb), (m, n, k), factors, places)


def gemv_batched(call: Call, t: int, m: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int, count: int) -> None:  # fmt: skip
    of = [call.pointers(address, len(_count(count))) for address in (a, x, y)]
    for one, vector, target in zip(*of, strict=True):
        cublas_matrices.gemv(call, t, m, n, alpha, one, lda, vector, incx, beta, target, incy)


def gemv_strided(call: Call, t: int, m: int, n: int, alpha: int, a: int, lda: int, sa: int, x: int, incx: int, sx: int, beta: int, y: int, incy: int, sy: int, count: int) -> None:  # fmt: skip
    width = np.dtype(call.dtype).itemsize
    for number in _count(count):
        shift = number * width
        cublas_matrices.gemv(call, t, m, n, alpha, a + shift * sa, lda, x + shift * sx, incx, beta, y + shift * sy, incy)  # fmt: skip


def trsm_batched(call: Call, side: int, fill: int, t: int, unit: int, m: int, n: int, alpha: int, a: int, lda: int, b: int, ldb: int, count: int) -> None:  # fmt: skip
    factor = call.scalar(alpha)
    for one, other in zip(call.pointers(a, len(_count(count))), call.pointers(b, count), strict=True):
        solve_with(call, side, (fill, t, unit), (m, n), factor, (one, lda), (other, ldb))


def factored(matrix: Array, *, is_pivoted: bool = True) -> tuple[Array, Array, int]:
    """L and U of a matrix in one, the rows exchanged at each step from 1 on, and the first step without a pivot or 0."""
    factors = np.array(matrix, copy=True)
    rows, columns = factors.shape
    steps = min(rows, columns)
    pivots, lacking = np.arange(1, steps + 1), 0
    for step in range(steps):
        if is_pivoted:
            best = step + int(np.argmax(np.abs(factors[step:, step].real) + np.abs(factors[step:, step].imag)))
            pivots[step] = best + 1
            if best != step:
                factors[[step, best]] = factors[[best, step]]
        if factors[step, step] == 0:
            lacking = lacking or step + 1
            continue
        factors[step + 1 :, step] /= factors[step, step]
        factors[step + 1 :, step + 1 :] -= np.outer(factors[step + 1 :, step], factors[step, step + 1 :])
    return factors, pivots, lacking


def exchanged(right: Array, pivots: Array | None, *, is_back: bool = False) -> Array:
    """Rows exchanged as a factorisation did, or back."""
    permuted = np.array(right, copy=True)
    if pivots is not None:
        order = range(len(pivots) - 1, -1, -1) if is_back else range(len(pivots))
        for row in order:
            other = int(pivots[row]) - 1
            if not 0 <= other < len(permuted):
                raise Refused(INVALID_VALUE)
            if other != row:
                permuted[[row, other]] = permuted[[other, row]]
    return permuted


def solved(factors: Array, pivots: Array | None, right: Array, t: int) -> Array:
    """op(A) x = right, by the factors of A."""
    lower = np.tril(factors, -1) + np.eye(len(factors), dtype=factors.dtype)
    upper = np.triu(factors)
    if t == NO:
        return solve(upper, solve(lower, exchanged(right, pivots), is_lower=True), is_lower=False)
    first = solve(operand(upper, t), right, is_lower=True)
    return exchanged(solve(operand(lower, t), first, is_lower=False), pivots, is_back=True)


def getrf_batched(call: Call, n: int, a: int, lda: int, pivots: int, info: int, count: int) -> None:
    for number, address in enumerate(call.pointers(a, len(_count(count)))):
        call.work(n, n, n)
        matrix = call.matrix(address, n, n, lda)
        call.read(matrix)
        factors, order, lacking = factored(matrix[0], is_pivoted=pivots != 0)
        call.store(matrix, factors)
        if pivots:
            call.store(call.array(pivots + 4 * n * number, n, "i4"), order)
        call.store(call.array(info + 4 * number, 1, "i4"), lacking)


def getri_batched(call: Call, n: int, a: int, lda: int, pivots: int, c: int, ldc: int, info: int, count: int) -> None:
    for number, (address, out) in enumerate(zip(call.pointers(a, len(_count(count))), call.pointers(c, count), strict=True)):  # fmt: skip
        call.work(n, n, n)
        matrix, target = call.matrix(address, n, n, lda), call.matrix(out, n, n, ldc)
        order = call.array(pivots + 4 * n * number, n, "i4") if pivots else None
        call.read(matrix)
        diagonal = np.flatnonzero(np.diag(matrix[0]) == 0)
        if not len(diagonal):
            call.store(target, solved(matrix[0], order[0] if order else None, np.eye(n, dtype=call.dtype), NO))
        call.store(call.array(info + 4 * number, 1, "i4"), int(diagonal[0]) + 1 if len(diagonal) else 0)


def getrs_batched(call: Call, t: int, n: int, columns: int, a: int, lda: int, pivots: int, b: int, ldb: int, info: int, count: int) -> None:  # fmt: skip
    for number, (address, out) in enumerate(zip(call.pointers(a, len(_count(count))), call.pointers(b, count), strict=True)):  # fmt: skip
        call.work(n, n, columns)
        matrix, target = call.matrix(address, n, n, lda), call.matrix(out, n, columns, ldb)
        order = call.array(pivots + 4 * n * number, n, "i4") if pivots else None
        call.read(matrix, target)
        call.store(target, solved(matrix[0], order[0] if order else None, target[0], t))
    call.state.guest.pack("i", info, 0)


def inverse_batched(call: Call, n: int, a: int, lda: int, c: int, ldc: int, info: int, count: int) -> None:
    if n > 32:
        raise Refused(INVALID_VALUE)
    for number, (address, out) in enumerate(zip(call.pointers(a, len(_count(count))), call.pointers(c, count), strict=True)):  # fmt: skip
        call.work(n, n, n)
        matrix, target = call.matrix(address, n, n, lda), call.matrix(out, n, n, ldc)
        call.read(matrix)
        factors, order, lacking = factored(matrix[0])
        if not lacking:
            call.store(target, solved(factors, order, np.eye(n, dtype=call.dtype), NO))
        call.store(call.array(info + 4 * number, 1, "i4"), lacking)


# -- mixed types ------------------------------------------------------------------------------------------


def _type(number: int) -> str:
    if number not in DATA_TYPES:
        raise Refused(NOT_SUPPORTED)
    return DATA_TYPES[number]


def computing(compute: int, result: int) -> str:
    """The type that a product is computed in, by `cublasComputeType_t` and the `cudaDataType` of the result."""
    if compute not in _COMPUTED:
        raise Refused(NOT_SUPPORTED)
    computed = _COMPUTED[compute]
    return {"f4": "c8", "f8": "c16"}.get(computed, computed) if DATA_TYPES.get(result) in ("c8", "c16") else computed


def _mixed(
    call: Call,
    sizes: tuple[int, int, int, int, int],
    factors: tuple[int, int],
    of: tuple[tuple[int, int, int], ...],
    compute: int,
) -> None:
    """of: address, `cudaDataType` and leading dimension of each operand."""
    computed = computing(compute, of[2][1])
    a, b, c = ((address, leading) for address, _kind, leading in of)
    of_a, of_b, of_c = (_type(kind) for _address, kind, _leading in of)
    alpha, beta = (call.scalar(factor, computed) for factor in factors)
    product_of(call, sizes[:2], sizes[2:], (alpha, beta), (a, b, c), (of_a, of_b, of_c), computed)


def gemm_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int, compute: int, algorithm: int) -> None:  # fmt: skip
    _mixed(call, (ta, tb, m, n, k), (alpha, beta), ((a, at, lda), (b, bt, ldb), (c, ct, ldc)), compute)


def sgemm_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int) -> None:  # fmt: skip
    _mixed(call, (ta, tb, m, n, k), (alpha, beta), ((a, at, lda), (b, bt, ldb), (c, ct, ldc)), 68)


def gemm_batched_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int, count: int, compute: int, algorithm: int) -> None:  # fmt: skip
    of = [call.pointers(address, len(_count(count))) for address in (a, b, c)]
    for one, other, target in zip(*of, strict=True):
        _mixed(call, (ta, tb, m, n, k), (alpha, beta), ((one, at, lda), (other, bt, ldb), (target, ct, ldc)), compute)


def gemm_strided_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, sa: int, b: int, bt: int, ldb: int, sb: int, beta: int, c: int, ct: int, ldc: int, sc: int, count: int, compute: int, algorithm: int) -> None:  # fmt: skip
    widths = [np.dtype(_type(kind)).itemsize for kind in (at, bt, ct)]
    for number in _count(count):
        one, other, target = (base + number * stride * width for base, stride, width in zip((a, b, c), (sa, sb, sc), widths, strict=True))  # fmt: skip
        _mixed(call, (ta, tb, m, n, k), (alpha, beta), ((one, at, lda), (other, bt, ldb), (target, ct, ldc)), compute)


def _vector(call: Call, address: int, n: int, kind: int, step: int) -> Operand:
    return call.vector(address, n, step, _type(kind))


def dot_ex(call: Call, n: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int, out: int, rt: int, et: int) -> None:  # fmt: skip
    first, second = _vector(call, x, n, xt, incx), _vector(call, y, n, yt, incy)
    call.read(first, second)
    call.give(out, np.dot(first[0].astype(_type(et)), second[0].astype(_type(et))), _type(rt))


def dotc_ex(call: Call, n: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int, out: int, rt: int, et: int) -> None:  # fmt: skip
    first, second = _vector(call, x, n, xt, incx), _vector(call, y, n, yt, incy)
    call.read(first, second)
    call.give(out, np.dot(first[0].conj().astype(_type(et)), second[0].astype(_type(et))), _type(rt))


def axpy_ex(call: Call, n: int, alpha: int, alpha_type: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int, et: int) -> None:  # fmt: skip
    source, target = _vector(call, x, n, xt, incx), _vector(call, y, n, yt, incy)
    call.read(source, target)
    call.store(target, target[0].astype(_type(et)) + call.scalar(alpha, _type(alpha_type)) * source[0])


def scal_ex(call: Call, n: int, alpha: int, alpha_type: int, x: int, xt: int, incx: int, et: int) -> None:
    target = _vector(call, x, n, xt, incx)
    call.read(target)
    call.store(target, target[0].astype(_type(et)) * call.scalar(alpha, _type(alpha_type)))


def norm_ex(call: Call, n: int, x: int, xt: int, incx: int, out: int, rt: int, et: int) -> None:
    vector = _vector(call, x, n, xt, incx)
    call.read(vector)
    call.give(out, np.linalg.norm(vector[0].astype(_type(et))) if n else 0, _type(rt))


def rot_ex(call: Call, n: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int, c: int, s: int, cs: int, et: int) -> None:  # fmt: skip
    first, second = _vector(call, x, n, xt, incx), _vector(call, y, n, yt, incy)
    call.read(first, second)
    cosine, sine, before = call.scalar(c, _type(cs)), call.scalar(s, _type(cs)), first[0].astype(_type(et))
    call.store(first, cosine * before + sine * second[0])
    call.store(second, cosine * second[0].astype(_type(et)) - np.conj(sine) * before)


_SETTINGS: dict[str, Any] = {
    "cublasSetStream": _set("stream"),
    "cublasSetMathMode": _set("math"),
    "cublasSetPointerMode": _set("pointer_mode"),
    "cublasSetAtomicsMode": _set("atomics"),
    "cublasSetSmCountTarget": _set("multiprocessors"),
    "cublasGetStream": _get("stream", "Q"),
    "cublasGetMathMode": _get("math", "i"),
    "cublasGetPointerMode": _get("pointer_mode", "i"),
    "cublasGetAtomicsMode": _get("atomics", "i"),
    "cublasGetVersion": version,
    "cublasSetWorkspace": workspace,
    "cublasGemmEx": gemm_ex,
    "cublasGemmBatchedEx": gemm_batched_ex,
    "cublasGemmStridedBatchedEx": gemm_strided_ex,
    "cublasDotEx": dot_ex,
    "cublasDotcEx": dotc_ex,
    "cublasAxpyEx": axpy_ex,
    "cublasScalEx": scal_ex,
    "cublasNrm2Ex": norm_ex,
    "cublasRotEx": rot_ex,
    "cublasSgemmEx": sgemm_ex,
}
HANDLERS: Handlers = {
    **cublas_vectors.HANDLERS,
    **cublas_matrices.HANDLERS,
    "cublasCreate": served(create, is_bound=False),
    "cublasDestroy": served(destroy, is_bound=False),
    **{name: served(function) for name, function in _SETTINGS.items()},
    **of_types("cublas", "geam", geam, ALL),
    **of_types("cublas", "dgmm", dgmm, ALL),
    **of_types("cublas", "gemmBatched", gemm_batched, ALL | {"H": "f2"}),
    **of_types("cublas", "gemmStridedBatched", gemm_strided, ALL | {"H": "f2"}),
    **of_types("cublas", "gemm3mStridedBatched", gemm_strided, COMPLEX),
    **of_types("cublas", "gemvBatched", gemv_batched, ALL),
    **of_types("cublas", "gemvStridedBatched", gemv_strided, ALL),
    **of_types("cublas", "trsmBatched", trsm_batched, ALL),
    **of_types("cublas", "getrfBatched", getrf_batched, ALL),
    **of_types("cublas", "getriBatched", getri_batched, ALL),
    **of_types("cublas", "getrsBatched", getrs_batched, ALL),
    **of_types("cublas", "matinvBatched", inverse_batched, ALL),
}
