"""Exchange between lanes against PTX ISA's pseudo-code, lane by lane in Python."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable

import numpy as np
import pytest

from grader.ptx.isa import warp

WARPS = 60
FULL = 0xFFFFFFFF


def _random(seed: int) -> tuple[np.random.Generator, np.ndarray, np.ndarray]:
    """A generator, active lanes (some warps full), member masks (some full, some split in two)."""
    generator = np.random.default_rng(seed)
    active = generator.random((WARPS, 32)) < 0.7
    active[: WARPS // 3] = True
    masks = np.full((WARPS, 32), FULL, np.uint32)
    masks[::3] = generator.integers(0, 2**32, (len(masks[::3]), 1), dtype=np.uint32)
    masks[1::3, :16], masks[1::3, 16:] = 0x0000FFFF, 0xFFFF0000
    return generator, active, masks


def _shuffle_lane(mode: str, lane: int, b: int, c: int) -> tuple[int, bool]:
    """Source lane and predicate, PTX ISA, shfl.sync."""
    bval, cval, mask = b & 31, c & 31, c >> 8 & 31
    max_lane = (lane & mask) | (cval & ~mask & 31)
    min_lane = lane & mask
    if mode == "up":
        j = lane - bval
        p = j >= max_lane
    elif mode == "down":
        j = lane + bval
        p = j <= max_lane
    elif mode == "bfly":
        j = lane ^ bval
        p = j <= max_lane
    else:
        j = min_lane | (bval & ~mask & 31)
        p = j <= max_lane
    return (j if p else lane), p


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffle(mode: str) -> None:
    generator, active, masks = _random(1)
    value = generator.integers(0, 2**32, (WARPS, 32), dtype=np.uint32)
    b = generator.integers(0, 64, (WARPS, 32), dtype=np.uint32)
    c = generator.integers(0, 2**13, (WARPS, 32), dtype=np.uint32)
    # What __shfl_* of widths 32 and 8 pass.
    c[::4] = 0 if mode == "up" else 0x1F
    c[1::4] = 0x1800 if mode == "up" else 0x181F
    result, in_range, inactive = warp.shuffle(mode, value, active, b, c, masks)
    for w in range(WARPS):
        for lane in np.flatnonzero(active[w]):
            source, expected = _shuffle_lane(mode, int(lane), int(b[w, lane]), int(c[w, lane]))
            missing = not active[w, source] or not masks[w, lane] >> source & 1
            assert in_range[w, lane] == expected
            assert inactive[w, lane] == missing
            # As an H200 has it.
            assert result[w, lane] == (value[w, source] if active[w, source] else 0)
    assert result.dtype == np.uint32 and inactive[active].any() and not inactive[~active].any()


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_shuffle_of_whole_warps_by_the_same_numbers(mode: str) -> None:
    rng = np.random.default_rng(5)
    value = rng.integers(0, 1 << 32, (3, 32)).astype(np.uint32)
    everything, everyone = np.ones((3, 32), bool), np.full((3, 32), 0xFFFFFFFF, np.uint32)
    for by, within in ((1, 31), (16, 31), (3, 0), (5, 0x181F), (2, 0x1C03)):
        b, c = np.full((3, 32), by, np.uint32), np.full((3, 32), within, np.uint32)
        expected, expected_in_range, _ = warp.shuffle(mode, value, everything, b, c, everyone)
        result, in_range = warp.shuffle_alike(mode, value, by, within)
        assert (result == expected).all()
        assert (expected_in_range == in_range).all()


def test_shuffle_keeps_the_dtype_and_refuses_unknown_modes() -> None:
    value = np.arange(32, dtype=np.float64)[None, :]
    everything = np.ones((1, 32), bool)
    one, clamp, full = (np.full((1, 32), x, np.uint32) for x in (1, 0x1F, FULL))
    result, _, _ = warp.shuffle("down", value, everything, one, clamp, full)
    assert result[0].tolist() == [*range(1, 32), 31] and result.dtype == np.float64
    with pytest.raises(ValueError, match="sideways"):
        warp.shuffle("sideways", value, everything, one, clamp, full)


def _members(active: np.ndarray, masks: np.ndarray, w: int, lane: int) -> list[int]:
    return [i for i in range(32) if active[w, i] and masks[w, lane] >> i & 1]


def _voters(active: np.ndarray, masks: np.ndarray, w: int, lane: int) -> list[int]:
    """Members; all lanes with the mask where it leaves out one that calls with it (as an H200 has it)."""
    alike = [i for i in range(32) if active[w, i] and masks[w, i] == masks[w, lane]]
    return _members(active, masks, w, lane) if all(masks[w, lane] >> i & 1 for i in alike) else alike


@pytest.mark.parametrize("density", [0.0, 0.5, 1.0])
def test_vote(density: float) -> None:
    generator, active, masks = _random(2)
    predicate = generator.random((WARPS, 32)) < density
    answers = {mode: warp.vote(mode, predicate, active, masks) for mode in ("all", "any", "uni", "ballot")}
    assert answers["ballot"].dtype == np.uint32
    for w in range(WARPS):
        for lane in np.flatnonzero(active[w]):
            votes = {i: bool(predicate[w, i]) for i in _voters(active, masks, w, int(lane))}
            assert answers["all"][w, lane] == all(votes.values())
            assert answers["any"][w, lane] == any(votes.values())
            assert answers["uni"][w, lane] == (len(set(votes.values())) <= 1)
            assert answers["ballot"][w, lane] == sum(1 << i for i, v in votes.items() if v)
    with pytest.raises(ValueError, match="most"):
        warp.vote("most", predicate, active, masks)


@pytest.mark.parametrize("distinct", [1, 3, 2**62])
def test_match(distinct: int) -> None:
    generator, active, masks = _random(3)
    values = generator.integers(0, distinct, (WARPS, 32), dtype=np.uint64)
    same, _ = warp.match("any", values, active, masks)
    everyone, unanimous = warp.match("all", values, active, masks)
    assert same.dtype == everyone.dtype == np.uint32
    for w in range(WARPS):
        for lane in np.flatnonzero(active[w]):
            members = _members(active, masks, w, int(lane))
            equal = [i for i in members if values[w, i] == values[w, lane]]
            assert same[w, lane] == sum(1 << i for i in equal)
            assert unanimous[w, lane] == (equal == members)
            assert everyone[w, lane] == (sum(1 << i for i in members) if equal == members else 0)
    with pytest.raises(ValueError, match="some"):
        warp.match("some", values, active, masks)


@pytest.mark.parametrize("dtype", [np.int32, np.uint32])
@pytest.mark.parametrize("op", ["add", "min", "max", "and", "or", "xor"])
def test_redux(op: str, dtype: type[np.int32 | np.uint32]) -> None:
    generator, active, masks = _random(4)
    masks |= np.uint32(1) << np.arange(32, dtype=np.uint32)
    values = generator.integers(0, 2**32, (WARPS, 32), dtype=np.uint32).view(dtype)
    functions: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: (a + b + 2**31) % 2**32 - 2**31 if dtype is np.int32 else (a + b) % 2**32,
        "min": min,
        "max": max,
        "and": operator.and_,
        "or": operator.or_,
        "xor": operator.xor,
    }
    result = warp.redux(op, values, active, masks)
    assert result.dtype == dtype
    for w in range(WARPS):
        for lane in np.flatnonzero(active[w]):
            chosen = [int(values[w, i]) for i in _members(active, masks, w, int(lane))]
            assert result[w, lane] == functools.reduce(functions[op], chosen)
    with pytest.raises(ValueError, match="mul"):
        warp.redux("mul", values, active, masks)
