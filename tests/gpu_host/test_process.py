"""The GPU process where there is no device: it starts, says so, and is gone."""

from __future__ import annotations

import pytest

from grader.gpu.host.process import GpuProcess
from grader.gpu.messages import NoDevice


def test_a_process_without_a_device_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    # A machine with a GPU has none for this process.
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    process = GpuProcess()
    try:
        ready = process.ready()
        # Its own words, not that it did not start.
        assert isinstance(ready, NoDevice) and ready.reason and "did not start" not in ready.reason
        assert process.ready() is ready
    finally:
        process.close()
    assert process.is_lost
