"""Wavefronts, sectors and distinct bytes of random requests, against counting lane by lane."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from grader.ptx.observers import traffic

WIDTHS = [1, 2, 4, 8, 16]


def by_hand(lanes: dict[int, int], width: int, op: str) -> tuple[int, int]:
    """(wavefronts, ideal) of one request: {lane: byte address}; the rule of docs/emulator.md, "Count"."""
    lanes_together = {8: 16, 16: 8}.get(width, 32)
    neighbours = any(all(lanes.get(lane ^ d, address) == address for lane, address in lanes.items()) for d in (1, 2))
    if width > 4 and neighbours and op == "load":
        lanes_together *= 2
    wavefronts = ideal = 0
    for start in range(0, 32, lanes_together):
        words: dict[int, set[int]] = defaultdict(set)
        for lane in range(start, start + lanes_together):
            if lane in lanes:
                for byte in range(lanes[lane], lanes[lane] + width):
                    words[byte // 4 % 32].add(byte // 4)
        wavefronts += max((len(found) for found in words.values()), default=0)
        ideal += bool(words)
    return wavefronts, ideal


def requests(width: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, 32) addresses and active lanes: scattered, strided, doubled, broadcast; whole warps, parts, none."""
    rng = np.random.default_rng(width)
    lane = np.arange(32)
    rows, masks = [], []
    for density in (1.0, 0.6, 0.1, 0.0):
        for step in range(40):
            distance = int(rng.choice([1, 2, 4]))
            units = [
                rng.integers(0, 200, 32),
                lane * (step % 35),
                lane // distance % 32 * int(rng.integers(1, 9)),
                (lane & ~distance) * int(rng.integers(1, 5)),
                np.where(lane % 5 < 3, 7, lane),
            ][step % 5]
            mask = rng.random(32) < density
            if step % 3 == 0:
                # Lanes that differ in one bit come and go together.
                mask = mask[lane & ~distance]
            rows.append(units * width)
            masks.append(mask)
    return np.array(rows, np.int64), np.array(masks)


@pytest.mark.parametrize("op", ["load", "store", "atomic"])
@pytest.mark.parametrize("width", WIDTHS)
def test_wavefronts(width: int, op: str) -> None:
    offsets, active = requests(width)
    wavefronts, ideal = traffic.shared_wavefronts(offsets, active, width, op)
    for row in range(len(offsets)):
        lanes = {int(lane): int(offsets[row, lane]) for lane in np.flatnonzero(active[row])}
        assert (wavefronts[row], ideal[row]) == by_hand(lanes, width, op), lanes


@pytest.mark.parametrize("width", WIDTHS)
def test_sectors_and_distinct_bytes(width: int) -> None:
    offsets, active = requests(width)
    sectors, unique = traffic.global_sectors(offsets, active), traffic.unique_bytes(offsets, active, width)
    for row in range(len(offsets)):
        touched = {int(a) + i for a in offsets[row][active[row]] for i in range(width)}
        assert (sectors[row], unique[row]) == (len({byte // 32 for byte in touched}), len(touched))
