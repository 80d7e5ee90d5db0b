"""The GPU process seen from the grader: started, asked, and killed when it does not answer in time.

Arrays lie in memory that both share.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.backends.base import BufferArgument, LaunchRequest
from grader.gpu.messages import PROGRESS_BYTES, Failed, Message, NoDevice, Ready, replies_on
from grader.processes.channel import DeadlinePassed, PeerGone
from grader.processes.limits import ONE_BLAS_THREAD
from grader.processes.system import isolated_python
from grader.timing import lock

_PAGE = 4096


class SharedBuffer:
    """The memory file between the two processes: inputs laid out in it, results read from it.

    It is kept from one request to the next and grows where it must, for its pages cost more than what is in them.
    """

    def __init__(self) -> None:
        self._used = _PAGE
        self._offsets: dict[str, int] = {}
        self._inputs: list[tuple[int, npt.NDArray[np.generic]]] = []
        self._descriptor = -1
        self._view: mmap.mmap | None = None

    def clear(self) -> None:
        """Begin to lay out another request."""
        self._used = _PAGE
        self._offsets = {}
        self._inputs = []

    def close(self) -> None:
        """Give the file back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._view = -1, None

    def add(self, array: npt.NDArray[np.generic]) -> int:
        """Room for an array's bytes; their offset."""
        offset = self._reserve(array.nbytes)
        self._inputs.append((offset, array))
        return offset

    def place(self, request: LaunchRequest) -> dict[str, int]:
        """Room for the arrays of a launch; their offsets by name."""
        for argument in request.arguments:
            if isinstance(argument, BufferArgument):
                if argument.initial is None:
                    self._offsets[argument.name] = self._reserve(nbytes_of(argument))
                else:
                    self._offsets[argument.name] = self.add(argument.initial)
        return self._offsets

    def fill(self) -> int:
        """Put the inputs in their places; the file's descriptor."""
        if self._view is None or len(self._view) < self._used:
            self.close()
            self._descriptor = os.memfd_create("grader", os.MFD_CLOEXEC)
            os.ftruncate(self._descriptor, max(self._used, _PAGE))
            self._view = mmap.mmap(self._descriptor, max(self._used, _PAGE))
        self._view[:PROGRESS_BYTES] = bytes(PROGRESS_BYTES)
        for offset, array in self._inputs:
            target: npt.NDArray[np.uint8] = np.frombuffer(self._view, np.uint8, array.nbytes, offset)
            target[:] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        return self._descriptor

    def content(self) -> bytes:
        """All of the file's bytes, once it is filled."""
        return bytes(self._view or b"")

    def array(self, argument: BufferArgument) -> npt.NDArray[np.generic]:
        """What lies in an array's place now."""
        assert self._view is not None
        dtype = np.dtype(argument.dtype)
        count = nbytes_of(argument) // dtype.itemsize
        flat = np.frombuffer(self._view, dtype, count, self._offsets[argument.name])
        return flat.reshape(argument.shape).copy()

    def progress(self) -> str:
        """The kernel that was at work when the other process last said so; "" for none."""
        return bytes(self._view[:PROGRESS_BYTES]).rstrip(b"\0").decode(errors="replace") if self._view else ""

    def _reserve(self, nbytes: int) -> int:
        offset = self._used
        self._used += -(-max(nbytes, 1) // _PAGE) * _PAGE
        return offset


def nbytes_of(argument: BufferArgument) -> int:
    """Bytes of an array."""
    return int(np.prod(argument.shape, dtype=np.int64)) * np.dtype(argument.dtype).itemsize


START_LIMIT_S = 60.0
OPENING = "opening"
"""Beginning of a lock file's name: of each GPU one process at a time opens it.

The driver makes contexts one after another: of many asked for at once none is ready before nearly all are.
"""
_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from grader.gpu.device.worker import main; main(sys.argv[1:])"
)
_PASSED_ON = ("CUDA_", "LD_", "NV_", "NVIDIA_", "NSIGHT", "PATH", "HOME", "TMPDIR")
"""Beginnings of the names of the variables that the process keeps: what finds the driver, and what profilers set."""


class ProcessLost(Exception):
    """There is no answer: `reason` is "time" (killed at the deadline) or "died"."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def has_driver() -> bool:
    """Whether this machine has the driver's library; costs next to nothing and starts nothing."""
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


@contextlib.contextmanager
def _turns(names: Sequence[str]) -> Iterator[list[int]]:
    """Descriptors of which a process locks one while it opens its device; none where they cannot be had."""
    found: list[int] = []
    try:
        with contextlib.suppress(OSError):
            found += [lock.lock_file(name) for name in names]
        yield found
    finally:
        for descriptor in found:
            os.close(descriptor)


def opening_lock(environment: Mapping[str, str]) -> str:
    """The name of the lock file for the GPU that a process with this environment opens."""
    return f"{OPENING}-{environment.get('CUDA_VISIBLE_DEVICES', '').partition(',')[0][:60]}"


class GpuProcess:
    """One GPU process.  It starts at once, so that it opens the device while the caller does other things.

    in_turn: whether it lets others open theirs first; not for a caller who holds what those wait for next.
    """

    def __init__(self, in_turn: bool = True) -> None:
        ours, theirs = socket.socketpair()
        paths = json.dumps([str(Path(path).absolute()) for path in sys.path])
        environment = {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}
        # Code is loaded when a module is, not when its first launch is timed.
        environment["CUDA_MODULE_LOADING"] = "EAGER"
        # One kernel is launched at a time.  The driver makes a channel for each connection: a context takes a sixth of
        # a second with the usual eight, a tenth with one, and others wait meanwhile.
        environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1"
        # NVML's binding imports NumPy.
        environment |= ONE_BLAS_THREAD
        with theirs, _turns([opening_lock(environment)] if in_turn else ()) as turns:
            passed = [theirs.fileno(), *turns]
            self._process = subprocess.Popen(
                [*isolated_python(), "-c", _START, paths, *map(str, passed)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=passed,
                cwd="/",
                env=environment,
                start_new_session=True,
            )
        self._channel = replies_on(ours)
        self._ready: Ready | NoDevice | None = None

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def ready(self) -> Ready | NoDevice:
        """The device, or why there is none; waits for the process to have opened it."""
        if self._ready is None:
            try:
                first = self._channel.receive(time.monotonic() + START_LIMIT_S)
                if not isinstance(first, Ready | NoDevice):
                    raise PeerGone(f"it said {type(first).__name__}")
                self._ready = first
            except (PeerGone, DeadlinePassed) as error:
                self.close()
                self._ready = NoDevice(reason=f"the GPU process did not start ({error})")
        return self._ready

    def ask(self, request: Message, limit_s: float, descriptors: Sequence[int] = ()) -> Any:
        """The reply to a request, `Failed` included; after a sticky failure the process is gone.

        Raises
        ------
        ProcessLost : it did not answer within `limit_s` seconds and was killed, or it died.
        """
        try:
            self._channel.send(request, descriptors)
            reply = self._channel.receive(time.monotonic() + limit_s)
        except DeadlinePassed:
            self.close()
            raise ProcessLost("time") from None
        except PeerGone:
            self.close()
            raise ProcessLost("died") from None
        if isinstance(reply, Failed) and reply.sticky:
            self.close()
        return reply

    @property
    def is_lost(self) -> bool:
        """Whether it was ended."""
        return self._channel.fileno() < 0

    def close(self) -> None:
        """End the process, whatever its kernel is doing."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._channel.close()
        self._process.wait()
