"""The parent's end of `grader.report.worker`: starts it, sends jobs, collects what became of them."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
from collections.abc import Iterator

import msgspec

from grader.errors import InternalError
from grader.report.job import ReportJob
from grader.report.worker import Reply

DEADLINE_S = 120.0
"""One file of a report takes a second or two; a renderer that is silent for this long hangs."""


class Renderer:
    """Renders reports beside other work.  Use as a context manager: leaving it ends the process."""

    def __init__(self, pdf: bool = True) -> None:
        command = [sys.executable, "-m", "grader.report.worker", *([] if pdf else ["--no-pdf"])]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self._pending = 0
        threading.Thread(target=self._collect, daemon=True).start()

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def pending(self) -> int:
        """Jobs whose `done` has not been read yet."""
        return self._pending

    def submit(self, job: ReportJob) -> None:
        """Have a report rendered.

        Raises
        ------
        InternalError : the renderer is gone.
        """
        assert self._process.stdin is not None
        self._pending += 1
        try:
            self._process.stdin.write(msgspec.json.encode(job) + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise InternalError("the report renderer ended before its work was done") from error

    def replies(self, wait: bool = True) -> Iterator[Reply]:
        """Replies as they come, until all jobs are done; without `wait` those that are there already.

        Raises
        ------
        InternalError : the renderer ended or hangs.
        """
        while self._pending:
            try:
                reply = self._replies.get(block=wait, timeout=DEADLINE_S)
            except queue.Empty:
                if not wait:
                    return
                raise InternalError(f"the report renderer gave no sign of life for {DEADLINE_S:.0f} s") from None
            if reply is None:
                raise InternalError("the report renderer ended before its work was done")
            if reply.event == "done":
                self._pending -= 1
            yield reply

    def _collect(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._replies.put(msgspec.json.decode(line, type=Reply))
        self._replies.put(None)
