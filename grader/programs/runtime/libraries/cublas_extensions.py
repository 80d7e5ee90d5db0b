"""cuBLAS's BLAS-like extensions: sums of matrices, batches, factorisations and mixed types; and cuBLASLt, products whose
operands, types, transpositions and last steps descriptors say.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls, cublas_matrices
from grader.programs.runtime.libraries.calls import Array, Call, Operand, Refused
from grader.programs.runtime.libraries.cublas import NOT_SUPPORTED, type_of
from grader.programs.runtime.libraries.cublas_matrices import (
    LEFT,
    NO,
    multiplied,
    operand,
    product_of,
    solve,
    solve_with,
)
from grader.programs.runtime.state import Handlers

MAX_BATCH = 1 << 20
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
        raise Refused(calls.INVALID_VALUE)
    return range(count)


def batch_of(call: Call, count: int, *arrays: int) -> Iterator[tuple[int, ...]]:
    """Return number and operands' addresses of each problem of a batch; arrays: of addresses."""
    return zip(_count(count), *(call.pointers(array, count) for array in arrays), strict=True)


def gemm_batched(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int, count: int) -> None:  # fmt: skip
    factors = call.scalar(alpha), call.scalar(beta)
    for _number, one, other, target in batch_of(call, count, a, b, c):
        product_of(call, (ta, tb), (m, n, k), factors, ((one, lda), (other, ldb), (target, ldc)))


def gemm_strided(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, sa: int, b: int, ldb: int, sb: int, beta: int, c: int, ldc: int, sc: int, count: int) -> None:  # fmt: skip
    width, factors = np.dtype(call.dtype).itemsize, (call.scalar(alpha), call.scalar(beta))
    for number in _count(count):
        shift = number * width
        places = (a + shift * sa, lda), (b + shift * sb, ldb), (c + shift * sc, ldc)
        product_of(call, (ta, tb), (m, n, k), factors, places)


def gemv_batched(call: Call, t: int, m: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int, count: int) -> None:  # fmt: skip
    for _number, one, vector, target in batch_of(call, count, a, x, y):
        cublas_matrices.gemv(call, t, m, n, alpha, one, lda, vector, incx, beta, target, incy)


def gemv_strided(call: Call, t: int, m: int, n: int, alpha: int, a: int, lda: int, sa: int, x: int, incx: int, sx: int, beta: int, y: int, incy: int, sy: int, count: int) -> None:  # fmt: skip
    width = np.dtype(call.dtype).itemsize
    for number in _count(count):
        shift = number * width
        cublas_matrices.gemv(call, t, m, n, alpha, a + shift * sa, lda, x + shift * sx, incx, beta, y + shift * sy, incy)  # fmt: skip


def trsm_batched(call: Call, side: int, fill: int, t: int, unit: int, m: int, n: int, alpha: int, a: int, lda: int, b: int, ldb: int, count: int) -> None:  # fmt: skip
    factor = call.scalar(alpha)
    for _number, one, other in batch_of(call, count, a, b):
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
                raise Refused(calls.INVALID_VALUE)
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
    for number, address in batch_of(call, count, a):
        call.work(n, n, n)
        matrix = call.matrix(address, n, n, lda)
        call.read(matrix)
        factors, order, lacking = factored(matrix[0], is_pivoted=pivots != 0)
        call.store(matrix, factors)
        if pivots:
            call.store(call.array(pivots + 4 * n * number, n, "i4"), order)
        call.store(call.array(info + 4 * number, 1, "i4"), lacking)


def getri_batched(call: Call, n: int, a: int, lda: int, pivots: int, c: int, ldc: int, info: int, count: int) -> None:
    for number, address, out in batch_of(call, count, a, c):
        call.work(n, n, n)
        matrix, target = call.matrix(address, n, n, lda), call.matrix(out, n, n, ldc)
        order = call.array(pivots + 4 * n * number, n, "i4") if pivots else None
        call.read(matrix)
        diagonal = np.flatnonzero(np.diag(matrix[0]) == 0)
        if not len(diagonal):
            call.store(target, solved(matrix[0], order[0] if order else None, np.eye(n, dtype=call.dtype), NO))
        call.store(call.array(info + 4 * number, 1, "i4"), int(diagonal[0]) + 1 if len(diagonal) else 0)


def getrs_batched(call: Call, t: int, n: int, columns: int, a: int, lda: int, pivots: int, b: int, ldb: int, info: int, count: int) -> None:  # fmt: skip
    for number, address, out in batch_of(call, count, a, b):
        call.work(n, n, columns)
        matrix, target = call.matrix(address, n, n, lda), call.matrix(out, n, columns, ldb)
        order = call.array(pivots + 4 * n * number, n, "i4") if pivots else None
        call.read(matrix, target)
        call.store(target, solved(matrix[0], order[0] if order else None, target[0], t))
    call.state.guest.pack("i", info, 0)


def inverse_batched(call: Call, n: int, a: int, lda: int, c: int, ldc: int, info: int, count: int) -> None:
    if n > 32:
        raise Refused(calls.INVALID_VALUE)
    for number, address, out in batch_of(call, count, a, c):
        call.work(n, n, n)
        matrix, target = call.matrix(address, n, n, lda), call.matrix(out, n, n, ldc)
        call.read(matrix)
        factors, order, lacking = factored(matrix[0])
        if not lacking:
            call.store(target, solved(factors, order, np.eye(n, dtype=call.dtype), NO))
        call.store(call.array(info + 4 * number, 1, "i4"), lacking)


# -- mixed types ------------------------------------------------------------------------------------------


def computing(compute: int, result: int) -> str:
    """Return the type that a product is computed in, by `cublasComputeType_t` and the result's `cudaDataType`."""
    computed = calls.one_of(_COMPUTED, NOT_SUPPORTED, compute)
    return (
        {"f4": "c8", "f8": "c16"}.get(computed, computed) if calls.DATA_TYPES.get(result) in ("c8", "c16") else computed
    )


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
    of_a, of_b, of_c = (type_of(kind) for _address, kind, _leading in of)
    alpha, beta = (call.scalar(factor, computed) for factor in factors)
    product_of(call, sizes[:2], sizes[2:], (alpha, beta), (a, b, c), (of_a, of_b, of_c), computed)


def gemm_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int, compute: int, algorithm: int) -> None:  # fmt: skip
    _mixed(call, (ta, tb, m, n, k), (alpha, beta), ((a, at, lda), (b, bt, ldb), (c, ct, ldc)), compute)


def sgemm_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int) -> None:  # fmt: skip
    _mixed(call, (ta, tb, m, n, k), (alpha, beta), ((a, at, lda), (b, bt, ldb), (c, ct, ldc)), 68)


def gemm_batched_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, b: int, bt: int, ldb: int, beta: int, c: int, ct: int, ldc: int, count: int, compute: int, algorithm: int) -> None:  # fmt: skip
    for _number, one, other, target in batch_of(call, count, a, b, c):
        _mixed(call, (ta, tb, m, n, k), (alpha, beta), ((one, at, lda), (other, bt, ldb), (target, ct, ldc)), compute)


def gemm_strided_ex(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, at: int, lda: int, sa: int, b: int, bt: int, ldb: int, sb: int, beta: int, c: int, ct: int, ldc: int, sc: int, count: int, compute: int, algorithm: int) -> None:  # fmt: skip
    widths = [np.dtype(type_of(kind)).itemsize for kind in (at, bt, ct)]
    for number in _count(count):
        one, other, target = (base + number * stride * width for base, stride, width in zip((a, b, c), (sa, sb, sc), widths, strict=True))  # fmt: skip
        _mixed(call, (ta, tb, m, n, k), (alpha, beta), ((one, at, lda), (other, bt, ldb), (target, ct, ldc)), compute)


# -- cuBLASLt ---------------------------------------------------------------------------------------------

_COLUMN, _ROW = 0, 1
_ON_DEVICE = 1
_NO_MEMORY = 3
_RELU, _BIAS, _GELU = 2, 4, 32
_EPILOGUES = {1, _RELU, _BIAS, _RELU | _BIAS, _GELU, _GELU | _BIAS}
_RESULT = struct.Struct("<64xQif16x")
# Attributes by number: name and layout.
_Attributes = Mapping[int, tuple[str, str]]
_OPERATION_HAS: _Attributes = {
    0: ("compute", "i"),
    1: ("scale", "i"),
    2: ("pointer_mode", "i"),
    3: ("ta", "i"),
    4: ("tb", "i"),
    7: ("epilogue", "I"),
    8: ("bias", "Q"),
    10: ("bias_stride", "q"),
    15: ("multiprocessors", "i"),
    25: ("fast", "b"),
    26: ("bias_type", "i"),
    31: ("a_scaled_by", "i"),
    32: ("b_scaled_by", "i"),
    33: ("c_scaled_by", "i"),
    34: ("d_scaled_by", "i"),
}
_LAYOUT_HAS: _Attributes = {
    0: ("type", "i"),
    1: ("order", "i"),
    2: ("rows", "Q"),
    3: ("columns", "Q"),
    4: ("leading", "q"),
    5: ("batch", "i"),
    6: ("stride", "q"),
}
# What a preference says chooses among ways to the same result, and is kept to be asked for.
_PREFERENCE_HAS: _Attributes = {
    0: ("search", "I"),
    1: ("workspace", "Q"),
    3: ("reductions", "I"),
    5: ("align_a", "I"),
    6: ("align_b", "I"),
    7: ("align_c", "I"),
    8: ("align_d", "I"),
    9: ("waves", "f"),
    12: ("ways", "Q"),
}


def create_lt(call: Call, handle: int) -> None:
    calls.new_handle(call.state, handle, {"kind": "lt"}, _NO_MEMORY)


def _operation(call: Call, compute: int, scale: int) -> dict[str, Any]:
    return {"kind": "operation", "compute": compute, "scale": scale, "epilogue": 1, "bias_type": -1}


def _layout(call: Call, kind: int, rows: int, columns: int, leading: int) -> dict[str, Any]:
    return {"kind": "layout", "type": kind, "rows": rows, "columns": columns, "leading": leading, "batch": 1}


def _preference(call: Call) -> dict[str, Any]:
    return {"kind": "preference"}


def _attribute(attributes: _Attributes, which: int, size: int) -> tuple[str, str]:
    if which not in attributes:
        raise Refused(NOT_SUPPORTED)
    name, layout = attributes[which]
    if size < struct.calcsize(layout):
        raise Refused(calls.INVALID_VALUE)
    return name, layout


def _setter(attributes: _Attributes) -> Callable[..., None]:
    def set_attribute(call: Call, which: int, value: int, size: int) -> None:
        name, layout = _attribute(attributes, which, size)
        (call.handle[name],) = struct.unpack("<" + layout, call.state.guest.read(value, struct.calcsize(layout)))

    return set_attribute


def _getter(attributes: _Attributes) -> Callable[..., None]:
    def get_attribute(call: Call, which: int, value: int, size: int, written: int) -> None:
        name, layout = _attribute(attributes, which, size)
        call.state.guest.pack(layout, value, call.handle.get(name, 0))
        if written:
            call.state.guest.pack("Q", written, struct.calcsize(layout))

    return get_attribute


def heuristic(call: Call, operation: int, a: int, b: int, c: int, d: int, preference: int, asked: int, results: int, count: int) -> None:  # fmt: skip
    """One way, which wants no memory."""
    layouts = [_record(call, handle, "layout") for handle in (a, b, c, d)]
    _extents(_record(call, operation, "operation"), *layouts)
    _record(call, preference, "preference")
    if asked < 1:
        raise Refused(calls.INVALID_VALUE)
    call.state.guest.write(results, _RESULT.pack(0, 0, 1.0))
    call.state.guest.pack("i", count, 1)


def _record(call: Call, handle: int, kind: str) -> dict[str, Any]:
    record = call.state.libraries.get(handle)
    if record is None or record.get("kind") != kind:
        raise Refused(calls.INVALID_VALUE)
    return record


def _extents(operation: Mapping[str, Any], a: Any, b: Any, c: Any, d: Any) -> tuple[int, int, int]:
    """Return m, n and k.  Raises Refused where operands do not fit, or what is asked for is not calls.served."""
    ta, tb = operation.get("ta", NO), operation.get("tb", NO)
    m, k = (a["rows"], a["columns"]) if ta == NO else (a["columns"], a["rows"])
    inner, n = (b["rows"], b["columns"]) if tb == NO else (b["columns"], b["rows"])
    if inner != k or any((x["rows"], x["columns"]) != (m, n) for x in (c, d)) or len({x["batch"] for x in (a, b, c, d)}) > 1:  # fmt: skip
        raise Refused(calls.INVALID_VALUE)
    is_served = (
        operation["epilogue"] in _EPILOGUES
        and operation.get("pointer_mode", 0) <= _ON_DEVICE
        and operation["scale"] in calls.DATA_TYPES
        and not any(operation.get(f"{matrix}_scaled_by", 0) for matrix in "abcd")
        and all(x["type"] in calls.DATA_TYPES and x.get("order", _COLUMN) in (_COLUMN, _ROW) for x in (a, b, c, d))
    )
    if not is_served:
        raise Refused(NOT_SUPPORTED)
    return m, n, k


def _matrices(call: Call, address: int, layout: Mapping[str, Any]) -> Iterator[Operand]:
    """Yield the matrix of each problem of a batch as (rows, columns), whatever its order in memory."""
    kind = calls.DATA_TYPES[layout["type"]]
    if not 1 <= layout["batch"] <= MAX_BATCH:
        raise Refused(calls.INVALID_VALUE)
    for number in range(layout["batch"]):
        at = address + number * layout.get("stride", 0) * np.dtype(kind).itemsize
        if layout.get("order", _COLUMN) == _ROW:
            stored, buffer = call.matrix(at, layout["columns"], layout["rows"], layout["leading"], kind)
            yield stored.T, buffer
        else:
            yield call.matrix(at, layout["rows"], layout["columns"], layout["leading"], kind)


def _finished(call: Call, operation: Mapping[str, Any], value: Array, kind: str, number: int) -> Array:
    """Return a product after its epilogue: a bias for each row, ReLU or GELU."""
    if operation["epilogue"] & _BIAS:
        given = operation["bias_type"]
        dtype = kind if given == -1 else calls.DATA_TYPES.get(given, "")
        if not dtype:
            raise Refused(NOT_SUPPORTED)
        at = operation.get("bias", 0) + number * operation.get("bias_stride", 0) * np.dtype(dtype).itemsize
        bias = call.array(at, len(value), dtype)
        call.read(bias)
        value = value + bias[0].astype(value.dtype)[:, None]
    if operation["epilogue"] & _RELU:
        value = np.maximum(value, 0)
    if operation["epilogue"] & _GELU:
        value = 0.5 * value * (1 + np.tanh(np.sqrt(2 / np.pi).astype(value.dtype) * (value + 0.044715 * value**3)))
    return value


def product(call: Call, operation: int, alpha: int, a: int, la: int, b: int, lb: int, beta: int, c: int, lc: int, d: int, ld: int, algorithm: int, workspace: int, size: int, stream: int) -> None:  # fmt: skip
    """D = last step of (alpha op(A) op(B) + beta C)."""
    of = _record(call, operation, "operation")
    layouts = [_record(call, handle, "layout") for handle in (la, lb, lc, ld)]
    m, n, k = _extents(of, *layouts)
    if bool(of["epilogue"] & _BIAS) != bool(of.get("bias", 0)):
        # As the library of CUDA 13 has it: a bias that the last step does not add is an error, too.
        raise Refused(calls.INVALID_VALUE)
    scale = calls.DATA_TYPES[of["scale"]]
    factor, old = call.scalar(alpha, scale), call.scalar(beta, scale)
    computed = computing(of["compute"], layouts[3]["type"])
    call.products(layouts[3]["batch"], m, n, k)
    places = [_matrices(call, address, layout) for address, layout in zip((a, b, c, d), layouts, strict=True)]
    for number, (left, right, before, target) in enumerate(zip(*places, strict=True)):
        call.read(left, right, *([before] if old else []))
        result = multiplied(operand(left[0], of.get("ta", NO)), operand(right[0], of.get("tb", NO)), computed)
        value = result * factor.astype(result.dtype)
        if old:
            value = value + old.astype(result.dtype) * before[0].astype(result.dtype)
        call.store(target, _finished(call, of, value, calls.DATA_TYPES[layouts[3]["type"]], number))


def _object(name: str, attributes: _Attributes, fields_of: Callable[..., dict[str, Any]], count: int) -> Handlers:
    """fields_of: of an object that is made by so many numbers."""

    def create(call: Call, pointer: int, *values: int) -> None:
        calls.new_handle(call.state, pointer, fields_of(call, *values), _NO_MEMORY)

    def place(call: Call, pointer: int, *values: int) -> None:
        # The object lies with the program: its address is its handle.
        if len(call.state.libraries) >= calls.MAX_HANDLES:
            raise Refused(_NO_MEMORY)
        call.state.libraries[pointer] = fields_of(call, *values)

    return {
        f"{name}Create": ("i" * (1 + count), calls.served(create, is_bound=False)[1]),
        f"{name}Init": ("i" * (1 + count), calls.served(place, is_bound=False)[1]),
        f"{name}Destroy": calls.served(calls.destroy, is_bound=False),
        f"{name}SetAttribute": calls.served(_setter(attributes)),
        f"{name}GetAttribute": calls.served(_getter(attributes)),
    }


HANDLERS: Handlers = {
    **calls.of_types("cublas", "geam", geam, calls.ALL),
    **calls.of_types("cublas", "dgmm", dgmm, calls.ALL),
    **calls.of_types("cublas", "gemmBatched", gemm_batched, calls.ALL | {"H": "f2"}),
    **calls.of_types("cublas", "gemmStridedBatched", gemm_strided, calls.ALL | {"H": "f2"}),
    **calls.of_types("cublas", "gemm3mStridedBatched", gemm_strided, calls.COMPLEX),
    **calls.of_types("cublas", "gemvBatched", gemv_batched, calls.ALL),
    **calls.of_types("cublas", "gemvStridedBatched", gemv_strided, calls.ALL),
    **calls.of_types("cublas", "trsmBatched", trsm_batched, calls.ALL),
    **calls.of_types("cublas", "getrfBatched", getrf_batched, calls.ALL),
    **calls.of_types("cublas", "getriBatched", getri_batched, calls.ALL),
    **calls.of_types("cublas", "getrsBatched", getrs_batched, calls.ALL),
    **calls.of_types("cublas", "matinvBatched", inverse_batched, calls.ALL),
    "cublasGemmEx": calls.served(gemm_ex),
    "cublasGemmBatchedEx": calls.served(gemm_batched_ex),
    "cublasGemmStridedBatchedEx": calls.served(gemm_strided_ex),
    "cublasSgemmEx": calls.served(sgemm_ex),
    "cublasLtCreate": calls.served(create_lt, is_bound=False),
    "cublasLtDestroy": calls.served(calls.destroy, is_bound=False),
    **_object("cublasLtMatmulDesc", _OPERATION_HAS, _operation, 2),
    **_object("cublasLtMatrixLayout", _LAYOUT_HAS, _layout, 4),
    **_object("cublasLtMatmulPreference", _PREFERENCE_HAS, _preference, 0),
    "cublasLtMatmulAlgoGetHeuristic": calls.served(heuristic),
    "cublasLtMatmul": calls.served(product),
}
