"""A child process with a channel to it: it dies with its parent, and what it printed is known when it is dead."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic

import msgspec

from grader.processes import fork_server
from grader.processes.channel import Channel, Received
from grader.processes.limits import INHERITS, POLL_READ, isolated_python, resident_bytes, wait_for

END_WAIT_S = 20.0
"""How long a child that has hung up may take to be dead, so that it is known how it ended: a busy machine is slow."""
OUTPUT_BYTES = 16 << 10
"""How much of a child's output is kept, from its end, where no more is asked for."""
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from grader.processes.limits import enter; enter(*sys.argv[2:])"
)


@dataclass(frozen=True, slots=True)
class ChildProgram:
    """What a child runs.

    module: its function `main(connection, *arguments)` is called with a socket; see `Channel`.
    data_bytes: memory that it may have of its own, 0 for no bound.
    environment: its variables; None for those of this process.
    is_forkable: whether it may be forked from a process that has called the module's function `prepare`: one that
      begins no thread, opens nothing, and leaves what confines the child to `main` (`grader.processes.fork_server`).
    output_bytes: so much is kept of what it prints, the last of it.
    """

    module: str
    arguments: tuple[str, ...] = ()
    data_bytes: int = 0
    environment: Mapping[str, str] | None = None
    is_forkable: bool = False
    output_bytes: int = OUTPUT_BYTES


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended.

    status: exit status, or minus the number of the signal that killed it.  output: the last of what it printed.
    """

    status: int
    output: str = ""

    @property
    def by_signal(self) -> bool:
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

    Raises OSError: it cannot be started; the system says why (too many processes, no memory, no descriptors left).
    """

    def __init__(self, program: ChildProgram, decoder: msgspec.msgpack.Decoder[Received]) -> None:
        self._ending: Ending | None = None
        self._output_bytes = program.output_bytes
        self._process: subprocess.Popen[bytes] | fork_server.Forked
        with contextlib.ExitStack() as undo:
            self._output = _output_file()
            undo.callback(os.close, self._output)
            ours = self._inherited(program) if INHERITS else self._connected(program)
            undo.pop_all()
        self.channel = Channel(ours, decoder)

    def _inherited(self, program: ChildProgram) -> socket.socket:
        """Start it with one end of a pair of sockets; return the other."""
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as undo, theirs:
            undo.callback(ours.close)
            self._process = self._forked(program, theirs) or _started(program, theirs, self._output)
            undo.pop_all()
        return ours

    def _forked(self, program: ChildProgram, theirs: socket.socket) -> fork_server.Forked | None:
        """Return the child forked, None where it has to be started from the beginning."""
        server = start_server(program)
        if server is None:
            return None
        try:
            inherits = program.environment is None
            return server.fork(program.arguments, program.data_bytes, inherits, theirs, self._output)
        except OSError:
            if server.is_running:
                raise
            # Killed by somebody else; what could not be forked can be started.
            return None

    def _connected(self, program: ChildProgram) -> socket.socket:
        """Start it and have it connect back, proving itself by the token on its standard input."""
        token = secrets.token_hex(16).encode()
        environment = None if program.environment is None else dict(program.environment)
        if environment is not None:
            # Without it Windows starts no Python.
            environment |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self._process = process = subprocess.Popen(
                _command(program, f"port:{listening.getsockname()[1]}"),
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=self._output,
                env=environment,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
            assert process.stdin is not None
            with contextlib.suppress(OSError), process.stdin as stdin:
                stdin.write(token)
            listening.settimeout(0.5)
            while True:
                try:
                    connection, _address = listening.accept()
                except TimeoutError:
                    if process.poll() is not None:
                        # It has ended: the channel says so to whoever listens.
                        ours, theirs = socket.socketpair()
                        theirs.close()
                        return ours
                    continue
                connection.settimeout(5)
                with contextlib.suppress(OSError):
                    if secrets.compare_digest(connection.recv(len(token), socket.MSG_WAITALL), token):
                        connection.settimeout(None)
                        return connection
                connection.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def resident_bytes(self) -> int:
        """Memory that it holds now; 0 where that cannot be told."""
        return resident_bytes(self.pid)

    def end(self, wait_s: float = 0.0) -> Ending:
        """How it ended; where it still runs `wait_s` seconds from now, it and what it started are killed."""
        if self._ending is None:
            # One that only waits to be told what to do next ends by itself.
            self.channel.close()
            self._await(wait_s)
            # Before it is waited for, so that its number cannot be another's by now.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
            # One just forked has no group of its own yet.
            self._process.kill()
            status = self._process.wait()
            self._ending = Ending(status, self._printed())
        return self._ending

    def _await(self, seconds: float) -> None:
        """Wait for its death without reaping it."""
        if not hasattr(os, "pidfd_open"):
            if isinstance(self._process, subprocess.Popen):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(seconds)
            return
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except OSError:
            return
        try:
            wait_for([(descriptor, POLL_READ)], seconds)
        finally:
            os.close(descriptor)

    def _printed(self) -> str:
        size = os.fstat(self._output).st_size
        os.lseek(self._output, max(0, size - self._output_bytes), os.SEEK_SET)
        text = os.read(self._output, self._output_bytes)
        os.close(self._output)
        return text.decode("utf-8", errors="replace").strip()


def can_wait() -> bool:
    """Whether the end of a child that was forked can be waited for, for a while."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except (AttributeError, OSError):
        return False
    return True


def is_running(program: ChildProgram) -> bool:
    """Whether children of a program are forked here, from what was started before."""
    return fork_server.has_server(program.module, program.environment)


def start_server(program: ChildProgram) -> fork_server.ForkServer | None:
    """What children of a program are forked from, started where it is not yet; None where they are not forked.

    It imports what they need while its starter does other things.

    Raises OSError: it cannot be started.
    """
    if not program.is_forkable:
        return None

    def start(connection: socket.socket) -> subprocess.Popen[bytes]:
        serving = replace(program, module=fork_server.__name__, arguments=(program.module,), data_bytes=0)
        return _started(serving, connection, subprocess.DEVNULL)

    return fork_server.server_of(program.module, program.environment, start)


def _started(program: ChildProgram, theirs: socket.socket, output: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        _command(program, str(theirs.fileno())),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=[theirs.fileno()],
        env=None if program.environment is None else dict(program.environment),
        # What is typed at the terminal is for the parent to act on.
        start_new_session=True,
    )


def _command(program: ChildProgram, connection: str) -> list[str]:
    paths = json.dumps([str(Path(path).absolute()) for path in sys.path])
    words = [connection, str(os.getpid()), str(program.data_bytes), program.module]
    return [*isolated_python(), "-c", _START, paths, *words, *program.arguments]


def _output_file() -> int:
    """Return a descriptor of a file without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("output")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
