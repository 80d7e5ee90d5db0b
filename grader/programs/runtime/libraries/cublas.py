"""cuBLAS through NumPy: handles, settings, and the first level, vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from grader.programs.runtime.libraries import calls
from grader.programs.runtime.libraries.calls import Array, Call, Operand, Refused, Served, Strided
from grader.programs.runtime.state import Handlers

VERSION = 130_000
NOT_SUPPORTED = 15


type_of = partial(calls.one_of, calls.DATA_TYPES, NOT_SUPPORTED)


def create(call: Call, handle: int) -> None:
    calls.new_handle(call.state, handle, {"pointer_mode": 0, "stream": 0, "math": 0}, 3)


def _set(name: str) -> Callable[..., None]:
    def setter(call: Call, value: int) -> None:
        call.handle[name] = value

    return setter


def _get(name: str, layout: str) -> Callable[..., None]:
    def getter(call: Call, pointer: int) -> None:
        call.state.guest.pack(layout, pointer, call.handle.get(name, 0))

    return getter


def workspace(call: Call, address: int, size: int) -> None:
    """It is the library's to use, and of no use here."""
    if address % 256:
        raise Refused(calls.INVALID_VALUE)


# -- vectors --------------------------------------------------------------------------------


def axpy(call: Call, n: int, alpha: int, x: int, x_step: int, y: int, y_step: int) -> None:
    source, target = call.vector(x, n, x_step), call.vector(y, n, y_step)
    call.read(source, target)
    call.store(target, target[0] + call.scalar(alpha) * source[0])


def scal(call: Call, n: int, alpha: int, x: int, step: int) -> None:
    target = call.vector(x, n, step)
    call.read(target)
    call.store(target, target[0] * call.scalar(alpha))


def scal_real(call: Call, n: int, alpha: int, x: int, step: int) -> None:
    target = call.vector(x, n, step)
    call.read(target)
    call.store(target, target[0] * call.scalar(alpha, call.real))


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


def _dot(is_conjugated: bool) -> Callable[..., None]:
    def dot(call: Call, n: int, x: int, x_step: int, y: int, y_step: int, out: int) -> None:
        first, second = call.vector(x, n, x_step), call.vector(y, n, y_step)
        call.read(first, second)
        call.give(out, np.dot(first[0].conj() if is_conjugated else first[0], second[0]))

    return dot


def _reduced(which: Callable[[Array], Any], dtype: str = "") -> Callable[..., None]:
    def norm(call: Call, n: int, x: int, step: int, out: int) -> None:
        vector = call.vector(x, n, step)
        call.read(vector)
        call.give(out, which(vector[0]) if n else 0, dtype or call.real)

    return norm


def _sizes(vector: Array) -> Array:
    """Return what `amax` compares: of complex numbers the sum of both parts' absolute values."""
    sizes: Array = np.abs(vector.real) + np.abs(vector.imag)
    return sizes


def rot(call: Call, n: int, x: int, x_step: int, y: int, y_step: int, cosine: int, sine: int) -> None:
    _rotate(call, n, (x, x_step), (y, y_step), call.scalar(cosine, call.real), call.scalar(sine))


def rot_real(call: Call, n: int, x: int, x_step: int, y: int, y_step: int, cosine: int, sine: int) -> None:
    _rotate(call, n, (x, x_step), (y, y_step), call.scalar(cosine, call.real), call.scalar(sine, call.real))


def _rotate(call: Call, n: int, x: Strided, y: Strided, c: Any, s: Any) -> None:
    first, second = call.vector(x[0], n, x[1]), call.vector(y[0], n, y[1])
    call.read(first, second)
    before = first[0].copy()
    call.store(first, c * before + s * second[0])
    call.store(second, c * second[0] - np.conj(s) * before)


def rotg(call: Call, a: int, b: int, cosine: int, sine: int) -> None:
    """As BLAS defines it (Lawson, Hanson, Kincaid, Krogh 1979)."""
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


def _vector(call: Call, address: int, n: int, kind: int, step: int) -> Operand:
    return call.vector(address, n, step, type_of(kind))


def dot_ex(call: Call, n: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int, out: int, rt: int, et: int) -> None:  # fmt: skip
    first, second = _vector(call, x, n, xt, incx), _vector(call, y, n, yt, incy)
    call.read(first, second)
    call.give(out, np.dot(first[0].astype(type_of(et)), second[0].astype(type_of(et))), type_of(rt))


def dotc_ex(call: Call, n: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int, out: int, rt: int, et: int) -> None:  # fmt: skip
    first, second = _vector(call, x, n, xt, incx), _vector(call, y, n, yt, incy)
    call.read(first, second)
    call.give(out, np.dot(first[0].conj().astype(type_of(et)), second[0].astype(type_of(et))), type_of(rt))


def axpy_ex(call: Call, n: int, alpha: int, alpha_type: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int, et: int) -> None:  # fmt: skip
    source, target = _vector(call, x, n, xt, incx), _vector(call, y, n, yt, incy)
    call.read(source, target)
    call.store(target, target[0].astype(type_of(et)) + call.scalar(alpha, type_of(alpha_type)) * source[0])


def scal_ex(call: Call, n: int, alpha: int, alpha_type: int, x: int, xt: int, incx: int, et: int) -> None:
    target = _vector(call, x, n, xt, incx)
    call.read(target)
    call.store(target, target[0].astype(type_of(et)) * call.scalar(alpha, type_of(alpha_type)))


def norm_ex(call: Call, n: int, x: int, xt: int, incx: int, out: int, rt: int, et: int) -> None:
    vector = _vector(call, x, n, xt, incx)
    call.read(vector)
    call.give(out, np.linalg.norm(vector[0].astype(type_of(et))) if n else 0, type_of(rt))


def rot_ex(call: Call, n: int, x: int, xt: int, incx: int, y: int, yt: int, incy: int, c: int, s: int, cs: int, et: int) -> None:  # fmt: skip
    first, second = _vector(call, x, n, xt, incx), _vector(call, y, n, yt, incy)
    call.read(first, second)
    cosine, sine, before = call.scalar(c, type_of(cs)), call.scalar(s, type_of(cs)), first[0].astype(type_of(et))
    call.store(first, cosine * before + sine * second[0])
    call.store(second, cosine * second[0].astype(type_of(et)) - np.conj(sine) * before)


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
    "cublasDotEx": dot_ex,
    "cublasDotcEx": dotc_ex,
    "cublasAxpyEx": axpy_ex,
    "cublasScalEx": scal_ex,
    "cublasNrm2Ex": norm_ex,
    "cublasRotEx": rot_ex,
}
HANDLERS: Handlers = {
    "cublasCreate": calls.served(create, is_bound=False),
    "cublasDestroy": calls.served(calls.destroy, is_bound=False),
    **calls.all_served(_BOUND),
    **calls.of_types("cublas", "axpy", axpy, calls.ALL),
    **calls.of_types("cublas", "scal", scal, calls.ALL),
    "cublasCsscal": calls.served(scal_real, "c8"),
    "cublasZdscal": calls.served(scal_real, "c16"),
    **calls.of_types("cublas", "copy", copy, calls.ALL),
    **calls.of_types("cublas", "swap", swap, calls.ALL),
    **calls.of_types("cublas", "dot", _dot(False), calls.REALS),
    **calls.of_types("cublas", "dotu", _dot(False), calls.COMPLEX),
    **calls.of_types("cublas", "dotc", _dot(True), calls.COMPLEX),
    **calls.of_types("cublas", "rot", rot, calls.ALL),
    "cublasCsrot": calls.served(rot_real, "c8"),
    "cublasZdrot": calls.served(rot_real, "c16"),
    **calls.of_types("cublas", "rotg", rotg, calls.ALL),
    **calls.of_types("cublas", "rotm", rotm, calls.REALS),
    **calls.of_types("cublas", "rotmg", rotmg, calls.REALS),
    **{
        name: calls.served(_reduced(which, dtype), numbers)
        for letters, which, dtype in (
            ("nrm2", np.linalg.norm, ""),
            ("asum", lambda v: _sizes(v).sum(), ""),
            ("amax", lambda v: int(np.argmax(_sizes(v))) + 1, "i4"),
            ("amin", lambda v: int(np.argmin(_sizes(v))) + 1, "i4"),
        )
        for name, numbers in zip(
            (f"cublasI{x.lower()}{letters}" for x in calls.ALL)
            if dtype
            else (f"cublas{x}{letters}" for x in ("S", "D", "Sc", "Dz")),
            calls.ALL.values(),
            strict=True,
        )
    },
}
