"""cuSPARSE through NumPy: products, triangular solutions, conversions and sorts of what descriptors say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import cusparse_descriptors
from grader.programs.runtime.libraries.calls import (
    INVALID_VALUE,
    Array,
    Call,
    Operand,
    Refused,
    served,
    set_stream,
)
from grader.programs.runtime.libraries.cublas_matrices import NO, operand, solve
from grader.programs.runtime.libraries.cusparse_descriptors import (
    NOT_SUPPORTED,
    STATUSES,
    Dense,
    Sparse,
    SparseVector,
    accept,
    check_sizes,
    dense_of,
    elements,
    find,
    get_version,
    spread,
    type_of,
    values_of,
)
from grader.programs.runtime.state import Handlers

# -- products ---------------------------------------------------------------------------------------------


def _times(call: Call, matrix: Sparse, t: int, right: Array, computed: str) -> Array:
    """op(A) times a dense matrix."""
    rows, columns = elements(call, matrix)
    values = values_of(call, matrix)
    call.read(values)
    numbers = values[0].astype(computed)
    if t != NO:
        rows, columns = columns, rows
        numbers = numbers.conj() if t == 2 else numbers
    shape = matrix.shape if t == NO else matrix.shape[::-1]
    if shape[1] != len(right):
        raise Refused(INVALID_VALUE)
    call.work(len(numbers), right.shape[1])
    product = np.zeros((shape[0], right.shape[1]), computed)
    np.add.at(product, rows, numbers[:, None] * right[columns])
    return product


def _store(call: Call, target: Operand, product: Array, alpha: Any, beta: Any) -> None:
    if product.shape != target[0].shape:
        raise Refused(INVALID_VALUE)
    if beta:
        call.read(target)
    call.store(target, alpha * product + beta * target[0] if beta else alpha * product)


def spmv(
    call: Call, t: int, alpha: int, a: int, x: int, beta: int, y: int, compute: int, algorithm: int, buffer: int
) -> None:
    computed = type_of(compute)
    vector, target = find(call, x, Dense).operand(call), find(call, y, Dense).operand(call)
    call.read(vector)
    product = _times(call, find(call, a, Sparse), t, vector[0].astype(computed), computed)
    _store(call, target, product, call.scalar(alpha, computed), call.scalar(beta, computed))


def spmm(call: Call, ta: int, tb: int, alpha: int, a: int, b: int, beta: int, c: int, compute: int, algorithm: int, buffer: int) -> None:  # fmt: skip
    computed = type_of(compute)
    other, target = find(call, b, Dense).operand(call), find(call, c, Dense).operand(call)
    call.read(other)
    product = _times(call, find(call, a, Sparse), ta, operand(other[0], tb).astype(computed), computed)
    _store(call, target, product, call.scalar(alpha, computed), call.scalar(beta, computed))


def sddmm(call: Call, ta: int, tb: int, alpha: int, a: int, b: int, beta: int, c: int, compute: int, algorithm: int, buffer: int) -> None:  # fmt: skip
    computed = type_of(compute)
    first, second, matrix = (
        find(call, a, Dense).operand(call),
        find(call, b, Dense).operand(call),
        find(call, c, Sparse),
    )
    call.read(first, second)
    left, right = operand(first[0], ta).astype(computed), operand(second[0], tb).astype(computed)
    rows, columns = elements(call, matrix)
    if (left.shape[0], right.shape[1]) != matrix.shape or left.shape[1] != right.shape[0]:
        raise Refused(INVALID_VALUE)
    call.work(len(rows), left.shape[1])
    products = np.einsum("ij,ij->i", left[rows], right[:, columns].T)
    _store(call, values_of(call, matrix), products, call.scalar(alpha, computed), call.scalar(beta, computed))


def _solved(call: Call, matrix: Sparse, t: int, right: Array, computed: str) -> Array:
    whole = dense_of(call, matrix, computed)
    triangle = np.tril(whole) if matrix.fill == 0 else np.triu(whole)
    if matrix.diagonal:
        np.fill_diagonal(triangle, 1)
    call.work(len(triangle), len(triangle))
    return solve(operand(triangle, t), right, is_lower=(matrix.fill == 0) == (t == NO))


def spsv(call: Call, t: int, alpha: int, a: int, x: int, y: int, compute: int, algorithm: int, settings: int) -> None:
    computed = type_of(compute)
    vector, target = find(call, x, Dense).operand(call), find(call, y, Dense).operand(call)
    call.read(vector)
    call.store(
        target,
        _solved(call, find(call, a, Sparse), t, call.scalar(alpha, computed) * vector[0].astype(computed), computed),
    )


def spsm(
    call: Call, ta: int, tb: int, alpha: int, a: int, b: int, c: int, compute: int, algorithm: int, settings: int
) -> None:
    computed = type_of(compute)
    other, target = find(call, b, Dense).operand(call), find(call, c, Dense).operand(call)
    call.read(other)
    right = call.scalar(alpha, computed) * operand(other[0], tb).astype(computed)
    call.store(target, _solved(call, find(call, a, Sparse), ta, right, computed))


# -- vectors ------------------------------------------------------------------------------------------------


def _sparse_vector(call: Call, handle: int) -> tuple[Array, Operand]:
    vector = find(call, handle, SparseVector)
    indices = call.array(vector.indices, vector.count, vector.index_type)
    call.read(indices)
    places = indices[0].astype(np.int64) - vector.base
    if len(places) and not 0 <= places.min() <= places.max() < vector.size:
        raise Refused(INVALID_VALUE)
    return places, call.array(vector.values, vector.count, vector.dtype)


def gather(call: Call, y: int, x: int) -> None:
    dense, (places, values) = find(call, y, Dense).operand(call), _sparse_vector(call, x)
    call.read(dense)
    call.store(values, dense[0][places, 0])


def scatter(call: Call, x: int, y: int) -> None:
    dense, (places, values) = find(call, y, Dense).operand(call), _sparse_vector(call, x)
    call.read(values)
    whole = dense[0].copy()
    whole[places, 0] = values[0]
    call.store(dense, whole)


def axpby(call: Call, alpha: int, x: int, beta: int, y: int) -> None:
    descriptor = find(call, y, Dense)
    dense, (places, values) = descriptor.operand(call), _sparse_vector(call, x)
    call.read(values, dense)
    whole = call.scalar(beta, descriptor.dtype) * dense[0]
    np.add.at(whole[:, 0], places, call.scalar(alpha, descriptor.dtype) * values[0])
    call.store(dense, whole)


def spvv(call: Call, t: int, x: int, y: int, result: int, compute: int, buffer: int) -> None:
    dense, (places, values) = find(call, y, Dense).operand(call), _sparse_vector(call, x)
    call.read(values, dense)
    computed = type_of(compute)
    numbers = values[0].astype(computed)
    call.give(result, np.dot(numbers.conj() if t == 2 else numbers, dense[0][places, 0].astype(computed)), computed)


# -- conversions and sorts -----------------------------------------------------------------------------------


def dense_to_sparse_analysis(call: Call, a: int, b: int, algorithm: int, buffer: int) -> None:
    """How many values there will be, and where each row's begin."""
    dense, matrix = find(call, a, Dense).operand(call), find(call, b, Sparse)
    call.read(dense)
    if dense[0].shape != matrix.shape or matrix.kind == "bsr":
        raise Refused(NOT_SUPPORTED)
    taken = dense[0] != 0
    matrix.count = int(taken.sum())
    if matrix.kind != "coo":
        lengths = taken.sum(axis=0 if matrix.kind == "csc" else 1)
        offsets = call.array(matrix.first, len(lengths) + 1, matrix.types[0])
        call.store(offsets, np.concatenate([[0], np.cumsum(lengths)]) + matrix.base)


def dense_to_sparse(call: Call, a: int, b: int, algorithm: int, buffer: int) -> None:
    dense, matrix = find(call, a, Dense).operand(call), find(call, b, Sparse)
    rows, columns = np.nonzero(dense[0])
    if matrix.kind == "csc":
        columns, rows = np.nonzero(dense[0].T)
    if len(rows) != matrix.count:
        raise Refused(INVALID_VALUE)
    if matrix.kind == "coo":
        call.store(call.array(matrix.first, matrix.count, matrix.types[0]), rows + matrix.base)
    others = rows if matrix.kind == "csc" else columns
    call.store(call.array(matrix.second, matrix.count, matrix.types[1]), others + matrix.base)
    call.store(values_of(call, matrix), dense[0][rows, columns])


def sparse_to_dense(call: Call, a: int, b: int, algorithm: int, buffer: int) -> None:
    target = find(call, b, Dense).operand(call)
    call.store(target, dense_of(call, find(call, a, Sparse), target[0].dtype.str[1:]))


def csr_to_csc(call: Call, m: int, n: int, count: int, values: int, offsets: int, columns: int, out: int, out_offsets: int, out_rows: int, dtype: int, action: int, base: int, algorithm: int, buffer: int) -> None:  # fmt: skip
    check_sizes(m, n, count)
    starts, indices = call.array(offsets, m + 1, "i4"), call.array(columns, count, "i4")
    call.read(starts, indices)
    rows, others = spread(call, starts, base, count), indices[0].astype(np.int64) - base
    if len(others) and not 0 <= others.min() <= others.max() < n:
        raise Refused(INVALID_VALUE)
    order = np.argsort(others, kind="stable")
    if action:
        numbers = call.array(values, count, type_of(dtype))
        call.read(numbers)
        call.store(call.array(out, count, type_of(dtype)), numbers[0][order])
    call.store(call.array(out_rows, count, "i4"), rows[order] + base)
    call.store(
        call.array(out_offsets, n + 1, "i4"), np.concatenate([[0], np.cumsum(np.bincount(others, minlength=n))]) + base
    )


def coo_to_csr(call: Call, rows: int, count: int, m: int, offsets: int, base: int) -> None:
    check_sizes(count, m)
    lines = call.array(rows, count, "i4")
    call.read(lines)
    places = lines[0].astype(np.int64) - base
    if len(places) and not 0 <= places.min() <= places.max() < m:
        raise Refused(INVALID_VALUE)
    call.store(
        call.array(offsets, m + 1, "i4"), np.concatenate([[0], np.cumsum(np.bincount(places, minlength=m))]) + base
    )


def csr_to_coo(call: Call, offsets: int, count: int, m: int, rows: int, base: int) -> None:
    check_sizes(count, m)
    starts = call.array(offsets, m + 1, "i4")
    call.read(starts)
    call.store(call.array(rows, count, "i4"), spread(call, starts, base, count) + base)


def identity(call: Call, n: int, permutation: int) -> None:
    call.store(call.array(permutation, n, "i4"), np.arange(n))


def _sort(is_by_row: bool) -> Callable[..., None]:
    def sort(call: Call, m: int, n: int, count: int, rows: int, columns: int, permutation: int, buffer: int) -> None:
        first, second = call.array(rows, count, "i4"), call.array(columns, count, "i4")
        call.read(first, second)
        order = np.lexsort((second[0], first[0]) if is_by_row else (first[0], second[0]))
        if permutation:
            numbers = call.array(permutation, count, "i4")
            call.store(numbers, numbers[0][order])
        call.store(first, first[0][order])
        call.store(second, second[0][order])

    return sort


_BOUND: dict[str, Any] = {
    "cusparseSetStream": set_stream,
    "cusparseSetPointerMode": accept,
    "cusparseGetVersion": get_version,
    "cusparseSpMV": spmv,
    "cusparseSpMM": spmm,
    "cusparseSDDMM": sddmm,
    "cusparseSpSV_solve": spsv,
    "cusparseSpSM_solve": spsm,
    "cusparseGather": gather,
    "cusparseScatter": scatter,
    "cusparseAxpby": axpby,
    "cusparseSpVV": spvv,
    "cusparseDenseToSparse_analysis": dense_to_sparse_analysis,
    "cusparseDenseToSparse_convert": dense_to_sparse,
    "cusparseSparseToDense": sparse_to_dense,
    "cusparseCsr2cscEx2": csr_to_csc,
    "cusparseXcoo2csr": coo_to_csr,
    "cusparseXcsr2coo": csr_to_coo,
    "cusparseCreateIdentityPermutation": identity,
    "cusparseXcoosortByRow": _sort(True),
    "cusparseXcoosortByColumn": _sort(False),
}
HANDLERS: Handlers = {
    **cusparse_descriptors.HANDLERS,
    **{name: served(function, statuses=STATUSES) for name, function in _BOUND.items()},
}
