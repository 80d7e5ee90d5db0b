"""cuSPARSE's products: of sparse matrices by vectors and dense ones, of dense ones where a sparse one has places, and
of sparse by sparse ones; triangular solutions and incomplete factorisations; conversions from one form to another, and
sorts of where values lie.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused, Served
from grader.programs.runtime.libraries.cublas_matrices import NO, operand
from grader.programs.runtime.libraries.cusparse import (
    ALLOC_FAILED,
    NOT_SUPPORTED,
    STATUSES,
    Dense,
    Sparse,
    check_sizes,
    dense_of,
    elements,
    find,
    numbers_of,
    padded,
    row_starts,
    spread,
    type_of,
    values_of,
    within,
)
from grader.programs.runtime.state import Handlers

_MAX_DENSE = 1 << 26


def _dense_of(call: Call, matrix: Sparse, computed: str) -> Array:
    rows, columns = matrix.shape
    if rows * columns > _MAX_DENSE:
        raise Refused(ALLOC_FAILED)
    call.work(rows, columns)
    lines, places, numbers = numbers_of(call, matrix, computed)
    whole = np.zeros((rows, columns), computed)
    np.add.at(whole, (lines, places), numbers)
    return whole


def dense_to_sparse_analysis(call: Call, a: int, b: int, algorithm: int, buffer: int) -> None:
    """How many values there will be, and where each row's begin."""
    dense, matrix = dense_of(call, a), find(call, b, Sparse)
    call.read(dense)
    if dense[0].shape != matrix.shape or matrix.kind in ("bsr", "sell"):
        raise Refused(NOT_SUPPORTED)
    if matrix.kind == "ell":
        return
    taken = dense[0] != 0
    matrix.count = int(taken.sum())
    if matrix.kind != "coo":
        lengths = taken.sum(axis=0 if matrix.kind == "csc" else 1)
        offsets = call.array(matrix.first, len(lengths) + 1, matrix.types[0])
        call.store(offsets, row_starts(lengths) + matrix.base)


def dense_to_sparse(call: Call, a: int, b: int, algorithm: int, buffer: int) -> None:
    dense, matrix = dense_of(call, a), find(call, b, Sparse)
    if matrix.kind == "ell":
        # Its blocks' columns are given; of what lies elsewhere nothing is kept.
        call.read(dense)
        rows, columns = padded(call, matrix)
        call.store(values_of(call, matrix), np.where(columns < 0, 0, dense[0][rows, columns]))
        return
    rows, columns = np.nonzero(dense[0])
    if matrix.kind == "csc":
        columns, rows = np.nonzero(dense[0].T)
    if len(rows) != matrix.count:
        raise Refused(calls.INVALID_VALUE)
    if matrix.kind == "coo":
        call.store(call.array(matrix.first, matrix.count, matrix.types[0]), rows + matrix.base)
    others = rows if matrix.kind == "csc" else columns
    call.store(call.array(matrix.second, matrix.count, matrix.types[1]), others + matrix.base)
    call.store(values_of(call, matrix), dense[0][rows, columns])


def sparse_to_dense(call: Call, a: int, b: int, algorithm: int, buffer: int) -> None:
    target, source = dense_of(call, b), find(call, a, Sparse)
    if source.kind == "ell":
        # Dense to blocks is there, blocks to dense is not.
        raise Refused(NOT_SUPPORTED)
    call.store(target, _dense_of(call, source, target[0].dtype.str[1:]))


@calls.takes("m n count values offsets columns out out_offsets out_rows dtype action base algorithm buffer")
def csr_to_csc(call: Call, args: Arguments) -> None:
    check_sizes(args.m, args.n, args.count)
    starts, indices = call.array(args.offsets, args.m + 1, "i4"), call.array(args.columns, args.count, "i4")
    call.read(starts, indices)
    rows, others = spread(call, starts, args.base, args.count), within(indices[0].astype(np.int64) - args.base, args.n)
    order = np.argsort(others, kind="stable")
    if args.action:
        numbers = call.array(args.values, args.count, type_of(args.dtype))
        call.read(numbers)
        call.store(call.array(args.out, args.count, type_of(args.dtype)), numbers[0][order])
    call.store(call.array(args.out_rows, args.count, "i4"), rows[order] + args.base)
    call.store(
        call.array(args.out_offsets, args.n + 1, "i4"), row_starts(np.bincount(others, minlength=args.n)) + args.base
    )


def coo_to_csr(call: Call, rows: int, count: int, m: int, offsets: int, base: int) -> None:
    check_sizes(count, m)
    lines = call.array(rows, count, "i4")
    call.read(lines)
    places = within(lines[0].astype(np.int64) - base, m)
    call.store(call.array(offsets, m + 1, "i4"), row_starts(np.bincount(places, minlength=m)) + base)


def csr_to_coo(call: Call, offsets: int, count: int, m: int, rows: int, base: int) -> None:
    check_sizes(count, m)
    starts = call.array(offsets, m + 1, "i4")
    call.read(starts)
    call.store(call.array(rows, count, "i4"), spread(call, starts, base, count) + base)


def identity(call: Call, n: int, permutation: int) -> None:
    call.store(call.array(permutation, n, "i4"), np.arange(n))


def _sort(is_by_row: bool) -> Served:
    @calls.takes("m n count rows columns permutation buffer")
    def sort(call: Call, args: Arguments) -> None:
        first, second = call.array(args.rows, args.count, "i4"), call.array(args.columns, args.count, "i4")
        call.read(first, second)
        order = np.lexsort((second[0], first[0]) if is_by_row else (first[0], second[0]))
        if args.permutation:
            numbers = call.array(args.permutation, args.count, "i4")
            call.store(numbers, numbers[0][order])
        call.store(first, first[0][order])
        call.store(second, second[0][order])

    return sort


@calls.takes("m n count base offsets columns permutation buffer")
def sort_csr(call: Call, args: Arguments) -> None:
    """Sort each row's columns."""
    starts, indices = call.array(args.offsets, args.m + 1, "i4"), call.array(args.columns, args.count, "i4")
    call.read(starts, indices)
    order = np.lexsort((indices[0], spread(call, starts, args.base, args.count)))
    if args.permutation:
        numbers = call.array(args.permutation, args.count, "i4")
        call.store(numbers, numbers[0][order])
    call.store(indices, indices[0][order])


_INSUFFICIENT_RESOURCES = 11
_MAX_TERMS = 1 << 27
"""Products of two values, of all that are added up."""


def _times(call: Call, matrix: Sparse, t: int, right: Array, computed: str) -> Array:
    rows, columns, numbers = numbers_of(call, matrix, computed)
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


# -- triangular solutions, row after row as the rows wait for one another, and the incomplete factorisations that they
# are made for

_ZERO_PIVOT = 9
_WORK_PER_ROW = 1000
"""Multiplications that a row of a factorisation counts as."""


def _levels(rows: Array, columns: Array, size: int) -> list[tuple[Array, Array]]:
    """Return rows in the order in which they can be solved, many at once, each time with the places of their numbers.

    rows, columns: of the numbers beside the diagonal, sorted by row.
    """
    starts = np.searchsorted(rows, np.arange(size + 1))
    waits = np.zeros(size, np.int64)
    depends = columns.tolist()
    level = [0] * size
    is_upper = bool(len(rows)) and bool(columns[0] > rows[0])
    bounds = starts.tolist()
    for row in range(size - 1, -1, -1) if is_upper else range(size):
        first, end = bounds[row], bounds[row + 1]
        if first < end:
            level[row] = 1 + max(level[column] for column in depends[first:end])
    waits[:] = level
    order = np.argsort(waits, kind="stable")
    edges = np.searchsorted(waits[order], np.arange(waits.max(initial=0) + 2))
    by_level = waits[rows]
    taken = np.argsort(by_level, kind="stable")
    ends = np.searchsorted(by_level[taken], np.arange(len(edges)))
    return [
        (order[edges[number] : edges[number + 1]], taken[ends[number] : ends[number + 1]])
        for number in range(len(edges) - 1)
    ]


def _solved(call: Call, matrix: Sparse, t: int, right: Array, computed: str) -> Array:
    """Return X of op(A) X = B, A the matrix's triangle."""
    if matrix.shape[0] != matrix.shape[1] or len(right) != matrix.shape[0]:
        raise Refused(calls.INVALID_VALUE)
    rows, columns, numbers = numbers_of(call, matrix, computed)
    numbers = numbers.conj() if t == 2 else numbers
    size = len(right)
    call.work(len(numbers) + _WORK_PER_ROW * size, right.shape[1])
    diagonal = np.ones(size, computed)
    if not matrix.diagonal:
        is_diagonal = rows == columns
        diagonal[:] = 0
        diagonal[rows[is_diagonal]] = numbers[is_diagonal]
    beside = rows > columns if matrix.fill == 0 else rows < columns
    rows, columns, numbers = rows[beside], columns[beside], numbers[beside]
    if t != NO:
        rows, columns = columns, rows
    order = np.argsort(rows, kind="stable")
    rows, columns, numbers = rows[order], columns[order], numbers[order]
    pattern = hash((rows.tobytes(), columns.tobytes()))
    if matrix.levels is None or matrix.levels[0] != pattern:
        matrix.levels = pattern, _levels(rows, columns, size)
    solved = right.copy()
    for level, places in matrix.levels[1]:
        np.subtract.at(solved, rows[places], numbers[places, None] * solved[columns[places]])
        solved[level] /= diagonal[level, None]
    return solved


@calls.takes("ta tb alpha a b c compute algorithm settings")
def spsm(call: Call, args: Arguments) -> None:
    computed = type_of(args.compute)
    other, target = dense_of(call, args.b), dense_of(call, args.c)
    call.read(other)
    right = call.scalar(args.alpha, computed) * operand(other[0], args.tb).astype(computed)
    call.store(target, _solved(call, find(call, args.a, Sparse), args.ta, right, computed))


def _spsv(call: Call, args: Arguments) -> None:
    spsm(call, args.but(tb=NO))


def _pattern(call: Call, m: int, count: int, base: int, offsets: int, columns: int) -> tuple[list[int], list[int]]:
    """Return where each row begins, and the columns, both from 0 on."""
    if m < 0 or count < 0:
        raise Refused(calls.INVALID_VALUE)
    call.work(_WORK_PER_ROW, m + count)
    starts, indices = call.array(offsets, m + 1, "i4"), call.array(columns, count, "i4")
    call.read(starts, indices)
    spread(call, starts, base, count)
    places = within(indices[0].astype(np.int64) - base, m)
    return (starts[0].astype(np.int64) - base).tolist(), places.tolist()


def _values(call: Call, values: int, count: int) -> tuple[Operand, list[complex]]:
    numbers = call.array(values, count)
    call.read(numbers)
    return numbers, list(numbers[0])


@calls.takes("m count base values offsets columns info policy buffer")
def ilu(call: Call, args: Arguments) -> None:
    """L U, without what the matrix has no place for; `info` is told the first row whose pivot is zero, -1 for none."""
    starts, places = _pattern(call, args.m, args.count, args.base, args.offsets, args.columns)
    target, numbers = _values(call, args.values, args.count)
    where = [dict(zip(places[a:b], range(a, b), strict=True)) for a, b in pairwise(starts)]
    zero_pivot = -1
    for row in range(args.m):
        for before in sorted(column for column in where[row] if column < row):
            pivot = numbers[where[before][before]] if before in where[before] else 0
            if not pivot:
                continue
            at = where[row][before]
            numbers[at] = numbers[at] / pivot
            for column, other in where[before].items():
                if column > before and column in where[row]:
                    numbers[where[row][column]] -= numbers[at] * numbers[other]
        if zero_pivot < 0 and (row not in where[row] or not numbers[where[row][row]]):
            zero_pivot = row + args.base
    call.store(target, numbers)
    call.state.guest.pack("i", args.info, zero_pivot)


@calls.takes("m count base values offsets columns info policy buffer")
def ic(call: Call, args: Arguments) -> None:
    """L L* of the lower triangle, without what the matrix has no place for."""
    starts, places = _pattern(call, args.m, args.count, args.base, args.offsets, args.columns)
    target, numbers = _values(call, args.values, args.count)
    where = [dict(zip(places[a:b], range(a, b), strict=True)) for a, b in pairwise(starts)]
    zero_pivot = -1
    for row in range(args.m):
        lower = sorted(column for column in where[row] if column <= row)
        for column in lower:
            at = where[row][column]
            total = numbers[at]
            for before in lower:
                if before < column and before in where[column]:
                    total = total - numbers[where[row][before]] * np.conj(numbers[where[column][before]])
            if column < row:
                pivot = numbers[where[column][column]] if column in where[column] else 0
                numbers[at] = total / pivot if pivot else total
            elif np.real(total) > 0:
                numbers[at] = np.sqrt(np.real(total)).astype(call.dtype)
            elif zero_pivot < 0:
                zero_pivot = row + args.base
        if zero_pivot < 0 and row not in where[row]:
            zero_pivot = row + args.base
    call.store(target, numbers)
    call.state.guest.pack("i", args.info, zero_pivot)


def zero_pivot_of(call: Call, info: int, position: int) -> int:
    (row,) = call.state.guest.unpack("i", info)
    call.give(position, row, "i4")
    return _ZERO_PIVOT if row >= 0 else 0


_BOUND: dict[str, Served] = {
    "cusparseSpMV": calls.Named(_spmv, "ta alpha a b beta c compute algorithm buffer"),
    "cusparseSpMM": spmm,
    "cusparseSDDMM": sddmm,
    "cusparseSpGEMM_terms": terms,
    "cusparseSpGEMM_count": count,
    "cusparseSpGEMM_structure": structure,
    "cusparseSpGEMM_values": values,
    "cusparseSpSV_solve": calls.Named(_spsv, "ta alpha a b c compute algorithm settings"),
    "cusparseSpSM_solve": spsm,
    "cusparseZeroPivot": zero_pivot_of,
    "cusparseDenseToSparse_analysis": dense_to_sparse_analysis,
    "cusparseDenseToSparse_convert": dense_to_sparse,
    "cusparseSparseToDense": sparse_to_dense,
    "cusparseCsr2cscEx2": csr_to_csc,
    "cusparseXcoo2csr": coo_to_csr,
    "cusparseXcsr2coo": csr_to_coo,
    "cusparseCreateIdentityPermutation": identity,
    "cusparseXcoosortByRow": _sort(True),
    "cusparseXcoosortByColumn": _sort(False),
    "cusparseXcsrsort": sort_csr,
}
HANDLERS: Handlers = {
    **calls.all_served(_BOUND, statuses=STATUSES),
    **calls.of_types("cusparse", "csrilu02", ilu, calls.ALL, STATUSES),
    **calls.of_types("cusparse", "csric02", ic, calls.ALL, STATUSES),
}
