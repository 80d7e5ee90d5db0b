"""What a case is, and the operands it is run on."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.ptx.isa.isa_oracle import FORMATS, encode, signed, wrap

WIDTHS = {
    "pred": 1,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
    "f16x2": 32,
    "bf16x2": 32,
    "u16x2": 32,
    "s16x2": 32,
} | {f"{kind}{width}": width for kind in "usb" for width in (8, 16, 32, 64)}


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


MODES = ("rn", "rz", "rm", "rp")

CASES: list[Case] = []


def case(spelling: str, inputs: str, outputs: str, oracle: Callable[..., Any], **rest: Any) -> None:
    CASES.append(Case(spelling, tuple(inputs.split()), tuple(outputs.split()), oracle, **rest))


def on_integers(spelling: str, inputs: str, output: str, function: Callable[..., int]) -> None:
    """A case whose oracle works on mathematical integers; the result is taken modulo 2**width."""
    types = inputs.split()

    def oracle(*bits: int) -> int:
        return wrap(function(*(integer_value(b, t) for b, t in zip(bits, types, strict=True))), WIDTHS[output])

    case(spelling, inputs, output, oracle)


def integer_value(bits: int, name: str) -> int:
    return signed(bits, WIDTHS[name]) if name[0] == "s" else bits


def clamp(value: int, name: str) -> int:
    width = WIDTHS[name]
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if name[0] == "s" else (0, (1 << width) - 1)
    return min(max(value, low), high)


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
    values += [encode(Fraction(2) ** -126 * (1 - Fraction(1, 2**k)), name) for k in (23, 24, 25, 26)]
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
        single = edges(name[:-2])
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
        pools = [
            sorted({*p, 0x00800000, 0x80800000, 0x3F7FFFFF, 0x3F7FFFFE, 0x00800001, 0x00FFFFFF, 0x40000000})
            for p in pools
        ]
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
