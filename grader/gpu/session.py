"""The GPU as a backend: results as the hardware gives them, and times; every submission in a process of its own."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from grader.errors import InternalError
from grader.gpu import messages
from grader.gpu.process import GpuProcess, ProcessLost, SharedBuffer, nbytes_of
from grader.launching.backend import BufferArgument, Code, LaunchOutcome, LaunchRequest, ScalarArgument
from grader.measured import BackendName
from grader.message import msg, verbatim
from grader.ptx.records import Hazard

if TYPE_CHECKING:
    from grader.launching.programs import Compiler


FILE = Path(__file__).parent / "device" / "helpers.cu"


def compile_helpers(compiler: Compiler, architecture: str) -> bytes:
    """Their machine code.  Raises InternalError: they do not compile for this device."""
    result = compiler.compile({FILE.name: FILE.read_text("utf-8")}, list(messages.HELPERS), architecture)
    if not result.ok:
        raise InternalError(f"{FILE.name}: {result.reason} {result.log}")
    return result.cubin


SWITCH_S = 0.0003
"""After which a thread lets another one go on, in place of Python's 5 ms."""


@contextmanager
def prompt() -> Iterator[None]:
    """While the block runs, a thread that has something to do gets to it at once.

    The one that asks the device does every few milliseconds, while others compute all the time.
    """
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)


RUN_LIMIT_S = 10.0
PREPARE_LIMIT_S = 30.0
ROUND_LIMIT_S = 20.0
WARM_UP_LIMIT_S = 30.0

_Reply = TypeVar("_Reply")

FAULTS = {
    700: "illegal_address",
    710: "trap",
    714: "illegal_address",
    715: "trap",
    716: "misaligned_address",
    717: "illegal_address",
    718: "illegal_address",
    719: "launch_failure",
    702: "time",
}
"""CUresult of a kernel that failed, as the reason of an outcome."""


class GpuFault(Exception):
    """A kernel could not be timed; `reason` as in an outcome, `kernel` says which where that is known."""

    def __init__(self, reason: str, kernel: str = "", is_submissions: bool = True) -> None:
        self.reason = reason
        self.kernel = kernel
        self.is_submissions = is_submissions
        super().__init__(f"{kernel}: {reason}")


@dataclass(frozen=True, slots=True)
class TimedKernel:
    """A kernel to be timed; `checked_by` names the one that tells whether its results are right."""

    name: str
    module: str
    request: LaunchRequest
    checked_by: str = ""


class Needless(Exception):
    """What is being timed or launched is needless by now."""


class GpuSession:
    """The GPU, for one submission: modules by name, launches, timed rounds.

    helpers: machine code of the grader's own kernels (`compile_helpers`).
    A process that a kernel broke is replaced, with all modules loaded anew.
    """

    def __init__(self, process: GpuProcess, helpers: bytes, modules: Mapping[str, bytes]) -> None:
        ready = process.ready()
        if isinstance(ready, messages.NoDevice):
            raise InternalError(ready.reason)
        self.device: messages.Ready = ready
        self._process = process
        self._code = {messages.HELPERS_MODULE: helpers, **modules}
        self._loaded: set[str] = set()
        self._buffer = SharedBuffer()
        self._is_closed = False
        self.needless = threading.Event()
        """Set by another thread to have timing end after a round, or the wait for it."""

    def close(self) -> None:
        # Whoever is at a launch gets no other process for the next.
        self._is_closed = True
        self._process.close()
        self._buffer.close()

    def check_open(self) -> None:
        """Raise Needless where another thread has closed the session."""
        if self._is_closed:
            raise Needless

    def check_wanted(self) -> None:
        """Raise Needless where nobody wants times any more."""
        if self._is_closed or self.needless.is_set():
            raise Needless

    def add(self, module: str, cubin: bytes) -> None:
        """Machine code to be launched from under that name."""
        self._code[module] = cubin
        self._loaded.discard(module)

    def has(self, module: str) -> bool:
        """Whether machine code was added under that name."""
        return module in self._code

    def code(self) -> dict[str, bytes]:
        """All machine code that was added, by module, the grader's own included."""
        return dict(self._code)

    def forget(self) -> None:
        """Load every module anew before it is next used, so that nothing kept in its variables is left."""
        self._loaded &= {messages.HELPERS_MODULE}

    @property
    def is_broken(self) -> bool:
        """Whether a kernel ended the process."""
        return self._process.is_lost

    def reopen(self) -> None:
        """Replace a process that a kernel broke; the next launch does it else, while others wait for the GPU."""
        if self._process.is_lost and not self._is_closed:
            # Those who open theirs meanwhile wait for this one's next launch, or for what it holds.
            self._process = GpuProcess(in_turn=False)
            self._loaded = set()
            self._process.ready()

    def run(self, module: str, request: LaunchRequest) -> LaunchOutcome:
        """Run one launch.  Never raises for what a submission can do."""
        return self.run_with_facts(module, request)[0]

    def run_with_facts(self, module: str, request: LaunchRequest) -> tuple[LaunchOutcome, messages.KernelFacts | None]:
        """See `run`; also what the driver knows of the kernel."""
        failed = self._load(module)
        if failed is not None:
            return failed, None
        self._buffer.clear()
        message = messages.LaunchOnce(launch_message(module, request, self._buffer.place(request)))
        try:
            reply = self._process.ask(message, RUN_LIMIT_S, [self._buffer.fill()])
        except ProcessLost as lost:
            if lost.reason == "time":
                return LaunchOutcome("fault", reason="time"), None
            return LaunchOutcome("unsupported", reason="process_ended", said=msg("launches.process_ended")), None
        if isinstance(reply, messages.Ran):
            return self._outcome(request, reply), reply.facts
        if isinstance(reply, messages.Failed):
            return _failed(reply), None
        raise InternalError(f"the GPU process answered {type(reply).__name__}")

    def release(self) -> None:
        """Give back the device memory that launches have used; others need theirs while this one waits."""
        if not self._process.is_lost:
            with contextlib.suppress(GpuFault):
                self._ask(messages.Release(), RUN_LIMIT_S, messages.Released)

    def warm_up(self, busy_ms: float) -> messages.WarmedUp:
        """Bring the clocks up; what the device can do.  Raises GpuFault: the device is not usable."""
        self._load_or_raise(messages.HELPERS_MODULE)
        return self._ask(messages.WarmUp(busy_ms), WARM_UP_LIMIT_S, messages.WarmedUp)

    def prepare(
        self,
        kernels: Sequence[TimedKernel],
        pools: Mapping[str, npt.NDArray[np.generic]],
        l2: str,
        clock_share: float,
        max_batch: int,
        tolerance: tuple[float, float],
    ) -> messages.Prepared:
        """Get ready to time `kernels` side by side.

        pools: values to fill the inputs with, by "name:dtype"; a power of two of them each.
        l2: "cold" or "warm".
        Raises GpuFault: a kernel's launch was refused, or it failed.
        """
        for kernel in kernels:
            self._load_or_raise(kernel.module, kernel.name)
        self._buffer.clear()
        places = {key: (self._buffer.add(pool), pool.size) for key, pool in pools.items()}
        targets = [
            messages.Target(
                k.name, launch_message(k.module, k.request, dict.fromkeys(_names(k.request), 0)), k.checked_by
            )
            for k in kernels
        ]
        order = messages.Prepare(targets, places, l2, clock_share, max_batch, *tolerance)
        return self._ask(order, PREPARE_LIMIT_S, messages.Prepared, [self._buffer.fill()])

    def round(self, names: Sequence[str], key: int) -> messages.RoundDone:
        """Time each of `names`, prepared before, once and in this order, on data made from `key`.

        Raises GpuFault: a kernel failed.  Raises Needless.
        """
        self.check_wanted()
        return self._ask(messages.Round(list(names), key), ROUND_LIMIT_S, messages.RoundDone)

    def host_copies(
        self, module: str, request: LaunchRequest, modes: Sequence[str], repeats: int
    ) -> messages.HostCopiesDone:
        """Time a launch with its copies, for each kind of host memory.  Raises GpuFault: the kernel failed."""
        self._load_or_raise(module)
        self._buffer.clear()
        order = messages.HostCopies(launch_message(module, request, self._buffer.place(request)), list(modes), repeats)
        return self._ask(order, PREPARE_LIMIT_S, messages.HostCopiesDone, [self._buffer.fill()])

    def _ask(
        self, request: messages.Message, limit_s: float, kind: type[_Reply], descriptors: Sequence[int] = ()
    ) -> _Reply:
        try:
            reply = self._process.ask(request, limit_s, descriptors)
        except ProcessLost as lost:
            raise GpuFault(lost.reason, self._buffer.progress(), is_submissions=lost.reason == "time") from lost
        if isinstance(reply, messages.Failed):
            raise GpuFault(
                FAULTS.get(reply.code, reply.name), reply.kernel, is_submissions=reply.during in ("kernel", "launch")
            )
        if not isinstance(reply, kind):
            raise InternalError(f"the GPU process answered {type(reply).__name__}")
        return reply

    def _load(self, *modules: str) -> LaunchOutcome | None:
        """Load the module where it is not loaded; return an outcome where that fails."""
        self.reopen()
        if isinstance(self._process.ready(), messages.NoDevice):
            return LaunchOutcome("unsupported", reason="no_answer", said=msg("launches.no_answer"))
        for module in (messages.HELPERS_MODULE, *modules):
            if module in self._loaded:
                continue
            try:
                reply = self._process.ask(messages.Load(module, self._code[module]), RUN_LIMIT_S)
            except ProcessLost:
                return LaunchOutcome("unsupported", reason="process_ended", said=msg("launches.process_ended"))
            if isinstance(reply, messages.Failed):
                return _failed(reply)
            self._loaded.add(module)
        return None

    def _load_or_raise(self, module: str, kernel: str = "") -> None:
        failed = self._load(module)
        if failed is not None:
            raise GpuFault(failed.reason, kernel, is_submissions=failed.status != "unsupported")

    def _outcome(self, request: LaunchRequest, reply: messages.Ran) -> LaunchOutcome:
        wanted = [
            a for a in request.arguments if isinstance(a, BufferArgument) and (a.is_output or a.name in reply.changed)
        ]
        return LaunchOutcome(
            "ok",
            outputs={a.name: self._buffer.array(a) for a in wanted},
            elapsed_us=reply.elapsed_us,
            printf=reply.printf,
            hazards=tuple(_beside(name) for name in reply.guards),
        )


def _beside(array: str) -> Hazard:
    """Return a write outside an array, of which the guard zones tell no more than that it happened."""
    nobody = (0, 0, 0)
    return Hazard("out_of_bounds", "beside", 0, "global", "store", array, 0, 0, 0, nobody, nobody)


def _names(request: LaunchRequest) -> list[str]:
    return [a.name for a in request.arguments if isinstance(a, BufferArgument)]


def launch_message(module: str, request: LaunchRequest, offsets: Mapping[str, int]) -> messages.Launch:
    """A launch as the GPU process is told of it; offsets: of its arrays in the memory file, by name."""
    arguments: list[messages.Argument] = []
    for argument in request.arguments:
        if isinstance(argument, ScalarArgument):
            arguments.append(messages.Scalar(argument.converted().tobytes()))
            continue
        dtype = np.dtype(argument.dtype)
        count = nbytes_of(argument) // dtype.itemsize
        offset = offsets[argument.name]
        is_zeroed = argument.is_output and argument.initial is not None
        arguments.append(
            messages.Array(argument.name, dtype.name, dtype.itemsize, count, argument.is_output, offset, is_zeroed)
        )
    at = request.grid, request.block, request.shared_bytes
    return messages.Launch(module, request.entry, *at, arguments, request.cooperative)


def _failed(reply: messages.Failed) -> LaunchOutcome:
    if reply.during == "kernel" and reply.sticky:
        return LaunchOutcome("fault", reason=FAULTS.get(reply.code, reply.name))
    if reply.during in ("launch", "load"):
        return LaunchOutcome("impossible", reason=reply.name, said=verbatim(f"{reply.name} ({reply.code})"))
    return LaunchOutcome("unsupported", reason=reply.name, said=verbatim(f"{reply.name} ({reply.code})"))


class GpuBackend:
    """Runs programs in machine code in the process of a session."""

    def __init__(self, session: GpuSession) -> None:
        self._session = session

    @property
    def name(self) -> BackendName:
        """What results call it."""
        return "gpu"

    def run(self, code: Code, request: LaunchRequest) -> LaunchOutcome:
        return self.run_with_facts(code, request)[0]

    def run_with_facts(self, code: Code, request: LaunchRequest) -> tuple[LaunchOutcome, messages.KernelFacts | None]:
        """See `run`; also what the driver knows of the kernel."""
        return self._session.run_with_facts(self.load(code), request)

    def load(self, code: Code) -> str:
        """Make a program known to the session, if it is not yet; the name that it has there."""
        if not self._session.has(code.key):
            self._session.add(code.key, code.cubin)
        return code.key
