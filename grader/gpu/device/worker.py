"""The GPU process of one submission: opens the device, then does what it is asked until the channel closes.

Started by `grader.gpu.process` as `python -I -c …`.  What the lab's oracle expects never comes here: outputs go
back and are compared in the grader.  Only timed launches, of which there are too many for that, are compared here with
what the lab's own kernel makes of the same inputs; `rounds` says how that is kept from the student's.  When a kernel
broke the context the process says so and ends: nothing can be done in it any more.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib
import mmap
import os
import resource
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from grader import driver
from grader.driver import DriverError, uuid_text
from grader.gpu import messages
from grader.gpu.device import launch
from grader.gpu.device.launch import Device, LaunchFailed, Modules, measure
from grader.gpu.device.memory import Arena, Counters, Helpers, HostBuffers
from grader.gpu.device.rounds import Rounds
from grader.processes.channel import Channel, PeerGone

PRINTF_FIFO_BYTES = 64 * 1024
HEAP_BYTES = 1 << 20
"""Heap of device-side malloc: enough for a student's experiment."""

COUNTERS = 64
TURN_LIMIT_S, TURN_POLL_S = 25.0, 0.01
"""How long others are let open their devices first; less than the grader waits for this process in all."""
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9


def main(arguments: list[str]) -> None:
    """`arguments`: the descriptors of the channel, and of the lock files of which one is held to open the device."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    channel = messages.requests_on(socket.socket(fileno=int(arguments[0])))
    # What kernels print comes here, not where results go.
    printed = os.memfd_create("printed", os.MFD_CLOEXEC)
    os.dup2(printed, 1)
    try:
        # Not while others wait for their turn.
        importlib.import_module("cuda.bindings.driver")
        with contextlib.suppress(ImportError):
            importlib.import_module("cuda.bindings.nvml")
        with _turn([int(descriptor) for descriptor in arguments[1:]]):
            handle = _open()
        ready = _described(handle)
    except (DriverError, ImportError, RuntimeError, OSError) as error:
        channel.send(messages.NoDevice(reason=(str(error).strip().splitlines() or [""])[0][:300]))
        return
    with contextlib.suppress(PeerGone):
        channel.send(ready)
        Worker(handle, ready, printed).serve(channel)
    # Ending by the interpreter's way would wait for a context that may never answer.
    os._exit(0)


@contextlib.contextmanager
def _turn(locks: Sequence[int]) -> Iterator[None]:
    """Hold one of some lock files, if one can be had in time."""
    deadline = time.monotonic() + TURN_LIMIT_S
    while locks and not any(_locked(one) for one in locks) and time.monotonic() < deadline:
        time.sleep(TURN_POLL_S)
    try:
        yield
    finally:
        for one in locks:
            os.close(one)


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _open() -> Any:
    """Open the first device that CUDA_VISIBLE_DEVICES shows."""
    from cuda.bindings.driver import CUlimit

    driver.call("cuInit", 0)
    if driver.call("cuDeviceGetCount") == 0:
        raise RuntimeError("no CUDA device")
    handle = driver.call("cuDeviceGet", 0)
    context = driver.call("cuDevicePrimaryCtxRetain", handle)
    driver.call("cuCtxSetCurrent", context)
    # Before the first launch, or they are refused.
    driver.call("cuCtxSetLimit", CUlimit.CU_LIMIT_PRINTF_FIFO_SIZE, PRINTF_FIFO_BYTES)
    driver.call("cuCtxSetLimit", CUlimit.CU_LIMIT_MALLOC_HEAP_SIZE, HEAP_BYTES)
    return handle


def _described(handle: Any) -> messages.Ready:
    major = driver.attribute(handle, "COMPUTE_CAPABILITY_MAJOR")
    minor = driver.attribute(handle, "COMPUTE_CAPABILITY_MINOR")
    return messages.Ready(
        name=driver.call("cuDeviceGetName", 128, handle).split(b"\0")[0].decode(errors="replace"),
        uuid=uuid_text(driver.call("cuDeviceGetUuid", handle).bytes),
        architecture=f"sm_{major}{minor}",
        driver=driver.version(),
        multiprocessors=driver.attribute(handle, "MULTIPROCESSOR_COUNT"),
        memory_bytes=int(driver.call("cuDeviceTotalMem", handle)),
        l2_bytes=driver.attribute(handle, "L2_CACHE_SIZE"),
        max_sm_mhz=driver.attribute(handle, "CLOCK_RATE") / 1000,
        shared_optin_bytes=driver.attribute(handle, "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
    )


def _device(handle: Any, ready: messages.Ready, printed: int) -> Device:
    stream = driver.call("cuStreamCreate", 1)
    return Device(
        handle, stream, Helpers({}, stream, ready.multiprocessors), Counters(COUNTERS, stream), Arena(), printed
    )


def _load_helpers(device: Device, modules: Modules, code: bytes) -> None:
    modules.load(messages.HELPERS_MODULE, code)
    device.helpers.functions |= {name: modules.function(messages.HELPERS_MODULE, name) for name in messages.HELPERS}


def open_device(modules: Modules, helpers: bytes) -> Device:
    """The device opened in this very process, for tools that look into it."""
    handle = _open()
    device = _device(handle, _described(handle), os.memfd_create("printed", os.MFD_CLOEXEC))
    _load_helpers(device, modules, helpers)
    return device


class Worker:
    """Requests to replies."""

    def __init__(self, handle: Any, ready: messages.Ready, printed: int) -> None:
        self._ready = ready
        self._modules = Modules()
        self._rounds: Rounds | None = None
        self._mapping = _Mapping()
        self._device = _device(handle, ready, printed)
        self._host = HostBuffers()

    def serve(self, channel: Channel[messages.Request]) -> None:
        """Answer until the other side is gone, or a sticky error makes this process useless."""
        while True:
            request = channel.receive()
            reply = self.answer(request, channel.take_descriptors())
            channel.send(reply)
            if isinstance(reply, messages.Failed) and reply.sticky:
                return

    def answer(self, request: messages.Request, descriptors: list[int]) -> messages.Message:
        """The reply to one request, with the memory file that came with it."""
        try:
            if isinstance(request, messages.Round):
                assert self._rounds is not None
                return self._rounds.round(request.order, request.key)
            if isinstance(request, messages.Load):
                return self._load(request)
            if not isinstance(request, messages.HostCopies):
                self._host.close()
            if isinstance(request, messages.Release):
                self._device.arena.close()
                return messages.Released()
            if isinstance(request, messages.WarmUp):
                return self._warm_up(request.busy_ms)
            self._mapping.use(descriptors)
            if isinstance(request, messages.LaunchOnce):
                return launch.run(self._device, self._modules, request.launch, self._mapping.view)
            self._close_rounds()
            if isinstance(request, messages.Prepare):
                self._rounds = Rounds(self._device, self._modules, request, self._mapping.view)
                return self._rounds.prepared
            rows = measure(self._device, self._modules, request, self._mapping.view, self._host)
            return messages.HostCopiesDone(rows=rows)
        except LaunchFailed as failure:
            error = failure.error
            return messages.Failed(error.code, error.name, failure.during, error.sticky, failure.kernel)
        except DriverError as error:
            during = "load" if isinstance(request, messages.Load) else "kernel" if error.sticky else "grader"
            return messages.Failed(error.code, error.name, during, error.sticky)

    def _load(self, request: messages.Load) -> messages.Loaded:
        self._close_rounds()
        if request.module == messages.HELPERS_MODULE:
            _load_helpers(self._device, self._modules, request.cubin)
        else:
            self._modules.load(request.module, request.cubin)
        return messages.Loaded()

    def _close_rounds(self) -> None:
        if self._rounds is not None:
            self._rounds.close()
            self._rounds = None

    def _warm_up(self, busy_ms: float) -> messages.WarmedUp:
        from grader.gpu.device.rounds import clock_reasons, sm_mhz, warm_up

        copy_gb_s, gflop_s = warm_up(self._device, self._ready, busy_ms)
        clock_reasons(self._device)
        return messages.WarmedUp(copy_gb_s, gflop_s, sm_mhz(self._device, self._ready.max_sm_mhz))


class _Mapping:
    """The memory file that came with the last request; mapped once, as pages cost more than what is in them."""

    def __init__(self) -> None:
        self._identity: tuple[int, int] | None = None
        self.view: mmap.mmap | bytearray = bytearray()

    def use(self, descriptors: list[int]) -> None:
        """Map the file that came, where it is another one than before."""
        for descriptor in descriptors:
            status = os.fstat(descriptor)
            if self._identity != (status.st_ino, status.st_size):
                self.view = mmap.mmap(descriptor, status.st_size)
                self._identity = status.st_ino, status.st_size
            os.close(descriptor)


def replay(folder: Path) -> int:
    """Carry out the launches in a folder, one after another, for a profiler to watch; 1 when one fails."""
    script = messages.read_script((folder / messages.SCRIPT_NAME).read_bytes())
    modules = Modules()
    device = open_device(modules, script.modules[messages.HELPERS_MODULE])
    for name, code in script.modules.items():
        if name != messages.HELPERS_MODULE:
            modules.load(name, code)
    for index, asked in enumerate(script.launches):
        memory = bytearray((folder / f"memory.{index}").read_bytes())
        try:
            launch.run(device, modules, asked, memory)
        except (LaunchFailed, DriverError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    # `python -m grader.gpu.device.worker FOLDER` is the program that profilers are put on.
    sys.exit(replay(Path(sys.argv[1])))
