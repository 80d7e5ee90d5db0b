"""The queue by itself: a failure of ours ends those that wait with a word, and the next one is served."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from grader.cli import serve_app, serve_jobs
from grader.cli.serve_jobs import Full, Job, Jobs


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
            patch.setattr(serve_jobs, "task_of", slip)
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


def test_a_file_that_never_arrives_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_app, "BODY_S", 0.0)
    sent: list[dict[str, Any]] = []

    async def handed_in() -> None:
        pieces = [{"type": "http.request", "body": b"half", "more_body": True}]

        async def receive() -> dict[str, Any]:
            if not pieces:
                await asyncio.Event().wait()
            return pieces.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/jobs",
            "query_string": b"lab=transpose&name=a.cu",
            "headers": [(b"host", b"localhost")],
        }
        running = Jobs(tmp_path, "emulator", (), at_once=1, most_waiting=1)
        await serve_app.application(serve_app.Settings("en"), running)(scope, receive, send)
        # It has no place in the queue.
        running.hand_in("a.cu", b"", "transpose", "en")

    asyncio.run(handed_in())
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]
    assert json.loads(sent[1]["body"]) == {"reason": "the file did not arrive within 0 s"}
