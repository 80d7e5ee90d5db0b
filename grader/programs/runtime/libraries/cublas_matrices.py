"""cuBLAS's second and third level: products, updates and solutions with matrices of every shape that BLAS stores."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused
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


def _band(call: Call, args: Arguments, rows: int, low: int, high: int) -> tuple[Operand, Array]:
    """Return a band matrix, whose diagonals are stored as rows, as stored and as a dense one."""
    columns = args.n
    if min(rows, columns, low, high) < 0 or args.lda < low + high + 1:
        raise Refused(calls.INVALID_VALUE)
    stored = call.matrix_of(args, "a", low + high + 1, columns)
    dense = call.zeros(rows, columns)
    # Diagonals that lie wholly outside the matrix hold nothing, and there may be 2^31 of them.
    for shift in range(max(-high, 1 - columns), min(low + 1, rows)):
        first, last = max(0, -shift), min(columns, rows - shift)
        if first < last:
            where = np.arange(first, last)
            dense[where + shift, where] = stored[0][shift + high, first:last]
    return stored, dense


def _square(call: Call, args: Arguments) -> tuple[Operand, Array]:
    """Return A as stored and as a dense one: packed where it has no leading dimension, in a band of `k` diagonals."""
    if not hasattr(args, "lda"):
        return _packed(call, args.a, args.fill, args.n)
    if hasattr(args, "k"):
        return _band(call, args, args.n, *((args.k, 0) if args.fill == LOWER else (0, args.k)))
    stored = call.matrix_of(args, "a", args.n, args.n)
    return stored, stored[0]


def solve(triangle: Array, right: Array, *, is_lower: bool) -> Array:
    """`triangle` x = `right`, row by row."""
    solution = np.array(right, copy=True)
    order = range(len(triangle)) if is_lower else range(len(triangle) - 1, -1, -1)
    for row in order:
        solved = slice(0, row) if is_lower else slice(row + 1, None)
        solution[row] = (solution[row] - triangle[row, solved] @ solution[solved]) / triangle[row, row]
    return solution


# -- products -------------------------------------------------------------------------------------


@calls.takes("ta tb m n k alpha a lda b ldb beta c ldc")
def gemm(call: Call, args: Arguments) -> None:
    product_of(call, args, call.scalar(args.alpha), call.scalar(args.beta))


def multiplied(left: Array, right: Array, computed: str = "") -> Array:
    """Return a product in the type that it is computed in, by BLAS, which has none for `half` and for integers."""
    kind = np.dtype(computed or left.dtype)
    # Sums of 2^20 products of bytes are whole numbers in a double.
    by = {"f2": "f4", "i4": "f8"}.get(kind.str[1:], kind)

    def made() -> Array:
        product: Array = left.astype(by, copy=False) @ right.astype(by, copy=False)
        return product.astype("i8").astype(kind) if kind.kind == "i" else product

    if left.size * right.shape[-1] < KEPT_FROM:
        return made()
    # Numbers of 8 bits are of one type for NumPy, whichever they stand for.
    sides = [(getattr(side, "name", ""), side.dtype, side.shape, _digest(side)) for side in (left, right)]
    key = (kind, *sides)
    if key not in _kept:
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
        _kept[key] = made()
        _kept[key].flags.writeable = False
    return _kept[key]


KEPT_FROM = 1 << 27
"""Multiplications of a product from which it is known again, as where a benchmark repeats it a hundred times."""
KEPT = 3
_kept: dict[tuple[Any, ...], Array] = {}


def _digest(matrix: Array) -> tuple[bool, bytes]:
    by_columns = bool(matrix.flags.f_contiguous)
    rows = np.ascontiguousarray(matrix.T if by_columns else matrix)
    return by_columns, hashlib.blake2b(rows.view(np.uint8).data).digest()


def product_of(
    call: Call,
    args: Arguments,
    alpha: Any,
    beta: Any,
    types: tuple[str, str, str] = ("", "", ""),
    computed: str = "",
) -> None:
    """C = alpha op(A) op(B) + beta C: (m, k) by (k, n).  types: of A, B and C."""
    m, n, k = args.m, args.n, args.k
    if min(m, n, k) < 0:
        raise Refused(calls.INVALID_VALUE)
    call.products(m, n, k)
    first = call.matrix_of(args, "a", *((m, k) if args.ta == NO else (k, m)), types[0])
    second = call.matrix_of(args, "b", *((k, n) if args.tb == NO else (n, k)), types[1])
    target = call.matrix_of(args, "c", m, n, types[2])
    product = multiplied(operand(first[0], args.ta), operand(second[0], args.tb), computed)
    blend(call, (first, second), target, product, alpha, beta)


@calls.takes("t m n alpha a lda x incx beta y incy")
def gemv(call: Call, args: Arguments) -> None:
    call.work(args.m, args.n)
    matrix = call.matrix_of(args, "a", args.m, args.n)
    _times_vector(call, args, matrix, operand(matrix[0], args.t))


def _times_vector(call: Call, args: Arguments, stored: Operand, matrix: Array) -> None:
    vector, target = call.vector_of(args, "x", matrix.shape[1]), call.vector_of(args, "y", matrix.shape[0])
    blend(call, (stored, vector), target, matrix @ vector[0], call.scalar(args.alpha), call.scalar(args.beta))


@calls.takes("t m n low high alpha a lda x incx beta y incy")
def gbmv(call: Call, args: Arguments) -> None:
    call.work(args.m, args.n)
    stored, dense = _band(call, args, args.m, args.low, args.high)
    _times_vector(call, args, stored, operand(dense, args.t))


def _symmetric_times(call: Call, args: Arguments, *, is_hermitian: bool = False) -> None:
    call.work(args.n, args.n)
    stored, dense = _square(call, args)
    _times_vector(call, args, stored, _whole(dense, args.fill, is_hermitian=is_hermitian))


_hermitian_times = partial(_symmetric_times, is_hermitian=True)


# -- triangles ----------------------------------------------------------------------------------------


def _triangular_times(call: Call, args: Arguments, *, is_solved: bool = False) -> None:
    """x = op(A) x, or the x of op(A) x = x."""
    stored, dense = _square(call, args)
    triangle, vector = _triangle(dense, args.fill, args.unit), call.vector_of(args, "x", args.n)
    call.work(args.n, args.n)
    call.read(stored, vector)
    used = operand(triangle, args.t)
    is_lower = (args.fill == LOWER) == (args.t == NO)
    call.store(vector, solve(used, vector[0], is_lower=is_lower) if is_solved else used @ vector[0])


_triangular_solved = partial(_triangular_times, is_solved=True)


@calls.takes("side fill t unit m n alpha a lda b ldb")
def trsm(call: Call, args: Arguments) -> None:
    """op(A) X = alpha B, or X op(A) = alpha B, into B."""
    alpha, is_left = call.scalar(args.alpha), args.side == LEFT
    order = args.m if is_left else args.n
    call.work(args.m, args.n, order)
    stored, target = call.matrix_of(args, "a", order, order), call.matrix_of(args, "b", args.m, args.n)
    call.read(stored, target)
    used = operand(_triangle(stored[0], args.fill, args.unit), args.t)
    is_lower = (args.fill == LOWER) == (args.t == NO)
    right = alpha * target[0]
    solution = solve(used, right, is_lower=is_lower) if is_left else solve(used.T, right.T, is_lower=not is_lower).T
    call.store(target, solution)


@calls.takes("side fill t unit m n alpha a lda b ldb c ldc")
def trmm(call: Call, args: Arguments) -> None:
    stored, other, target = _by_square(call, args)
    call.read(stored, other)
    used = operand(_triangle(stored[0], args.fill, args.unit), args.t)
    call.store(target, call.scalar(args.alpha) * (used @ other[0] if args.side == LEFT else other[0] @ used))


def _by_square(call: Call, args: Arguments) -> tuple[Operand, Operand, Operand]:
    """Return a square matrix, what it is multiplied by on one side, and where the product goes."""
    order = args.m if args.side == LEFT else args.n
    call.work(args.m, args.n, order)
    square = call.matrix_of(args, "a", order, order)
    return square, call.matrix_of(args, "b", args.m, args.n), call.matrix_of(args, "c", args.m, args.n)


# -- updates ---------------------------------------------------------------------------------------------


def _ger(call: Call, args: Arguments, *, is_conjugated: bool = False) -> None:
    call.work(args.m, args.n)
    first, second = call.vector_of(args, "x", args.m), call.vector_of(args, "y", args.n)
    target = call.matrix_of(args, "a", args.m, args.n)
    product = np.outer(first[0], second[0].conj() if is_conjugated else second[0])
    blend(call, (first, second), target, product, call.scalar(args.alpha), 1)


def _outer(call: Call, args: Arguments, form: str) -> tuple[tuple[Operand, ...], Array]:
    """Return inputs and product of a rank-one or rank-two update; form: "s" or "h", "2" behind it for two vectors."""
    call.work(args.n, args.n)
    first = call.vector_of(args, "x", args.n)
    if not form.endswith("2"):
        factor = call.scalar(args.alpha, call.real if form == "h" else call.dtype)
        other = first[0].conj() if form == "h" else first[0]
        return (first,), factor * np.outer(first[0], other)
    second = call.vector_of(args, "y", args.n)
    factor = call.scalar(args.alpha)
    if form == "h2":
        half = factor * np.outer(first[0], second[0].conj())
        return (first, second), half + half.T.conj()
    half = factor * np.outer(first[0], second[0])
    return (first, second), half + half.T


def _update(call: Call, args: Arguments, *, form: str) -> None:
    """Update a triangle, which may be packed; the diagonal of a Hermitian matrix is real afterwards."""
    is_packed = not hasattr(args, "lda")
    size = args.n * (args.n + 1) // 2
    target = call.array(args.a, size) if is_packed else call.matrix_of(args, "a", args.n, args.n)
    inputs, added = _outer(call, args, form)
    where: Any = True
    if is_packed:
        places = _packed_places(args.fill, args.n)
        added, diagonal = added[places], np.nonzero(places[0] == places[1])
    else:
        where, diagonal = _side(args.fill, args.n), np.diag_indices(args.n)
    added = added.astype(call.dtype)
    if form.startswith("h"):
        added[diagonal] -= 1j * target[0][diagonal].imag
    blend(call, inputs, target, added, 1, 1, where)


def _symm(call: Call, args: Arguments, *, is_hermitian: bool = False) -> None:
    stored, other, target = _by_square(call, args)
    whole = _whole(stored[0], args.fill, is_hermitian=is_hermitian)
    product = whole @ other[0] if args.side == LEFT else other[0] @ whole
    blend(call, (stored, other), target, product, call.scalar(args.alpha), call.scalar(args.beta))


def _turned(call: Call, args: Arguments, name: str) -> tuple[Operand, Array]:
    stored = call.matrix_of(args, name, *((args.n, args.k) if args.t == NO else (args.k, args.n)))
    return stored, stored[0] if args.t == NO else stored[0].T


def _syrk(call: Call, args: Arguments, *, is_hermitian: bool = False) -> None:
    call.work(args.n, args.n, args.k)
    target = call.matrix_of(args, "c", args.n, args.n)
    stored, used = _turned(call, args, "a")
    scale = call.real if is_hermitian else call.dtype
    first, second = (used.conj(), used.T) if is_hermitian and args.t != NO else (used, used.T)
    product = first @ (second.conj() if is_hermitian and args.t == NO else second)
    alpha, beta = call.scalar(args.alpha, scale), call.scalar(args.beta, scale)
    blend(call, (stored,), target, product, alpha, beta, _side(args.fill, args.n))


def _syr2k(call: Call, args: Arguments, *, form: str) -> None:
    """form: as `_outer` takes it, with "x" for the product alone."""
    call.work(2, args.n, args.n, args.k)
    target = call.matrix_of(args, "c", args.n, args.n)
    first, one = _turned(call, args, "a")
    second, other = _turned(call, args, "b")
    factor = call.scalar(args.alpha)
    is_hermitian = form in ("h2", "hx")
    half = factor * (one @ (other.T.conj() if is_hermitian else other.T))
    if is_hermitian and args.t != NO:
        half = factor * (one.conj() @ other.T)
    product = half if form in ("sx", "hx") else half + (half.T.conj() if is_hermitian else half.T)
    scale = call.scalar(args.beta, call.real if is_hermitian else call.dtype)
    blend(call, (first, second), target, product, 1, scale, _side(args.fill, args.n))


# Functions that differ only in how A is stored, or in whether it is symmetric or Hermitian: name, function, arguments
# and types.
_TABLE: tuple[tuple[str, Callable[[Call, Arguments], None], str, Mapping[str, str]], ...] = (
    ("symv", _symmetric_times, "fill n alpha a lda x incx beta y incy", calls.ALL),
    ("hemv", _hermitian_times, "fill n alpha a lda x incx beta y incy", calls.COMPLEX),
    ("sbmv", _symmetric_times, "fill n k alpha a lda x incx beta y incy", calls.REALS),
    ("hbmv", _hermitian_times, "fill n k alpha a lda x incx beta y incy", calls.COMPLEX),
    ("spmv", _symmetric_times, "fill n alpha a x incx beta y incy", calls.REALS),
    ("hpmv", _hermitian_times, "fill n alpha a x incx beta y incy", calls.COMPLEX),
    ("trmv", _triangular_times, "fill t unit n a lda x incx", calls.ALL),
    ("trsv", _triangular_solved, "fill t unit n a lda x incx", calls.ALL),
    ("tbmv", _triangular_times, "fill t unit n k a lda x incx", calls.ALL),
    ("tbsv", _triangular_solved, "fill t unit n k a lda x incx", calls.ALL),
    ("tpmv", _triangular_times, "fill t unit n a x incx", calls.ALL),
    ("tpsv", _triangular_solved, "fill t unit n a x incx", calls.ALL),
    ("ger", _ger, "m n alpha x incx y incy a lda", calls.REALS),
    ("geru", _ger, "m n alpha x incx y incy a lda", calls.COMPLEX),
    ("gerc", partial(_ger, is_conjugated=True), "m n alpha x incx y incy a lda", calls.COMPLEX),
    ("syr", partial(_update, form="s"), "fill n alpha x incx a lda", calls.ALL),
    ("her", partial(_update, form="h"), "fill n alpha x incx a lda", calls.COMPLEX),
    ("syr2", partial(_update, form="s2"), "fill n alpha x incx y incy a lda", calls.ALL),
    ("her2", partial(_update, form="h2"), "fill n alpha x incx y incy a lda", calls.COMPLEX),
    ("spr", partial(_update, form="s"), "fill n alpha x incx a", calls.REALS),
    ("hpr", partial(_update, form="h"), "fill n alpha x incx a", calls.COMPLEX),
    ("spr2", partial(_update, form="s2"), "fill n alpha x incx y incy a", calls.REALS),
    ("hpr2", partial(_update, form="h2"), "fill n alpha x incx y incy a", calls.COMPLEX),
    ("symm", _symm, "side fill m n alpha a lda b ldb beta c ldc", calls.ALL),
    ("hemm", partial(_symm, is_hermitian=True), "side fill m n alpha a lda b ldb beta c ldc", calls.COMPLEX),
    ("syrk", _syrk, "fill t n k alpha a lda beta c ldc", calls.ALL),
    ("herk", partial(_syrk, is_hermitian=True), "fill t n k alpha a lda beta c ldc", calls.COMPLEX),
    ("syr2k", partial(_syr2k, form="s2"), "fill t n k alpha a lda b ldb beta c ldc", calls.ALL),
    ("her2k", partial(_syr2k, form="h2"), "fill t n k alpha a lda b ldb beta c ldc", calls.COMPLEX),
    ("syrkx", partial(_syr2k, form="sx"), "fill t n k alpha a lda b ldb beta c ldc", calls.ALL),
    ("herkx", partial(_syr2k, form="hx"), "fill t n k alpha a lda b ldb beta c ldc", calls.COMPLEX),
)
HANDLERS: Handlers = {
    **calls.of_types("cublas", "gemm", gemm, calls.ALL),
    **calls.of_types("cublas", "gemm3m", gemm, calls.COMPLEX),
    "cublasHgemm": calls.served(gemm, "f2"),
    **calls.of_types("cublas", "gemv", gemv, calls.ALL),
    **calls.of_types("cublas", "gbmv", gbmv, calls.ALL),
    **calls.of_types("cublas", "trsm", trsm, calls.ALL),
    **calls.of_types("cublas", "trmm", trmm, calls.ALL),
}
for _name, _function, _arguments, _types in _TABLE:
    HANDLERS |= calls.of_types("cublas", _name, calls.Named(_function, _arguments), _types)
