"""A child process with a channel to it: it dies with its parent, and what it printed is known when it is dead."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic

import msgspec

from grader.processes.channel import Channel, Received

END_WAIT_S = 1.0
OUTPUT_BYTES = 16 << 10
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from grader.processes.entry import enter; enter(*sys.argv[2:])"
)


@dataclass(frozen=True, slots=True)
class Program:
    """What a child runs.

    module: its function `main(connection, *arguments)` is called with a socket; see `Channel`.
    data_bytes: memory that it may have of its own, 0 for no bound.
    environment: its variables; None for those of this process.
    """

    module: str
    arguments: tuple[str, ...] = ()
    data_bytes: int = 0
    environment: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended.

    status: exit status, or minus the number of the signal that killed it.  output: the last of what it printed.
    """

    status: int
    output: str = ""

    @property
    def by_signal(self) -> bool:
        """Whether a signal ended it."""
        return self.status < 0

    def __str__(self) -> str:
        """The status in technical words, for a log: "signal SIGKILL", "status 1"."""
        if not self.by_signal:
            return f"status {self.status}"
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-self.status).name}"
        return f"signal {-self.status}"


class Child(Generic[Received]):
    """A running child.

    To be started by a thread that lives as long as the child shall: the kernel ends the child with that thread.

    Raises
    ------
    OSError : it cannot be started; the system says why (too many processes, no memory, no descriptors left).
    """

    def __init__(self, program: Program, decoder: msgspec.msgpack.Decoder[Received]) -> None:
        paths = json.dumps([str(Path(path).absolute()) for path in sys.path])
        ours, theirs = socket.socketpair()
        self._ending: Ending | None = None
        with contextlib.ExitStack() as undo:
            undo.callback(ours.close)
            with theirs:
                self._output = os.memfd_create("output")
                undo.callback(os.close, self._output)
                words = [str(theirs.fileno()), str(os.getpid()), str(program.data_bytes), program.module]
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-c", _START, paths, *words, *program.arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=self._output,
                    pass_fds=[theirs.fileno()],
                    env=None if program.environment is None else dict(program.environment),
                    # What is typed at the terminal is for the parent to act on.
                    start_new_session=True,
                )
            undo.pop_all()
        self.channel = Channel(ours, decoder)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def resident_bytes(self) -> int:
        """Memory that it holds now; 0 where that cannot be told."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def end(self, wait_s: float = 0.0) -> Ending:
        """How it ended; where it still runs `wait_s` seconds from now, it and what it started are killed."""
        if self._ending is None:
            self._await(wait_s)
            # Before it is waited for, so that its number cannot be another's by now.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            status = self._process.wait()
            self.channel.close()
            self._ending = Ending(status, self._printed())
        return self._ending

    def _await(self, seconds: float) -> None:
        """Wait for its death, without taking note of it."""
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except OSError:
            return
        try:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll(seconds * 1000)
        finally:
            os.close(descriptor)

    def _printed(self) -> str:
        size = os.fstat(self._output).st_size
        text = os.pread(self._output, OUTPUT_BYTES, max(0, size - OUTPUT_BYTES))
        os.close(self._output)
        return text.decode("utf-8", errors="replace").strip()
