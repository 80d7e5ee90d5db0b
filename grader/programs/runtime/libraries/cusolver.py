"""cuSOLVER's dense factorisations, solutions and eigenvalues through NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused, Served
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


def type_named(number: int) -> str:
    name = calls.DATA_TYPES.get(number, "")
    if name not in calls.ALL.values():
        raise Refused(_TYPE_NOT_SUPPORTED)
    return name


def of_type(call: Call, number: int) -> Call:
    """Return the call as one of a `cudaDataType`."""
    return replace(call, dtype=type_named(number))


def _type(call: Call, args: Arguments, name: str, usual: str = "") -> str:
    """Return the type of an operand: its `cudaDataType` where that is told, else the usual one, or the call's."""
    number = vars(args).get(f"{name}t")
    return usual or call.dtype if number is None else type_named(number)


def square(call: Call, args: Arguments, name: str = "a") -> Operand:
    call.work(args.n, args.n, args.n)
    matrix = call.matrix_of(args, name, args.n, args.n)
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


@calls.takes("fill n a lda work size info")
def potrf(call: Call, args: Arguments) -> None:
    _replace_by_factor(call, args.fill, square(call, args), args.info)


@calls.takes("fill n columns a lda b ldb info")
def potrs(call: Call, args: Arguments) -> None:
    target = call.matrix_of(args, "b", args.n, args.columns, _type(call, args, "b"))
    call.read(target)
    matrix = square(call, args)[0]
    lower = np.tril(matrix) if args.fill == LOWER else np.triu(matrix).T.conj()
    first = solve(lower, target[0], is_lower=True)
    call.store(target, solve(lower.T.conj(), first, is_lower=False))
    _info(call, args.info, 0)


@calls.takes("fill n a lda work size info")
def potri(call: Call, args: Arguments) -> None:
    matrix = square(call, args)
    lower = np.tril(matrix[0]) if args.fill == LOWER else np.triu(matrix[0]).T.conj()
    inverse = solve(lower, np.eye(args.n, dtype=call.dtype), is_lower=True)
    triangle = np.tri(args.n, dtype=bool)
    where = triangle if args.fill == LOWER else triangle.T
    call.store(matrix, np.where(where, inverse.T.conj() @ inverse, matrix[0]))
    _info(call, args.info, 0)


def _pivots_type(args: Arguments) -> str:
    return "i8" if hasattr(args, "at") else "i4"


@calls.takes("m n a lda work pivots info")
def getrf(call: Call, args: Arguments) -> None:
    matrix = _read(call, args)
    factors, order, lacking = factored(matrix[0], is_pivoted=args.pivots != 0)
    call.store(matrix, factors)
    if args.pivots:
        call.store(call.array(args.pivots, min(args.m, args.n), _pivots_type(args)), order)
    _info(call, args.info, lacking)


@calls.takes("t n columns a lda pivots b ldb info")
def getrs(call: Call, args: Arguments) -> None:
    matrix = square(call, args)
    target = call.matrix_of(args, "b", args.n, args.columns, _type(call, args, "b"))
    order = call.array(args.pivots, args.n, _pivots_type(args))[0] if args.pivots else None
    call.read(target)
    call.store(target, solved(matrix[0], order, target[0], args.t))
    _info(call, args.info, 0)


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


def _read(call: Call, args: Arguments) -> Operand:
    call.work(args.m, args.n, max(args.m, args.n))
    matrix = call.matrix_of(args, "a", args.m, args.n)
    call.read(matrix)
    return matrix


@calls.takes("m n a lda tau work size info")
def geqrf(call: Call, args: Arguments) -> None:
    matrix = _read(call, args)
    reflected, factors = _reflected(matrix[0])
    call.store(matrix, reflected)
    call.store(call.array(args.tau, len(factors), _type(call, args, "tau")), factors)
    _info(call, args.info, 0)


@calls.takes("side t m n k a lda tau c ldc work size info")
def ormqr(call: Call, args: Arguments) -> None:
    call.work(args.m, args.n, args.k)
    rows = args.m if args.side == LEFT else args.n
    if args.k > rows:
        # More reflectors than rows (LAPACK's conditions on its arguments, as those of `orgqr` below).
        raise Refused(calls.INVALID_VALUE)
    matrix, target = call.matrix_of(args, "a", rows, args.k), call.matrix_of(args, "c", args.m, args.n)
    numbers = call.array(args.tau, args.k)
    call.read(matrix, target, numbers)
    if args.side == LEFT:
        call.store(target, _turned_by(matrix[0], numbers[0], target[0], args.t))
    else:
        # C Q = (Q* C*)*.
        call.store(target, _turned_by(matrix[0], numbers[0], target[0].T.conj(), 2 if args.t == NO else NO).T.conj())
    _info(call, args.info, 0)


@calls.takes("m n k a lda tau work size info")
def orgqr(call: Call, args: Arguments) -> None:
    call.work(args.m, args.n, args.k)
    if not args.m >= args.n >= args.k:
        raise Refused(calls.INVALID_VALUE)
    matrix, numbers = call.matrix_of(args, "a", args.m, args.n), call.array(args.tau, args.k)
    call.read(matrix, numbers)
    call.store(matrix, _turned_by(matrix[0], numbers[0], np.eye(args.m, args.n, dtype=call.dtype), NO))
    _info(call, args.info, 0)


def converged(call: Call, info: int, factor: Callable[[Array], Any], matrix: Array) -> Any:
    """Return an iterative factorisation.  Raises Refused where it does not converge, as `info` says then."""
    try:
        return factor(matrix)
    except np.linalg.LinAlgError as error:
        _info(call, info, max(1, min(matrix.shape) - 1))
        raise Refused(0) from error


def _keep_eigenvalues(call: Call, args: Arguments, values: Array) -> None:
    call.store(call.array(args.w, len(values), _type(call, args, "w", call.real)), values)


@calls.takes("vectors fill n a lda w work size info")
def syevd(call: Call, args: Arguments) -> None:
    matrix = square(call, args)
    values, eigenvectors = converged(call, args.info, np.linalg.eigh, hermitian(matrix[0], args.fill))
    _keep_eigenvalues(call, args, values)
    if args.vectors == _VECTORS:
        call.store(matrix, eigenvectors)
    _info(call, args.info, 0)


def eigen_of_range(
    call: Call, args: Arguments, symmetric: Array, store: Callable[[Array], None], layout: str = "i"
) -> None:
    """Write eigenvalues, all, those in (low, high], or those from the first to the last, from 1 on; store their vectors;
    write how many there are, in that layout.
    """
    values, eigenvectors = converged(call, args.info, np.linalg.eigh, symmetric)
    kept = np.arange(len(values))
    if args.which == _BY_NUMBER:
        if not 1 <= args.first <= args.last <= len(values):
            raise Refused(calls.INVALID_VALUE)
        kept = kept[args.first - 1 : args.last]
    elif args.which == _BY_VALUE:
        kept = np.flatnonzero((values > args.low) & (values <= args.high))
    if len(kept):
        call.store(call.array(args.w, len(kept), call.real), values[kept])
        if args.vectors == _VECTORS:
            store(eigenvectors[:, kept])
    _info(call, args.info, 0)
    call.state.guest.pack(layout, args.count, len(kept))


def store_columns(call: Call, matrix: Operand, vectors: Array) -> None:
    """Write vectors into a matrix's first columns."""
    call.store((matrix[0][:, : vectors.shape[1]], matrix[1]), vectors)


@calls.takes("vectors which fill n a lda low:f high:f first last count w work size info")
def syevdx(call: Call, args: Arguments) -> None:
    matrix = square(call, args)
    eigen_of_range(call, args, hermitian(matrix[0], args.fill), partial(store_columns, call, matrix))


def general_eigen(call: Call, args: Arguments) -> tuple[Operand, Array, Array]:
    """Return A, the factor of B, and what has the eigenvalues of A x = w B x.  Raises Refused for other problems."""
    if args.kind != 1:
        raise Refused(calls.INVALID_VALUE)
    matrix, other = square(call, args), square(call, args, "b")
    lower = cholesky(call, args.fill, other, args.info)
    half = solve(lower, hermitian(matrix[0], args.fill), is_lower=True)
    return matrix, lower, solve(lower, half.T.conj(), is_lower=True)


@calls.takes("kind vectors fill n a lda b ldb w work size info")
def sygvd(call: Call, args: Arguments) -> None:
    matrix, lower, symmetric = general_eigen(call, args)
    values, eigenvectors = converged(call, args.info, np.linalg.eigh, symmetric)
    _keep_eigenvalues(call, args, values)
    if args.vectors == _VECTORS:
        call.store(matrix, solve(lower.T.conj(), eigenvectors, is_lower=False))


@calls.takes("kind vectors which fill n a lda b ldb low:f high:f first last count w work size info")
def sygvdx(call: Call, args: Arguments) -> None:
    matrix, lower, whole = general_eigen(call, args)

    def store(vectors: Array) -> None:
        store_columns(call, matrix, solve(lower.T.conj(), vectors, is_lower=False))

    eigen_of_range(call, args, hermitian(whole, LOWER), store)


@calls.takes("jobu jobv m n a lda s u ldu v ldv work size rwork info")
def gesvd(call: Call, args: Arguments) -> None:
    """jobu, jobv: which of the vectors: "A", "S" or "N"."""
    if args.m < args.n:
        raise Refused(calls.INVALID_VALUE)
    matrix = _read(call, args)
    left, values, right = converged(call, args.info, np.linalg.svd, matrix[0])
    call.store(call.array(args.s, len(values), _type(call, args, "s", call.real)), values)
    for name, job, basis in (("u", args.jobu, left), ("v", args.jobv, right)):
        letter = chr(job)
        if letter not in "ASN":
            raise Refused(calls.INVALID_VALUE)
        if letter != "N":
            count = len(basis) if letter == "A" else len(values)
            rows, columns = (args.m, count) if name == "u" else (count, args.n)
            target = call.matrix_of(args, name, rows, columns, _type(call, args, name))
            call.store(target, basis[:rows, :columns])
    _info(call, args.info, 0)


@calls.takes("vectors economy m n a lda s u ldu v ldv work size info settings")
def gesvdj(call: Call, args: Arguments) -> None:
    matrix = _read(call, args)
    left, values, right = converged(call, args.info, partial(np.linalg.svd, full_matrices=not args.economy), matrix[0])
    call.store(call.array(args.s, len(values), call.real), values)
    if args.vectors == _VECTORS:
        call.store(call.matrix_of(args, "u", args.m, left.shape[1]), left)
        call.store(call.matrix_of(args, "v", args.n, len(right)), right.T.conj())
    _info(call, args.info, 0)


# -- calls that are told the types --------------------------------------------------------------------------


def told_types(function: Callable[[Call, Arguments], int | None], names: str) -> calls.Named:
    """Return a function of A's type, which is among its arguments."""
    return calls.Named(lambda call, args: function(of_type(call, args.at), args), names)


def _x_syevdx(call: Call, args: Arguments) -> None:
    """low, high: their addresses, which are read where they say the range."""
    if args.which == _BY_VALUE:
        args = args.but(low=call.scalar(args.low, call.real), high=call.scalar(args.high, call.real))
    matrix = square(call, args)
    eigen_of_range(call, args, hermitian(matrix[0], args.fill), partial(store_columns, call, matrix), "q")


SPACE = "compute work size host host_size info"


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
    ("syevdx", "heevdx"): syevdx,
    ("sygvdx", "hegvdx"): sygvdx,
}
_PLAIN: dict[str, Served] = {
    "cusolverDnSetStream": calls.set_stream,
    "cusolverDnXpotrf": told_types(potrf, f"params fill n at a lda {SPACE}"),
    "cusolverDnXpotrs": told_types(potrs, "params fill n columns at a lda bt b ldb info"),
    "cusolverDnXgetrf": told_types(getrf, f"params m n at a lda pivots {SPACE}"),
    "cusolverDnXgetrs": told_types(getrs, "params t n columns at a lda pivots bt b ldb info"),
    "cusolverDnXgeqrf": told_types(geqrf, f"params m n at a lda taut tau {SPACE}"),
    "cusolverDnXsyevd": told_types(syevd, f"params vectors fill n at a lda wt w {SPACE}"),
    "cusolverDnXsyevdx": told_types(
        _x_syevdx, f"params vectors which fill n at a lda low high first last count wt w {SPACE}"
    ),
    "cusolverDnXgesvd": told_types(gesvd, f"params jobu jobv m n at a lda st s ut u ldu vt v ldv {SPACE}"),
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
