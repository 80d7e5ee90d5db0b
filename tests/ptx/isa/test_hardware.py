"""The same instructions, operands and results to the bit on a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from isa_cases import CASES, Case, operand_rows
from isa_device import Device
from isa_run import emulate

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    yield Device()


@pytest.mark.parametrize("item", CASES, ids=str)
def test_device_returns_the_same_bits(device: Device, item: Case) -> None:
    rows = operand_rows(item, 4000, seed=1)
    differing = [
        (tuple(map(hex, row)), tuple(map(hex, ours)), tuple(map(hex, theirs)))
        for row, ours, theirs in zip(rows, emulate(item, rows), device.run(item, rows), strict=True)
        if ours != theirs
    ]
    assert not differing, f"{len(differing)} of {len(rows)} differ (operands, emulator, device): {differing[:8]}"
