"""The GPU process seen from the grader: started, asked, and killed when it does not answer in time; which GPUs
there are.

Arrays lie in memory that both share.  A group is timed on GPUs that are all of one model, each submission wholly on
one.  `nvidia-smi` tells at once which there are: in a thirtieth of a second, without a context or `cuInit`.  Where it
cannot say what `CUDA_VISIBLE_DEVICES` makes of them, or is not there, the driver is asked, which takes half a second.
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
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.gpu.messages import PROGRESS_BYTES, Failed, Message, NoDevice, Ready, replies_on
from grader.launching.backend import BufferArgument, LaunchRequest
from grader.processes.channel import DeadlinePassed, PeerGone
from grader.processes.limits import ONE_BLAS_THREAD, isolated_python
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
        """Put the inputs in their places; return the file's descriptor."""
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
    """Return descriptors of which a process locks one while it opens its device; none where they cannot be had."""
    descriptors: list[int] = []
    try:
        with contextlib.suppress(OSError):
            descriptors += [lock.lock_file(name) for name in names]
        yield descriptors
    finally:
        for descriptor in descriptors:
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

        Raises ProcessLost: it did not answer within `limit_s` seconds and was killed, or it died.
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


# Which GPUs this machine has.

LIMIT_S = 60.0
_FIELDS = ("name", "memory.total", "driver_version", "uuid", "mig.mode.current")


class ListedGpu(NamedTuple):
    """One GPU.  memory: with its unit, as it is told; is_split: whether programs see parts of it (MIG)."""

    model: str
    memory: str
    driver: str
    uuid: str
    is_split: bool

    @property
    def memory_bytes(self) -> int:
        """0 where it is not told in MiB."""
        number, _space, unit = self.memory.partition(" ")
        return int(number) << 20 if unit == "MiB" and number.isdecimal() else 0


def inventory() -> list[ListedGpu] | None:
    """The GPUs in the order of their places on the bus; None where that cannot be found out."""
    try:
        asked = subprocess.run(
            ["nvidia-smi", f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _read(asked.stdout) if asked.returncode == 0 else None


def _read(listing: str) -> list[ListedGpu] | None:
    gpus = []
    for line in listing.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != len(_FIELDS):
            return None
        model, memory, driver, uuid, mig = fields
        gpus.append(ListedGpu(model, memory, driver, uuid, is_split=mig == "Enabled"))
    return gpus


def visible(listed: Sequence[ListedGpu], asked: str | None) -> list[ListedGpu] | None:
    """The GPUs that a program sees where `CUDA_VISIBLE_DEVICES` is `asked`; None where only the driver can tell.

    What the variable's numbers mean is the driver's to say but where they name all GPUs, or one.  Source: CUDA
    Programming Guide, "CUDA Environment Variables".
    """
    if any(gpu.is_split for gpu in listed):
        return None
    if asked is None:
        return list(listed)
    names = [name.strip() for name in asked.split(",")]
    by_uuid = {gpu.uuid: gpu for gpu in listed}
    if all(name in by_uuid for name in names):
        return [by_uuid[name] for name in dict.fromkeys(names)]
    is_every_one = sorted(names) == sorted(str(number) for number in range(len(listed)))
    return list(listed) if is_every_one else None


LIST_LIMIT_S = 60.0
VARIABLE = "CUDA_VISIBLE_DEVICES"
_START_DRIVER = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from grader.driver import main; main()"


def several_gpus(listed: Sequence[ListedGpu] | None) -> list[str]:
    """The GPUs of the first one's model, as `on` takes them; [] where there is one at most, or nobody can tell.

    GPUs of another model are left alone: their times compare with nothing.  `CUDA_VISIBLE_DEVICES` holds.
    """
    asked = os.environ.get(VARIABLE)
    gpus = visible(listed, asked) if listed is not None else None
    # Which of several models is the first is the driver's to say.
    if gpus is None or len({gpu.model for gpu in gpus}) > 1:
        # One name, whatever it means, is one GPU.
        return told_by(start_listing()) if asked is None or "," in asked else []
    return [gpu.uuid for gpu in gpus] if len(gpus) > 1 else []


def start_listing() -> subprocess.Popen[bytes] | None:
    """Begin to ask the driver for its GPUs; None where there is no driver, or no process can be started."""
    if not has_driver():
        return None
    paths = json.dumps([str(Path(path).absolute()) for path in sys.path])
    try:
        return subprocess.Popen(
            [*isolated_python(), "-c", _START_DRIVER, paths],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
        )
    except OSError:
        return None


def told_by(listing: subprocess.Popen[bytes] | None) -> list[str]:
    """The GPUs as the driver lists them."""
    if listing is None:
        return []
    with listing:
        try:
            output, _nothing = listing.communicate(timeout=LIST_LIMIT_S)
            listed = json.loads(output)
        except (OSError, subprocess.TimeoutExpired, ValueError):
            listing.kill()
            return []
    return of_one_model([(str(model), str(uuid)) for model, uuid in listed])


def of_one_model(gpus: Sequence[tuple[str, str]]) -> list[str]:
    """The UUIDs of all GPUs of the same model as the first, of (model, UUID) pairs; [] if there is only one."""
    # Parts of one GPU have its UUID, and a process sees but one of them.
    chosen = list(dict.fromkeys(f"GPU-{uuid}" for model, uuid in gpus if model == gpus[0][0]))
    return chosen if len(chosen) > 1 else []


@contextmanager
def on(gpu: str) -> Iterator[None]:
    """Processes that are started in the block see this GPU alone; "": what this one sees."""
    before = os.environ.get(VARIABLE)
    if gpu:
        os.environ[VARIABLE] = gpu
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
