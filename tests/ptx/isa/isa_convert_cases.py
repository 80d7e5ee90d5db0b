"""Comparisons, selections and conversions, computed exactly."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction

from tests.ptx.isa import isa_oracle as exact
from tests.ptx.isa.isa_case import MODES, WIDTHS, case, clamp, integer_value, on_integers
from tests.ptx.isa.isa_oracle import FORMATS, decode, encode, signed, wrap


def _compare(op: str, a: exact.Number | int, b: exact.Number | int) -> bool:
    unordered = exact.is_nan(a) or exact.is_nan(b)
    if op in ("num", "nan"):
        return unordered == (op == "nan")
    stem = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(op, op[:2])
    if unordered:
        return len(op) == 3
    return {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[stem]


INTEGER_OPS = ("eq", "ne", "lt", "le", "gt", "ge")
FLOAT_OPS = (*INTEGER_OPS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
COMBINE: dict[str, Callable[[int, int], int]] = {
    "and": lambda p, c: p & c,
    "or": lambda p, c: p | c,
    "xor": lambda p, c: p ^ c,
}


def _comparison_cases() -> None:
    for name in ("b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64", "f16", "bf16"):
        is_float = "f" in name
        ops = FLOAT_OPS if is_float else INTEGER_OPS[:2] if name[0] == "b" else INTEGER_OPS
        if name[0] == "u":
            ops = (*ops, "lo", "ls", "hi", "hs")
        for op in ops:

            def holds(a: int, b: int, op: str = op, name: str = name, is_float: bool = is_float) -> int:
                if is_float:
                    return int(_compare(op, decode(a, name), decode(b, name)))
                return int(_compare(op, integer_value(a, name), integer_value(b, name)))

            two = f"{name} {name}"
            case(f"setp.{op}.{name}", two, "pred", holds)
            if op in ("eq", "lt", "geu"):
                if "f16" not in name:
                    case(f"setp.{op}.{name}", two, "pred pred", lambda a, b, f=holds: (f(a, b), 1 - f(a, b)))
                for word, g in COMBINE.items():
                    case(f"setp.{op}.{word}.{name}", two + " pred", "pred", lambda a, b, c, f=holds, g=g: g(f(a, b), c))
                    if "f16" in name:
                        continue
                    case(
                        f"setp.{op}.{word}.{name}",
                        two + " pred",
                        "pred pred",
                        lambda a, b, c, f=holds, g=g: (g(f(a, b), c), g(1 - f(a, b), c)),
                    )
            if op in ("eq", "ne", "lt", "gtu", "hs", "nan") and "16" not in name:
                for result, true in (("u32", 0xFFFFFFFF), ("s32", 0xFFFFFFFF), ("f32", 0x3F800000)):
                    case(f"set.{op}.{result}.{name}", two, result, lambda a, b, f=holds, t=true: f(a, b) * t)
                    case(
                        f"set.{op}.xor.{result}.{name}",
                        two + " pred",
                        result,
                        lambda a, b, c, f=holds, t=true: (f(a, b) ^ c) * t,
                    )
            if op in ("eq", "lt", "neu") and name in ("f16", "bf16"):
                ones = {"u16": 0xFFFF, "u32": 0xFFFFFFFF, "s32": 0xFFFFFFFF, "f16": 0x3C00, "bf16": 0x3F80}
                for result in ("u16", "u32", "s32", name):
                    case(f"set.{op}.{result}.{name}", two, result, lambda a, b, f=holds, t=ones[result]: f(a, b) * t)
                pair = f"{name}x2 {name}x2"
                case(
                    f"setp.{op}.{name}x2",
                    pair,
                    "pred pred",
                    lambda a, b, f=holds: (f(a & 0xFFFF, b & 0xFFFF), f(a >> 16, b >> 16)),
                )
                for result, true in ((f"{name}x2", ones[name]), ("u32", 0xFFFF)):
                    case(
                        f"set.{op}.{result}.{name}x2",
                        pair,
                        result,
                        lambda a, b, f=holds, t=true: f(a & 0xFFFF, b & 0xFFFF) * t | f(a >> 16, b >> 16) * t << 16,
                    )
    for op in ("eq", "lt", "geu"):

        def flushed(a: int, b: int, op: str = op) -> int:
            return int(_compare(op, decode(exact.flush(a, "f32"), "f32"), decode(exact.flush(b, "f32"), "f32")))

        case(f"setp.{op}.ftz.f32", "f32 f32", "pred", flushed)
    for name in ("b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
        case(f"selp.{name}", f"{name} {name} pred", name, lambda a, b, p: a if p else b)
        case(f"slct.{name}.s32", f"{name} {name} s32", name, lambda a, b, c: b if c >> 31 else a)
        case(
            f"slct.{name}.f32",
            f"{name} {name} f32",
            name,
            lambda a, b, c: a if _compare("ge", decode(c, "f32"), 0) else b,
        )


INTEGERS = ("u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64")
FLOATS = ("f16", "f32", "f64")


def _conversion_cases() -> None:
    for target, source in itertools.product(INTEGERS, repeat=2):
        on_integers(f"cvt.{target}.{source}", source, target, lambda a: a)
        fits = (
            WIDTHS[target] >= WIDTHS[source]
            if source[0] == target[0]
            else source[0] == "u" and WIDTHS[target] > WIDTHS[source]
        )
        if not fits:
            on_integers(f"cvt.sat.{target}.{source}", source, target, lambda a, t=target: clamp(a, t))
    for source, target, mode in itertools.product(INTEGERS, FLOATS, MODES):

        def to_float(a: int, s: str = source, t: str = target, m: str = mode) -> int:
            value = integer_value(a, s)
            return encode(Fraction(value) if value else 0.0, t, m)

        case(f"cvt.{mode}.{target}.{source}", source, target, to_float)
    for source, target, mode in itertools.product(FLOATS, INTEGERS, ("rni", "rzi", "rmi", "rpi")):
        case(
            f"cvt.{mode}.{target}.{source}",
            source,
            target,
            lambda a, s=source, t=target, m=mode: _to_integer(decode(a, s), s, t, m),
        )
        if source == "f32" and target in ("s32", "u64"):
            case(
                f"cvt.{mode}.ftz.{target}.f32",
                source,
                target,
                lambda a, t=target, m=mode: _to_integer(decode(exact.flush(a, "f32"), "f32"), "f32", t, m),
            )
    for source, target in itertools.product(FLOATS, repeat=2):
        narrowing = FORMATS[target].width < FORMATS[source].width
        for mode in MODES if narrowing else ("",):
            middle = f"{mode}." if mode else ""
            if source != target or target == "f32":
                case(
                    f"cvt.{middle}sat.{target}.{source}",
                    source,
                    target,
                    lambda a, s=source, t=target, m=mode: encode(exact.saturate(decode(a, s)), t, m or "rn"),
                )
            if source != target:
                case(
                    f"cvt.{middle}{target}.{source}",
                    source,
                    target,
                    lambda a, s=source, t=target, m=mode: _between(a, s, t, m or "rn"),
                )
        if source == target:
            for mode in ("rni", "rzi", "rmi", "rpi"):

                def integral(a: int, n: str = source, m: str = mode) -> int:
                    value = decode(a, n)
                    if not isinstance(value, Fraction):
                        return _between(a, n, n, "rn")
                    rounded = exact.round_to_integer(value, m)
                    return encode(Fraction(rounded) if rounded else -0.0 if value < 0 else 0.0, n)

                case(f"cvt.{mode}.{source}.{source}", source, source, integral)
    flushing = {"cvt.ftz.f32.f32": ("f32", ""), "cvt.ftz.f64.f32": ("f64", ""), "cvt.rn.ftz.f16.f32": ("f16", "rn")}
    for spelling, (target, _mode) in flushing.items():
        case(spelling, "f32", target, lambda a, t=target: _flushed_to(a, t))
    case("cvt.rn.ftz.f32.f64", "f64", "f32", _flushed_from_f64)
    for half in ("f16", "bf16"):
        for mode in ("rn", "rz"):
            for relu in ("", "relu."):

                def one(a: int, half: str = half, mode: str = mode, relu: str = relu) -> int:
                    value = decode(a, "f32")
                    if relu and not exact.is_nan(value) and (exact.is_negative(value) or value == 0):
                        value = 0.0
                    return encode(value, half, mode)

                case(f"cvt.{mode}.{relu}{half}x2.f32", "f32 f32", f"{half}x2", lambda a, b, f=one: f(a) << 16 | f(b))
                case(f"cvt.{mode}.{relu}{half}.f32", "f32", half, one)
    case("cvt.f32.bf16", "bf16", "f32", lambda a: a << 16)
    case("cvt.rn.bf16.s32", "s32", "bf16", lambda a: encode(Fraction(signed(a, 32)) if a else 0.0, "bf16"))
    case("cvt.rzi.s32.bf16", "bf16", "s32", lambda a: _to_integer(decode(a, "bf16"), "bf16", "s32", "rzi"))


def _between(bits: int, source: str, target: str, mode: str) -> int:
    """Between float types; a NaN that comes from f64 or becomes one keeps its sign and upper payload (H200)."""
    value = decode(bits, source)
    if not exact.is_nan(value) or "f64" not in (source, target):
        return encode(value, target, mode)
    old, new = FORMATS[source], FORMATS[target]
    fraction = bits & (1 << old.precision - 1) - 1
    moved = (
        fraction << new.precision >> old.precision
        if new.precision < old.precision
        else fraction << new.precision - old.precision
    )
    infinity = encode(float("inf"), target)
    return (bits >> old.width - 1) << new.width - 1 | infinity | 1 << new.precision - 2 | moved


def _flushed_from_f64(bits: int) -> int:
    value = decode(bits, "f64")
    if exact.is_tiny(value, "f32", "rn"):
        return 1 << 31 if value < 0 else 0
    return _between(bits, "f64", "f32", "rn")


def _flushed_to(bits: int, target: str) -> int:
    """cvt.ftz from f32: NaNs become the canonical one of f32 on the way."""
    value = decode(exact.flush(bits, "f32"), "f32")
    if exact.is_nan(value) and target == "f64":
        return _between(FORMATS["f32"].nan, "f32", "f64", "rn")
    return encode(value, target)


def _to_integer(value: exact.Number, source: str, target: str, mode: str) -> int:
    width = WIDTHS[target]
    if exact.is_nan(value):
        return 1 << width - 1 if source == "f64" or width == 64 else 0
    if exact.is_infinite(value):
        return wrap(clamp(-(1 << 80) if value < 0 else 1 << 80, target), width)
    return wrap(clamp(exact.round_to_integer(value, mode), target), width)


def build() -> None:
    """Enter the cases."""
    _comparison_cases()
    _conversion_cases()
