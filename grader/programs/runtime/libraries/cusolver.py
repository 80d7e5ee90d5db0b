"""cuSOLVER's dense factorisations, solutions and eigenvalues through NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Array, Call, Operand, Refused, Served, Strided
from grader.programs.runtime.libraries.cublas_extensions import factored, solved
from grader.programs.runtime.libraries.cublas_matrices import LEFT, LOWER, NO, solve
from grader.programs.runtime.state import Handlers

STATUSES = {1: 1, calls.INVALID_VALUE: 3, calls.MAPPING_ERROR: 6}
_TYPE_NOT_SUPPORTED = 8
_VECTORS = 1
_BY_NUMBER, _BY_VALUE = 1002, 1003


def create(call: Call, handle: int) -> None:
    calls.new_handle(call.state, handle, {}, 2)


def _info(call: Call, address: int, value: int) -> None:
    call.store(call.array(address, 1, "i4"), value)


def square(call: Call, address: int, n: int, leading: int, dtype: str) -> Operand:
    call.work(n, n, n)
    matrix = call.matrix(address, n, n, leading, dtype)
    call.read(matrix)
    return matrix


def hermitian(matrix: Array, fill: int) -> Array:
    lower = matrix if fill == LOWER else matrix.T.conj()
    half = np.tril(lower, -1)
    whole: Array = half + half.T.conj() + np.diag(np.diag(lower).real)
    return whole


def _replace_by_factor(call: Call, fill: int, matrix: Operand, info: int) -> None:
    """Replace the triangle by its Cholesky factor, as far as the matrix is positive definite."""
    whole = hermitian(matrix[0], fill)
    n, lacking = len(whole), 0
    factor = np.tril(whole)
    for step in range(n):
        pivot = factor[step, step].real
        if not pivot > 0:
            lacking = step + 1
            break
        factor[step, step] = np.sqrt(pivot)
        factor[step + 1 :, step] /= factor[step, step]
        for column in range(step + 1, n):
            factor[column:, column] -= factor[column:, step] * np.conj(factor[column, step])
    triangle = np.tril(np.ones((n, n), bool))
    if fill == LOWER:
        call.store(matrix, np.where(triangle, factor, matrix[0]))
    else:
        call.store(matrix, np.where(triangle.T, factor.T.conj(), matrix[0]))
    _info(call, info, lacking)


def cholesky(call: Call, fill: int, matrix: Operand, info: int) -> Array:
    """Replace the triangle by its Cholesky factor, and return that as a lower triangle."""
    _replace_by_factor(call, fill, matrix, info)
    return np.tril(matrix[0]) if fill == LOWER else np.triu(matrix[0]).T.conj()


def _by_cholesky(call: Call, fill: int, matrix: Array, target: Operand, info: int) -> None:
    lower = np.tril(matrix) if fill == LOWER else np.triu(matrix).T.conj()
    first = solve(lower, target[0], is_lower=True)
    call.store(target, solve(lower.T.conj(), first, is_lower=False))
    _info(call, info, 0)


def potrf(call: Call, fill: int, n: int, a: int, lda: int, work: int, size: int, info: int) -> None:
    _replace_by_factor(call, fill, square(call, a, n, lda, call.dtype), info)


def potrs(call: Call, fill: int, n: int, columns: int, a: int, lda: int, b: int, ldb: int, info: int) -> None:
    target = call.matrix(b, n, columns, ldb)
    call.read(target)
    _by_cholesky(call, fill, square(call, a, n, lda, call.dtype)[0], target, info)


def potri(call: Call, fill: int, n: int, a: int, lda: int, work: int, size: int, info: int) -> None:
    matrix = square(call, a, n, lda, call.dtype)
    lower = np.tril(matrix[0]) if fill == LOWER else np.triu(matrix[0]).T.conj()
    inverse = solve(lower, np.eye(n, dtype=call.dtype), is_lower=True)
    triangle = np.tril(np.ones((n, n), bool)) if fill == LOWER else np.triu(np.ones((n, n), bool))
    call.store(matrix, np.where(triangle, inverse.T.conj() @ inverse, matrix[0]))
    _info(call, info, 0)


def _factor(call: Call, m: int, n: int, a: Strided, pivots: int, info: int, types: tuple[str, str]) -> None:
    """types: of the matrix, and of the pivots."""
    matrix = _read(call, m, n, a, types[0])
    factors, order, lacking = factored(matrix[0], is_pivoted=pivots != 0)
    call.store(matrix, factors)
    if pivots:
        call.store(call.array(pivots, min(m, n), types[1]), order)
    _info(call, info, lacking)


def getrf(call: Call, m: int, n: int, a: int, lda: int, work: int, pivots: int, info: int) -> None:
    _factor(call, m, n, (a, lda), pivots, info, (call.dtype, "i4"))


def _by_factors(call: Call, t: int, matrix: Operand, target: Operand, pivots: int, info: int, width: str) -> None:
    """width: the pivots' type."""
    order = call.array(pivots, len(matrix[0]), width)[0] if pivots else None
    call.read(target)
    call.store(target, solved(matrix[0], order, target[0], t))
    _info(call, info, 0)


def getrs(call: Call, t: int, n: int, columns: int, a: int, lda: int, pivots: int, b: int, ldb: int, info: int) -> None:
    matrix, target = square(call, a, n, lda, call.dtype), call.matrix(b, n, columns, ldb)
    _by_factors(call, t, matrix, target, pivots, info, "i4")


def _reflected(matrix: Array) -> tuple[Array, Array]:
    """Return R above the diagonal with the reflectors below it, and their factors (LAPACK's `geqrf`)."""
    reflected = np.array(matrix, copy=True)
    rows, columns = reflected.shape
    factors = np.zeros(min(rows, columns), reflected.dtype)
    for step in range(len(factors)):
        column = reflected[step:, step]
        head, rest = column[0], np.linalg.norm(column[1:])
        if rest == 0 and np.imag(head) == 0:
            continue
        beta = -np.copysign(np.hypot(abs(head), rest), np.real(head))
        factor = (beta - head) / beta
        vector = np.concatenate([[1], column[1:] / (head - beta)]).astype(reflected.dtype)
        later = reflected[step:, step + 1 :]
        later -= np.outer(vector, np.conj(factor) * (vector.conj() @ later))
        column[0], column[1:], factors[step] = beta, vector[1:], factor
    return reflected, factors


def _turned_by(reflectors: Array, factors: Array, target: Array, t: int) -> Array:
    """Return Q, or its inverse where `t` says so, times `target`."""
    product = np.array(target, copy=True)
    steps = range(len(factors)) if t != NO else range(len(factors) - 1, -1, -1)
    for step in steps:
        vector = np.concatenate([[1], reflectors[step + 1 :, step]]).astype(product.dtype)
        factor = np.conj(factors[step]) if t != NO else factors[step]
        product[step:] -= np.outer(vector, factor * (vector.conj() @ product[step:]))
    return product


def _read(call: Call, m: int, n: int, a: Strided, dtype: str) -> Operand:
    call.work(m, n, max(m, n))
    matrix = call.matrix(a[0], m, n, a[1], dtype)
    call.read(matrix)
    return matrix


def _qr(call: Call, matrix: Operand, factors: int, info: int, dtype: str) -> None:
    reflected, numbers = _reflected(matrix[0])
    call.store(matrix, reflected)
    call.store(call.array(factors, len(numbers), dtype), numbers)
    _info(call, info, 0)


def geqrf(call: Call, m: int, n: int, a: int, lda: int, factors: int, work: int, size: int, info: int) -> None:
    _qr(call, _read(call, m, n, (a, lda), call.dtype), factors, info, call.dtype)


def ormqr(call: Call, side: int, t: int, m: int, n: int, k: int, a: int, lda: int, factors: int, c: int, ldc: int, work: int, size: int, info: int) -> None:  # fmt: skip
    call.work(m, n, k)
    rows = m if side == LEFT else n
    if k > rows:
        # More reflectors than rows (LAPACK's conditions on its arguments, as those of `orgqr` below).
        raise Refused(calls.INVALID_VALUE)
    matrix, target = call.matrix(a, rows, k, lda), call.matrix(c, m, n, ldc)
    numbers = call.array(factors, k)
    call.read(matrix, target, numbers)
    if side == LEFT:
        call.store(target, _turned_by(matrix[0], numbers[0], target[0], t))
    else:
        # C Q = (Q* C*)*.
        call.store(target, _turned_by(matrix[0], numbers[0], target[0].T.conj(), 2 if t == NO else NO).T.conj())
    _info(call, info, 0)


def orgqr(call: Call, m: int, n: int, k: int, a: int, lda: int, factors: int, work: int, size: int, info: int) -> None:
    call.work(m, n, k)
    if not m >= n >= k:
        raise Refused(calls.INVALID_VALUE)
    matrix, numbers = call.matrix(a, m, n, lda), call.array(factors, k)
    call.read(matrix, numbers)
    call.store(matrix, _turned_by(matrix[0], numbers[0], np.eye(m, n, dtype=call.dtype), NO))
    _info(call, info, 0)


def converged(call: Call, info: int, factor: Callable[[Array], Any], matrix: Array) -> Any:
    """Return an iterative factorisation.  Raises Refused where it does not converge, as `info` says then."""
    try:
        return factor(matrix)
    except np.linalg.LinAlgError as error:
        _info(call, info, max(1, min(matrix.shape) - 1))
        raise Refused(0) from error


def _eigen(call: Call, vectors: int, fill: int, matrix: Operand, target: int, info: int, real: str) -> None:
    values, eigenvectors = converged(call, info, np.linalg.eigh, hermitian(matrix[0], fill))
    call.store(call.array(target, len(values), real), values)
    if vectors == _VECTORS:
        call.store(matrix, eigenvectors)
    _info(call, info, 0)


@dataclass(frozen=True, slots=True)
class Range:
    """Which eigenvalues: all, those in (low, high], or those from the first to the last, from 1 on."""

    which: int
    values: tuple[float, float]
    numbers: tuple[int, int]


def eigen_of_range(
    call: Call,
    vectors: int,
    chosen: Range,
    fill: int,
    matrix: Operand,
    target: int,
    info: int,
    store: Callable[[Array], None] | None = None,
) -> int:
    """Write eigenvalues of a range and their vectors, these into the matrix or with `store`; return how many there are."""
    values, eigenvectors = converged(call, info, np.linalg.eigh, hermitian(matrix[0], fill))
    kept = np.arange(len(values))
    if chosen.which == _BY_NUMBER:
        first, last = chosen.numbers
        if not 1 <= first <= last <= len(values):
            raise Refused(calls.INVALID_VALUE)
        kept = kept[first - 1 : last]
    elif chosen.which == _BY_VALUE:
        kept = np.flatnonzero((values > chosen.values[0]) & (values <= chosen.values[1]))
    if len(kept):
        call.store(call.array(target, len(kept), call.real), values[kept])
        if vectors == _VECTORS and store is not None:
            store(eigenvectors[:, kept])
        elif vectors == _VECTORS:
            call.store((matrix[0][:, : len(kept)], matrix[1]), eigenvectors[:, kept])
    _info(call, info, 0)
    return len(kept)


def syevd(
    call: Call, vectors: int, fill: int, n: int, a: int, lda: int, w: int, work: int, size: int, info: int
) -> None:
    _eigen(call, vectors, fill, square(call, a, n, lda, call.dtype), w, info, call.real)


def sygvd(call: Call, kind: int, vectors: int, fill: int, n: int, a: int, lda: int, b: int, ldb: int, w: int, work: int, size: int, info: int) -> None:  # fmt: skip
    if kind != 1:
        raise Refused(calls.INVALID_VALUE)
    matrix, other = square(call, a, n, lda, call.dtype), square(call, b, n, ldb, call.dtype)
    lower = cholesky(call, fill, other, info)
    half = solve(lower, hermitian(matrix[0], fill), is_lower=True)
    values, eigenvectors = converged(call, info, np.linalg.eigh, solve(lower, half.T.conj(), is_lower=True))
    call.store(call.array(w, n, call.real), values)
    if vectors == _VECTORS:
        call.store(matrix, solve(lower.T.conj(), eigenvectors, is_lower=False))


def _singular(call: Call, jobs: tuple[int, int], sizes: tuple[int, int], a: Strided, s: int, bases: tuple[Strided, Strided], info: int, types: Sequence[str]) -> None:  # fmt: skip
    """jobs: which of the vectors: "A", "S" or "N".  bases: where they go.  types: of the matrix, the values, and both."""
    m, n = sizes
    if m < n:
        raise Refused(calls.INVALID_VALUE)
    matrix = _read(call, m, n, a, types[0])
    left, values, right = converged(call, info, np.linalg.svd, matrix[0])
    call.store(call.array(s, len(values), types[1]), values)
    for job, (address, leading), basis, is_left in ((jobs[0], bases[0], left, True), (jobs[1], bases[1], right, False)):
        letter = chr(job)
        if letter not in "ASN":
            raise Refused(calls.INVALID_VALUE)
        if letter != "N":
            count = len(basis) if letter == "A" else len(values)
            rows, columns = (m, count) if is_left else (count, n)
            call.store(call.matrix(address, rows, columns, leading, types[2 if is_left else 3]), basis[:rows, :columns])
    _info(call, info, 0)


def gesvd(call: Call, jobu: int, jobv: int, m: int, n: int, a: int, lda: int, s: int, u: int, ldu: int, v: int, ldv: int, work: int, size: int, rwork: int, info: int) -> None:  # fmt: skip
    types = call.dtype, call.real, call.dtype, call.dtype
    _singular(call, (jobu, jobv), (m, n), (a, lda), s, ((u, ldu), (v, ldv)), info, types)


def gesvdj(call: Call, vectors: int, economy: int, m: int, n: int, a: int, lda: int, s: int, u: int, ldu: int, v: int, ldv: int, work: int, size: int, info: int, _settings: int) -> None:  # fmt: skip
    matrix = _read(call, m, n, (a, lda), call.dtype)
    left, values, right = converged(call, info, partial(np.linalg.svd, full_matrices=not economy), matrix[0])
    call.store(call.array(s, len(values), call.real), values)
    if vectors == _VECTORS:
        call.store(call.matrix(u, m, left.shape[1], ldu), left)
        call.store(call.matrix(v, n, len(right), ldv), right.T.conj())
    _info(call, info, 0)


# -- calls that are told the types --------------------------------------------------------------------------


def type_named(number: int) -> str:
    name = calls.DATA_TYPES.get(number, "")
    if name not in calls.ALL.values():
        raise Refused(_TYPE_NOT_SUPPORTED)
    return name


def of_type(call: Call, number: int) -> Call:
    """Return the call as one of a `cudaDataType`."""
    return replace(call, dtype=type_named(number))


def x_potrf(call: Call, params: int, fill: int, n: int, at: int, a: int, lda: int, compute: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    _replace_by_factor(call, fill, square(call, a, n, lda, type_named(at)), info)


def x_potrs(call: Call, params: int, fill: int, n: int, columns: int, at: int, a: int, lda: int, bt: int, b: int, ldb: int, info: int) -> None:  # fmt: skip
    target = call.matrix(b, n, columns, ldb, type_named(bt))
    call.read(target)
    _by_cholesky(call, fill, square(call, a, n, lda, type_named(at))[0], target, info)


def x_getrf(call: Call, params: int, m: int, n: int, at: int, a: int, lda: int, pivots: int, compute: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    _factor(call, m, n, (a, lda), pivots, info, (type_named(at), "i8"))


def x_getrs(call: Call, params: int, t: int, n: int, columns: int, at: int, a: int, lda: int, pivots: int, bt: int, b: int, ldb: int, info: int) -> None:  # fmt: skip
    matrix, target = square(call, a, n, lda, type_named(at)), call.matrix(b, n, columns, ldb, type_named(bt))
    _by_factors(call, t, matrix, target, pivots, info, "i8")


def x_geqrf(call: Call, params: int, m: int, n: int, at: int, a: int, lda: int, tt: int, factors: int, compute: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    _qr(call, _read(call, m, n, (a, lda), type_named(at)), factors, info, type_named(tt))


def x_syevd(call: Call, params: int, vectors: int, fill: int, n: int, at: int, a: int, lda: int, wt: int, w: int, compute: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    _eigen(call, vectors, fill, square(call, a, n, lda, type_named(at)), w, info, type_named(wt))


def x_syevdx(call: Call, params: int, vectors: int, which: int, fill: int, n: int, at: int, a: int, lda: int, low: int, high: int, first: int, last: int, count: int, wt: int, w: int, compute: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    typed = of_type(call, at)
    matrix = square(call, a, n, lda, typed.dtype)
    bounds = (call.scalar(low, typed.real), call.scalar(high, typed.real)) if which == _BY_VALUE else (0.0, 0.0)
    kept = eigen_of_range(typed, vectors, Range(which, bounds, (first, last)), fill, matrix, w, info)
    call.state.guest.pack("q", count, kept)


def x_gesvd(call: Call, params: int, jobu: int, jobv: int, m: int, n: int, at: int, a: int, lda: int, st: int, s: int, ut: int, u: int, ldu: int, vt: int, v: int, ldv: int, compute: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    types = type_named(at), type_named(st), type_named(ut), type_named(vt)
    _singular(call, (jobu, jobv), (m, n), (a, lda), s, ((u, ldu), (v, ldv)), info, types)


_TYPED: dict[str, Served] = {
    "potrf": potrf,
    "potrs": potrs,
    "potri": potri,
    "getrf": getrf,
    "getrs": getrs,
    "geqrf": geqrf,
    "gesvd": gesvd,
}
_PAIRS: dict[tuple[str, str], Served] = {
    ("ormqr", "unmqr"): ormqr,
    ("orgqr", "ungqr"): orgqr,
    ("syevd", "heevd"): syevd,
    ("sygvd", "hegvd"): sygvd,
}
_PLAIN: dict[str, Served] = {
    "cusolverDnSetStream": calls.set_stream,
    "cusolverDnXpotrf": x_potrf,
    "cusolverDnXpotrs": x_potrs,
    "cusolverDnXgetrf": x_getrf,
    "cusolverDnXgetrs": x_getrs,
    "cusolverDnXgeqrf": x_geqrf,
    "cusolverDnXsyevd": x_syevd,
    "cusolverDnXsyevdx": x_syevdx,
    "cusolverDnXgesvd": x_gesvd,
}


HANDLERS: Handlers = {
    "cusolverDnCreate": calls.served(create, is_bound=False, statuses=STATUSES),
    "cusolverDnDestroy": calls.served(calls.destroy, is_bound=False, statuses=STATUSES),
    "cusolverGetVersion": calls.served(calls.gives(12_000), is_bound=False, statuses=STATUSES),
    **calls.all_served(_PLAIN, statuses=STATUSES),
}
for _name, _function in _TYPED.items():
    HANDLERS |= calls.of_types("cusolverDn", _name, _function, calls.ALL, STATUSES)
for (_real, _complex), _function in _PAIRS.items():
    HANDLERS |= calls.of_types("cusolverDn", _real, _function, calls.REALS, STATUSES)
    HANDLERS |= calls.of_types("cusolverDn", _complex, _function, calls.COMPLEX, STATUSES)
