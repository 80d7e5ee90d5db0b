"""cuSPARSE's triangular solutions, row after row as the rows wait for one another, and the incomplete factorisations
that they are made for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused, Served
from grader.programs.runtime.libraries.cublas_matrices import NO, operand
from grader.programs.runtime.libraries.cusparse import (
    STATUSES,
    Sparse,
    dense_of,
    elements,
    find,
    spread,
    type_of,
    values_of,
    within,
)
from grader.programs.runtime.state import Handlers

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
    rows, columns = elements(call, matrix)
    values = values_of(call, matrix)
    call.read(values)
    numbers = values[0].astype(computed)
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


def _numbers(call: Call, values: int, count: int) -> tuple[Operand, list[complex]]:
    numbers = call.array(values, count)
    call.read(numbers)
    return numbers, list(numbers[0])


@calls.takes("m count base values offsets columns info policy buffer")
def ilu(call: Call, args: Arguments) -> None:
    """L U, without what the matrix has no place for; `info` is told the first row whose pivot is zero, -1 for none."""
    starts, places = _pattern(call, args.m, args.count, args.base, args.offsets, args.columns)
    target, numbers = _numbers(call, args.values, args.count)
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
    target, numbers = _numbers(call, args.values, args.count)
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
    (found,) = call.state.guest.unpack("i", info)
    call.give(position, found, "i4")
    return _ZERO_PIVOT if found >= 0 else 0


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
    "cusparseSpSV_solve": calls.Named(_spsv, "ta alpha a b c compute algorithm settings"),
    "cusparseSpSM_solve": spsm,
    "cusparseZeroPivot": zero_pivot_of,
    "cusparseXcsrsort": sort_csr,
}
HANDLERS: Handlers = {
    **calls.all_served(_BOUND, statuses=STATUSES),
    **calls.of_types("cusparse", "csrilu02", ilu, calls.ALL, STATUSES),
    **calls.of_types("cusparse", "csric02", ic, calls.ALL, STATUSES),
}
