"""How much a launch may use up, and how much it has."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from grader.ptx.errors import LimitExceeded

CYCLES = 16
"""VectorClock cycles that an instruction counts for: the order of magnitude of a dependent instruction's latency."""


ISSUED_PER_LAUNCH = 6_000_000
"""Of a student's kernel, in grading and in whole programs: instructions, however many threads execute them, which is
what bounds kernels of which few threads run at a time.  Reached within seconds, and the same on every machine."""
SECONDS_PER_LAUNCH = 600.0
"""The same by the clock.  Not reached before what is counted but on a very slow machine, for which nobody is blamed."""


class TakesLong(Exception):
    """The launch has gone on for so long that generated code is worth its compilation (`Budget.patience`)."""


@dataclass
class Limits:
    """When to give up on a kernel.

    instructions: thread-instructions of one launch; issued: the same, counted once for all threads that execute them
    together, which is what takes the time where few do; seconds: of processor time, for another program on the machine
    is no reason to give up; printf_bytes: kept output; local_bytes: one local variable of one thread; depth: nested
    calls; memory_bytes: local memory of all threads that run side by side; variable_bytes: the module's global and
    constant variables.
    """

    instructions: int = 20_000_000_000
    issued: int = 1_000_000_000
    seconds: float = 10.0
    printf_bytes: int = 16_384
    local_bytes: int = 512 * 1024
    memory_bytes: int = 256 * 1024 * 1024
    variable_bytes: int = 128 * 1024 * 1024
    depth: int = 400
    """A GPU's stack of a few KiB a thread has overflowed long before."""

    def check(self, line: int, thread_instructions: int, issued: int) -> None:
        """Raises LimitExceeded, at a source line, where that is more than is allowed."""
        if thread_instructions > self.instructions:
            message = f"more than {self.instructions} thread-instructions were executed"
            raise LimitExceeded("instructions", line, message, issued)
        if issued > self.issued:
            raise LimitExceeded("instructions", line, f"more than {self.issued} instructions were issued", issued)

    def out_of_time(self, line: int) -> LimitExceeded:
        """What is raised when the time is over."""
        return LimitExceeded("time", line, f"the kernel did not end within {self.seconds:g} s")


@dataclass
class Budget:
    """What a launch has used up so far."""

    limits: Limits
    thread_instructions: int = 0
    warp_instructions: int = 0
    issued: int = 0
    printf: list[str] = field(default_factory=list)
    printf_left: int = 0
    began_s: float = field(default_factory=time.process_time)
    """On the clock of `time.process_time`."""
    turns: int = 0
    patience: int | None = None
    """Instructions issued before the launch is handed to generated code (None: never)."""
