"""cuBLAS through NumPy: handles, settings, and the first level, vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Arguments, Array, Call, Operand, Refused, Served
from grader.programs.runtime.state import Handlers

VERSION = 130_000
NOT_SUPPORTED = 15
# As many are added up at once, so that no vector is held twice.
_PRODUCTS_AT_ONCE = 65_536

_BY_REAL = {"Cs": "c8", "Zd": "c16"}
_TO_REAL = {"S": "f4", "D": "f8", "Sc": "c8", "Dz": "c16"}
_TO_INDEX = {f"I{letter.lower()}": dtype for letter, dtype in calls.ALL.items()}
type_of = partial(calls.one_of, calls.DATA_TYPES, NOT_SUPPORTED)


def create(call: Call, handle: int) -> None:
    calls.new_handle(call.state, handle, {"pointer_mode": 0, "stream": 0, "math": 0}, 3)


def _set(name: str) -> Served:
    def setter(call: Call, value: int) -> None:
        call.handle[name] = value

    return setter


def _get(name: str, layout: str) -> Served:
    def getter(call: Call, pointer: int) -> None:
        call.state.guest.pack(layout, pointer, call.handle.get(name, 0))

    return getter


def workspace(call: Call, address: int, size: int) -> None:
    """It is the library's to use, and of no use here."""
    if address % 256:
        raise Refused(calls.INVALID_VALUE)


# -- vectors --------------------------------------------------------------------------------


def _type(call: Call, args: Arguments, name: str, usual: str = "") -> str:
    """Return the type of an operand, or `e`, what is computed in: what the call says, as `cublasAxpyEx` does, else the
    usual one, or the function's own."""
    number = vars(args).get(f"{name}t")
    return usual or call.dtype if number is None else type_of(number)


def _vectors(call: Call, args: Arguments, names: str) -> list[Operand]:
    return [call.vector(vars(args)[x], args.n, vars(args)[f"inc{x}"], _type(call, args, x)) for x in names]


def _in_type(call: Call, args: Arguments, vector: Operand) -> Array:
    return vector[0].astype(_type(call, args, "e"), copy=False)


def _axpy(call: Call, args: Arguments) -> None:
    source, target = _vectors(call, args, "xy")
    call.read(source, target)
    factor = call.scalar(args.alpha, _type(call, args, "alpha"))
    call.store(target, _in_type(call, args, target) + factor * source[0])


def _scal(call: Call, args: Arguments, *, is_real: bool = False) -> None:
    (target,) = _vectors(call, args, "x")
    call.read(target)
    factor = call.scalar(args.alpha, call.real if is_real else _type(call, args, "alpha"))
    call.store(target, _in_type(call, args, target) * factor)


def copy(call: Call, n: int, x: int, x_step: int, y: int, y_step: int) -> None:
    source = call.vector(x, n, x_step)
    call.read(source)
    call.store(call.vector(y, n, y_step), source[0])


def swap(call: Call, n: int, x: int, x_step: int, y: int, y_step: int) -> None:
    first, second = call.vector(x, n, x_step), call.vector(y, n, y_step)
    call.read(first, second)
    before = first[0].copy()
    call.store(first, second[0])
    call.store(second, before)


def _dot(call: Call, args: Arguments, *, is_conjugated: bool = False) -> None:
    first, second = _vectors(call, args, "xy")
    call.read(first, second)
    left = _in_type(call, args, first)
    product = _dot_product(left.conj() if is_conjugated else left, _in_type(call, args, second))
    call.give(args.out, product, _type(call, args, "out"))


def _dot_product(left: Array, right: Array) -> Any:
    """Return the sum of products as a tree of sums has it: one running float loses a hundredth over 10⁸ elements."""
    wide = np.result_type(left, right, np.float64)
    starts = range(0, len(left), _PRODUCTS_AT_ONCE)
    parts = (slice(start, start + _PRODUCTS_AT_ONCE) for start in starts)
    return sum((np.dot(left[part].astype(wide), right[part].astype(wide)) for part in parts), wide.type(0))


def _norm(vector: Array) -> Any:
    return np.sqrt(_dot_product(vector.conj(), vector).real)


def _reduced(which: Callable[[Array], Any], dtype: str, names: str) -> calls.Named:
    def norm(call: Call, args: Arguments) -> None:
        (vector,) = _vectors(call, args, "x")
        call.read(vector)
        result = which(_in_type(call, args, vector)) if args.n else 0
        call.give(args.out, result, _type(call, args, "out", dtype or call.real))

    return calls.Named(norm, names)


def _sizes(vector: Array) -> Array:
    """Return what `amax` compares: of complex numbers the sum of both parts' absolute values."""
    sizes: Array = np.abs(vector.real) + np.abs(vector.imag)
    return sizes


def _rot(call: Call, args: Arguments, *, is_real: bool = False) -> None:
    """is_real: the sine, as the cosine always is where the call does not say its type."""
    cosine = call.scalar(args.c, _type(call, args, "cs", call.real))
    sine = call.scalar(args.s, _type(call, args, "cs", call.real if is_real else ""))
    first, second = _vectors(call, args, "xy")
    call.read(first, second)
    before = _in_type(call, args, first).copy()
    call.store(first, cosine * before + sine * second[0])
    call.store(second, cosine * _in_type(call, args, second) - np.conj(sine) * before)


def rotg(call: Call, a: int, b: int, cosine: int, sine: int) -> None:
    """A plane rotation as BLAS defines it (Lawson, Hanson, Kincaid, Krogh 1979)."""
    first, second = complex(call.scalar(a)), complex(call.scalar(b))
    if call.dtype == call.real:
        x, y = first.real, second.real
        sign = math.copysign(1, x if abs(x) > abs(y) else y)
        r = sign * math.hypot(x, y)
        c, s = (x / r, y / r) if r else (1.0, 0.0)
        z = s if abs(x) > abs(y) else 1 / c if c else 1.0
        call.give(a, r)
        call.give(b, z if r else 0.0)
        call.give(cosine, c)
        call.give(sine, s)
        return
    size = math.hypot(abs(first), abs(second))
    if not abs(first):
        call.give(a, second)
        call.give(cosine, 0.0, call.real)
        call.give(sine, 1.0)
        return
    unit = first / abs(first)
    call.give(a, unit * size)
    call.give(cosine, abs(first) / size, call.real)
    call.give(sine, unit * second.conjugate() / size)


def rotm(call: Call, n: int, x: int, x_step: int, y: int, y_step: int, parameters: int) -> None:
    flag, *h = (float(call.scalar(parameters + k * np.dtype(call.dtype).itemsize)) for k in range(5))
    matrix = {
        -1.0: (h[0], h[2], h[1], h[3]),
        0.0: (1, h[2], h[1], 1),
        1.0: (h[0], 1, -1, h[3]),
        -2.0: (1, 0, 0, 1),
    }.get(flag)
    if matrix is None:
        raise Refused(calls.INVALID_VALUE)
    first, second = call.vector(x, n, x_step), call.vector(y, n, y_step)
    call.read(first, second)
    before = first[0].copy()
    call.store(first, matrix[0] * before + matrix[1] * second[0])
    call.store(second, matrix[2] * before + matrix[3] * second[0])


def rotmg(call: Call, d1: int, d2: int, x1: int, y1: int, parameters: int) -> None:
    """The modified rotation that makes the second part zero; its numbers are not scaled."""
    a, b, x, y = (float(call.scalar(address)) for address in (d1, d2, x1, y1))
    p2, p1 = b * y, a * x
    flag, h = -1.0, [0.0, 0.0, 0.0, 0.0]
    if a < 0:
        a = b = x = 0.0
    elif not p2:
        call.give(parameters, -2.0)
        return
    elif abs(p1 * x) > abs(p2 * y):
        flag, h = 0.0, [0.0, -y / x, p2 / p1, 0.0]
        u = 1 - h[2] * h[1]
        a, b, x = a / u, b / u, x * u
    elif p2 * y < 0:
        a = b = x = 0.0
    else:
        flag, h = 1.0, [p1 / p2, 0.0, 0.0, x / y]
        u = 1 + h[0] * h[3]
        a, b, x = b / u, a / u, y * u
    for address, value in ((d1, a), (d2, b), (x1, x)):
        call.give(address, value)
    call.give(parameters, [flag, *h])


_BOUND: dict[str, Served] = {
    "cublasSetStream": _set("stream"),
    "cublasSetMathMode": _set("math"),
    "cublasSetPointerMode": _set("pointer_mode"),
    "cublasSetAtomicsMode": _set("atomics"),
    "cublasSetSmCountTarget": _set("multiprocessors"),
    "cublasGetStream": _get("stream", "Q"),
    "cublasGetMathMode": _get("math", "i"),
    "cublasGetPointerMode": _get("pointer_mode", "i"),
    "cublasGetAtomicsMode": _get("atomics", "i"),
    "cublasGetVersion": calls.gives(VERSION),
    "cublasSetWorkspace": workspace,
    "cublasDotEx": calls.Named(_dot, "n x xt incx y yt incy out outt et"),
    "cublasDotcEx": calls.Named(partial(_dot, is_conjugated=True), "n x xt incx y yt incy out outt et"),
    "cublasAxpyEx": calls.Named(_axpy, "n alpha alphat x xt incx y yt incy et"),
    "cublasScalEx": calls.Named(_scal, "n alpha alphat x xt incx et"),
    "cublasNrm2Ex": _reduced(_norm, "", "n x xt incx out outt et"),
    "cublasRotEx": calls.Named(_rot, "n x xt incx y yt incy c s cst et"),
}
HANDLERS: Handlers = {
    "cublasCreate": calls.served(create, is_bound=False),
    "cublasDestroy": calls.served(calls.destroy, is_bound=False),
    **calls.all_served(_BOUND),
    **calls.of_types("cublas", "copy", copy, calls.ALL),
    **calls.of_types("cublas", "swap", swap, calls.ALL),
    **calls.of_types("cublas", "rotg", rotg, calls.ALL),
    **calls.of_types("cublas", "rotm", rotm, calls.REALS),
    **calls.of_types("cublas", "rotmg", rotmg, calls.REALS),
}
# Name, function, arguments, and types by the letters for them.
_TABLE: tuple[tuple[str, Callable[[Call, Arguments], None], str, Mapping[str, str]], ...] = (
    ("axpy", _axpy, "n alpha x incx y incy", calls.ALL),
    ("scal", _scal, "n alpha x incx", calls.ALL),
    ("scal", partial(_scal, is_real=True), "n alpha x incx", _BY_REAL),
    ("dot", _dot, "n x incx y incy out", calls.REALS),
    ("dotu", _dot, "n x incx y incy out", calls.COMPLEX),
    ("dotc", partial(_dot, is_conjugated=True), "n x incx y incy out", calls.COMPLEX),
    ("rot", _rot, "n x incx y incy c s", calls.ALL),
    ("rot", partial(_rot, is_real=True), "n x incx y incy c s", _BY_REAL),
)
for _name, _function, _arguments, _types in _TABLE:
    HANDLERS |= calls.of_types("cublas", _name, calls.Named(_function, _arguments), _types)
for _name, _which, _dtype, _types in (
    ("nrm2", _norm, "", _TO_REAL),
    ("asum", lambda vector: _sizes(vector).sum(), "", _TO_REAL),
    ("amax", lambda vector: int(np.argmax(_sizes(vector))) + 1, "i4", _TO_INDEX),
    ("amin", lambda vector: int(np.argmin(_sizes(vector))) + 1, "i4", _TO_INDEX),
):
    HANDLERS |= calls.of_types("cublas", _name, _reduced(_which, _dtype, "n x incx out"), _types)
