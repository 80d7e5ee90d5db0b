"""The first steps of every child process, before it imports what it is for."""

from __future__ import annotations

import faulthandler
import importlib
import signal
import socket
import sys

from grader.processes import limits


def enter(descriptor: str, parent: str, data_bytes: str, module: str, *arguments: str) -> None:
    """Bind this process to its parent, bound its memory, and run `main` of `module`; see `grader.processes.child`."""
    limits.die_with_parent(int(parent))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limits.no_core_dumps()
    limits.one_blas_thread()
    if int(data_bytes):
        limits.bound_memory(int(data_bytes))
    # A crash of the interpreter says where, in what the parent reads of a dead child.
    faulthandler.enable()
    importlib.import_module(module).main(_connection(descriptor), *arguments)


def _connection(descriptor: str) -> socket.socket:
    """The socket that was inherited, or one to the port that the parent listens at (`Child`)."""
    if not descriptor.startswith("port:"):
        return socket.socket(fileno=int(descriptor))
    connection = socket.create_connection(("127.0.0.1", int(descriptor.removeprefix("port:"))))
    connection.sendall(sys.stdin.buffer.read())
    return connection
