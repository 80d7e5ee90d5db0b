"""cuSPARSE's products: of sparse matrices by vectors and dense ones, of dense ones where a sparse one has places, and
of sparse by sparse ones: how many values there are, where they lie, what they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused, Served
from grader.programs.runtime.libraries.cublas_matrices import NO, operand
from grader.programs.runtime.libraries.cusparse import (
    NOT_SUPPORTED,
    STATUSES,
    Dense,
    Sparse,
    dense_of,
    elements,
    find,
    row_starts,
    type_of,
    values_of,
)
from grader.programs.runtime.state import Handlers

_INSUFFICIENT_RESOURCES = 11
_MAX_TERMS = 1 << 27
"""Products of two values, of all that are added up."""


def _times(call: Call, matrix: Sparse, t: int, right: Array, computed: str) -> Array:
    """Return op(A) times a dense matrix."""
    rows, columns = elements(call, matrix)
    values = values_of(call, matrix)
    call.read(values)
    numbers = values[0].astype(computed)
    if t != NO:
        rows, columns = columns, rows
        numbers = numbers.conj() if t == 2 else numbers
    shape = matrix.shape if t == NO else matrix.shape[::-1]
    if shape[1] != len(right):
        raise Refused(calls.INVALID_VALUE)
    call.work(len(numbers), right.shape[1])
    product = np.zeros((shape[0], right.shape[1]), computed)
    np.add.at(product, rows, numbers[:, None] * right[columns])
    return product


def _of_batch(matrix: Sparse, number: int) -> Sparse:
    """Return the matrix of a number, where there are several."""
    if not number or matrix.batches == 1:
        return matrix
    indices, values = np.dtype(matrix.types[0]).itemsize, np.dtype(matrix.dtype).itemsize
    first, step = matrix.strides[0] * indices, matrix.strides[1]
    return replace(
        matrix,
        first=matrix.first + number * first,
        second=matrix.second + number * step * np.dtype(matrix.types[1]).itemsize,
        values=matrix.values + number * step * values,
    )


def _store(call: Call, target: Operand, product: Array, alpha: Any, beta: Any) -> None:
    if product.shape != target[0].shape:
        raise Refused(calls.INVALID_VALUE)
    if beta:
        call.read(target)
    call.store(target, alpha * product + beta * target[0] if beta else alpha * product)


@calls.takes("ta tb alpha a b beta c compute algorithm buffer")
def spmm(call: Call, args: Arguments) -> None:
    computed = type_of(args.compute)
    for number in range(find(call, args.c, Dense).batches):
        other, target = dense_of(call, args.b, number), dense_of(call, args.c, number)
        call.read(other)
        matrix = _of_batch(find(call, args.a, Sparse), number)
        product = _times(call, matrix, args.ta, operand(other[0], args.tb).astype(computed), computed)
        _store(call, target, product, call.scalar(args.alpha, computed), call.scalar(args.beta, computed))


def _spmv(call: Call, args: Arguments) -> None:
    spmm(call, args.but(tb=NO))


@calls.takes("ta tb alpha a b beta c compute algorithm buffer")
def sddmm(call: Call, args: Arguments) -> None:
    computed = type_of(args.compute)
    first, second, matrix = dense_of(call, args.a), dense_of(call, args.b), find(call, args.c, Sparse)
    call.read(first, second)
    left, right = operand(first[0], args.ta).astype(computed), operand(second[0], args.tb).astype(computed)
    rows, columns = elements(call, matrix)
    if (left.shape[0], right.shape[1]) != matrix.shape or left.shape[1] != right.shape[0]:
        raise Refused(calls.INVALID_VALUE)
    call.work(len(rows), left.shape[1])
    products = np.einsum("ij,ij->i", left[rows], right[:, columns].T)
    _store(call, values_of(call, matrix), products, call.scalar(args.alpha, computed), call.scalar(args.beta, computed))


# -- by sparse ones ---


def _factor(call: Call, handle: int) -> Sparse:
    """Return a matrix with no more values than its rows have: the library looks at nothing behind them."""
    matrix: Sparse = find(call, handle, Sparse)
    if matrix.kind != "csr":
        raise Refused(NOT_SUPPORTED)
    starts = call.array(matrix.first, matrix.rows + 1, matrix.types[0])
    call.read(starts)
    return replace(matrix, count=min(matrix.count, max(0, int(starts[0][-1]) - matrix.base)))


def _terms(call: Call, ta: int, tb: int, a: int, b: int, c: int) -> tuple[Sparse, Array, Array, Array, Array]:
    """Return the result's descriptor; its places, row by row; of each term its place, and the values that it is of."""
    first, second, target = _factor(call, a), _factor(call, b), find(call, c, Sparse)
    if ta != NO or tb != NO or target.kind != "csr":
        raise Refused(NOT_SUPPORTED)
    fits = first.columns == second.rows and (first.rows, second.columns) == target.shape
    if not fits or first.rows * second.columns >= 1 << 62:
        raise Refused(calls.INVALID_VALUE)
    rows, inner = elements(call, first)
    lines, columns = elements(call, second)
    starts = row_starts(np.bincount(lines, minlength=second.rows))
    lengths = np.diff(starts)[inner]
    if lengths.sum() > _MAX_TERMS:
        raise Refused(_INSUFFICIENT_RESOURCES)
    call.work(int(lengths.sum()), 1)
    left = np.repeat(np.arange(len(inner)), lengths)
    right = np.arange(len(left)) - np.repeat(row_starts(lengths)[:-1], lengths) + np.repeat(starts[inner], lengths)
    places, of_term = np.unique(rows[left] * max(second.columns, 1) + columns[right], return_inverse=True)
    return target, places, of_term, left, right


def terms(call: Call, a: int, b: int, number: int) -> None:
    """Give the host how many products of two values are added up."""
    first, second = _factor(call, a), _factor(call, b)
    if first.columns != second.rows:
        raise Refused(calls.INVALID_VALUE)
    lengths = np.bincount(elements(call, second)[0], minlength=second.rows)
    call.state.guest.pack("q", number, int(lengths[elements(call, first)[1]].sum()))


def count(call: Call, ta: int, tb: int, a: int, b: int, c: int) -> None:
    """Tell the result's descriptor how many values it will have."""
    target, places, *_terms_of = _terms(call, ta, tb, a, b, c)
    target.count = len(places)


def structure(call: Call, ta: int, tb: int, a: int, b: int, c: int) -> None:
    """Store where rows begin, and the columns."""
    target, places, *_terms_of = _terms(call, ta, tb, a, b, c)
    if len(places) != target.count:
        raise Refused(calls.INVALID_VALUE)
    lines, columns = np.divmod(places, max(target.columns, 1))
    starts = row_starts(np.bincount(lines, minlength=target.rows))
    call.store(call.array(target.first, target.rows + 1, target.types[0]), starts + target.base)
    if target.count:
        call.store(call.array(target.second, target.count, target.types[1]), columns + target.base)


@calls.takes("ta tb alpha a b beta c compute")
def values(call: Call, args: Arguments) -> None:
    """Store alpha A B + beta C, C being what its values are."""
    computed = type_of(args.compute)
    target, places, of_term, left, right = _terms(call, args.ta, args.tb, args.a, args.b, args.c)
    if len(places) != target.count:
        raise Refused(calls.INVALID_VALUE)
    if not target.count:
        return
    factors = [values_of(call, _factor(call, handle)) for handle in (args.a, args.b)]
    call.read(*factors)
    sums = np.zeros(target.count, computed)
    np.add.at(sums, of_term, factors[0][0].astype(computed)[left] * factors[1][0].astype(computed)[right])
    output, factor, kept = values_of(call, target), call.scalar(args.alpha, computed), call.scalar(args.beta, computed)
    if kept:
        call.read(output)
    call.store(output, factor * sums + kept * output[0] if kept else factor * sums)


_BOUND: dict[str, Served] = {
    "cusparseSpMV": calls.Named(_spmv, "ta alpha a b beta c compute algorithm buffer"),
    "cusparseSpMM": spmm,
    "cusparseSDDMM": sddmm,
    "cusparseSpGEMM_terms": terms,
    "cusparseSpGEMM_count": count,
    "cusparseSpGEMM_structure": structure,
    "cusparseSpGEMM_values": values,
}
HANDLERS: Handlers = calls.all_served(_BOUND, statuses=STATUSES)
