"""The same instructions, operands and results to the bit on a GPU."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from grader.ptx.isa import warp
from tests.ptx.isa.isa_case import Case, operand_rows
from tests.ptx.isa.isa_cases import CASES
from tests.ptx.isa.isa_device import Device
from tests.ptx.isa.isa_run import emulate

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def device() -> Iterator[Device]:
    try:
        yield Device()
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"no GPU: {error}")


@pytest.mark.parametrize("item", CASES, ids=str)
def test_device_returns_the_same_bits(device: Device, item: Case) -> None:
    rows = operand_rows(item, 4000, seed=1)
    differing = [
        (tuple(map(hex, row)), tuple(map(hex, ours)), tuple(map(hex, theirs)))
        for row, ours, theirs in zip(rows, emulate(item, rows), device.run(item, rows), strict=True)
        if ours != theirs
    ]
    assert not differing, f"{len(differing)} of {len(rows)} differ (operands, emulator, device): {differing[:8]}"


@pytest.mark.parametrize("mode", ["up", "down", "bfly", "idx"])
def test_device_shuffles_the_same(device: Device, mode: str) -> None:
    generator = np.random.default_rng(5)
    value, b, c = (generator.integers(0, 2**32, (512, 32), dtype=np.uint32) for _ in range(3))
    b[::2] &= 31
    c[::3], c[1::3] = 0x1F, c[1::3] & 0x1F1F
    everyone = np.full((512, 32), 0xFFFFFFFF, np.uint32)
    item = Case(f"shfl.sync.{mode}.b32", ("b32",) * 4, ("b32", "pred"), _no_oracle, immediates=((3, 0xFFFFFFFF),))
    rows = list(zip(*(x.ravel().tolist() for x in (value, b, c, everyone)), strict=True))
    result, in_range, _ = warp.shuffle(mode, value, np.ones((512, 32), bool), b, c, everyone)
    assert device.run(item, rows) == list(zip(result.ravel().tolist(), in_range.ravel().tolist(), strict=True))


def _no_oracle(*_: int) -> None:
    raise AssertionError("compared with the device only")
