"""cuSPARSE's conversions of matrices from one form to another, and sorts of where their values lie."""

from __future__ import annotations

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Refused, Served
from grader.programs.runtime.libraries.cusparse import (
    ALLOC_FAILED,
    NOT_SUPPORTED,
    STATUSES,
    Sparse,
    check_sizes,
    dense_of,
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


_BOUND: dict[str, Served] = {
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
HANDLERS: Handlers = calls.all_served(_BOUND, statuses=STATUSES)
