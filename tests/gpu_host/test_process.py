"""The GPU process where there is no device: it starts, says so, and is gone."""

from __future__ import annotations

import fcntl
import os
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from grader.gpu.messages import NoDevice
from grader.gpu.process import GpuProcess, opening_lock
from grader.timing import lock

pytestmark = pytest.mark.started


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
    handed: list[int] = []
    start = subprocess.Popen

    def noted(*words: Any, **options: Any) -> subprocess.Popen[bytes]:
        handed.append(len(options["pass_fds"]))
        return start(*words, **options)

    monkeypatch.setattr(subprocess, "Popen", noted)
    process = GpuProcess(in_turn=False)
    try:
        assert isinstance(process.ready(), NoDevice)
        # It has a connection, and nothing that it could wait for.
        assert handed == [1]
    finally:
        process.close()
        for descriptor in held:
            os.close(descriptor)
