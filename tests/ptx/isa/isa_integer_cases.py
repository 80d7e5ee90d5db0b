"""Integers, carry chains and bits, computed with Python integers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tests.ptx.isa.isa_case import WIDTHS, case, clamp, integer_value, on_integers
from tests.ptx.isa.isa_oracle import signed, wrap


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
    on_integers("add.sat.s32", "s32 s32", "s32", lambda a, b: clamp(a + b, "s32"))
    on_integers("sub.sat.s32", "s32 s32", "s32", lambda a, b: clamp(a - b, "s32"))
    on_integers("mad.hi.sat.s32", "s32 s32 s32", "s32", lambda a, b, c: clamp((a * b >> 32) + c, "s32"))
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


def _parts(word: int, width: int, is_signed: bool) -> list[int]:
    pieces = [word >> i & (1 << width) - 1 for i in range(0, 32, width)]
    return [signed(p, width) for p in pieces] if is_signed else pieces


def _join(pieces: list[int], width: int) -> int:
    return sum(wrap(p, width) << i * width for i, p in enumerate(pieces))


def _packed_cases() -> None:
    for t, is_signed in (("u16x2", False), ("s16x2", True)):
        functions: list[tuple[str, Callable[[int, int], int]]] = [
            ("add", lambda a, b: a + b),
            ("min", min),
            ("max", max),
        ]
        if is_signed:
            functions += [("min.relu", lambda a, b: max(min(a, b), 0)), ("max.relu", lambda a, b: max(a, b, 0))]
        for stem, function in functions:

            def both(a: int, b: int, f: Callable[[int, int], int] = function, s: bool = is_signed) -> int:
                return _join([f(x, y) for x, y in zip(_parts(a, 16, s), _parts(b, 16, s), strict=True)], 16)

            case(f"{stem}.{t}", f"{t} {t}", t, both)
    for opcode, width in (("vabsdiff2", 16), ("vabsdiff4", 8)):
        for d, ta, tb in itertools.product(("u32", "s32"), repeat=3):

            def differences(a: int, b: int, w: int = width, ta: str = ta, tb: str = tb) -> list[int]:
                return [abs(x - y) for x, y in zip(_parts(a, w, ta == "s32"), _parts(b, w, tb == "s32"), strict=True)]

            three = f"{ta} {tb} {d}"
            if d == "u32":
                case(f"{opcode}.{d}.{ta}.{tb}", three, d, lambda a, b, c, f=differences, w=width: _join(f(a, b), w))
            case(f"{opcode}.{d}.{ta}.{tb}.add", three, d, lambda a, b, c, f=differences: wrap(sum(f(a, b)) + c, 32))


def _carry_cases() -> None:
    for t in ("u32", "s32", "u64", "s64"):
        w = WIDTHS[t]
        forms: list[tuple[str, int, Callable[..., int]]] = [
            ("add", 2, lambda a, b, k: a + b + k),
            ("sub", 2, lambda a, b, k: a - b - k),
        ]
        for part in ("lo", "hi"):

            def multiply_add(a: int, b: int, c: int, k: int, part: str = part, t: str = t, w: int = w) -> int:
                product = integer_value(a, t) * integer_value(b, t)
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
        on_integers(f"popc.{t}", t, "u32", int.bit_count)
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


def build() -> None:
    """Enter the cases."""
    _integer_cases()
    _carry_cases()
    _packed_cases()
    _bit_cases()
