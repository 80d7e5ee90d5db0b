"""The device answers a kernel that asks about itself as tests/ptx/test_probe.py asks of the emulator."""

from __future__ import annotations

import numpy as np

from grader.gpu.session import GpuSession
from grader.launching.backend import BufferArgument, LaunchRequest, ScalarArgument
from tests.gpu.conftest import Loader
from tests.ptx import probe


def test_what_is_asked_of_the_emulator_holds_on_a_device(session: GpuSession, load: Loader) -> None:
    load(probe.SOURCE, "probe")
    count = probe.BLOCKS * probe.THREADS * probe.FACTS
    request = LaunchRequest(
        "probe",
        (probe.BLOCKS, 1, 1),
        (probe.THREADS, 1, 1),
        probe.DYNAMIC_BYTES,
        [
            BufferArgument("in", (probe.THREADS,), "float32", np.ones(probe.THREADS, np.float32), is_output=False),
            BufferArgument("out", (count,), "uint64", None, is_output=True),
            ScalarArgument(7, "int32"),
        ],
    )
    for _ in range(2):
        outcome = session.run("test", request)
        assert outcome.status == "ok", outcome.reason
        told = probe.facts(outcome.outputs["out"])
        probe.assert_like_a_device(told)
        counted = np.sort(told["launches"][:, 0])
        assert np.array_equal(counted, counted[0] + np.arange(probe.BLOCKS))
