"""Which rounds count as throttled."""

from __future__ import annotations

import pytest

from grader.timing.sampling import is_throttled


@pytest.mark.parametrize(
    ("sm_mhz", "reasons", "throttled"),
    [
        (1980.0, 0, False),
        (1486.0, 0, False),
        (1484.0, 0, True),
        (0.0, 0, False),
        # nvml.h: GPU idle, applications' setting, power cap: the clock itself tells whether they matter.
        (1900.0, 0x1 | 0x2 | 0x4, False),
        (1900.0, 0x8, True),
        (1900.0, 0x20, True),
        (1900.0, 0x40, True),
        (1900.0, 0x80, True),
    ],
)
def test_throttled(sm_mhz: float, reasons: int, throttled: bool) -> None:
    assert is_throttled(sm_mhz, reasons, 1980.0) is throttled
