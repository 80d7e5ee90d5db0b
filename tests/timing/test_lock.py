"""One timing at a time on a GPU, across processes; a dead holder does not block."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.timing import lock

pytestmark = pytest.mark.started

HOLD = """
import sys, time
from grader.timing import lock
with getattr(lock, sys.argv[1])(sys.argv[2], 300):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def holder(kind: str, uuid: str) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", HOLD, kind, uuid], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_a_timing_excludes_everybody_until_its_process_dies() -> None:
    process = holder("exclusive", "GPU-1")
    try:
        with pytest.raises(lock.Busy), lock.exclusive("GPU-1", 0.2):
            pass
        with pytest.raises(lock.Busy), lock.shared("GPU-1", 0.0):
            pass
        with lock.exclusive("GPU-2", 0.0):
            pass
    finally:
        process.kill()
        process.communicate()
    with lock.exclusive("GPU-1", 300.0):
        pass


def test_runs_go_on_side_by_side_but_a_timing_waits_for_them() -> None:
    process = holder("shared", "GPU-1")
    try:
        with lock.shared("GPU-1", 0.0):
            pass
        began = time.monotonic()
        with pytest.raises(lock.Busy), lock.exclusive("GPU-1", 0.2):
            pass
        assert time.monotonic() - began >= 0.2
    finally:
        process.kill()
        process.communicate()


def test_a_strange_uuid_stays_in_the_folder(tmp_path: Path) -> None:
    assert lock.lock_path("../../x y").parent == tmp_path
    with lock.exclusive("../../x y", 0.0):
        names = sorted(p.name for p in tmp_path.iterdir())
        assert names == ["cuda-lab-grader-______x_y-gate.lock", "cuda-lab-grader-______x_y.lock"]


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    lock.lock_path("GPU-1").symlink_to(tmp_path / "target")
    with pytest.raises(OSError), lock.exclusive("GPU-1", 0.0):
        pass


def test_waiting_is_told_and_only_waiting() -> None:
    told: list[bool] = []
    lock.tell_of_waiting(told.append)
    with lock.exclusive("GPU-1", 0.0):
        pass
    assert told == []
    process = holder("exclusive", "GPU-1")
    try:
        with pytest.raises(lock.Busy), lock.shared("GPU-1", 0.1):
            pass
        assert told == [True, False]
    finally:
        process.kill()
        process.communicate()


def test_without_a_limit_of_its_own_a_wait_is_as_long_as_gradings_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "WAIT_S", 0.1)
    process = holder("shared", "GPU-1")
    try:
        with pytest.raises(lock.Busy), lock.exclusive("GPU-1"):
            pass
    finally:
        process.kill()
        process.communicate()


SHARE = """
import sys, time
from grader.timing import lock
while True:
    with lock.shared(sys.argv[1]):
        print("held", flush=True)
        time.sleep(0.3)
"""


def test_who_comes_and_goes_does_not_keep_a_timing_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE_S", 0.2)
    sharing = [
        subprocess.Popen([sys.executable, "-c", SHARE, "GPU-1"], stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    try:
        for number, process in enumerate(sharing):
            assert process.stdout is not None and process.stdout.readline() == "held\n"
            # Out of step: one of them always holds it.
            time.sleep(0.15 if number == 0 else 0.0)
        with lock.exclusive("GPU-1", 300.0):
            pass
        # And they go on.
        for process in sharing:
            assert process.stdout is not None and process.stdout.readline() == "held\n"
    finally:
        for process in sharing:
            process.kill()
            process.communicate()
