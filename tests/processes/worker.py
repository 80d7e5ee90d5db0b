"""A worker for the tests: does as it is told."""

from __future__ import annotations

import importlib
import os
import signal
import socket
import sys
import time
from pathlib import Path

import msgspec

from grader.processes.channel import Channel, PeerGone
from grader.processes.pool import Waiting


class Do(msgspec.Struct, frozen=True):
    """What to do; value: how long, how much, which signal; text: what to say, which file to wait for."""

    what: str
    value: float = 0.0
    text: str = ""


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The last word on a task."""

    text: str


class Word(msgspec.Struct, frozen=True, tag="word"):
    """A word before the last."""

    text: str


_remembered: list[str] = []
_prepared: list[str] = []
_held: list[bytes] = []


def prepare() -> None:
    """What a server does before it forks."""
    _prepared.append("once")


def main(connection: socket.socket, *arguments: str) -> None:
    channel = Channel(connection, msgspec.msgpack.Decoder(Do))
    while True:
        try:
            task = channel.receive()
        except PeerGone:
            return
        match task.what:
            case "sleep":
                time.sleep(task.value)
            case "exit":
                print("on my way out")
                sys.stdout.flush()
                os._exit(int(task.value))
            case "signal":
                os.kill(os.getpid(), int(task.value))
            case "signal once":
                try:
                    os.close(os.open(task.text, os.O_CREAT | os.O_EXCL))
                except FileExistsError:
                    pass
                else:
                    os.kill(os.getpid(), int(task.value))
            case "variable":
                channel.send(Done(f"{os.environ.get(task.text)} in {Path.cwd()}"))
                continue
            case "raise":
                raise ValueError(task.text)
            case "crash":
                import ctypes

                ctypes.string_at(0)
            case "spin":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                while True:
                    pass
            case "garbage":
                connection.sendall(b"\x03\x00\x00\x00abc")
            case "flood":
                connection.sendall(b"\xff\xff\xff\xff")
            case "allocate":
                try:
                    bytearray(int(task.value))
                except MemoryError:
                    channel.send(Done("no memory"))
                    continue
            case "hold":
                _held.append(os.urandom(int(task.value)))
            case "word":
                channel.send(Word(task.text))
                time.sleep(task.value)
            case "wait":
                channel.send(Waiting(True, task.value))
                while not Path(task.text).exists():
                    time.sleep(0.01)
                channel.send(Waiting(False))
            case "remember":
                _remembered.append(task.text)
                channel.send(Done(f"remembered {task.text}"))
                continue
            case "recall":
                channel.send(Done(f"recalled {' '.join(_remembered) or 'nothing'}"))
                continue
            case "prepared":
                channel.send(Done(f"prepared {' '.join(_prepared)}"))
                continue
            case "writes":
                channel.send(Done(f"writes {'nothing' if sys.dont_write_bytecode else 'bytecode'}"))
                continue
            case "threads":
                importlib.import_module("numpy")
                channel.send(Done(f"threads {len(list(Path('/proc/self/task').iterdir()))}"))
                continue
            case "echo":
                channel.send(Done(task.text))
                continue
        channel.send(Done(f"{task.what} {os.getpid()}"))
