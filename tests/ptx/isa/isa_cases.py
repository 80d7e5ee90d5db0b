"""Every arithmetic instruction with an independent computation of its result, on bit patterns.

Used twice: the emulator is compared with the oracles, and (marked gpu) with the device itself.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import isa_oracle as exact
from isa_oracle import FORMATS, decode, encode, signed, wrap

WIDTHS = {"pred": 1, "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "f16x2": 32, "bf16x2": 32} | {
    f"{kind}{width}": width for kind in "usb" for width in (8, 16, 32, 64)
}


@dataclass(frozen=True)
class Case:
    """One spelling; `oracle` maps operands' bit patterns to the result's (a tuple for several)."""

    spelling: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    oracle: Callable[..., Any]
    immediates: tuple[tuple[int, int], ...] = ()
    """(operand number, value) of operands that must be literals."""
    carry_in: bool = False
    carry_out: bool = False

    def __str__(self) -> str:
        tail = "".join(f"_{value:#x}" for _, value in self.immediates)
        return self.spelling + tail + ("_pq" if len(self.outputs) > 1 and not self.carry_out else "")


CASES: list[Case] = []


def case(spelling: str, inputs: str, outputs: str, oracle: Callable[..., Any], **rest: Any) -> None:
    CASES.append(Case(spelling, tuple(inputs.split()), tuple(outputs.split()), oracle, **rest))


def on_integers(spelling: str, inputs: str, output: str, function: Callable[..., int]) -> None:
    """A case whose oracle works on mathematical integers; the result is taken modulo 2**width."""
    types = inputs.split()

    def oracle(*bits: int) -> int:
        return wrap(function(*(_integer(b, t) for b, t in zip(bits, types, strict=True))), WIDTHS[output])

    case(spelling, inputs, output, oracle)


def _integer(bits: int, name: str) -> int:
    return signed(bits, WIDTHS[name]) if name[0] == "s" else bits


def _clamp(value: int, name: str) -> int:
    width = WIDTHS[name]
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if name[0] == "s" else (0, (1 << width) - 1)
    return min(max(value, low), high)


# ---------------------------------------------------------------- integers


def _quotient(a: int, b: int) -> int:
    # PTX leaves division by zero open; this is what an H200 returns.
    if b == 0:
        return -1
    return -(abs(a) // abs(b)) if (a < 0) != (b < 0) else abs(a) // abs(b)


def _integer_cases() -> None:
    for t in ("u16", "s16", "u32", "s32", "u64", "s64"):
        w = WIDTHS[t]
        wide = f"{t[0]}{2 * w}"
        two, three = f"{t} {t}", f"{t} {t} {t}"
        on_integers(f"add.{t}", two, t, lambda a, b: a + b)
        on_integers(f"sub.{t}", two, t, lambda a, b: a - b)
        on_integers(f"mul.lo.{t}", two, t, lambda a, b: a * b)
        on_integers(f"mul.hi.{t}", two, t, lambda a, b, w=w: a * b >> w)
        on_integers(f"mad.lo.{t}", three, t, lambda a, b, c: a * b + c)
        on_integers(f"mad.hi.{t}", three, t, lambda a, b, c, w=w: (a * b >> w) + c)
        if w < 64:
            on_integers(f"mul.wide.{t}", two, wide, lambda a, b: a * b)
            on_integers(f"mad.wide.{t}", f"{two} {wide}", wide, lambda a, b, c: a * b + c)
        on_integers(f"sad.{t}", three, t, lambda a, b, c: c + abs(a - b))
        on_integers(f"div.{t}", two, t, _quotient)
        on_integers(f"rem.{t}", two, t, lambda a, b: a - _quotient(a, b) * b if b else -1)
        on_integers(f"min.{t}", two, t, min)
        on_integers(f"max.{t}", two, t, max)
        if t[0] == "s":
            on_integers(f"abs.{t}", t, t, abs)
            on_integers(f"neg.{t}", t, t, lambda a: -a)
    on_integers("add.sat.s32", "s32 s32", "s32", lambda a, b: _clamp(a + b, "s32"))
    on_integers("sub.sat.s32", "s32 s32", "s32", lambda a, b: _clamp(a - b, "s32"))
    on_integers("mad.hi.sat.s32", "s32 s32 s32", "s32", lambda a, b, c: _clamp((a * b >> 32) + c, "s32"))
    for t in ("u32", "s32"):

        def low24(x: int, t: str = t) -> int:
            return signed(x & 0xFFFFFF, 24) if t == "s32" else x & 0xFFFFFF

        for part, shift in (("lo", 0), ("hi", 16)):
            on_integers(f"mul24.{part}.{t}", f"{t} {t}", t, lambda a, b, s=shift, f=low24: f(a) * f(b) >> s)
            on_integers(
                f"mad24.{part}.{t}",
                f"{t} {t} {t}",
                t,
                lambda a, b, c, s=shift, f=low24: signed(wrap(f(a) * f(b) >> s, 32), 32) + c,
            )
    for ta, tb in itertools.product(("u32", "s32"), repeat=2):
        tc = "s32" if "s32" in (ta, tb) else "u32"

        def parts(x: int, t: str, width: int) -> list[int]:
            pieces = [wrap(x, 32) >> i & (1 << width) - 1 for i in range(0, 32, width)]
            return [signed(p, width) for p in pieces] if t == "s32" else pieces

        def dot4(a: int, b: int, c: int, ta: str = ta, tb: str = tb) -> int:
            return c + sum(x * y for x, y in zip(parts(a, ta, 8), parts(b, tb, 8), strict=True))

        on_integers(f"dp4a.{ta}.{tb}", f"{ta} {tb} {tc}", tc, dot4)
        for half, first in (("lo", 0), ("hi", 2)):

            def dot2(a: int, b: int, c: int, ta: str = ta, tb: str = tb, first: int = first) -> int:
                chosen = parts(b, tb, 8)[first : first + 2]
                return c + sum(x * y for x, y in zip(parts(a, ta, 16), chosen, strict=True))

            on_integers(f"dp2a.{half}.{ta}.{tb}", f"{ta} {tb} {tc}", tc, dot2)


def _carry_cases() -> None:
    for t in ("u32", "s32", "u64", "s64"):
        w = WIDTHS[t]
        forms: list[tuple[str, int, Callable[..., int]]] = [
            ("add", 2, lambda a, b, k: a + b + k),
            ("sub", 2, lambda a, b, k: a - b - k),
        ]
        for part in ("lo", "hi"):

            def multiply_add(a: int, b: int, c: int, k: int, part: str = part, t: str = t, w: int = w) -> int:
                product = _integer(a, t) * _integer(b, t)
                return wrap(product >> w if part == "hi" else product, w) + c + k

            forms.append((f"mad.{part}", 3, multiply_add))
        for stem, arity, function in forms:
            name, _, part = stem.partition(".")
            for reads, writes in ((False, True), (True, False), (True, True)):
                opcode = ".".join(filter(None, (name + "c" * reads, part, "cc" * writes, t)))

                def oracle(
                    *x: int, f: Callable[..., int] = function, r: bool = reads, k: bool = writes, w: int = w
                ) -> Any:
                    total = f(*x) if r else f(*x, 0)
                    return (wrap(total, w), int(not 0 <= total < 1 << w)) if k else wrap(total, w)

                case(opcode, " ".join([t] * arity), t, oracle, carry_in=reads, carry_out=writes)


# ---------------------------------------------------------------- bits


def _bit_cases() -> None:
    for t in ("b16", "b32", "b64", "pred"):
        on_integers(f"and.{t}", f"{t} {t}", t, lambda a, b: a & b)
        on_integers(f"or.{t}", f"{t} {t}", t, lambda a, b: a | b)
        on_integers(f"xor.{t}", f"{t} {t}", t, lambda a, b: a ^ b)
        on_integers(f"not.{t}", t, t, lambda a: ~a)
        if t != "pred":
            on_integers(f"cnot.{t}", t, t, lambda a: int(a == 0))
            on_integers(f"shl.{t}", f"{t} u32", t, lambda a, n: a << min(n, 64))
            for kind in "bus":
                name = kind + t[1:]
                on_integers(f"shr.{name}", f"{name} u32", name, lambda a, n: a >> min(n, 64))
    for mode in ("wrap", "clamp"):

        def amount(n: int, mode: str = mode) -> int:
            return min(n, 32) if mode == "clamp" else n & 31

        three = "b32 b32 u32"
        on_integers(f"shf.l.{mode}.b32", three, "b32", lambda a, b, n, f=amount: ((b << 32 | a) << f(n)) >> 32)
        on_integers(f"shf.r.{mode}.b32", three, "b32", lambda a, b, n, f=amount: (b << 32 | a) >> f(n))
        on_integers(
            f"bmsk.{mode}.b32",
            "u32 u32",
            "b32",
            lambda p, n, m=mode: (
                ((1 << (n & 31)) - 1) << (p & 31) if m == "wrap" else ((1 << min(n, 32)) - 1) << min(p, 32)
            ),
        )
        for t in ("u32", "s32"):

            def extended(a: int, n: int, t: str = t, f: Callable[[int], int] = amount) -> int:
                kept = wrap(a, 32) & (1 << f(n)) - 1
                return signed(kept, f(n)) if t == "s32" and f(n) else kept

            on_integers(f"szext.{mode}.{t}", f"{t} u32", t, extended)
    for table in (
        0x00,
        0x01,
        0x08,
        0x17,
        0x2C,
        0x3C,
        0x5A,
        0x69,
        0x78,
        0x80,
        0x96,
        0xAA,
        0xCA,
        0xCC,
        0xE8,
        0xF0,
        0xFE,
        0xFF,
    ):

        def looked_up(a: int, b: int, c: int, table: int = table, *rest: int) -> int:
            return sum((table >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1) << i for i in range(32))

        four = "b32 b32 b32 u32"
        case("lop3.b32", four, "b32", looked_up, immediates=((3, table),))
        for op, combine in (("or", lambda x, q: x | q), ("and", lambda x, q: x & q)):

            def with_predicate(
                a: int, b: int, c: int, table: int, q: int, f: Any = looked_up, g: Any = combine
            ) -> tuple[int, int]:
                d = f(a, b, c, table)
                return d, g(int(d != 0), q)

            if table in (0x80, 0x96):
                case(f"lop3.{op}.b32", four + " pred", "b32 pred", with_predicate, immediates=((3, table),))
    case("prmt.b32", "b32 b32 b32", "b32", _permute)
    for mode, pick in {
        # PTX ISA, table of prmt modes, as formulas: byte number i of the result comes from…
        "f4e": lambda s, i: s + i,
        "b4e": lambda s, i: (s - i) % 8,
        "rc8": lambda s, i: s,
        "ecl": lambda s, i: max(i, s),
        "ecr": lambda s, i: min(i, s),
        "rc16": lambda s, i: (s & 1) * 2 + i % 2,
    }.items():

        def special(a: int, b: int, c: int, pick: Callable[[int, int], int] = pick) -> int:
            pair = (b << 32 | a).to_bytes(8, "little")
            return int.from_bytes(bytes(pair[pick(c & 3, i)] for i in range(4)), "little")

        case(f"prmt.b32.{mode}", "b32 b32 b32", "b32", special)
    for t in ("b32", "b64"):
        w = WIDTHS[t]
        on_integers(f"popc.{t}", t, "u32", lambda a: bin(a).count("1"))
        on_integers(f"clz.{t}", t, "u32", lambda a, w=w: w - a.bit_length())
        on_integers(f"brev.{t}", t, t, lambda a, w=w: int(f"{a:0{w}b}"[::-1], 2))
        case(f"bfi.{t}", f"{t} {t} u32 u32", t, lambda a, b, p, n, w=w: _insert(a, b, _byte(p, w), _byte(n, w), w))
    for t in ("u32", "s32", "u64", "s64"):
        w = WIDTHS[t]

        def top(a: int, w: int = w) -> int:
            return (~a if a < 0 else a).bit_length() - 1

        on_integers(f"bfind.{t}", t, "u32", top)
        on_integers(f"bfind.shiftamt.{t}", t, "u32", lambda a, w=w, f=top: w - 1 - f(a) if f(a) >= 0 else -1)
        case(f"bfe.{t}", f"{t} u32 u32", t, lambda a, p, n, t=t, w=w: _extract(a, _byte(p, w), _byte(n, w), t))
    case("fns.b32", "b32 b32 s32", "b32", _nth_set)


def _byte(amount: int, width: int) -> int:
    """PTX restricts positions and lengths to 0…255; beyond that an H200 wraps for 32 bits and clamps for 64."""
    return amount & 255 if width == 32 else min(amount, 255)


def _permute(a: int, b: int, c: int) -> int:
    pair = (b << 32 | a).to_bytes(8, "little")
    result = 0
    for i in range(4):
        nibble = c >> 4 * i & 15
        byte = pair[nibble & 7]
        result |= (0xFF * (byte >> 7) if nibble & 8 else byte) << 8 * i
    return result


def _insert(a: int, b: int, position: int, length: int, width: int) -> int:
    """PTX ISA, bfi, its loop."""
    for i in range(length):
        if position + i < width:
            b = b & ~(1 << position + i) | (a >> i & 1) << position + i if i < width else b & ~(1 << position + i)
    return b


def _extract(a: int, position: int, length: int, name: str) -> int:
    """PTX ISA, bfe, its loop."""
    width = WIDTHS[name]
    sign_bit = a >> min(position + length - 1, width - 1) & 1 if length else 0
    sign = sign_bit if name[0] == "s" else 0
    result = 0
    for i in range(width):
        bit = a >> position + i & 1 if i < length and position + i < width else sign
        result |= bit << i
    return result


def _nth_set(mask: int, base: int, offset_bits: int) -> int:
    """PTX ISA, fns, its loop; base beyond 31 and offset -2**31 are out of its domain, and here as on an H200."""
    offset = signed(offset_bits, 32)
    if offset == -(2**31):
        return 0
    if offset == 0:
        return base if base < 32 and mask >> base & 1 else 0xFFFFFFFF
    step = 1 if offset > 0 else -1
    count = abs(offset) - 1
    position = base
    while 0 <= position < 32:
        if mask >> position & 1:
            if count == 0:
                return position
            count -= 1
        position += step
    return 0xFFFFFFFF


# ---------------------------------------------------------------- floats

MODES = ("rn", "rz", "rm", "rp")


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
        if "ftz" in flags and isinstance(value, Fraction) and abs(value) < Fraction(2) ** FORMATS[name].emin:
            # Subnormal before rounding is what counts.
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


# ---------------------------------------------------------------- halves


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


# ---------------------------------------------------------------- comparisons


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
                return int(_compare(op, _integer(a, name), _integer(b, name)))

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


# ---------------------------------------------------------------- conversions

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
            on_integers(f"cvt.sat.{target}.{source}", source, target, lambda a, t=target: _clamp(a, t))
    for source, target, mode in itertools.product(INTEGERS, FLOATS, MODES):

        def to_float(a: int, s: str = source, t: str = target, m: str = mode) -> int:
            value = _integer(a, s)
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
    case("cvt.rn.ftz.f32.f64", "f64", "f32", lambda a: exact.flush(_between(a, "f64", "f32", "rn"), "f32"))
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
        return wrap(_clamp(-(1 << 80) if value < 0 else 1 << 80, target), width)
    return wrap(_clamp(exact.round_to_integer(value, mode), target), width)


for build in (
    _integer_cases,
    _carry_cases,
    _bit_cases,
    _float_cases,
    _half_cases,
    _comparison_cases,
    _conversion_cases,
):
    build()


# ---------------------------------------------------------------- operands


def _float_edges(name: str) -> list[int]:
    form = FORMATS[name]
    infinity = ((1 << form.width - form.precision) - 1) << form.precision - 1
    one = form.emax << form.precision - 1
    ulp_binades = [
        Fraction(2) ** k for k in (7, 8, 15, 16, 23, 24, 31, 32, 52, 53, 63, 64, -14, -24, -25, -126, -149, -150)
    ]
    values = [0, 1, 2, (1 << form.precision - 1) - 1, 1 << form.precision - 1, (1 << form.precision - 1) + 1]
    values += [
        one - 1,
        one,
        one + 1,
        infinity - 1,
        infinity,
        infinity | 1,
        infinity | 1 << form.precision - 2,
        form.nan,
    ]
    values += [encode(Fraction(n, 4), name) for n in (1, 2, 3, 5, 6, 7, 9, 10, 14, 500, 510, 1022)]
    for power in ulp_binades:
        bits = encode(power, name)
        if 0 < bits < infinity - 1:
            values += [bits - 1, bits, bits + 1]
    values += [encode(Fraction(n), name, "rz") for n in (32767, 65535, 2**31 - 1, 2**32 - 1, 2**63 - 1, 2**64 - 1)]
    sign = 1 << form.width - 1
    return sorted({*values, *(v ^ sign for v in values)})


def _integer_edges(width: int) -> list[int]:
    if width == 1:
        return [0, 1]
    values = {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 100, 127, 128, 255}
    for bits in (8, 11, 16, 24, 25, 31, 32, 53, 54, 63, 64):
        values |= {(1 << bits) + k for k in (-2, -1, 0, 1)}
    values |= {0x5555555555555555, 0x123456789ABCDEF0, 0x0F0F00FF}
    return sorted({wrap(v, width) for v in values} | {wrap(-v, width) for v in values})


def edges(name: str) -> list[int]:
    """Bit patterns of a type at which implementations go wrong."""
    if name.endswith("x2"):
        single = _float_edges(name[:-2])
        return [low | high << 16 for low, high in zip(single, reversed(single), strict=True)]
    if name in FORMATS:
        return _float_edges(name)
    return _integer_edges(WIDTHS[name])


def operand_rows(item: Case, count: int, seed: int = 0) -> list[tuple[int, ...]]:
    """Rows of operand bit patterns (the carry last): edge values in all or random combinations, and random bits."""
    generator = random.Random(f"{item}{seed}")
    types = [*item.inputs, *(["pred"] if item.carry_in else [])]
    fixed = dict(item.immediates)
    pools = [[fixed[i]] if i in fixed else edges(name) for i, name in enumerate(types)]
    if "ftz" in item.spelling and item.inputs[:2] == ("f32", "f32"):
        # Products and quotients just below the least normal number, which rounding lifts to it.
        pools = [sorted({*p, 0x00800000, 0x80800000, 0x3F7FFFFF, 0x3F7FFFFE, 0x00FFFFFF, 0x40000000}) for p in pools]
    total = 1
    for pool in pools:
        total *= len(pool)
    if total <= count:
        rows = list(itertools.product(*pools))
    else:
        rows = [tuple(generator.choice(pool) for pool in pools) for _ in range(count * 2 // 3)]
    while len(rows) < count + count // 4:
        rows.append(tuple(_random_value(generator, i, name, fixed) for i, name in enumerate(types)))
    return rows


def _random_value(generator: random.Random, position: int, name: str, fixed: dict[int, int]) -> int:
    if position in fixed:
        return fixed[position]
    if name in FORMATS and generator.random() < 0.7:
        # Near 1: exponents at which operands meet and cancel.
        form = FORMATS[name]
        exponent = form.emax + generator.randint(-3, 3)
        fraction = generator.getrandbits(form.precision - 1) & -(1 << generator.randint(0, form.precision - 1))
        return generator.getrandbits(1) << form.width - 1 | exponent << form.precision - 1 | fraction
    return generator.getrandbits(WIDTHS[name])
