"""cuSOLVER's batches, eigenvalues of a range and of general matrices, and what its iterative calls tell of themselves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grader.programs.runtime.libraries import calls, cusolver
from grader.programs.runtime.libraries.calls import Array, Call, Refused, Served
from grader.programs.runtime.libraries.cublas_extensions import MAX_BATCH, batch_of
from grader.programs.runtime.libraries.cublas_matrices import LOWER, solve
from grader.programs.runtime.libraries.cusolver import STATUSES
from grader.programs.runtime.state import Handlers

_VECTORS = 1
_UNIT_DIAGONAL = 1
_RESIDUAL, _SWEEPS = 16, 24
"""Where a Jacobi method's settings have what came of it, behind tolerance and most sweeps."""
_MOST_ROWS_OF_SWEEPS = 64
"""Beyond, nobody counts the sweeps that a Jacobi method would take."""
_NOT_SUPPORTED = 9
_UNKNOWN = -1


def _each(call: Call, count: int) -> range:
    if not 0 <= count <= MAX_BATCH:
        raise Refused(calls.INVALID_VALUE)
    return range(count)


def _width(call: Call) -> int:
    return np.dtype(call.dtype).itemsize


# -- Jacobi methods -------------------------------------------------------------------------------------------


def _sweeps(symmetric: Array, tolerance: float, most: int) -> tuple[int, float]:
    """Return how many sweeps over all pairs of a symmetric matrix make it diagonal, and what is left beside that."""
    matrix = np.array(symmetric, "c16" if np.iscomplexobj(symmetric) else "f8")
    size, scale = len(matrix), np.linalg.norm(matrix)

    def left() -> float:
        return float(np.linalg.norm(matrix - np.diag(np.diag(matrix))))

    for sweep in range(most):
        if left() <= tolerance * scale:
            return sweep, left()
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
    return most, left()


def _tell(call: Call, settings: int, symmetric: Array) -> None:
    """Write what a Jacobi method says of itself."""
    tolerance, most = call.state.guest.unpack("di", settings)
    least = 1e-7 if call.real == "f4" else 1e-14
    if len(symmetric) <= _MOST_ROWS_OF_SWEEPS:
        call.work(len(symmetric), len(symmetric), 1000)
        count, residual = _sweeps(symmetric, max(tolerance, least), max(0, min(most, 100)))
    else:
        count, residual = _UNKNOWN, 0.0
    call.state.guest.pack("d", settings + _RESIDUAL, residual)
    call.state.guest.pack("i", settings + _SWEEPS, count)


def syevj(call: Call, vectors: int, fill: int, n: int, a: int, lda: int, w: int, work: int, size: int, info: int, settings: int) -> None:  # fmt: skip
    matrix = cusolver.square(call, a, n, lda, call.dtype)
    _tell(call, settings, cusolver.hermitian(matrix[0], fill))
    cusolver.syevd(call, vectors, fill, n, a, lda, w, work, size, info)


def sygvj(call: Call, kind: int, vectors: int, fill: int, n: int, a: int, lda: int, b: int, ldb: int, w: int, work: int, size: int, info: int, settings: int) -> None:  # fmt: skip
    matrix, other = cusolver.square(call, a, n, lda, call.dtype), cusolver.square(call, b, n, ldb, call.dtype)
    lower = np.linalg.cholesky(cusolver.hermitian(other[0], fill))
    half = solve(lower, cusolver.hermitian(matrix[0], fill), is_lower=True)
    _tell(call, settings, solve(lower, half.T.conj(), is_lower=True))
    cusolver.sygvd(call, kind, vectors, fill, n, a, lda, b, ldb, w, work, size, info)


def syevj_batched(call: Call, vectors: int, fill: int, n: int, a: int, lda: int, w: int, work: int, size: int, info: int, settings: int, count: int) -> None:  # fmt: skip
    real = np.dtype(call.real).itemsize
    for number in _each(call, count):
        one = a + number * lda * n * _width(call)
        cusolver.syevd(call, vectors, fill, n, one, lda, w + number * n * real, work, size, info + 4 * number)


def gesvdj(call: Call, vectors: int, economy: int, m: int, n: int, a: int, lda: int, s: int, u: int, ldu: int, v: int, ldv: int, work: int, size: int, info: int, settings: int) -> None:  # fmt: skip
    matrix = call.matrix(a, m, n, lda)
    call.work(m, n, min(m, n))
    small = matrix[0] if m >= n else matrix[0].T.conj()
    _tell(call, settings, small.T.conj() @ small)
    cusolver.gesvdj(call, vectors, economy, m, n, a, lda, s, u, ldu, v, ldv, work, size, info, settings)


def gesvdj_batched(call: Call, vectors: int, m: int, n: int, a: int, lda: int, s: int, u: int, ldu: int, v: int, ldv: int, work: int, size: int, info: int, settings: int, count: int) -> None:  # fmt: skip
    real = np.dtype(call.real).itemsize
    for number in _each(call, count):
        shift = number * _width(call)
        values = s + number * min(m, n) * real
        one, left, right = a + shift * lda * n, u + shift * ldu * m, v + shift * ldv * n
        cusolver.gesvdj(call, vectors, 0, m, n, one, lda, values, left, ldu, right, ldv, work, size, info + 4 * number, settings)  # fmt: skip


def gesvda_strided(call: Call, vectors: int, rank: int, m: int, n: int, a: int, lda: int, sa: int, s: int, ss: int, u: int, ldu: int, su: int, v: int, ldv: int, sv: int, work: int, size: int, info: int, residuals: int, count: int) -> None:  # fmt: skip
    """The `rank` largest singular values of each; `residuals`, with the host, are told what all of them leave of it,
    whatever the rank, as an H200 does."""
    real = np.dtype(call.real).itemsize
    if not 0 < rank <= min(m, n):
        raise Refused(calls.INVALID_VALUE)
    for number in _each(call, count):
        shift = number * _width(call)
        call.work(m, n, min(m, n))
        matrix = call.matrix(a + shift * sa, m, n, lda)
        call.read(matrix)
        left, values, right = np.linalg.svd(matrix[0], full_matrices=False)
        call.store(call.array(s + number * ss * real, rank, call.real), values[:rank])
        if vectors == _VECTORS:
            call.store(call.matrix(u + shift * su, m, rank, ldu), left[:, :rank])
            call.store(call.matrix(v + shift * sv, n, rank, ldv), right[:rank].T.conj())
            if residuals:
                rest = matrix[0] - (left * values) @ right
                call.state.guest.pack("d", residuals + 8 * number, float(np.linalg.norm(rest)))
        call.store(call.array(info + 4 * number, 1, "i4"), 0)


def x_gesvdp(call: Call, params: int, vectors: int, economy: int, m: int, n: int, at: int, a: int, lda: int, st: int, s: int, ut: int, u: int, ldu: int, vt: int, v: int, ldv: int, compute: int, work: int, size: int, host: int, host_size: int, info: int, error: int) -> None:  # fmt: skip
    """By a polar decomposition, which is told how far it changed the matrix: by nothing."""
    typed = cusolver.of_type(call, at)
    cusolver.gesvdj(typed, vectors, economy, m, n, a, lda, s, u, ldu, v, ldv, work, size, info, 0)
    if error:
        call.state.guest.pack("d", error, 0.0)


def x_gesvdr(call: Call, params: int, jobu: int, jobv: int, m: int, n: int, k: int, p: int, iterations: int, at: int, a: int, lda: int, st: int, s: int, ut: int, u: int, ldu: int, vt: int, v: int, ldv: int, compute: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    """The `k` largest singular values, which the library's random projections come near to."""
    if not 0 < k <= min(m, n) or not 0 <= p <= min(m, n) - k:
        raise Refused(calls.INVALID_VALUE)
    typed = cusolver.of_type(call, at)
    call.work(m, n, min(m, n))
    matrix = typed.matrix(a, m, n, lda)
    call.read(matrix)
    left, values, right = np.linalg.svd(matrix[0], full_matrices=False)
    call.store(typed.array(s, k, typed.real), values[:k])
    if chr(jobu) == "S":
        call.store(typed.matrix(u, m, k, ldu), left[:, :k])
    if chr(jobv) == "S":
        call.store(typed.matrix(v, n, k, ldv), right[:k].T.conj())
    call.store(call.array(info, 1, "i4"), 0)


def told(call: Call, settings: int, residual: int) -> None:
    call.state.guest.pack("d", residual, *call.state.guest.unpack("d", settings + _RESIDUAL))


def told_sweeps(call: Call, settings: int, sweeps: int) -> int:
    (count,) = call.state.guest.unpack("i", settings + _SWEEPS)
    if count == _UNKNOWN:
        return _NOT_SUPPORTED
    call.state.guest.pack("i", sweeps, count)
    return 0


# -- ranges, general matrices, triangles ----------------------------------------------------------------------


def syevdx(call: Call, vectors: int, which: int, fill: int, n: int, a: int, lda: int, low: float, high: float, first: int, last: int, count: int, w: int, work: int, size: int, info: int) -> None:  # fmt: skip
    chosen = cusolver.Range(which, (low, high), (first, last))
    kept = cusolver.eigen_of_range(call, vectors, chosen, fill, cusolver.square(call, a, n, lda, call.dtype), w, info)
    call.state.guest.pack("i", count, kept)


def sygvdx(call: Call, kind: int, vectors: int, which: int, fill: int, n: int, a: int, lda: int, b: int, ldb: int, low: float, high: float, first: int, last: int, count: int, w: int, work: int, size: int, info: int) -> None:  # fmt: skip
    if kind != 1:
        raise Refused(calls.INVALID_VALUE)
    matrix, other = cusolver.square(call, a, n, lda, call.dtype), cusolver.square(call, b, n, ldb, call.dtype)
    lower = cusolver.cholesky(call, fill, other, info)
    half = solve(lower, cusolver.hermitian(matrix[0], fill), is_lower=True)
    whole = solve(lower, half.T.conj(), is_lower=True)
    chosen = cusolver.Range(which, (low, high), (first, last))
    kept = cusolver.eigen_of_range(
        call,
        vectors,
        chosen,
        LOWER,
        (whole, matrix[1]),
        w,
        info,
        lambda v: call.store((matrix[0][:, : v.shape[1]], matrix[1]), solve(lower.T.conj(), v, is_lower=False)),
    )
    call.state.guest.pack("i", count, kept)


def _as_real_pairs(values: Array, vectors: Array) -> Array:
    """Return eigenvectors as LAPACK has them for a real matrix: of a pair, real and imaginary part beside each other."""
    real = np.array(vectors.real)
    for column in range(len(values) - 1):
        if values[column].imag > 0:
            real[:, column], real[:, column + 1] = vectors[:, column].real, vectors[:, column].imag
    return real


def x_geev(call: Call, params: int, left: int, right: int, n: int, at: int, a: int, lda: int, wt: int, w: int, lt: int, vl: int, ldvl: int, rt: int, vr: int, ldvr: int, compute: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    """Left eigenvectors the library has not, either."""
    if left == _VECTORS:
        raise Refused(calls.INVALID_VALUE)
    dtype, wide = cusolver.type_named(at), cusolver.type_named(wt)
    matrix = cusolver.square(call, a, n, lda, dtype)
    values, vectors = cusolver.converged(call, info, np.linalg.eig, matrix[0])
    if wide in calls.REAL:
        call.store(call.array(w, n, wide), values)
    else:
        call.store(call.array(w, 2 * n, wide), np.concatenate([values.real, values.imag]))
    if right == _VECTORS:
        of = cusolver.type_named(rt)
        shown = _as_real_pairs(values, vectors) if of not in calls.REAL else vectors
        call.store(call.matrix(vr, n, n, ldvr, of), shown)
    call.store(call.array(info, 1, "i4"), 0)


def x_trtri(call: Call, fill: int, diagonal: int, n: int, at: int, a: int, lda: int, work: int, size: int, host: int, host_size: int, info: int) -> None:  # fmt: skip
    dtype = cusolver.type_named(at)
    matrix = cusolver.square(call, a, n, lda, dtype)
    triangle = np.tril(matrix[0]) if fill == LOWER else np.triu(matrix[0])
    if diagonal == _UNIT_DIAGONAL:
        np.fill_diagonal(triangle, 1)
    zero = np.flatnonzero(np.diag(triangle) == 0)
    if not len(zero):
        inverse = solve(triangle, np.eye(n, dtype=dtype), is_lower=fill == LOWER)
        taken = np.tri(n, k=-(diagonal == _UNIT_DIAGONAL), dtype=bool)
        call.store(matrix, np.where(taken if fill == LOWER else taken.T, inverse, matrix[0]))
    call.store(call.array(info, 1, "i4"), int(zero[0]) + 1 if len(zero) else 0)


def potrf_batched(call: Call, fill: int, n: int, a: int, lda: int, infos: int, count: int) -> None:
    for number, one in batch_of(call, count, a):
        cusolver.potrf(call, fill, n, one, lda, 0, 0, infos + 4 * number)


def potrs_batched(call: Call, fill: int, n: int, columns: int, a: int, lda: int, b: int, ldb: int, info: int, count: int) -> None:  # fmt: skip
    for _number, one, other in batch_of(call, count, a, b):
        cusolver.potrs(call, fill, n, columns, one, lda, other, ldb, info)


_TYPED: dict[str, Served] = {
    "potrfBatched": potrf_batched,
    "potrsBatched": potrs_batched,
    "gesvdj": gesvdj,
    "gesvdjBatched": gesvdj_batched,
    "gesvdaStridedBatched": gesvda_strided,
}
_PAIRS: dict[str, Callable[..., int | None]] = {
    "evj": syevj,
    "gvj": sygvj,
    "evjBatched": syevj_batched,
    "evdx": syevdx,
    "gvdx": sygvdx,
}
_PLAIN: dict[str, Served] = {
    "cusolverDnXgesvdp": x_gesvdp,
    "cusolverDnXgesvdr": x_gesvdr,
    "cusolverDnXgeev": x_geev,
    "cusolverDnXtrtri": x_trtri,
    "cusolverDnXResidual": told,
    "cusolverDnXSweeps": told_sweeps,
}
HANDLERS: Handlers = calls.all_served(_PLAIN, statuses=STATUSES)
for _name, _function in _TYPED.items():
    HANDLERS |= calls.of_types("cusolverDn", _name, _function, calls.ALL, STATUSES)
for _name, _function in _PAIRS.items():
    HANDLERS |= calls.of_types("cusolverDn", f"sy{_name}", _function, calls.REALS, STATUSES)
    HANDLERS |= calls.of_types("cusolverDn", f"he{_name}", _function, calls.COMPLEX, STATUSES)
