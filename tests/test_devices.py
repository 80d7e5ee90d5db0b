"""What a device allows a launch: once for the grader, and once for the emulator, which imports nothing of it."""

from __future__ import annotations

import pytest

from grader import devices
from grader.ptx.launch import MAX_STATIC_SHARED
from grader.ptx.limits import MAX_BLOCK, MAX_GRID
from grader.ptx.lowering.program import DYNAMIC_BYTES
from grader.ptx.memory import SHARED_BYTES


def test_the_emulator_allows_the_same() -> None:
    assert MAX_BLOCK == devices.MAX_BLOCK
    assert MAX_GRID == devices.MAX_GRID
    assert MAX_STATIC_SHARED == DYNAMIC_BYTES == devices.SHARED_BYTES
    assert SHARED_BYTES == devices.OPT_IN_SHARED_BYTES


@pytest.mark.parametrize(
    ("block", "is_possible"),
    [
        ((1024, 1, 1), True),
        ((1025, 1, 1), False),
        ((32, 32, 1), True),
        ((33, 32, 1), False),
        ((1, 1024, 1), True),
        ((1, 1, 64), True),
        ((1, 1, 65), False),
        ((0, 1, 1), False),
        ((-1, -1, 1), False),
    ],
)
def test_blocks_that_a_device_runs(block: tuple[int, int, int], is_possible: bool) -> None:
    assert devices.is_possible_block(block) == is_possible
