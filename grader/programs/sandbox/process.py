"""Starting the process of a program, and what the grader and it say to each other.

The process says that it is ready, is given an `Order`, prints and asks for code as often as it likes, and ends it with
`Done`, when another may follow, or `Broken`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from grader.errors import InternalError
from grader.message import Message, msg
from grader.processes.channel import DeadlinePassed, PeerGone
from grader.processes.child import END_WAIT_S, Child, ChildProgram, Ending
from grader.programs.records import FunctionCall, Observation, RunLimits


class Order(msgspec.Struct, frozen=True, tag="order"):
    """A program to run.

    module: its host code as WebAssembly.  stdin: what it reads there.  files: those that it may open, by name.
    arguments: with the program's own name first.  model: what `runtime.devices.model_of` knows.
    units: names of its files; sources: their text, kernels without bodies; unused: places whose error nobody looks at,
    as file and line; parameters: names of the parameters of kernels.
    wanted: files whose contents are wanted when it has ended, and how many bytes of each.
    is_linked: device code of one file uses that of another, see `grader.programs.device_linking`.
    speaks: kernels have fences or atomics of the whole system, by which they may speak to the host while they run.
    """

    module: bytes
    stdin: bytes
    files: Mapping[str, bytes]
    arguments: Sequence[bytes]
    model: str
    units: Sequence[str]
    sources: Mapping[str, str]
    unused: Sequence[tuple[str, int]]
    parameters: Mapping[str, Sequence[str]]
    limits: RunLimits
    calls: Sequence[FunctionCall] = ()
    wanted: Mapping[str, int] = {}
    is_linked: bool = False
    speaks: bool = False


class Again(msgspec.Struct, frozen=True, tag="again"):
    """The last order once more: what a GPU is timed on may be a hundred megabytes."""


class Code(msgspec.Struct, frozen=True, tag="code"):
    """PTX, or "" and the reason: the answer to `Wanted`.

    compiler: whose it is, "nvrtc" or "clang".  cubin: the same as machine code, where a GPU runs it.
    log, entries: of a program's own source, what the compiler said and the symbols by name expression.
    """

    ptx: str
    reason: str | Message
    compiler: str = "nvrtc"
    cubin: bytes = b""
    log: str = ""
    entries: Mapping[str, str] = {}


class CardInfo(msgspec.Struct, frozen=True):
    """A GPU that was opened, as its driver describes it."""

    name: str
    uuid: str
    capability: tuple[int, int]
    driver: str


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """The process is confined, by Landlock where the kernel has it.

    card: the GPU that kernels will run on, None for the emulator.  lacking: why there is none, where one was to be
    used.
    """

    has_landlock: bool
    card: CardInfo | None = None
    lacking: str = ""


class Printed(msgspec.Struct, frozen=True, tag="printed"):
    """What the program printed to a descriptor, 1 or 2."""

    descriptor: int
    data: bytes


class Wanted(msgspec.Struct, frozen=True, tag="wanted"):
    """Device code that the program needs: of the file with that number, with these templates' name expressions.

    whole: with every kernel that the file registers, whatever it takes: NVRTC has not given all of them.
    sources, options: not of a file but of these texts, which the program hands to NVRTC itself: the first, and what it
    includes.
    """

    unit: int
    names: Sequence[str]
    whole: bool = False
    sources: Sequence[tuple[str, str]] = ()
    options: Sequence[str] = ()


class Done(msgspec.Struct, frozen=True, tag="done"):
    """The program came to an end, whichever; is_last: and so does the process."""

    observation: Observation
    is_last: bool = False


class Broken(msgspec.Struct, frozen=True, tag="broken"):
    """A fault of ours; traceback: for the log."""

    reason: str
    traceback: str


TO_PROGRAM = msgspec.msgpack.Decoder(Order | Again | Code)
FROM_PROGRAM = msgspec.msgpack.Decoder(Ready | Printed | Wanted | Done | Broken)
"""Made when this is imported: see `grader.processes.channel.Channel`."""


_OF_DRIVER = ("CUDA_VISIBLE_DEVICES", "NVIDIA_", "LD_LIBRARY_PATH")
"""Beginnings of names of variables that the driver, and who looks for it, reads."""


class ProgramProcess:
    """A process for one program, started at once so that it warms up while the program is compiled.

    on_gpu: kernels run on a GPU; a fault there takes the context along, and the process with it.
    """

    def __init__(self, use_landlock: bool = True, on_gpu: bool = False) -> None:
        kept = {name: os.environ[name] for name in ("OPENBLAS_CORETYPE",) if name in os.environ}
        if on_gpu:
            kept |= {name: value for name, value in os.environ.items() if name.startswith(_OF_DRIVER)}
            kept["CUDA_CACHE_DISABLE"] = "1"
        options = ([] if use_landlock else ["without-landlock"]) + (["gpu"] if on_gpu else [])
        program = ChildProgram(
            "grader.programs.sandbox.worker",
            tuple(options),
            # Lines of the host's code in what wasmtime says of a crash.
            environment={"WASMTIME_BACKTRACE_DETAILS": "1", **kept},
            is_forkable=not on_gpu,
        )
        self._child = Child(program, FROM_PROGRAM)
        self._ready: Ready | None = None
        self._last: Order | None = None
        self.has_ended = False

    @property
    def pid(self) -> int:
        return self._child.pid

    def ready(self, deadline: float | None = None) -> Ready:
        """Return what the process says when it is ready.  Raises DeadlinePassed, PeerGone: it does not say so."""
        if self._ready is None:
            reply = self._child.channel.receive(deadline)
            assert isinstance(reply, Ready)
            self._ready = reply
        return self._ready

    def ended(self) -> Ending:
        """Return how a process that has gone came to its end."""
        self.has_ended = True
        return self._child.end(END_WAIT_S)

    def close(self) -> None:
        self.has_ended = True
        self._child.end()

    def run(self, order: Order, code: Callable[[Wanted], Code], emit: Callable[[int, bytes], None]) -> Observation:
        """Run a program; again, or with other arguments, while the process has not ended, as it does of a failure.

        code: gives the device code that the program wants.
        emit: told what the program prints.
        Raises InternalError: the process failed by a fault of ours.
        """
        channel = self._child.channel
        seconds = order.limits.wall_seconds
        deadline = time.monotonic() + seconds if math.isfinite(seconds) else None
        try:
            self.ready(deadline)
            channel.send(Again() if order == self._last else order)
            self._last = order if self._ready is not None and self._ready.card is not None else None
            while True:
                reply = channel.receive(deadline)
                match reply:
                    case Printed():
                        emit(reply.descriptor, reply.data)
                    case Wanted():
                        channel.send(code(reply))
                    case Done():
                        if reply.is_last:
                            self.close()
                        return reply.observation
                    case Broken():
                        error = InternalError(msg("programs.process_failed", reason=reply.reason[:300]))
                        # For the log file that the command line writes.
                        error.add_note(reply.traceback)
                        self.close()
                        raise error
        except DeadlinePassed:
            self.close()
            return Observation(None, [], [], msg("programs.hangs", seconds=int(seconds)))
        except PeerGone:
            return Observation(None, [], [], msg("programs.process_died", reason=str(self.ended())))
