"""`grade calibrate` on the device."""

from __future__ import annotations

from grader.gpu.calibrate import calibrate, rows
from grader.lab import labs


def test_the_lab_s_thresholds_are_sound_here() -> None:
    found = calibrate(labs.find("transpose"))
    for row in rows(found):
        print(row)
    assert found and all(row.is_sound for row in found)
    assert all(row.proposal.deviation < 0.01 for row in found)
