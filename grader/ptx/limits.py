"""What the emulator refuses, and why; how much a launch may use up, and how much a device has."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.ptx.records import DeviceLaunch, Hazard, Index3


class PtxError(Exception):
    """Base of every error of the emulator."""


class PtxSyntaxError(PtxError):
    """The text is not PTX this parser knows; the message shows the line with a caret.

    message: what was expected or is wrong.
    ptx_line: 1-based line in the PTX text.
    column: 1-based column of the offending token.
    source: that line of the PTX text.
    """

    def __init__(self, message: str, ptx_line: int, column: int, source: str) -> None:
        self.ptx_line = ptx_line
        self.column = column
        super().__init__(f"PTX line {ptx_line}: {message}\n  {source.rstrip()}\n  {' ' * (column - 1)}^")


class InstructionError(PtxError):
    """An instruction that cannot be executed.

    text: the instruction as written in the PTX.
    line: 1-based line of the CUDA source, 0 when unknown.
    reason: what about it is the obstacle, "" when it is the instruction itself.
    """

    sentence = "`{}` cannot be executed"

    def __init__(self, text: str, line: int = 0, reason: str = "") -> None:
        self.text = text
        self.line = line
        self.reason = reason
        where = f"line {line}: " if line else ""
        super().__init__(where + self.sentence.format(text) + (f" ({reason})" if reason else ""))


class UnsupportedInstruction(InstructionError):
    """An instruction the emulator has no semantics for: named, never guessed."""

    sentence = "the emulator does not implement `{}`"


class InvalidInstruction(InstructionError):
    """An instruction that is no PTX: the assembler would refuse it (inline assembly; NVRTC does not look at it)."""

    sentence = "`{}` is no valid instruction"


class LaunchError(PtxError):
    """The launch itself is impossible (block too large, wrong argument count, unknown kernel).

    `kind` is "threads" or "shared_memory" for more of these a block, `got`, than `limit`, "cooperative" for more blocks
    than can be resident; else "other".
    """

    def __init__(self, message: str, kind: str = "other", got: int = 0, limit: int = 0) -> None:
        self.kind = kind
        self.got = got
        self.limit = limit
        super().__init__(message)


class LimitExceeded(PtxError):
    """The kernel used up its instruction budget or its time; says the line it was at.

    `kind` is "instructions", "steps" (of the interpreter: whether the kernel ends is not known), "time", "deadlock"
    (threads wait for others that never come), "endless" (a loop that nothing can end any more) or "memory" (more than
    the emulator has for it).  `issued`: instructions until then, each counted once for all threads that executed it
    together, where what is counted was the limit.  `steps`, `hazards`: done and seen by then, where it is "steps",
    "deadlock" or "endless".
    """

    def __init__(self, kind: str, line: int, message: str, issued: int | None = None) -> None:
        self.kind = kind
        self.line = line
        self.issued = issued
        self.steps = 0
        self.hazards: tuple[Hazard, ...] = ()
        super().__init__(message)


class DeviceTrap(PtxError):
    """The kernel executed `trap` or a failed assertion, at `line`.

    `kind` is "grid_sync" where it would have waited for its whole grid and the launch is not cooperative, else "trap".
    """

    def __init__(self, line: int, message: str, kind: str = "trap") -> None:
        self.line = line
        self.kind = kind
        super().__init__(message)


# Limits: how much a launch may use up, how much it has, and how many blocks the device holds at a time.

CYCLES = 16
"""Clock cycles that an instruction counts for: the order of magnitude of a dependent instruction's latency."""


ISSUED_PER_LAUNCH = 6_000_000
"""Instructions of a student's kernel, in grading and in whole programs, however many threads execute them, which is
what bounds kernels of which few threads run at a time.  Reached within seconds, and the same on every machine."""
STEPS_PER_LAUNCH = 500_000
"""What the interpreter does of a student's kernel, which it takes 10 µs a step for: `Budget.steps`.  The right kernels
of shipped labs that were measured take at most 16,250 a launch."""
STEPS_AFTER_FAULT = 150_000
"""The same once an access was outside of its array.  Generated code does not go on after that, and after so many more
steps nothing new is learnt.  What races goes on: its result may be right."""
SECONDS_PER_LAUNCH = 600.0
"""The same by the clock.  Not reached before what is counted but on a very slow machine, for which nobody is blamed."""


class TakesLong(Exception):
    """The launch has gone on for so long that generated code is worth its compilation (`Budget.patience`)."""


@dataclass
class Limits:
    """When to give up on a kernel.

    instructions: thread-instructions of one launch, as they are charged (`Budget.charged`); issued: the same, counted
    once for all threads that execute them together, which is what takes the time where few do; steps: of the
    interpreter, counted as `Budget.steps`; steps_after_fault: of these since the first access outside of an array;
    seconds: of processor time, for another program on the machine is no reason to give up; printf_bytes: kept output;
    local_bytes: one local variable of one thread; depth: nested calls; memory_bytes: local memory of all threads that
    run side by side; variable_bytes: the module's global and constant variables; page_bytes: for `steps_after_fault`
    an access counts that leaves the pages of its array, and the one before (0: each that leaves its array).
    """

    instructions: int = 20_000_000_000
    issued: int = 1_000_000_000
    steps: int = 1 << 62
    steps_after_fault: int = 1 << 62
    seconds: float = 10.0
    printf_bytes: int = 16_384
    local_bytes: int = 512 * 1024
    memory_bytes: int = 256 * 1024 * 1024
    variable_bytes: int = 128 * 1024 * 1024
    page_bytes: int = 0
    depth: int = 400
    """A GPU's stack of a few KiB a thread has overflowed long before."""

    def check(self, line: int, charged: int, issued: int) -> None:
        """Raise LimitExceeded at a source line where a limit is exceeded."""
        if charged > self.instructions:
            message = f"more than {self.instructions} thread-instructions were executed"
            raise LimitExceeded("instructions", line, message, issued)
        if issued > self.issued:
            raise LimitExceeded("instructions", line, f"more than {self.issued} instructions were issued", issued)

    def out_of_time(self, line: int) -> LimitExceeded:
        return LimitExceeded("time", line, f"the kernel did not end within {self.seconds:g} s")


OBSERVED_STEPS = 6
FAULT_STEPS = 4
"""An access that observers are told of, and one outside an array, against an instruction that the interpreter issues:
about 60 and 40 µs against 10."""
AT_ONCE = 32
"""Thread-instructions of loops that are carried out at once, 10 billion a second, that take as long as one that is
issued."""
FRAGMENT_CHARGE = 128
"""Instructions that take as long as a thread's part of one on a matrix that a warp holds."""
ATOMIC_LANES = 128
"""Lanes of an atomic that take as long as an instruction: these go one after the other."""


@dataclass
class Budget:
    limits: Limits
    thread_instructions: int = 0
    charged: int = 0
    """The same as the limit counts them, which is by time: those that a loop carries out at once for less, those on
    matrices of a warp for more."""
    warp_instructions: int = 0
    issued: int = 0
    steps: int = 0
    """What the interpreter did, in instructions that it issues: these, and looks at accesses."""
    steps_at_fault: int | None = None
    """How many these were when an access outside of an array was first seen."""
    printf: list[str] = field(default_factory=list)
    printf_left: int = 0
    launched: list[DeviceLaunch] = field(default_factory=list)
    """What the kernel has launched itself."""
    asked_for: dict[int, tuple[str, Index3, Index3, int]] = field(default_factory=dict)
    """Kernel, grid, block and dynamic shared bytes of a launch, by where its arguments are being put."""
    handles: int = 0
    """Streams and events that the kernel has made."""
    began_s: float = field(default_factory=time.process_time)
    """On the clock of `time.process_time`."""
    turns: int = 0
    patience: int | None = None
    """Instructions issued before the launch is handed to generated code (None: never)."""

    @property
    def cost(self) -> int:
        """What watching takes: thread-instructions, and a product of matrices for as many as it is charged."""
        return max(self.thread_instructions, self.charged)

    def check_steps(self, line: int, is_at_fault: bool) -> None:
        """Raise LimitExceeded when the interpreter has done too much; to be called now and then."""
        limits = self.limits
        if is_at_fault and self.steps_at_fault is None:
            self.steps_at_fault = self.steps
        since = 0 if self.steps_at_fault is None else self.steps - self.steps_at_fault
        if self.steps > limits.steps or since > limits.steps_after_fault:
            raise LimitExceeded("steps", line, f"the interpreter has done {self.steps} steps", self.issued)


BATCH_LANES = 16_384
"""Lanes executed side by side: large enough that Python's overhead vanishes, small enough for the L2 cache."""

CONTENDING_LANES = 1024
"""The same for kernels with locks or loops of compare-and-swap."""

LOCAL_BYTES = 128 * 1024 * 1024
"""Local memory of all lanes that run side by side, as far as it is known before the launch (recursion is not)."""

BATCH_SHARED_BYTES = 8 * 1024 * 1024
"""Shared memory of all blocks that run side by side; what watches it takes twenty times as much."""


def side_by_side(blocks: int, padded: int, *, waits: bool, contends: bool, local_bytes: int, shared_bytes: int) -> int:
    """How many of a grid's blocks run at a time.

    blocks, padded: of the grid, and lanes of each.
    waits: blocks may wait for each other.
    contends: threads try an atomic update until they get through.
    local_bytes, shared_bytes: of a thread, and of a block.
    """
    together = max(1, BATCH_LANES // padded)
    if waits:
        # Blocks that wait for each other must run side by side, as far as memory allows.
        together = max(together, min(blocks, 16 * BATCH_LANES // padded))
    elif contends:
        # Of threads that want one place in one step all but one must try again: n threads take n² / 2 attempts.
        together = max(1, CONTENDING_LANES // padded)
    # Local memory has a copy for every lane.
    together = min(together, LOCAL_BYTES // (padded * max(1, local_bytes)))
    return max(1, min(together, BATCH_SHARED_BYTES // max(1, shared_bytes)))


def spread(count: int, wanted: int | None) -> Sequence[int]:
    """Which of `count` batches to watch: the first, the last, and evenly between."""
    if wanted is None or wanted >= count:
        return range(count)
    return sorted({round(i * (count - 1) / max(wanted - 1, 1)) for i in range(wanted)})


class Sample:
    """Which of the batches that are to be watched are, where all of them may take too long: the first and the last too.

    After each it is known what one takes; the next lies so far on that those which can be afforded are spread over the
    rest of the grid.
    """

    def __init__(self, batches: Sequence[int], instructions: int | None) -> None:
        self._batches = batches
        self._instructions = instructions
        self._place = 0
        self._used = self._watched = 0

    def takes(self, number: int) -> bool:
        """Whether to watch the batch of this number, which must not decrease."""
        return self._place < len(self._batches) and self._batches[self._place] == number

    def note(self, thread_instructions: int) -> None:
        """Note how many thread-instructions the watched batch took."""
        self._used += thread_instructions
        self._watched += 1
        left = len(self._batches) - 1 - self._place
        affordable = left
        if self._instructions is not None and self._used:
            affordable = max((self._instructions - self._used) * self._watched // self._used, 1)
        self._place += max(left // affordable, 1) if left else 1


MAX_THREADS = 1024
"""Threads of a block at most, on every device since compute capability 2.0."""
MAX_BLOCK: Index3 = (1024, 1024, 64)
MAX_GRID: Index3 = (2**31 - 1, 65535, 65535)
"""Largest grid of every device since compute capability 3.0 (CUDA C++ programming guide, technical specifications)."""


def three(sizes: Sequence[int], name: str, limits: Index3) -> Index3:
    """Up to three sizes as three.  Raises LaunchError where one is impossible."""
    padded = (*[int(size) for size in sizes], 1, 1, 1)[:3]
    for axis, size, limit in zip("xyz", padded, limits, strict=True):
        if not 1 <= size <= limit:
            raise LaunchError(f"{name}.{axis} is {size}, allowed are 1 to {limit}")
    return padded[0], padded[1], padded[2]


MULTIPROCESSORS = 132
WARPS = 64
BLOCKS = 32
MULTIPROCESSOR_SHARED_BYTES = 228 * 1024
BLOCK_SHARED_BYTES = 1024
"""An H100 or H200: its multiprocessors; warps, blocks and shared memory of one of them; what a block takes of that
besides its own (CUDA C++ programming guide, technical specifications)."""


def resident_blocks(padded: int, shared_bytes: int) -> int:
    """How many blocks the device holds side by side.

    Registers are not counted: PTX has as many as it likes.

    padded: threads of a block, in whole warps; shared_bytes: its shared memory.
    """
    by_shared = MULTIPROCESSOR_SHARED_BYTES // (shared_bytes + BLOCK_SHARED_BYTES)
    return MULTIPROCESSORS * min(BLOCKS, WARPS // (padded // 32), by_shared)
