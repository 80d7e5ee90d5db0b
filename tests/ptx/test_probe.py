"""A kernel that asks about itself learns nothing by which it could tell the emulator from a device."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.ptx.launch import Launch, launch
from grader.ptx.memory import Device
from tests.ptx import probe
from tests.ptx.running import compiled


def told(device: Device) -> dict[str, object]:
    source = device.buffer("in", np.ones(probe.THREADS, np.float32))
    out = device.buffer("out", np.zeros(probe.BLOCKS * probe.THREADS * probe.FACTS, np.uint64))
    arguments: list[Any] = [source, out, np.int32(7)]
    launch(
        compiled(probe.SOURCE),
        Launch("probe", (probe.BLOCKS,), (probe.THREADS,), arguments, device=device, shared_bytes=probe.DYNAMIC_BYTES),
    )
    return probe.facts(out.read(np.uint64))


def test_the_emulator_answers_as_a_device_does() -> None:
    for seed in (0, 1, 123_456_789):
        device = Device(seed=seed)
        first, second = told(device), told(device)
        for answers in (first, second):
            probe.assert_like_a_device(answers)
        probe.assert_state_lasts(first, second)
        # Clocks of later launches go on.
        assert (second["clock_start"] > first["clock_end"]).all()  # type: ignore[operator]


def test_no_two_processes_see_the_same_numbers() -> None:
    one, other = told(Device(seed=1)), told(Device(seed=2))
    for name in ("in", "out", "clock_start", "timer_start", "gridid"):
        assert not np.array_equal(one[name], other[name]), name  # type: ignore[arg-type]
