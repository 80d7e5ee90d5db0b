"""The GPU process where there is no device: it starts, says so, and is gone."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

import pytest

from grader.gpu.device.worker import TURN_LIMIT_S
from grader.gpu.host.process import GpuProcess, opening_lock
from grader.gpu.messages import NoDevice
from grader.timing import lock


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


def test_a_process_opens_its_device_when_its_turn_has_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    held = [lock.lock_file(opening_lock(os.environ))]
    for descriptor in held:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    process = GpuProcess()
    # Long after it has started; the others go on opening until then.
    began, busy_s = time.monotonic(), 1.5

    def done() -> None:
        for descriptor in held:
            os.close(descriptor)

    others = threading.Timer(busy_s, done)
    others.start()
    try:
        assert isinstance(process.ready(), NoDevice)
        assert time.monotonic() - began >= busy_s
    finally:
        others.join()
        process.close()


def test_a_process_opens_its_device_at_once_for_whoever_keeps_others_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    held = [lock.lock_file(opening_lock(os.environ))]
    for descriptor in held:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    process = GpuProcess(in_turn=False)
    began = time.monotonic()
    try:
        assert isinstance(process.ready(), NoDevice)
        # A turn is waited for at least so long before it is given up.
        assert time.monotonic() - began < TURN_LIMIT_S
    finally:
        process.close()
        for descriptor in held:
            os.close(descriptor)
