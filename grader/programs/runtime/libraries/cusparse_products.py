"""cuSPARSE's products of sparse matrices by sparse ones: how many values there are, where they lie, what they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Array, Call, Refused, Served
from grader.programs.runtime.libraries.cublas_matrices import NO
from grader.programs.runtime.libraries.cusparse import (
    NOT_SUPPORTED,
    STATUSES,
    Sparse,
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


def values(call: Call, ta: int, tb: int, alpha: int, a: int, b: int, beta: int, c: int, compute: int) -> None:
    """Store alpha A B + beta C, C being what its values are."""
    computed = type_of(compute)
    target, places, of_term, left, right = _terms(call, ta, tb, a, b, c)
    if len(places) != target.count:
        raise Refused(calls.INVALID_VALUE)
    if not target.count:
        return
    factors = [values_of(call, _factor(call, handle)) for handle in (a, b)]
    call.read(*factors)
    sums = np.zeros(target.count, computed)
    np.add.at(sums, of_term, factors[0][0].astype(computed)[left] * factors[1][0].astype(computed)[right])
    output, factor, kept = values_of(call, target), call.scalar(alpha, computed), call.scalar(beta, computed)
    if kept:
        call.read(output)
    call.store(output, factor * sums + kept * output[0] if kept else factor * sums)


_BOUND: dict[str, Served] = {
    "cusparseSpGEMM_terms": terms,
    "cusparseSpGEMM_count": count,
    "cusparseSpGEMM_structure": structure,
    "cusparseSpGEMM_values": values,
}
HANDLERS: Handlers = calls.all_served(_BOUND, statuses=STATUSES)
