"""float32, float64, f16 and bf16 arithmetic, computed with exact fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tests.ptx.isa import isa_oracle as exact
from tests.ptx.isa.isa_case import MODES, case
from tests.ptx.isa.isa_oracle import FORMATS, decode, encode


def on_numbers(
    spelling: str,
    arity: int,
    name: str,
    function: Callable[..., exact.Number],
    mode: str = "rn",
    nan_order: tuple[int, ...] = (1, 0),
) -> None:
    """A case on decoded numbers of one float type, with the flags read off the spelling.

    nan_order: which operand's NaN an f64 operation passes on, first choice first (as measured on an H200).
    """
    flags = spelling.split(".")

    def scalar(*bits: int) -> int:
        if "ftz" in flags:
            bits = tuple(exact.flush(b, name) for b in bits)
        value = function(*(decode(b, name) for b in bits))
        if name == "f64" and exact.is_nan(value):
            for i in nan_order[-arity:]:
                if exact.is_nan(decode(bits[i], name)):
                    return bits[i] | 1 << 51
        if "ftz" in flags and exact.is_tiny(value, name, mode):
            value = -0.0 if value < 0 else 0.0
        if "relu" in flags and not exact.is_nan(value) and (exact.is_negative(value) or value == 0):
            value = 0.0
        if "sat" in flags:
            value = exact.saturate(value)
        return encode(value, name, mode)

    if spelling.endswith("x2"):
        case(spelling, " ".join([name + "x2"] * arity), name + "x2", lambda *bits: _both_halves(scalar, bits))
    else:
        case(spelling, " ".join([name] * arity), name, scalar)


def _both_halves(scalar: Callable[..., int], bits: tuple[int, ...]) -> int:
    return scalar(*(b & 0xFFFF for b in bits)) | scalar(*(b >> 16 for b in bits)) << 16


def _fma(mode: str) -> Callable[..., exact.Number]:
    return lambda a, b, c: exact.add(exact.multiply(a, b), c, mode)


def _float_cases() -> None:
    for name in ("f32", "f64"):
        tails = [name] if name == "f64" else [name, "ftz.f32"]
        saturating = tails if name == "f64" else [*tails, "sat.f32", "ftz.sat.f32"]
        for mode in MODES:
            for tail in saturating:
                on_numbers(f"add.{mode}.{tail}", 2, name, lambda a, b, m=mode: exact.add(a, b, m), mode)
                on_numbers(f"sub.{mode}.{tail}", 2, name, lambda a, b, m=mode: exact.add(a, exact.negate(b), m), mode)
                on_numbers(f"mul.{mode}.{tail}", 2, name, exact.multiply, mode)
                on_numbers(f"fma.{mode}.{tail}", 3, name, _fma(mode), mode, (1, 2, 0))
            for tail in tails:
                on_numbers(f"div.{mode}.{tail}", 2, name, exact.divide, mode, (0, 1))
                on_numbers(f"sqrt.{mode}.{tail}", 1, name, exact.square_root, mode)
                on_numbers(f"rcp.{mode}.{tail}", 1, name, lambda a: exact.divide(Fraction(1), a), mode)
        on_numbers(f"add.{name}", 2, name, exact.add)
        on_numbers(f"sub.{name}", 2, name, lambda a, b: exact.add(a, exact.negate(b)))
        on_numbers(f"mul.{name}", 2, name, exact.multiply)
        on_numbers(f"mad.rn.{name}", 3, name, _fma("rn"), "rn", (1, 2, 0))
        for tail in tails:
            on_numbers(f"min.{tail}", 2, name, lambda a, b: _least(a, b))
            on_numbers(f"max.{tail}", 2, name, lambda a, b: _greatest(a, b))
        sign = 1 << (FORMATS[name].width - 1)
        on_numbers(f"neg.{name}", 1, name, exact.negate)
        on_numbers(f"abs.{name}", 1, name, abs)
        case(f"copysign.{name}", f"{name} {name}", name, lambda a, b, s=sign: a & s | b & ~s)
        for test, holds in _TESTS.items():
            case(f"testp.{test}.{name}", name, "pred", lambda a, n=name, f=holds: int(f(a, n)))
    on_numbers("min.NaN.f32", 2, "f32", lambda a, b: _least(a, b, True))
    on_numbers("max.NaN.f32", 2, "f32", lambda a, b: _greatest(a, b, True))
    for spelling, choose in (("min.xorsign.abs.f32", _least), ("max.xorsign.abs.f32", _greatest)):
        case(spelling, "f32 f32", "f32", lambda a, b, f=choose: _xor_sign(a, b, f))


def _order(x: exact.Number) -> tuple[Any, int]:
    return x, 0 if exact.is_negative(x) else 1


def _least(a: exact.Number, b: exact.Number, propagate: bool = False) -> exact.Number:
    if exact.is_nan(a) or exact.is_nan(b):
        return float("nan") if propagate or (exact.is_nan(a) and exact.is_nan(b)) else b if exact.is_nan(a) else a
    return min(a, b, key=_order)


def _greatest(a: exact.Number, b: exact.Number, propagate: bool = False) -> exact.Number:
    if exact.is_nan(a) or exact.is_nan(b):
        return _least(a, b, propagate)
    return max(a, b, key=_order)


def _xor_sign(a: int, b: int, choose: Callable[..., exact.Number]) -> int:
    """The sign of a NaN counts as well, though a number wins over it."""
    chosen = choose(abs(decode(a, "f32")), abs(decode(b, "f32")))
    return encode(chosen, "f32") | (0 if exact.is_nan(chosen) else (a ^ b) & 1 << 31)


def _is_subnormal(bits: int, name: str) -> bool:
    return exact.flush(bits, name) != bits


_TESTS: dict[str, Callable[[int, str], bool]] = {
    "finite": lambda a, n: not exact.is_nan(decode(a, n)) and not exact.is_infinite(decode(a, n)),
    "infinite": lambda a, n: exact.is_infinite(decode(a, n)),
    "number": lambda a, n: not exact.is_nan(decode(a, n)),
    "notanumber": lambda a, n: exact.is_nan(decode(a, n)),
    "normal": lambda a, n: _TESTS["finite"](a, n) and not _is_subnormal(a, n),
    "subnormal": _is_subnormal,
}


def _half_cases() -> None:
    for name in ("f16", "f16x2", "bf16", "bf16x2"):
        half = name.removesuffix("x2")
        ftz = ["", "ftz."] if half == "f16" else [""]
        for flag in (*ftz, *(f + "sat." for f in ftz)) if half == "f16" else ftz:
            for rn in ("", "rn.") if half == "f16" else ("rn.",):
                on_numbers(f"add.{rn}{flag}{name}", 2, half, exact.add)
                on_numbers(f"sub.{rn}{flag}{name}", 2, half, lambda a, b: exact.add(a, exact.negate(b)))
                on_numbers(f"mul.{rn}{flag}{name}", 2, half, exact.multiply)
            on_numbers(f"fma.rn.{flag}{name}", 3, half, _fma("rn"))
        for flag in ftz:
            on_numbers(f"fma.rn.{flag}relu.{name}", 3, half, _fma("rn"))
            on_numbers(f"min.{flag}{name}", 2, half, _least)
            on_numbers(f"max.{flag}{name}", 2, half, _greatest)
            on_numbers(f"min.{flag}NaN.{name}", 2, half, lambda a, b: _least(a, b, True))
            on_numbers(f"max.{flag}NaN.{name}", 2, half, lambda a, b: _greatest(a, b, True))
            on_numbers(f"neg.{flag}{name}", 1, half, exact.negate)
            on_numbers(f"abs.{flag}{name}", 1, half, abs)


def build() -> None:
    """Enter the cases."""
    _float_cases()
    _half_cases()
