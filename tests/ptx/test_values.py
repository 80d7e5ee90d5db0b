"""Register values against plain NumPy: uniform, per lane, per lane plus a constant; parted and merged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.ptx import affine
from grader.ptx.values import (
    BOOL,
    MEMO_ENTRIES,
    SIGNED,
    UNSIGNED,
    Affine,
    Array,
    Lanes,
    Layout,
    Vec,
    as_array,
    constant,
    from_array,
    merge,
    remember,
    select,
    shifted,
)

LAYOUT = Layout((40, 1, 1), 2)
EDGES = [0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 62, 1 << 63, (1 << 64) - 1, (1 << 64) - 5]


def lanes_of(block: tuple[int, int, int], blocks: int) -> Lanes:
    return Layout(block, blocks).root


def full(value: Any, bits: int, n: int) -> Array:
    return np.broadcast_to(as_array(value, UNSIGNED[bits // 8]), (n,))


@st.composite
def values(draw: st.DrawFn, bits: int) -> Any:
    """A value of all three kinds over the root lanes of LAYOUT."""
    mask = (1 << bits) - 1
    number = st.sampled_from(EDGES) | st.integers(0, mask) | st.integers(0, 200)
    kind = draw(st.sampled_from(["uniform", "vec", "shifted"]))
    if kind == "uniform":
        return draw(number) & mask
    n = LAYOUT.root.n
    few = draw(st.lists(number, min_size=1, max_size=5))
    array = np.array([few[i % len(few)] + (i if draw(st.booleans()) and i < 3 else 0) & mask for i in range(n)], object)
    vec = Vec((array & mask).astype(UNSIGNED[bits // 8]), LAYOUT.root)
    return vec if kind == "vec" else shifted(vec, draw(number) & mask)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, Any, Any]:
    bits = draw(st.sampled_from([32, 64]))
    return bits, draw(values(bits)), draw(values(bits))


def wide(array: Array, signed: bool) -> list[int]:
    size = array.dtype.itemsize
    return [int(v) for v in array.view(SIGNED[size] if signed else UNSIGNED[size])]


@given(pairs())
@settings(max_examples=200, deadline=None)
def test_sums_products_and_shifts_are_those_of_numpy(case: tuple[int, Any, Any]) -> None:
    bits, a, b = case
    n = LAYOUT.root.n
    x, y = full(a, bits, n), full(b, bits, n)
    amount = b if not isinstance(b, (Vec, Affine)) else 3
    for result, expected in (
        (affine.add(a, b, bits), x + y),
        (affine.sub(a, b, bits), x - y),
        (affine.mul_lo(a, b, bits), x * y),
        (affine.shl(a, amount, bits), x << x.dtype.type(amount) if amount < bits else x * x.dtype.type(0)),
    ):
        if result is not None:
            np.testing.assert_array_equal(full(result, bits, n), expected)


@given(pairs(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_widening_keeps_every_lanes_number(case: tuple[int, Any, Any], signed: bool) -> None:
    bits, a, b = case
    n = LAYOUT.root.n
    if bits == 64:
        narrow = affine.narrow(a, 32)
        if narrow is not None:
            np.testing.assert_array_equal(full(narrow, 32, n), full(a, 64, n).astype(np.uint32))
        return
    x, y = wide(full(a, 32, n), signed), wide(full(b, 32, n), signed)
    mask = (1 << 64) - 1
    widened, product = affine.widen(a, 32, 64, signed), affine.mul_wide(a, b, 32, signed)
    if widened is not None:
        assert wide(full(widened, 64, n), False) == [v & mask for v in x]
    if product is not None:
        assert wide(full(product, 64, n), False) == [v * w & mask for v, w in zip(x, y, strict=True)]


RELATIONS = {
    "eq": lambda p, q: p == q,
    "ne": lambda p, q: p != q,
    "lt": lambda p, q: p < q,
    "le": lambda p, q: p <= q,
    "gt": lambda p, q: p > q,
    "ge": lambda p, q: p >= q,
    "lo": lambda p, q: p < q,
    "ls": lambda p, q: p <= q,
    "hi": lambda p, q: p > q,
    "hs": lambda p, q: p >= q,
}


@given(pairs(), st.sampled_from(sorted(RELATIONS)), st.booleans())
@settings(max_examples=300, deadline=None)
def test_a_comparison_that_is_answered_holds_in_every_lane(
    case: tuple[int, Any, Any], relation: str, signed: bool
) -> None:
    bits, a, b = case
    signed = signed and relation not in ("lo", "ls", "hi", "hs")
    n = LAYOUT.root.n
    answer = affine.compare(relation, a, b, bits, signed)
    each = [
        RELATIONS[relation](p, q)
        for p, q in zip(wide(full(a, bits, n), signed), wide(full(b, bits, n), signed), strict=True)
    ]
    if answer is not None:
        assert each == [answer] * n
    if not isinstance(a, (Vec, Affine)) and not isinstance(b, (Vec, Affine)):
        assert answer is not None


def test_short_cuts_cost_no_array_in_a_loop() -> None:
    """What makes a loop over addresses cheap: the array stays, the constant moves."""
    vec = Vec(np.arange(80, dtype=np.uint32), LAYOUT.root)
    value: Any = vec
    for _ in range(5):
        value = affine.add(value, 16, 32)
    assert isinstance(value, Affine) and value.vec is vec and value.shift == 80
    assert affine.add(value, (1 << 32) - 80, 32) is vec
    first = affine.mul_wide(value, 4, 32, True)
    assert isinstance(first, Affine) and first.shift == 320
    moved: Any = affine.add(value, 1, 32)
    again = affine.mul_wide(moved, 4, 32, True)
    assert isinstance(again, Affine) and again.vec is first.vec and again.shift == 324
    assert affine.compare("lt", value, 160, 32, True) is True
    assert affine.compare("lt", value, 159, 32, True) is None
    assert affine.compare("ge", value, 160, 32, True) is False


@given(
    st.integers(0, (1 << 64) - 1), st.sampled_from([(16, 32), (16, 64), (32, 64), (16, 16), (32, 32)]), st.booleans()
)
def test_a_conversion_looks_at_the_low_bits_of_a_wider_register(a: int, bits: tuple[int, int], signed: bool) -> None:
    low = a % (1 << bits[0])
    expected = (affine.to_signed(low, bits[0]) if signed else low) % (1 << bits[1])
    if bits[0] == bits[1]:
        assert affine.same_bits(a, bits[0]) == low
    else:
        assert affine.widen(a, *bits, signed) == expected


def test_values_that_wrap_are_not_taken_for_ones_that_do_not() -> None:
    vec = Vec(np.arange(80, dtype=np.uint32), LAYOUT.root)
    near_top = shifted(vec, 0x7FFFFFFF - 40)
    assert affine.widen(near_top, 32, 64, True) is None
    assert affine.compare("gt", near_top, 0, 32, True) is None
    assert affine.widen(near_top, 32, 64, False) is not None


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_lanes_that_part_and_meet_keep_their_values(data: st.DataObject) -> None:
    root = LAYOUT.root
    bits = data.draw(st.sampled_from([32, 64]))
    value = data.draw(values(bits))
    expected = full(value, bits, root.n).copy()
    colours = np.array(data.draw(st.lists(st.integers(0, 2), min_size=root.n, max_size=root.n)))
    parts, pieces = [], []
    for colour in np.unique(colours).tolist():
        positions = np.flatnonzero(colours == colour)
        part = root.select(positions)
        piece = select(value, part)
        np.testing.assert_array_equal(full(piece, bits, part.n), expected[positions])
        if data.draw(st.booleans()):
            new = data.draw(st.integers(0, 99))
            piece = affine.add(piece, new, bits)
            expected[positions] += expected.dtype.type(new)
        parts.append(part)
        pieces.append(piece)
    merged = merge(pieces, parts, root, bits // 8)
    np.testing.assert_array_equal(full(merged, bits, root.n), expected)


def test_what_nobody_touched_comes_back_as_the_same_object() -> None:
    root = LAYOUT.root
    vec = Vec(np.arange(80, dtype=np.uint32), root)
    left, right = root.select(np.arange(0, 80, 2)), root.select(np.arange(1, 80, 2))
    assert merge([vec.select(left), vec.select(right)], [left, right], root, 4) is vec
    moved = shifted(vec, 8)
    again = merge([select(moved, left), select(moved, right)], [left, right], root, 4)
    assert isinstance(again, Affine) and again.vec is vec and again.shift == 8
    assert merge([3, 3], [left, right], root, 4) == 3
    flags = merge([True, False], [left, right], root, 0)
    assert flags.dtype == BOOL and flags.array.tolist() == [True, False] * 40


def test_a_value_that_one_side_never_set_is_taken_from_the_other() -> None:
    root = LAYOUT.root
    left, right = root.select(np.arange(40)), root.select(np.arange(40, 80))
    merged = merge([Vec(np.arange(40, dtype=np.float32), left), None], [left, right], root, 4)
    assert merged.array[:40].tolist() == list(range(40))


@pytest.mark.parametrize(
    ("block", "blocks", "warps", "whole"),
    [((32, 1, 1), 3, 3, True), ((17, 3, 1), 2, 4, False), ((48, 1, 1), 3, 6, False), ((10, 10, 10), 1, 32, False)],
)
def test_lanes_are_numbered_by_warps_that_never_span_blocks(
    block: tuple[int, int, int], blocks: int, warps: int, whole: bool
) -> None:
    lanes = lanes_of(block, blocks)
    size = block[0] * block[1] * block[2]
    assert (lanes.n, lanes.n_warps, lanes.whole_warps) == (blocks * size, warps, whole)
    np.testing.assert_array_equal(lanes.blocks, np.repeat(np.arange(blocks), size))
    table = lanes.to_warps(np.arange(lanes.n), -1)
    assert table.shape == (warps, 32)
    assert sorted(table[table >= 0].tolist()) == list(range(lanes.n))
    np.testing.assert_array_equal(lanes.from_warps(table), np.arange(lanes.n))
    np.testing.assert_array_equal(lanes.active_table(), table >= 0)
    thread = np.arange(lanes.n) % size
    np.testing.assert_array_equal(lanes.ids % 32, thread % 32)


@pytest.mark.parametrize(
    ("array", "register_bytes", "expected"),
    [
        (np.array([-1], np.int8), 4, 0xFFFFFFFF),
        (np.array([255], np.uint8), 4, 255),
        (np.array([1.0], np.float32), 4, 0x3F800000),
        (np.array([-2.0], np.float16), 2, 0xC000),
        (np.array([True]), 0, True),
        (np.array([-1], np.int16), 8, (1 << 64) - 1),
    ],
)
def test_results_fill_their_register(array: Array, register_bytes: int, expected: Any) -> None:
    assert from_array(array, LAYOUT.root, register_bytes) == expected


def test_uniform_values_are_cut_to_the_type_that_reads_them() -> None:
    assert as_array(0x12345678, UNSIGNED[1]).tolist() == [0x78]
    assert as_array(0xFFFFFFFF, SIGNED[4]).tolist() == [-1]
    assert constant(0x3F800000, np.dtype(np.float32)).tolist() == [1.0]
    wide_vec = Vec(np.array([0x1_0000_0002, 5], np.uint64), Layout((2, 1, 1), 1).root)
    assert as_array(wide_vec, UNSIGNED[4]).tolist() == [2, 5]


def test_memos_do_not_grow_without_bound() -> None:
    memo: dict[Any, Any] = {}
    for k in range(10 * MEMO_ENTRIES):
        assert remember(memo, k, str(k)) == str(k)
    assert len(memo) <= MEMO_ENTRIES
    vec = Vec(np.arange(80, dtype=np.uint32), LAYOUT.root)
    for factor in range(1000):
        affine.mul_lo(vec, factor, 32)
    assert len(vec.memo) <= MEMO_ENTRIES
