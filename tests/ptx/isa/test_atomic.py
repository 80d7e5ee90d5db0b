"""Atomics against a plain loop over the lanes in order."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx.isa import atomic
from grader.ptx.isa.instructions import DTYPES
from grader.ptx.limits import UnsupportedInstruction
from tests.ptx.isa import isa_oracle as exact
from tests.ptx.isa.isa_case import WIDTHS, edges
from tests.ptx.isa.isa_oracle import decode, encode, signed, wrap
from tests.ptx.isa.isa_run import to_bits, to_lanes

ALL = [(op, name) for op, names in atomic.TYPES.items() for name in names]


def _number(bits: int, name: str) -> int:
    return signed(bits, WIDTHS[name]) if name[0] == "s" else bits


def _arrived(word: int, count: int, fewer: int) -> int:
    """Arrivals left, arrivals in all, number of the phase: 20, 20 and 24 bits."""
    left, all_of_them, phase = word % (1 << 20), (word >> 20) % (1 << 20), word >> 40
    all_of_them, left = max(all_of_them - fewer, 0), max(left - count, 0)
    if not left:
        left, phase = all_of_them, (phase + 1) % (1 << 24)
    return (phase << 40) + (all_of_them << 20) + left


def _update(op: str, name: str, old: int, operand: int, compare: int, flush: bool) -> int:
    """What one lane leaves in memory, on bit patterns."""
    if op == "add" and "f" in name:
        half = name.removesuffix("x2")
        if half != name:
            parts = [_update(op, half, old >> s & 0xFFFF, operand >> s & 0xFFFF, 0, flush) for s in (0, 16)]
            return parts[0] | parts[1] << 16
        if flush:
            old, operand = exact.flush(old, name), exact.flush(operand, name)
        if name == "f64":
            for bits in (operand, old):
                if exact.is_nan(decode(bits, name)):
                    return bits | 1 << 51
        result = encode(exact.add(decode(old, name), decode(operand, name)), name)
        return exact.flush(result, name) if flush else result
    a, b = _number(old, name), _number(operand, name)
    operations: dict[str, Callable[[], int]] = {
        "add": lambda: a + b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "and": lambda: a & b,
        "or": lambda: a | b,
        "xor": lambda: a ^ b,
        "inc": lambda: 0 if a >= b else a + 1,
        "dec": lambda: b if a == 0 or a > b else a - 1,
        "exch": lambda: b,
        "cas": lambda: b if old == compare else a,
        "mbarrier_arrive": lambda: _arrived(a, b, 0),
        "mbarrier_arrive_drop": lambda: _arrived(a, b, b),
    }
    return wrap(operations[op](), WIDTHS[name])


def _check(op: str, name: str, memory: list[int], index: list[int], rows: list[tuple[int, int]], flush: bool) -> None:
    expected_memory, expected_old = list(memory), []
    for where, (operand, compare) in zip(index, rows, strict=True):
        expected_old.append(expected_memory[where])
        expected_memory[where] = _update(op, name, expected_memory[where], operand, compare, flush)
    flat = to_lanes(memory, DTYPES[name])
    operands = to_lanes([r[0] for r in rows], DTYPES[name])
    compares = to_lanes([r[1] for r in rows], DTYPES[name]) if op == "cas" else None
    with np.errstate(all="ignore"):
        old = atomic.apply(op, name, flat, np.array(index, np.int64), operands, compares, flush)
    assert to_bits(old) == expected_old
    assert to_bits(flat) == expected_memory


@pytest.mark.parametrize("contention", ["distinct", "pairs", "few", "skewed", "one"])
@pytest.mark.parametrize(("op", "name"), ALL)
def test_equals_a_loop_in_lane_order(op: str, name: str, contention: str) -> None:
    generator = np.random.default_rng(7)
    lanes, cells = 96, 128
    index = {
        "distinct": generator.permutation(cells)[:lanes],
        "pairs": generator.permutation(np.arange(lanes) // 2),
        "few": generator.integers(0, 5, lanes),
        "skewed": np.where(generator.random(lanes) < 0.5, 3, generator.integers(0, cells, lanes)),
        "one": np.full(lanes, 9),
    }[contention].tolist()
    pool = edges(name) if op not in ("inc", "dec", "cas") else [0, 1, 2, 3, 4, 5]
    if name in ("f32", "f64"):
        # Sums that stay finite show the order in which they were rounded.
        pool = [encode(Fraction(k, 7) * 2 ** (k % 9), name) for k in range(-40, 41) if k]
    memory = [pool[i] for i in generator.integers(0, len(pool), cells)]
    rows = [(pool[i], pool[j]) for i, j in generator.integers(0, len(pool), (lanes, 2))]
    _check(op, name, memory, index, rows, flush=False)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from([("add", "f32"), ("add", "u64"), ("max", "s32"), ("cas", "b32"), ("exch", "b64"), ("xor", "b32")]),
    st.lists(st.tuples(st.integers(0, 11), st.integers(0, 10**9), st.integers(0, 3)), min_size=1, max_size=60),
    st.booleans(),
)
def test_any_mixture_of_addresses(case: tuple[str, str], lanes: list[tuple[int, int, int]], flush: bool) -> None:
    op, name = case
    pool = edges(name) if op != "cas" else [0, 1, 2]
    rows = [(pool[value % len(pool)], pool[compare % len(pool)]) for _, value, compare in lanes]
    _check(op, name, [pool[0]] * 12, [where for where, _, _ in lanes], rows, flush and name == "f32")


@pytest.mark.parametrize("index", [[0], [0, 1, 2], [0, 0, 1], [0] * 40])
def test_global_float_add_flushes_subnormals(index: list[int]) -> None:
    # Measured on an H200: 0x200 + 0x100 gives 0 in global memory, 0x300 in shared memory.
    _check("add", "f32", [0x200, 0x00800001, 0x80000003], index, [(0x100, 0)] * len(index), flush=True)
    _check("add", "f32", [0x200, 0x00800001, 0x80000003], index, [(0x100, 0)] * len(index), flush=False)
    _check("add", "f32", [0x80800001, 0, 0], index, [(0x00800002, 0)] * len(index), flush=True)


def test_addresses_far_apart() -> None:
    flat = np.zeros(200_001, np.int32)
    old = atomic.apply("add", "s32", flat, np.array([200_000, 0, 200_000]), np.array([5, 6, 7], np.int32))
    assert old.tolist() == [0, 0, 5] and flat[0] == 6 and flat[200_000] == 12


@pytest.mark.parametrize(
    ("op", "name"), [("add", "b32"), ("min", "f32"), ("inc", "s32"), ("nand", "b32"), ("and", "u32")]
)
def test_refuses_what_there_is_not(op: str, name: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=f"atom.{op}.{name}"):
        atomic.apply(op, name, np.zeros(1, np.int32), np.zeros(1, np.int64), np.zeros(1, np.int32))
