"""The queue by itself: a failure of ours ends those that wait with a word, and the next one is served."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.serve import jobs
from grader.serve.jobs import Full, Job, Jobs


def end_of(job: Job) -> str:
    deadline = time.monotonic() + 600
    while not job.now.is_over:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return job.now.state


def test_a_slip_of_ours_leaves_nobody_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slip(*_given: object) -> None:
        raise RuntimeError("slip")

    with Jobs(tmp_path, "emulator", (), at_once=1, most_waiting=5) as running:
        with monkeypatch.context() as patch:
            patch.setattr(jobs, "task_of", slip)
            assert end_of(running.hand_in("a.cu", b"text", "transpose", "en")) == "failed"
        # Nothing that could be graded: refused by a grading process, which is there.
        assert end_of(running.hand_in("a.cu", b"\x00\x01", "transpose", "en")) == "refused"


def test_what_cannot_be_written_takes_nobodys_place(tmp_path: Path) -> None:
    running = Jobs(tmp_path, "emulator", (), at_once=1, most_waiting=1)
    with pytest.raises(OSError, match="long"):
        running.hand_in("a" * 300 + ".cu", b"", "transpose", "en")
    running.hand_in("a.cu", b"", "transpose", "en")
    with pytest.raises(Full):
        running.hand_in("b.cu", b"", "transpose", "en")
