"""cuBLAS's second and third level: products, updates and solutions with matrices of every shape that BLAS stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Array, Call, Operand, Refused, Strided
from grader.programs.runtime.state import Handlers

NO, TRANSPOSED, CONJUGATE = 0, 1, 2
LOWER, UPPER = 0, 1
LEFT, RIGHT = 0, 1
_UNIT = 1


def operand(matrix: Array, operation: int) -> Array:
    """Return op(A).  Raises Refused where there is no such operation."""
    if operation not in (NO, TRANSPOSED, CONJUGATE):
        raise Refused(calls.INVALID_VALUE)
    turned = matrix if operation == NO else matrix.T
    return turned.conj() if operation == CONJUGATE else turned


def blend(
    call: Call, inputs: tuple[Operand, ...], target: Operand, product: Array, alpha: Any, beta: Any, where: Any = True
) -> None:
    """target = alpha * product + beta * target where `where` says; where beta is 0 the target is not read."""
    call.read(*inputs, *([target] if beta else []))
    old = target[0]
    scaled = alpha * product
    value = scaled + beta * old if beta else scaled
    call.store(target, value if where is True else np.where(where, value, old))


def _side(fill: int, n: int) -> Array:
    """Return a mask of a triangle."""
    if fill not in (LOWER, UPPER):
        raise Refused(calls.INVALID_VALUE)
    return np.tri(n, dtype=bool) if fill == LOWER else np.tri(n, dtype=bool).T


def _whole(stored: Array, fill: int, *, is_hermitian: bool) -> Array:
    """Return the matrix of which one triangle is stored; a Hermitian one's diagonal is real whatever lies there."""
    half = np.where(_side(fill, len(stored)), stored, 0)
    whole = np.where(_side(fill, len(stored)), half, half.T.conj() if is_hermitian else half.T)
    if is_hermitian:
        np.fill_diagonal(whole, np.diag(whole).real)
    return whole


def _triangle(stored: Array, fill: int, unit: int) -> Array:
    triangle = np.where(_side(fill, len(stored)), stored, 0)
    if unit == _UNIT:
        np.fill_diagonal(triangle, 1)
    return triangle


def _packed_places(fill: int, n: int) -> tuple[Array, Array]:
    """Return rows and columns of a packed triangle's numbers, in their order."""
    columns, rows = np.nonzero(_side(fill, n).T)
    return rows, columns


def _packed(call: Call, address: int, fill: int, n: int) -> tuple[Operand, Array]:
    if n < 0:
        raise Refused(calls.INVALID_VALUE)
    flat = call.array(address, n * (n + 1) // 2)
    dense = call.zeros(n, n)
    if n:
        dense[_packed_places(fill, n)] = flat[0]
    return flat, dense


def _band(
    call: Call, address: int, rows: int, columns: int, low: int, high: int, leading: int
) -> tuple[Operand, Array]:
    """Return a band matrix, whose diagonals are stored as rows, as stored and as a dense one."""
    if min(rows, columns, low, high) < 0 or leading < low + high + 1:
        raise Refused(calls.INVALID_VALUE)
    stored = call.matrix(address, low + high + 1, columns, leading)
    dense = call.zeros(rows, columns)
    # Diagonals that lie wholly outside the matrix hold nothing, and there may be 2^31 of them.
    for shift in range(max(-high, 1 - columns), min(low + 1, rows)):
        first, last = max(0, -shift), min(columns, rows - shift)
        if first < last:
            where = np.arange(first, last)
            dense[where + shift, where] = stored[0][shift + high, first:last]
    return stored, dense


def solve(triangle: Array, right: Array, *, is_lower: bool) -> Array:
    """`triangle` x = `right`, row by row."""
    solution = np.array(right, copy=True)
    order = range(len(triangle)) if is_lower else range(len(triangle) - 1, -1, -1)
    for row in order:
        solved = slice(0, row) if is_lower else slice(row + 1, None)
        solution[row] = (solution[row] - triangle[row, solved] @ solution[solved]) / triangle[row, row]
    return solution


# -- products -------------------------------------------------------------------------------------


def gemm(call: Call, ta: int, tb: int, m: int, n: int, k: int, alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int) -> None:  # fmt: skip
    factors = call.scalar(alpha), call.scalar(beta)
    product_of(call, (ta, tb), (m, n, k), factors, ((a, lda), (b, ldb), (c, ldc)))


def multiplied(left: Array, right: Array, computed: str = "") -> Array:
    """Return a product in the type that it is computed in, by BLAS, which has none for `half` and for integers."""
    kind = np.dtype(computed or left.dtype)
    # Sums of 2^20 products of bytes are whole numbers in a double.
    by = {"f2": "f4", "i4": "f8"}.get(kind.str[1:], kind)
    product: Array = left.astype(by, copy=False) @ right.astype(by, copy=False)
    return product.astype("i8").astype(kind) if kind.kind == "i" else product


def product_of(
    call: Call,
    operations: tuple[int, int],
    sizes: tuple[int, int, int],
    factors: tuple[Any, Any],
    places: tuple[Strided, Strided, Strided],
    types: tuple[str, str, str] = ("", "", ""),
    computed: str = "",
) -> None:
    """C = alpha op(A) op(B) + beta C: (m, k) by (k, n).

    operations: of A and B.  sizes: m, n, k.  factors: alpha and beta.  places, types: of A, B and C.
    """
    (ta, tb), (m, n, k), (a, b, c) = operations, sizes, places
    if min(m, n, k) < 0:
        raise Refused(calls.INVALID_VALUE)
    call.products(m, n, k)
    first = call.matrix(a[0], *((m, k) if ta == NO else (k, m)), a[1], types[0])
    second = call.matrix(b[0], *((k, n) if tb == NO else (n, k)), b[1], types[1])
    target = call.matrix(c[0], m, n, c[1], types[2])
    product = multiplied(operand(first[0], ta), operand(second[0], tb), computed)
    blend(call, (first, second), target, product, *factors)


def gemv(call: Call, t: int, m: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int) -> None:  # fmt: skip
    call.work(m, n)
    matrix = call.matrix(a, m, n, lda)
    _times_vector(call, matrix, operand(matrix[0], t), alpha, (x, incx), beta, (y, incy))


def _times_vector(call: Call, stored: Operand, matrix: Array, alpha: int, x: Strided, beta: int, y: Strided) -> None:
    vector = call.vector(x[0], matrix.shape[1], x[1])
    target = call.vector(y[0], matrix.shape[0], y[1])
    blend(call, (stored, vector), target, matrix @ vector[0], call.scalar(alpha), call.scalar(beta))


def gbmv(call: Call, t: int, m: int, n: int, low: int, high: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int) -> None:  # fmt: skip
    call.work(m, n)
    stored, dense = _band(call, a, m, n, low, high, lda)
    _times_vector(call, stored, operand(dense, t), alpha, (x, incx), beta, (y, incy))


def _symmetric_times(is_hermitian: bool) -> Callable[..., None]:
    def symv(call: Call, fill: int, n: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int) -> None:  # fmt: skip
        call.work(n, n)
        stored = call.matrix(a, n, n, lda)
        whole = _whole(stored[0], fill, is_hermitian=is_hermitian)
        _times_vector(call, stored, whole, alpha, (x, incx), beta, (y, incy))

    return symv


def _band_symmetric_times(is_hermitian: bool) -> Callable[..., None]:
    def sbmv(call: Call, fill: int, n: int, k: int, alpha: int, a: int, lda: int, x: int, incx: int, beta: int, y: int, incy: int) -> None:  # fmt: skip
        call.work(n, n)
        stored, dense = _band(call, a, n, n, *((k, 0) if fill == LOWER else (0, k)), lda)
        whole = _whole(dense, fill, is_hermitian=is_hermitian)
        _times_vector(call, stored, whole, alpha, (x, incx), beta, (y, incy))

    return sbmv


def _packed_symmetric_times(is_hermitian: bool) -> Callable[..., None]:
    def spmv(call: Call, fill: int, n: int, alpha: int, a: int, x: int, incx: int, beta: int, y: int, incy: int) -> None:  # fmt: skip
        call.work(n, n)
        stored, dense = _packed(call, a, fill, n)
        whole = _whole(dense, fill, is_hermitian=is_hermitian)
        _times_vector(call, stored, whole, alpha, (x, incx), beta, (y, incy))

    return spmv


# -- triangles ----------------------------------------------------------------------------------------


def _by_triangle(
    call: Call, stored: Operand, triangle: Array, is_lower: bool, t: int, x: Strided, *, is_solved: bool
) -> None:
    vector = call.vector(x[0], len(triangle), x[1])
    call.work(len(triangle), len(triangle))
    call.read(stored, vector)
    used = operand(triangle, t)
    lower = is_lower == (t == NO)
    call.store(vector, solve(used, vector[0], is_lower=lower) if is_solved else used @ vector[0])


def _trmv(is_solved: bool) -> Callable[..., None]:
    def trmv(call: Call, fill: int, t: int, unit: int, n: int, a: int, lda: int, x: int, incx: int) -> None:
        stored = call.matrix(a, n, n, lda)
        _by_triangle(call, stored, _triangle(stored[0], fill, unit), fill == LOWER, t, (x, incx), is_solved=is_solved)

    return trmv


def _tbmv(is_solved: bool) -> Callable[..., None]:
    def tbmv(call: Call, fill: int, t: int, unit: int, n: int, k: int, a: int, lda: int, x: int, incx: int) -> None:
        stored, dense = _band(call, a, n, n, *((k, 0) if fill == LOWER else (0, k)), lda)
        _by_triangle(call, stored, _triangle(dense, fill, unit), fill == LOWER, t, (x, incx), is_solved=is_solved)

    return tbmv


def _tpmv(is_solved: bool) -> Callable[..., None]:
    def tpmv(call: Call, fill: int, t: int, unit: int, n: int, a: int, x: int, incx: int) -> None:
        stored, dense = _packed(call, a, fill, n)
        _by_triangle(call, stored, _triangle(dense, fill, unit), fill == LOWER, t, (x, incx), is_solved=is_solved)

    return tpmv


def trsm(call: Call, side: int, fill: int, t: int, unit: int, m: int, n: int, alpha: int, a: int, lda: int, b: int, ldb: int) -> None:  # fmt: skip
    solve_with(call, side, (fill, t, unit), (m, n), call.scalar(alpha), (a, lda), (b, ldb))


def solve_with(
    call: Call, side: int, form: tuple[int, int, int], sizes: tuple[int, int], alpha: Any, a: Strided, b: Strided
) -> None:
    """op(A) X = alpha B, or X op(A) = alpha B, into B.

    form: which triangle of A it is, its operation, whether its diagonal is ones.  sizes: of B.
    """
    (fill, t, unit), (m, n) = form, sizes
    order = m if side == LEFT else n
    call.work(m, n, order)
    stored, target = call.matrix(a[0], order, order, a[1]), call.matrix(b[0], m, n, b[1])
    call.read(stored, target)
    used = operand(_triangle(stored[0], fill, unit), t)
    is_lower = (fill == LOWER) == (t == NO)
    right = alpha * target[0]
    call.store(target, solve(used, right, is_lower=is_lower) if side == LEFT else solve(used.T, right.T, is_lower=not is_lower).T)  # fmt: skip


def trmm(call: Call, side: int, fill: int, t: int, unit: int, m: int, n: int, alpha: int, a: int, lda: int, b: int, ldb: int, c: int, ldc: int) -> None:  # fmt: skip
    order = m if side == LEFT else n
    call.work(m, n, order)
    stored, other, target = call.matrix(a, order, order, lda), call.matrix(b, m, n, ldb), call.matrix(c, m, n, ldc)
    call.read(stored, other)
    used = operand(_triangle(stored[0], fill, unit), t)
    call.store(target, call.scalar(alpha) * (used @ other[0] if side == LEFT else other[0] @ used))


# -- updates ---------------------------------------------------------------------------------------------


def _ger(is_conjugated: bool) -> Callable[..., None]:
    def ger(call: Call, m: int, n: int, alpha: int, x: int, incx: int, y: int, incy: int, a: int, lda: int) -> None:
        call.work(m, n)
        first, second, target = call.vector(x, m, incx), call.vector(y, n, incy), call.matrix(a, m, n, lda)
        product = np.outer(first[0], second[0].conj() if is_conjugated else second[0])
        blend(call, (first, second), target, product, call.scalar(alpha), 1)

    return ger


def _outer(call: Call, n: int, vectors: Sequence[Strided], alpha: int, form: str) -> tuple[tuple[Operand, ...], Array]:
    """Return inputs and product of a rank-one or rank-two update; form: "s" or "h", "2" behind it for two vectors."""
    call.work(n, n)
    first, *others = (call.vector(address, n, step) for address, step in vectors)
    if not others:
        factor = call.scalar(alpha, call.real if form == "h" else call.dtype)
        other = first[0].conj() if form == "h" else first[0]
        return (first,), factor * np.outer(first[0], other)
    (second,) = others
    factor = call.scalar(alpha)
    if form == "h2":
        half = factor * np.outer(first[0], second[0].conj())
        return (first, second), half + half.T.conj()
    half = factor * np.outer(first[0], second[0])
    return (first, second), half + half.T


def _syr(form: str) -> Callable[..., None]:
    def syr(call: Call, fill: int, n: int, alpha: int, x: int, incx: int, a: int, lda: int) -> None:
        target = call.matrix(a, n, n, lda)
        inputs, added = _outer(call, n, [(x, incx)], alpha, form)
        _add(call, inputs, target, added, np.diag_indices(n), form, _side(fill, n))

    return syr


def _syr2(form: str) -> Callable[..., None]:
    def syr2(call: Call, fill: int, n: int, alpha: int, x: int, incx: int, y: int, incy: int, a: int, lda: int) -> None:
        target = call.matrix(a, n, n, lda)
        inputs, added = _outer(call, n, [(x, incx), (y, incy)], alpha, form)
        _add(call, inputs, target, added, np.diag_indices(n), form, _side(fill, n))

    return syr2


def _add(
    call: Call,
    inputs: tuple[Operand, ...],
    target: Operand,
    added: Array,
    diagonal: tuple[Array, ...],
    form: str,
    where: Any = True,
) -> None:
    """Add an update to a matrix; the diagonal of a Hermitian one is real afterwards."""
    added = added.astype(call.dtype)
    if form.startswith("h"):
        added[diagonal] -= 1j * target[0][diagonal].imag
    blend(call, inputs, target, added, 1, 1, where)


def _add_packed(call: Call, fill: int, n: int, a: int, vectors: Sequence[Strided], alpha: int, form: str) -> None:
    target = call.array(a, n * (n + 1) // 2)
    inputs, added = _outer(call, n, vectors, alpha, form)
    places = _packed_places(fill, n)
    _add(call, inputs, target, added[places], np.nonzero(places[0] == places[1]), form)


def _spr(form: str) -> Callable[..., None]:
    def spr(call: Call, fill: int, n: int, alpha: int, x: int, incx: int, a: int) -> None:
        _add_packed(call, fill, n, a, [(x, incx)], alpha, form)

    return spr


def _spr2(form: str) -> Callable[..., None]:
    def spr2(call: Call, fill: int, n: int, alpha: int, x: int, incx: int, y: int, incy: int, a: int) -> None:
        _add_packed(call, fill, n, a, [(x, incx), (y, incy)], alpha, form)

    return spr2


def _symm(is_hermitian: bool) -> Callable[..., None]:
    def symm(call: Call, side: int, fill: int, m: int, n: int, alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int) -> None:  # fmt: skip
        order = m if side == LEFT else n
        call.work(m, n, order)
        stored, other, target = call.matrix(a, order, order, lda), call.matrix(b, m, n, ldb), call.matrix(c, m, n, ldc)
        whole = _whole(stored[0], fill, is_hermitian=is_hermitian)
        product = whole @ other[0] if side == LEFT else other[0] @ whole
        blend(call, (stored, other), target, product, call.scalar(alpha), call.scalar(beta))

    return symm


def _turned(call: Call, address: int, t: int, n: int, k: int, leading: int) -> tuple[Operand, Array]:
    stored = call.matrix(address, *((n, k) if t == NO else (k, n)), leading)
    return stored, stored[0] if t == NO else stored[0].T


def _syrk(is_hermitian: bool) -> Callable[..., None]:
    def syrk(call: Call, fill: int, t: int, n: int, k: int, alpha: int, a: int, lda: int, beta: int, c: int, ldc: int) -> None:  # fmt: skip
        call.work(n, n, k)
        target = call.matrix(c, n, n, ldc)
        stored, used = _turned(call, a, t, n, k, lda)
        scale = call.real if is_hermitian else call.dtype
        first, second = (used.conj(), used.T) if is_hermitian and t != NO else (used, used.T)
        product = first @ (second.conj() if is_hermitian and t == NO else second)
        where = _side(fill, n)
        blend(call, (stored,), target, product, call.scalar(alpha, scale), call.scalar(beta, scale), where)

    return syrk


def _syr2k(form: str) -> Callable[..., None]:
    def syr2k(call: Call, fill: int, t: int, n: int, k: int, alpha: int, a: int, lda: int, b: int, ldb: int, beta: int, c: int, ldc: int) -> None:  # fmt: skip
        call.work(2, n, n, k)
        target = call.matrix(c, n, n, ldc)
        first, one = _turned(call, a, t, n, k, lda)
        second, other = _turned(call, b, t, n, k, ldb)
        factor = call.scalar(alpha)
        is_hermitian = form in ("h2", "hx")
        half = factor * (one @ (other.T.conj() if is_hermitian else other.T))
        if is_hermitian and t != NO:
            half = factor * (one.conj() @ other.T)
        product = half if form in ("sx", "hx") else half + (half.T.conj() if is_hermitian else half.T)
        scale = call.scalar(beta, call.real if is_hermitian else call.dtype)
        blend(call, (first, second), target, product, 1, scale, _side(fill, n))

    return syr2k


HANDLERS: Handlers = {
    **calls.of_types("cublas", "gemm", gemm, calls.ALL),
    **calls.of_types("cublas", "gemm3m", gemm, calls.COMPLEX),
    **calls.of_types("cublas", "gemv", gemv, calls.ALL),
    **calls.of_types("cublas", "gbmv", gbmv, calls.ALL),
    **calls.of_types("cublas", "symv", _symmetric_times(False), calls.ALL),
    **calls.of_types("cublas", "hemv", _symmetric_times(True), calls.COMPLEX),
    **calls.of_types("cublas", "sbmv", _band_symmetric_times(False), calls.REALS),
    **calls.of_types("cublas", "hbmv", _band_symmetric_times(True), calls.COMPLEX),
    **calls.of_types("cublas", "spmv", _packed_symmetric_times(False), calls.REALS),
    **calls.of_types("cublas", "hpmv", _packed_symmetric_times(True), calls.COMPLEX),
    **calls.of_types("cublas", "trmv", _trmv(False), calls.ALL),
    **calls.of_types("cublas", "trsv", _trmv(True), calls.ALL),
    **calls.of_types("cublas", "tbmv", _tbmv(False), calls.ALL),
    **calls.of_types("cublas", "tbsv", _tbmv(True), calls.ALL),
    **calls.of_types("cublas", "tpmv", _tpmv(False), calls.ALL),
    **calls.of_types("cublas", "tpsv", _tpmv(True), calls.ALL),
    **calls.of_types("cublas", "ger", _ger(False), calls.REALS),
    **calls.of_types("cublas", "geru", _ger(False), calls.COMPLEX),
    **calls.of_types("cublas", "gerc", _ger(True), calls.COMPLEX),
    **calls.of_types("cublas", "syr", _syr("s"), calls.ALL),
    **calls.of_types("cublas", "her", _syr("h"), calls.COMPLEX),
    **calls.of_types("cublas", "syr2", _syr2("s2"), calls.ALL),
    **calls.of_types("cublas", "her2", _syr2("h2"), calls.COMPLEX),
    **calls.of_types("cublas", "spr", _spr("s"), calls.REALS),
    **calls.of_types("cublas", "hpr", _spr("h"), calls.COMPLEX),
    **calls.of_types("cublas", "spr2", _spr2("s2"), calls.REALS),
    **calls.of_types("cublas", "hpr2", _spr2("h2"), calls.COMPLEX),
    **calls.of_types("cublas", "trsm", trsm, calls.ALL),
    **calls.of_types("cublas", "trmm", trmm, calls.ALL),
    **calls.of_types("cublas", "symm", _symm(False), calls.ALL),
    **calls.of_types("cublas", "hemm", _symm(True), calls.COMPLEX),
    **calls.of_types("cublas", "syrk", _syrk(False), calls.ALL),
    **calls.of_types("cublas", "herk", _syrk(True), calls.COMPLEX),
    **calls.of_types("cublas", "syr2k", _syr2k("s2"), calls.ALL),
    **calls.of_types("cublas", "her2k", _syr2k("h2"), calls.COMPLEX),
    **calls.of_types("cublas", "syrkx", _syr2k("sx"), calls.ALL),
    **calls.of_types("cublas", "herkx", _syr2k("hx"), calls.COMPLEX),
    "cublasHgemm": calls.served(gemm, "f2"),
}
