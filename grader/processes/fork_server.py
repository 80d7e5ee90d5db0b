"""Children forked from a process that has imported what they need: one of many starts in a twentieth of the time.

A process that starts child after child of the same kinds opens `kept`; from then on every child whose `ChildProgram`
says that it can be forked is, by a server of its kind that is started with the first.  A child shares nothing with
those before it but what the server had imported: what one does to its memory, none of the others sees.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import msgspec

from grader.processes import limits
from grader.processes.limits import IS_LINUX

START_LIMIT_S = 300.0
"""How long the server's imports may take; after them it answers at once."""
_MOST_BYTES = 1 << 16


class Fork(msgspec.Struct, frozen=True, tag="fork"):
    """To the server: fork a child that runs `main` of its module; beside it come its connection and its output.

    folder: where it works; "" for where the server does.  changes: to its environment; None removes a variable.
    """

    arguments: tuple[str, ...]
    data_bytes: int
    folder: str
    changes: dict[str, str | None]


class Await(msgspec.Struct, frozen=True, tag="await"):
    """To the server: wait for the end of a child."""

    pid: int


class Said(msgspec.Struct, frozen=True):
    """The server's answer: the child's process id or status; error: the system's number where it could not fork."""

    number: int
    error: int = 0


class Forked:
    """A child that a server has forked; as much of `subprocess.Popen` as is asked of it."""

    def __init__(self, pid: int, server: ForkServer) -> None:
        self.pid = pid
        self._server = server
        self._status: int | None = None

    def kill(self) -> None:
        # Its number is its own until it is waited for.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """Its exit status, or minus the number of the signal that ended it."""
        if self._status is None:
            self._status = self._server.status(self.pid)
        return self._status


class ForkServer:
    """A process that forks children of one kind.  It ends with the thread that started it; others may end a child.

    start: starts the server, given its end of the connection.

    Raises OSError: it cannot be started.
    """

    def __init__(self, start: Callable[[socket.socket], subprocess.Popen[bytes]]) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, contextlib.ExitStack() as undo:
            undo.callback(self._socket.close)
            self._environment = dict(os.environ)
            self._process = start(theirs)
            undo.pop_all()
        self._socket.settimeout(START_LIMIT_S)
        # Answers come in the order of what was asked, and do not say of what they are.
        self._turn = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether it can be asked for a child."""
        return self._process.poll() is None

    def fork(
        self, arguments: tuple[str, ...], data_bytes: int, inherits: bool, connection: socket.socket, output: int
    ) -> Forked:
        """A child, as `Child` starts them; inherits: it has this process's environment.

        Raises OSError: it could not be forked, or the server is no more.
        """
        folder, changes = "", {}
        with contextlib.suppress(OSError):
            folder = str(Path.cwd())
        if inherits:
            changes = {
                name: os.environ.get(name)
                for name in self._environment.keys() | os.environ.keys()
                if self._environment.get(name) != os.environ.get(name)
            }
        reply = self._ask(Fork(arguments, data_bytes, folder, changes), [connection.fileno(), output])
        if reply.error:
            raise OSError(reply.error, os.strerror(reply.error))
        return Forked(reply.number, self)

    def status(self, pid: int) -> int:
        """The status of a child that has ended or is about to; that of one killed, where the server is no more."""
        try:
            return self._ask(Await(pid), []).number
        except OSError:
            # With it go its children.
            return -signal.SIGKILL

    def end(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()

    def _ask(self, order: Fork | Await, descriptors: list[int]) -> Said:
        try:
            with self._turn:
                socket.send_fds(self._socket, [msgspec.msgpack.encode(order)], descriptors)
                raw = self._socket.recv(_MOST_BYTES)
        except OSError:
            # Whatever it says later would be taken for the answer to something else.
            self.end()
            raise
        if not raw:
            self.end()
            raise OSError(errno.ESRCH, os.strerror(errno.ESRCH))
        return msgspec.msgpack.decode(raw, type=Said)


Kind = tuple[str, frozenset[tuple[str, str]] | None]
"""A kind of children: the module that they run, and their environment; None for that of their starter."""
Servers = dict[Kind, ForkServer]
_KEPT = threading.local()


@contextlib.contextmanager
def kept(others: Servers | None = None) -> Iterator[None]:
    """While the block runs, children that can be are forked from servers, which end with it.

    Of this thread alone: the kernel ends a server, and with it its children, with the thread that started it.
    others: servers of earlier blocks, which go on after this one, as do those that it adds; who has them ends them.
    """
    if not IS_LINUX or is_kept():
        # Within another such block the servers are that one's.
        yield
        return
    servers: Servers = {} if others is None else others
    _KEPT.servers = servers
    try:
        yield
    finally:
        del _KEPT.servers
        for server in servers.values() if others is None else ():
            server.end()


def is_kept() -> bool:
    """Whether children of this thread that can be are forked."""
    return getattr(_KEPT, "servers", None) is not None


def has_server(module: str, environment: Mapping[str, str] | None) -> bool:
    """Whether this thread has started the server of a kind of children, and may have them forked."""
    servers: Servers = getattr(_KEPT, "servers", None) or {}
    return _kind(module, environment) in servers


def _kind(module: str, environment: Mapping[str, str] | None) -> Kind:
    return module, None if environment is None else frozenset(environment.items())


def server_of(
    module: str, environment: Mapping[str, str] | None, start: Callable[[socket.socket], subprocess.Popen[bytes]]
) -> ForkServer | None:
    """The server of a kind of children, started with `start` where there is none yet; None outside of `kept`.

    Raises OSError: it cannot be started.
    """
    servers: Servers | None = getattr(_KEPT, "servers", None)
    if servers is None:
        return None
    kind = _kind(module, environment)
    server = servers.get(kind)
    if server is not None and not server.is_running:
        server.end()
        server = None
    if server is None:
        server = servers[kind] = ForkServer(start)
    return server


def main(connection: socket.socket, module: str) -> None:
    """The server: fork children that run `main` of `module` until the connection closes."""
    work = importlib.import_module(module)
    # What is missing is told by the child that misses it.
    with contextlib.suppress(Exception):
        work.prepare()
    gc.collect()
    # Or the first look for garbage would copy all of it.
    gc.freeze()
    decoder = msgspec.msgpack.Decoder(Fork | Await)
    while True:
        raw, descriptors, _flags, _address = socket.recv_fds(connection, _MOST_BYTES, 2)
        if not raw:
            return
        order = decoder.decode(raw)
        match order:
            case Await():
                reply = Said(os.waitstatus_to_exitcode(os.waitpid(order.pid, 0)[1]))
            case Fork():
                reply = _fork(connection, work.main, order, *descriptors)
        connection.send(msgspec.msgpack.encode(reply))


def _fork(connection: socket.socket, work: Callable[..., None], order: Fork, theirs: int, output: int) -> Said:
    """Fork a child that does its work and ends; close the descriptors that it was given."""
    server = os.getpid()
    try:
        pid = os.fork()
    except OSError as error:
        return Said(0, error.errno or errno.EAGAIN)
    else:
        if pid:
            return Said(pid)
        _be_child(connection, work, order, theirs, output, server)
    finally:
        os.close(theirs)
        os.close(output)


def _be_child(
    connection: socket.socket, work: Callable[..., None], order: Fork, theirs: int, output: int, server: int
) -> NoReturn:
    """Live as the child, from the first steps of `limits.enter` on."""
    status = 1
    try:
        limits.die_with_parent(server)
        os.setsid()
        connection.close()
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        if order.folder:
            # It may be gone by now, as it may be for one that is started.
            with contextlib.suppress(OSError):
                os.chdir(order.folder)
        for name, value in order.changes.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        if order.data_bytes:
            limits.bound_memory(order.data_bytes)
        work(socket.socket(fileno=theirs), *order.arguments)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        # Nothing that the server would do at its end is the child's to do.
        os._exit(status)
