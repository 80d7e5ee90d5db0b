"""What a backend is: something that runs one launch of one kernel and says what happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import numpy as np
import numpy.typing as npt

from grader.measured import BackendName
from grader.message import Message, verbatim
from grader.ptx.frontend.parser import parse
from grader.ptx.limits import ISSUED_PER_LAUNCH as ISSUED_PER_LAUNCH
from grader.ptx.limits import STEPS_AFTER_FAULT as STEPS_AFTER_FAULT
from grader.ptx.limits import STEPS_PER_LAUNCH as STEPS_PER_LAUNCH
from grader.ptx.limits import PtxError
from grader.ptx.lowering.program import program_of
from grader.ptx.records import Counters, Hazard, LineWork, Read, Site, WarpSteps, Write

ARCHITECTURE = "compute_75"
"""What the emulator's sources are compiled for: the oldest target that NVRTC still has."""


@dataclass(frozen=True, slots=True)
class BufferArgument:
    """A device buffer: `initial` is copied in, or None for memory that nothing wrote (poisoned).

    start: the element whose address the kernel is handed, where that is not the first.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    initial: npt.NDArray[np.generic] | None
    is_output: bool
    start: int = 0


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A value passed by value; `dtype` is a NumPy name."""

    value: int | float
    dtype: str

    def converted(self) -> np.generic:
        """The value in its type, as C converts it: an integer that is too large for its type loses its upper bits."""
        number: np.generic = np.array([self.value]).astype(self.dtype)[0]
        return number


@dataclass(frozen=True, slots=True)
class LaunchRequest:
    """One launch: `entry` is the symbol in the module, `shared_bytes` the dynamic shared memory.

    trace: keep the history of its memory, where the backend can (small launches only).
    altered: shared memory gives back other values than were put there, where the backend can.
    before: launches of the same program that are made on the same device first; see `Earlier`.
    age: after those, variables that every one of them has changed by the same amount are what they would be after so
      many more; the launch is not made (`NO_AGE`) where there are none.  0: left alone.
    reset: variables of the program that are given their initial values before each launch, as its host code does.
    instructions: of all threads together, at which it is ended; 0: the backend's own limit.
    cooperative: its blocks may wait for each other, if there are no more than can be resident.
    counts_work: say what was executed by line, where the backend can.
    order: in which blocks and warps have their turns, where the backend can choose: 0 as they are counted, 1 the last
      first, others are shuffled.
    followed: memory accesses at which a warp is followed, where the backend can: the launch is ended when that is done.
    """

    entry: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    arguments: Sequence[BufferArgument | ScalarArgument]
    observe: bool = False
    trace: bool = False
    altered: bool = False
    before: tuple[LaunchRequest, ...] = ()
    age: int = 0
    reset: tuple[str, ...] = ()
    instructions: int = 0
    cooperative: bool = False
    followed: tuple[Site, ...] = ()
    counts_work: bool = False
    order: int = 0


class Trace(Protocol):
    """The history of a launch's memory; `complete` is False when the launch was too large to keep it."""

    complete: bool

    def writes(self, array: str, offset_bytes: int, width_bytes: int) -> list[Write]:
        """Every write to those bytes of a buffer, in order."""
        ...

    def written(self, array: str, size_bytes: int) -> npt.NDArray[np.bool_]:
        """(size_bytes,) which bytes of a buffer any thread wrote."""
        ...

    def reads(self, write: Write) -> list[Read]:
        """What the thread had read to make the value it wrote, in the order of reading."""
        ...


@dataclass(frozen=True, slots=True)
class Earlier:
    """What came of the launches that were made first.

    outputs: of each that gave other outputs than those before it, as a whole, in their order.
    have_moved: whether the program's variables still changed after the first of them.
    """

    outputs: tuple[Mapping[str, npt.NDArray[np.generic]], ...]
    have_moved: bool


@dataclass(frozen=True, slots=True)
class LaunchOutcome:
    """What came of it.

    status: "ok"; "fault" (the student's: trap, deadlock, time limit; see `reason` and `line`); "unsupported"
    (the emulator lacks an instruction: ours); "impossible" (the launch configuration is not allowed).
    outputs: every buffer that is an output or was changed, by name.
    reason: a code, "" when it ended well: "deadlock", "trap", "shared_memory", "CUDA_ERROR_…".  said: the reason in
    words, where the code alone does not tell it.
    file: that the line is in, "" for the one that the kernel or function stands in.
    trace: the history of its memory, where that was asked for.
    state: variables of the program that the kernel uses and that live on from launch to launch.
    issued: instructions, each counted once for all threads that execute it together, where the backend counts them.
    earlier: of the launches that were made before it; None where there were none.
    work: by line, where that was asked for.
    shared_bytes: of a block, static and dynamic.
    steps: of a warp, at each access where one was followed; there are no outputs then.
    """

    status: str
    outputs: Mapping[str, npt.NDArray[np.generic]] = field(default_factory=dict)
    counters: Counters | None = None
    hazards: tuple[Hazard, ...] = ()
    remarks: tuple[tuple[str, int, int], ...] = ()
    reason: str = ""
    said: Message | None = None
    line: int = 0
    elapsed_us: float | None = None
    thread_instructions: int | None = None
    printf: str = ""
    trace: Trace | None = None
    state: tuple[str, ...] = ()
    issued: int | None = None
    earlier: Earlier | None = None
    steps: tuple[WarpSteps, ...] = ()
    work: tuple[LineWork, ...] = ()
    shared_bytes: int = 0
    file: str = ""


def reason_msg(outcome: LaunchOutcome) -> Message:
    """Why a launch did not end well, as far as the backend can tell."""
    return outcome.said or verbatim(outcome.reason)


NEVER_ENDS = ("time", "instructions", "endless", "deadlock")
"""Reasons of a launch that was ended: it takes long to reach that, and another launch of the kernel ends alike."""

TAKES_LONG = (*NEVER_ENDS, "steps")
"""The same, and where whether it ends was not waited for."""

NO_AGE = "no_age"
"""Reason of a launch that is not made, since its program has no variable that launches change evenly."""

GAVE_UP = ("time", "instructions", "steps")
"""Reasons of `unsupported` outcomes of launches that may well end if one waits longer."""


INSTRUCTIONS_PER_LAUNCH = 500_000_000
"""Thread-instructions on the emulator: several times what a sensible kernel needs at a lab's sizes.  Reached within
seconds, and the same on every machine, so that a slow one blames nobody."""


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled program, as PTX or as machine code; key: tells it from any other."""

    key: str
    ptx: str = ""
    cubin: bytes = b""


class Backend(Protocol):
    """Runs launches of compiled programs, each on memory of its own."""

    @property
    def name(self) -> BackendName: ...

    def run(self, code: Code, request: LaunchRequest) -> LaunchOutcome:
        """Run one launch of a kernel of a program.  Never raises for what a submission can do."""
        ...


@lru_cache(maxsize=64)
def waits_for_grid(code: Code, entry: str) -> bool:
    """Whether a kernel asks for the group of its whole grid, in code of its own or of functions that it may call.

    Decided by what was compiled, however the source spells it.  What asks, and cannot be looked through, is taken to
    wait: a cooperative launch runs any other kernel as well.
    """
    # All that can ask reads one of these registers, and hardly a program does: the others need not be parsed.
    if "%envreg" not in code.ptx:
        return False
    try:
        return program_of(parse(code.ptx)).needs(entry).whole_grid
    except PtxError:
        return True
