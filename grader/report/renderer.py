"""The parent's end of `grader.report.worker`: starts rendering processes, sends jobs, collects what became of them."""

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
    """Renders reports beside other work, in one process or more.  A context manager: leaving it ends the processes."""

    def __init__(self, pdf: bool = True) -> None:
        self._options = [] if pdf else ["--no-pdf"]
        self._processes: list[subprocess.Popen[bytes]] = []
        self._jobs: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._replies: queue.SimpleQueue[Reply | None] = queue.SimpleQueue()
        self._pending = 0
        self.grow(1)

    def __enter__(self) -> Renderer:
        return self

    def __exit__(self, *_exception: object) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            # Ends the thread that waits for its replies, or for a job to give to it.
            self._jobs.put(None)
            process.wait()

    def grow(self, count: int) -> None:
        """Have at least `count` processes; each takes a core and some 200 MB."""
        while len(self._processes) < count:
            process = subprocess.Popen(
                [sys.executable, "-m", "grader.report.worker", *self._options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._processes.append(process)
            threading.Thread(target=self._serve, args=(process,), daemon=True).start()

    def submit(self, job: ReportJob) -> None:
        """Have a report rendered, by whichever process is free first."""
        self._pending += 1
        self._jobs.put(msgspec.json.encode(job))

    def replies(self, wait: bool = True) -> Iterator[Reply]:
        """Replies as they come, until all jobs are done; without `wait` those that are there already.

        Raises
        ------
        InternalError : a process ended with work undone, or hangs.
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

    def _serve(self, process: subprocess.Popen[bytes]) -> None:
        """Give one job after another to a process and pass on its replies."""
        assert process.stdin is not None and process.stdout is not None
        while (job := self._jobs.get()) is not None:
            try:
                process.stdin.write(job + b"\n")
                process.stdin.flush()
            except OSError:
                break
            for line in process.stdout:
                try:
                    reply = msgspec.json.decode(line, type=Reply)
                except msgspec.MsgspecError:
                    process.kill()
                    continue
                self._replies.put(reply)
                if reply.event == "done":
                    break
            else:
                break
        self._replies.put(None)
