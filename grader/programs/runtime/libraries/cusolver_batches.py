"""cuSOLVER's batches, eigenvalues of general matrices, what its iterative calls tell of themselves, and solutions by a
factorisation in lower precision, refined until they are those of the higher one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from grader.programs.runtime.libraries import calls, cusolver
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Refused, Served
from grader.programs.runtime.libraries.cublas_extensions import batched, numbers_of
from grader.programs.runtime.libraries.cublas_matrices import LOWER, solve
from grader.programs.runtime.libraries.cusolver import STATUSES
from grader.programs.runtime.state import Handlers

_VECTORS = 1
_UNIT_DIAGONAL = 1
_SORTED, _RESIDUAL, _SWEEPS = 12, 16, 24
"""Where a Jacobi method's settings have whether to sort and what came of it, behind tolerance and most sweeps."""
_MOST_ROWS_OF_SWEEPS = 64
"""Beyond, nobody counts the sweeps that a Jacobi method would take."""
_NOT_SUPPORTED = 9
_UNKNOWN = -1


_TYPES = {1203: "f8", 1204: "f4", 1213: "c16", 1214: "c8"}
"""`cusolverPrecType_t` of what solutions are of."""
_BITS = {1205: 11, 1206: 8, 1207: 11, 1215: 11, 1216: 8, 1217: 11, 1204: 24, 1214: 24, 1203: 53, 1213: 53}
"""Bits of the mantissa of what factors are made of: half precision, bfloat16, TF32, and the others."""
_MOST_ITERATIONS = 50


def _width(call: Call) -> int:
    return np.dtype(call.dtype).itemsize


# -- Jacobi methods -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Jacobi:
    """What sweeps over all pairs make of a symmetric matrix: how many there were, what is left beside the diagonal,
    the eigenvalues where the diagonal has them, and their vectors as columns."""

    sweeps: int
    left: float
    values: Array
    vectors: Array


def _jacobi(symmetric: Array, tolerance: float, most: int) -> _Jacobi:
    matrix = np.array(symmetric, "c16" if np.iscomplexobj(symmetric) else "f8")
    size, scale = len(matrix), np.linalg.norm(matrix)
    vectors = np.eye(size, dtype=matrix.dtype)

    def left() -> float:
        return float(np.linalg.norm(matrix - np.diag(np.diag(matrix))))

    sweep = 0
    while sweep < most and left() > tolerance * scale:
        for p in range(size - 1):
            for q in range(p + 1, size):
                beside = matrix[p, q]
                if not beside:
                    continue
                phase = beside / abs(beside)
                ratio = (matrix[q, q].real - matrix[p, p].real) / (2 * abs(beside))
                tangent = (np.sign(ratio) or 1.0) / (abs(ratio) + np.hypot(1.0, ratio))
                cosine = 1 / np.hypot(1.0, tangent)
                sine = tangent * cosine
                turn = np.array([[cosine, sine * phase], [-sine * np.conj(phase), cosine]])
                matrix[:, [p, q]] = matrix[:, [p, q]] @ turn
                matrix[[p, q], :] = turn.conj().T @ matrix[[p, q], :]
                vectors[:, [p, q]] = vectors[:, [p, q]] @ turn
        sweep += 1
    return _Jacobi(sweep, left(), np.diag(matrix).real.copy(), vectors)


def _swept(call: Call, settings: int, symmetric: Array) -> _Jacobi:
    """Have a Jacobi method's sweeps made by its settings."""
    tolerance, most = call.state.guest.unpack("di", settings)
    least = 1e-7 if call.real == "f4" else 1e-14
    call.work(len(symmetric), len(symmetric), 1000)
    return _jacobi(symmetric, max(tolerance, least), max(0, min(most, 100)))


def _tell(call: Call, settings: int, symmetric: Array) -> None:
    """Write what a Jacobi method says of itself."""
    count, residual = _UNKNOWN, 0.0
    if len(symmetric) <= _MOST_ROWS_OF_SWEEPS:
        swept = _swept(call, settings, symmetric)
        count, residual = swept.sweeps, swept.left
    call.state.guest.pack("d", settings + _RESIDUAL, residual)
    call.state.guest.pack("i", settings + _SWEEPS, count)


@calls.takes("vectors fill n a lda w work size info settings")
def syevj(call: Call, args: Arguments) -> None:
    _tell(call, args.settings, cusolver.hermitian(cusolver.square(call, args)[0], args.fill))
    cusolver.syevd(call, args)


@calls.takes("kind vectors fill n a lda b ldb w work size info settings")
def sygvj(call: Call, args: Arguments) -> None:
    matrix, other = cusolver.square(call, args), cusolver.square(call, args, "b")
    lower = np.linalg.cholesky(cusolver.hermitian(other[0], args.fill))
    half = solve(lower, cusolver.hermitian(matrix[0], args.fill), is_lower=True)
    _tell(call, args.settings, solve(lower, half.T.conj(), is_lower=True))
    cusolver.sygvd(call, args)


@calls.takes("vectors economy m n a lda s u ldu v ldv work size info settings")
def gesvdj(call: Call, args: Arguments) -> None:
    matrix = call.matrix_of(args, "a", args.m, args.n)
    call.work(args.m, args.n, min(args.m, args.n))
    small = matrix[0] if args.m >= args.n else matrix[0].T.conj()
    _tell(call, args.settings, small.T.conj() @ small)
    cusolver.gesvdj(call, args)


def _side_by_side(
    call: Call, args: Arguments, complex_steps: Mapping[str, int], real_steps: Mapping[str, int]
) -> Iterator[Arguments]:
    """Yield the arguments of each problem of a batch, whose operands lie behind one another in steps of numbers."""
    widths = {name: _width(call) * step for name, step in complex_steps.items()}
    widths |= {name: np.dtype(call.real).itemsize * step for name, step in real_steps.items()}
    for number in numbers_of(args.count):
        yield args.but(
            **{name: getattr(args, name) + number * width for name, width in ({**widths, "info": 4}).items()}
        )


@calls.takes("vectors fill n a lda w work size info settings count")
def syevj_batched(call: Call, args: Arguments) -> None:
    """Of small matrices eigenvalues stand where the sweeps leave them, unless they are to be sorted."""
    (is_sorted,) = call.state.guest.unpack("i", args.settings + _SORTED)
    for problem in _side_by_side(call, args, {"a": args.lda * args.n}, {"w": args.n}):
        if args.n > _MOST_ROWS_OF_SWEEPS:
            cusolver.syevd(call, problem)
            continue
        matrix = cusolver.square(call, problem)
        swept = _swept(call, args.settings, cusolver.hermitian(matrix[0], args.fill))
        order = np.argsort(swept.values, kind="stable") if is_sorted else np.arange(args.n)
        call.store(call.array(problem.w, args.n, call.real), swept.values[order])
        if args.vectors == _VECTORS:
            call.store(matrix, swept.vectors[:, order])
        call.store(call.array(problem.info, 1, "i4"), 0)


@calls.takes("vectors m n a lda s u ldu v ldv work size info settings count")
def gesvdj_batched(call: Call, args: Arguments) -> None:
    steps = {"a": args.lda * args.n, "u": args.ldu * args.m, "v": args.ldv * args.n}
    for problem in _side_by_side(call, args.but(economy=0), steps, {"s": min(args.m, args.n)}):
        cusolver.gesvdj(call, problem)


@calls.takes("vectors rank m n a lda sa s ss u ldu su v ldv sv work size info residuals count")
def gesvda_strided(call: Call, args: Arguments) -> None:
    """The `rank` largest singular values of each; `residuals`, with the host, are told what all of them leave of it,
    whatever the rank, as an H200 does."""
    if not 0 < args.rank <= min(args.m, args.n):
        raise Refused(calls.INVALID_VALUE)
    steps = {"a": args.sa, "u": args.su, "v": args.sv}
    for number, problem in enumerate(_side_by_side(call, args, steps, {"s": args.ss})):
        matrix, (left, values, right) = _truncated(call, problem, args.rank)
        if args.vectors == _VECTORS:
            _store_vectors(call, problem, args.rank, left, right)
            if args.residuals:
                rest = matrix - (left * values) @ right
                call.state.guest.pack("d", args.residuals + 8 * number, float(np.linalg.norm(rest)))
        call.store(call.array(problem.info, 1, "i4"), 0)


def _truncated(call: Call, args: Arguments, rank: int) -> tuple[Array, tuple[Array, Array, Array]]:
    """Store the largest singular values of a matrix; return it and all of its decomposition."""
    call.work(args.m, args.n, min(args.m, args.n))
    matrix = call.matrix_of(args, "a", args.m, args.n)
    call.read(matrix)
    left, values, right = np.linalg.svd(matrix[0], full_matrices=False)
    call.store(call.array(args.s, rank, call.real), values[:rank])
    return matrix[0], (left, values, right)


def _store_vectors(call: Call, args: Arguments, rank: int, left: Array | None, right: Array | None) -> None:
    if left is not None:
        call.store(call.matrix_of(args, "u", args.m, rank), left[:, :rank])
    if right is not None:
        call.store(call.matrix_of(args, "v", args.n, rank), right[:rank].T.conj())


def _gesvdp(call: Call, args: Arguments) -> None:
    """Singular values by a polar decomposition; the change of the matrix that it reports is none."""
    cusolver.gesvdj(call, args)
    if args.error:
        call.state.guest.pack("d", args.error, 0.0)


def _gesvdr(call: Call, args: Arguments) -> None:
    """The `k` largest singular values, which the library's random projections come near to."""
    least = min(args.m, args.n)
    if not 0 < args.k <= least or not 0 <= args.p <= least - args.k:
        raise Refused(calls.INVALID_VALUE)
    _matrix, (left, _values, right) = _truncated(call, args, args.k)
    _store_vectors(
        call, args, args.k, left if chr(args.jobu) == "S" else None, right if chr(args.jobv) == "S" else None
    )
    call.store(call.array(args.info, 1, "i4"), 0)


def told(call: Call, settings: int, residual: int) -> None:
    call.state.guest.pack("d", residual, *call.state.guest.unpack("d", settings + _RESIDUAL))


def told_sweeps(call: Call, settings: int, sweeps: int) -> int:
    (count,) = call.state.guest.unpack("i", settings + _SWEEPS)
    if count == _UNKNOWN:
        return _NOT_SUPPORTED
    call.state.guest.pack("i", sweeps, count)
    return 0


# -- general matrices, triangles ----------------------------------------------------------------------


def _as_real_pairs(values: Array, vectors: Array) -> Array:
    """Return eigenvectors as LAPACK has them for a real matrix: of a pair, real and imaginary part beside each other."""
    real = np.array(vectors.real)
    for column in range(len(values) - 1):
        if values[column].imag > 0:
            real[:, column], real[:, column + 1] = vectors[:, column].real, vectors[:, column].imag
    return real


def _geev(call: Call, args: Arguments) -> None:
    """Left eigenvectors the library has not, either."""
    if args.left == _VECTORS:
        raise Refused(calls.INVALID_VALUE)
    wide = cusolver.type_named(args.wt)
    values, vectors = cusolver.converged(call, args.info, np.linalg.eig, cusolver.square(call, args)[0])
    if wide in calls.REAL:
        call.store(call.array(args.w, args.n, wide), values)
    else:
        call.store(call.array(args.w, 2 * args.n, wide), np.concatenate([values.real, values.imag]))
    if args.right == _VECTORS:
        of = cusolver.type_named(args.vrt)
        shown = _as_real_pairs(values, vectors) if of not in calls.REAL else vectors
        call.store(call.matrix_of(args, "vr", args.n, args.n, of), shown)
    call.store(call.array(args.info, 1, "i4"), 0)


def _trtri(call: Call, args: Arguments) -> None:
    matrix, is_lower = cusolver.square(call, args), args.fill == LOWER
    triangle = np.tril(matrix[0]) if is_lower else np.triu(matrix[0])
    if args.diagonal == _UNIT_DIAGONAL:
        np.fill_diagonal(triangle, 1)
    zero = np.flatnonzero(np.diag(triangle) == 0)
    if not len(zero):
        inverse = solve(triangle, np.eye(args.n, dtype=call.dtype), is_lower=is_lower)
        where = np.tri(args.n, k=-(args.diagonal == _UNIT_DIAGONAL), dtype=bool)
        call.store(matrix, np.where(where if is_lower else where.T, inverse, matrix[0]))
    call.store(call.array(args.info, 1, "i4"), int(zero[0]) + 1 if len(zero) else 0)


def _potrf(call: Call, args: Arguments) -> None:
    cusolver.potrf(call, args.but(info=args.infos + 4 * args.number))


# -- factors of lower precision, refined ---------------------------------------------------------------------


def _rounded(matrix: Array, bits: int) -> Array:
    if bits >= np.finfo(matrix.dtype).nmant + 1:
        return matrix
    wide = np.ascontiguousarray(matrix)
    parts = wide.view(wide.real.dtype)
    mantissas, exponents = np.frexp(parts)
    kept = np.ldexp(np.round(np.ldexp(mantissas, bits)), exponents - bits)
    rounded: Array = kept.astype(parts.dtype).view(wide.dtype)
    return rounded


def _in_lower(matrix: Array, bits: int) -> Array:
    low = _rounded(matrix, bits)
    if bits >= 53:
        return low
    return low.astype("c8" if np.iscomplexobj(low) else "f4")


def _solved(matrix: Array, right: Array, bits: int) -> Array:
    low = _in_lower(matrix, bits)
    rhs = right.astype(low.dtype)
    is_square = matrix.shape[0] == matrix.shape[1]
    solved = np.linalg.solve(low, rhs) if is_square else np.linalg.lstsq(low, rhs, rcond=None)[0]
    solution: Array = solved.astype(matrix.dtype)
    return solution


def _refined(matrix: Array, right: Array, bits: int, most: int) -> tuple[Array, int]:
    """Return the solution and how many steps it took, a number below 0 where it was factored in full in the end."""
    columns = matrix.shape[1]
    if bits >= np.finfo(matrix.dtype).nmant + 1:
        return _solved(matrix, right, 53), 0
    least = np.linalg.norm(matrix, np.inf) * np.finfo(matrix.dtype).eps * np.sqrt(columns)
    is_square = matrix.shape[0] == columns
    solution = _solved(matrix, right, bits)
    for step in range(most + 1):
        residual = right - matrix @ solution
        measured = residual if is_square else matrix.conj().T @ residual / max(np.linalg.norm(matrix, np.inf), 1e-300)
        if np.all(np.abs(measured).max(axis=0, initial=0) <= least * np.abs(solution).max(axis=0, initial=0)):
            return solution, step
        if not np.all(np.isfinite(solution)):
            break
        solution = solution + _solved(matrix, residual, bits)
    return _solved(matrix, right, 53), -most - 1


@calls.takes("main lowest most m n columns a lda b ldb x ldx steps info")
def _refine(call: Call, args: Arguments) -> None:
    """main, lowest: `cusolverPrecType_t` of the solution and of the factors.  steps: with the host."""
    if args.main not in _TYPES or args.lowest not in _BITS or args.m < args.n:
        raise Refused(calls.INVALID_VALUE)
    typed = replace(call, dtype=_TYPES[args.main])
    call.work(args.m, args.n, max(1, args.n // 16) + args.columns)
    matrix, right = typed.matrix_of(args, "a", args.m, args.n), typed.matrix_of(args, "b", args.m, args.columns)
    target = typed.matrix_of(args, "x", args.n, args.columns)
    call.read(matrix, right)
    lacking, count = 0, 0
    try:
        most = args.most if args.most > 0 else _MOST_ITERATIONS
        solution, count = _refined(matrix[0].copy(), right[0].copy(), _BITS[args.lowest], most)
        call.store(target, solution)
    except np.linalg.LinAlgError:
        lacking = args.n
    call.state.guest.pack("i", args.steps, count)
    call.store(call.array(args.info, 1, "i4"), lacking)


_TYPED: dict[str, Served] = {
    "potrfBatched": batched(calls.Named(_potrf, "fill n a lda infos")),
    "potrsBatched": batched(cusolver.potrs),
    "gesvdj": gesvdj,
    "gesvdjBatched": gesvdj_batched,
    "gesvdaStridedBatched": gesvda_strided,
}
_PAIRS: dict[str, Callable[..., int | None]] = {
    "evj": syevj,
    "gvj": sygvj,
    "evjBatched": syevj_batched,
}
_PLAIN: dict[str, Served] = {
    "cusolverDnXgesvdp": cusolver.told_types(
        _gesvdp, f"params vectors economy m n at a lda st s ut u ldu vt v ldv {cusolver.SPACE} error"
    ),
    "cusolverDnXgesvdr": cusolver.told_types(
        _gesvdr, f"params jobu jobv m n k p iterations at a lda st s ut u ldu vt v ldv {cusolver.SPACE}"
    ),
    "cusolverDnXgeev": cusolver.told_types(
        _geev, f"params left right n at a lda wt w vlt vl ldvl vrt vr ldvr {cusolver.SPACE}"
    ),
    "cusolverDnRefined": _refine,
    "cusolverDnXtrtri": cusolver.told_types(_trtri, "fill diagonal n at a lda work size host host_size info"),
    "cusolverDnXResidual": told,
    "cusolverDnXSweeps": told_sweeps,
}
HANDLERS: Handlers = calls.all_served(_PLAIN, statuses=STATUSES)
for _name, _function in _TYPED.items():
    HANDLERS |= calls.of_types("cusolverDn", _name, _function, calls.ALL, STATUSES)
for _name, _function in _PAIRS.items():
    HANDLERS |= calls.of_types("cusolverDn", f"sy{_name}", _function, calls.REALS, STATUSES)
    HANDLERS |= calls.of_types("cusolverDn", f"he{_name}", _function, calls.COMPLEX, STATUSES)
