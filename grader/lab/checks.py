"""The checks that a lab file can ask for: their order, what each rests on, and their settings in the file.

A check's title and sentences stand in `checks.py`, `counted_checks.py` or `work_checks.py` of `grader/words/`, what it
judges by in `grader/checks/` (`JUDGES`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a check in the lab file; the base has none."""


NO_SETTINGS = Settings()


class RatioShare(Settings, frozen=True):
    """With at most `ratio` times the least possible sectors, `share` of the points."""

    ratio: float
    share: float


class WaysShare(Settings, frozen=True):
    """With conflicts of at most `ways` ways, `share` of the points."""

    ways: int
    share: float


class TechniqueSettings(Settings, frozen=True):
    """Settings of `technique`.

    shared_memory: "none": the kernel must not use it; "staged": the data must go through it (at least every
    element of one input is stored there, and at least as many bytes are loaded from it as the outputs have); "any":
    either will do.
    max_reads: how often each input element may be read from global memory on average, a number or a formula of the
    sizes; null: any number.
    between_threads: with "staged": for most elements, what a thread takes from shared memory has to be what another
    one put there; false where each may keep a copy of its own.
    unrolled: steps that an inner loop must do at a time, by hand or by pragma; 1: none need be.
    """

    shared_memory: Literal["none", "staged", "any"]
    max_reads: float | str | None = None
    between_threads: bool = True
    unrolled: int = 1


class CoalescingSettings(Settings, frozen=True):
    """Settings of `coalescing`.

    max_ratio: sectors over the fewest possible, for all points.
    sides: "both" loads and stores must keep it, "either" (one side of a plain transposition cannot), or the "loads"
      alone (where the data say what is stored to).
    partial: what a worse ratio still earns.
    """

    max_ratio: float = 1.0
    sides: Literal["both", "either", "loads"] = "both"
    partial: tuple[RatioShare, ...] = ()

    def judged(self, loads: float, stores: float) -> float:
        """The ratio that the thresholds are for, of those of both sides."""
        return max(loads, stores) if self.sides == "both" else loads if self.sides == "loads" else min(loads, stores)


class BankConflictSettings(Settings, frozen=True):
    """Settings of `bank_conflicts`: `partial`: what conflicts of few ways still earn."""

    partial: tuple[WaysShare, ...] = ()


class RacesSettings(Settings, frozen=True):
    """Settings of `races`.

    all_reach: the task asks for barriers that every thread of the block comes to, also where a device would go on
    without those that have ended.
    """

    all_reach: bool = False


class CorrectSettings(Settings, frozen=True):
    """Settings of `correct`.

    partial: the share of the points that a kernel keeps in proportion to the sizes at which it is right; 0: it keeps
    nothing as soon as one size is wrong.
    """

    partial: float = 0.0


class HostCodeSettings(Settings, frozen=True):
    """Settings of `host_code`.

    of: "data": what makes results wrong, in copies, in the lifetime of arrays and in what nobody filled; "all": also
    launches that nobody checks, times that are not taken rightly, and results that are compared with nothing.
    """

    of: Literal["all", "data"] = "all"


class TimeScale(Settings, frozen=True):
    """Points by time: all up to `full` times the time that is compared with, none from `none` times on; between them
    they fall with the time, or with its logarithm."""

    full: float
    none: float
    between: Literal["linear", "logarithm"] = "linear"


class SpeedClass(Settings, frozen=True):
    """`share` of the points for at least that `speedup`, or, written so, up to `time` times the time."""

    share: float
    speedup: float = 0.0
    time: float = 0.0

    @property
    def least(self) -> float:
        """The speedup from which it is reached."""
        return self.speedup or 1 / self.time


class SpeedupSettings(Settings, frozen=True):
    """Settings of `speedup`: what is compared with, `against` or `own`, and one of three ways from speed to points.

    against: the variant whose reference kernel is the baseline; the check's own variant asks whether the kernel is as
      good as the instructor's.  own: the student's own kernel of the lab's first variant is.
    full: the speedup that earns all points.  minimum: the speedup that earns the first; between them linear.
    time, classes: in place of these.
    predicted: a predicted time decides where none was measured; where its interval holds `minimum`, the teacher does.
    """

    against: str = ""
    full: float = 0.0
    minimum: float = 1.0
    predicted: bool = False
    own: bool = False
    time: TimeScale | None = None
    classes: tuple[SpeedClass, ...] = ()

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The speedups, ascending, at which noise could change a verdict or a step of the points."""
        if self.classes:
            return tuple(sorted(one.least for one in self.classes))
        return (1 / self.time.none if self.time is not None else self.minimum,)

    @property
    def most(self) -> float:
        """The speedup from which there is no more to be had."""
        return self.thresholds[-1] if self.classes else 1 / self.time.full if self.time is not None else self.full


Use = Literal[
    "shared_memory",
    "constant_memory",
    "textures",
    "shuffles",
    "votes",
    "atomics",
    "float_atomics",
    "tensor_cores",
    "several_launches",
    "streams",
    "library",
]
"""What a solution may be asked to use: of the machine, or of the runtime."""
OF_RUNTIME: tuple[Use, ...] = ("several_launches", "streams", "library")
"""Those of the above that the host does and no kernel."""


class UsesSettings(Settings, frozen=True):
    """Settings of `uses`: what has to be used in some run, and what must not be in any."""

    must: tuple[Use, ...] = ()
    must_not: tuple[Use, ...] = ()


class AtomicsSettings(Settings, frozen=True):
    """Settings of `atomics`; null: any number.

    max_lanes: of a warp's request, at one address.
    max_global, max_shared: atomic operations of threads for each element of the lab's largest array, on global and on
    shared memory: a number or a formula of the sizes.
    """

    max_lanes: int | None = None
    max_global: float | str | None = None
    max_shared: float | str | None = None


class DivergenceSettings(Settings, frozen=True):
    """Settings of `divergence`.

    max_idle: the share of lanes that may stand idle, over all that is executed.
    unless_below: for each element of the lab's largest array, a number or a formula of the sizes: whose lanes, idle and
    working together, are so few passes with any share, having left out work in which no lane would be idle.
    """

    max_idle: float
    unless_below: float | str | None = None


Device = Literal["a100", "h100", "h200", "rtx2080ti", "rtx3060", "rtx4060", "rtx4090", "t4"]
"""Devices that `grader.programs.runtime.devices` describes."""


class OccupancySettings(Settings, frozen=True):
    """Settings of `occupancy`: `min_share`: of the warps that a multiprocessor of `device` can hold, 0 to 1."""

    min_share: float
    device: Device


class WorkSettings(Settings, frozen=True):
    """Settings of `work`.

    of: what is counted: "additions" of data, or "instructions" of threads.
    max_per_element: for each element of the lab's largest array at the observed size, a number or a formula of the
    sizes; null: any number.
    growth: a formula that the count may grow with from the smallest of the exact sizes to the largest; "": any way.
    slack: how many times more than that it may grow.
    """

    of: Literal["additions", "instructions"] = "additions"
    max_per_element: float | str | None = None
    growth: str = ""
    slack: float = 1.1


class LaunchesSettings(Settings, frozen=True):
    """Settings of `launches`: the most that one call may do, each a number or a formula of the sizes; null: any.

    max_launches: kernels launched.  max_allocated, max_copied: bytes, of all memory for the device, and copied between
    host and device.  max_waits: times that the host waits for the device, a stream or an event, other than by a copy.
    """

    max_launches: int | str | None = None
    max_allocated: int | str | None = None
    max_copied: int | str | None = None
    max_waits: int | str | None = None


class OverlapSettings(Settings, frozen=True):
    """Settings of `overlap`.

    of: "copies": the share of the bytes copied between host and device that may move while a kernel runs; "kernels":
    the share of launches that may run beside another one.
    min_share: how much that has to be, above 0 and at most 1.
    """

    min_share: float
    of: Literal["copies", "kernels"] = "copies"


_SHOWN_AFTER = re.compile(r"after (\d{4}-\d\d-\d\d)(?: (\d\d:\d\d))?(?: ([A-Za-z_+\-/]+))?")
"""A day, or a minute of it, and a time zone by its name; without one that of the machine that grades."""


def shown_from(text: str) -> datetime | None:
    """When what is shown after a day or a minute is shown: when that is over; None where it is no time."""
    match = _SHOWN_AFTER.fullmatch(text)
    if match is None:
        return None
    day, minute, zone = match.groups()
    try:
        time = datetime.fromisoformat(f"{day} {minute or '00:00'}") + (timedelta() if minute else timedelta(days=1))
        return time.replace(tzinfo=ZoneInfo(zone)) if zone else time.astimezone()
    except (ValueError, OSError, OverflowError, LookupError):
        return None


View = Literal["teacher", "students", "service"]
"""Who reads a result: the teacher sees all of a lab's tests; a service hides what students are not to see by itself."""


class CaseSettings(Settings, frozen=True):
    """One of a variant's tests: a case with points of its own, that no other check looks at.

    sizes: of the case.  values: of scalars, where it sets them.  seed: of its data; None: the lab's.
    inputs: the oracle's function that makes its data.
    shown: to students, "open": all of it; "name": whether it is passed; "later": nothing before `until`.
    about: what a student reads where it is not passed, by language; {}: nothing more than what was found.
    """

    sizes: Mapping[str, int]
    values: Mapping[str, float]
    seed: int | None = None
    inputs: str = "inputs"
    shown: Literal["open", "name", "later"] = "open"
    until: datetime | None = None
    about: Mapping[str, str] = {}

    @property
    def is_later(self) -> bool:
        """Whether students are not to know yet what comes of it."""
        return self.until is not None and datetime.now(self.until.tzinfo) < self.until

    def is_secret(self, view: View) -> bool:
        """Whether it is not even run, since students read what comes of it."""
        return view == "students" and self.is_later

    def is_sealed(self, view: View) -> bool:
        """Whether what it is made of may not be told."""
        return view != "teacher" and (self.shown == "name" or self.is_later)

    def is_hidden(self, view: View) -> bool:
        """Whether a service that shows a result to students has to leave it out."""
        return self.is_later or (view == "teacher" and self.shown == "name")


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A check that lab files can ask for.

    implied: whether every variant has it, with no points where the lab file gives none: others rest on it.
    needs: checks that must not have failed, or this one is not run and its points wait.
    credit_needs: checks that must not have failed for a pass to count; a fault is reported all the same.
    """

    name: str
    settings: type[Settings] = Settings
    needs: tuple[str, ...] = ()
    credit_needs: tuple[str, ...] = ()
    implied: bool = False


CHECKS = {
    kind.name: kind
    for kind in (
        CheckKind("present", implied=True),
        CheckKind("compiles", needs=("present",), implied=True),
        CheckKind("launch", needs=("present",), implied=True),
        CheckKind("correct", CorrectSettings, needs=("compiles",), implied=True),
        CheckKind("ragged_sizes", needs=("correct",)),
        CheckKind("tests", CaseSettings, needs=("compiles",)),
        CheckKind("memory_safety", needs=("compiles",), credit_needs=("correct",)),
        CheckKind("races", RacesSettings, needs=("compiles",), credit_needs=("correct",)),
        CheckKind("technique", TechniqueSettings, needs=("correct",)),
        CheckKind("coalescing", CoalescingSettings, needs=("correct",)),
        CheckKind("bank_conflicts", BankConflictSettings, needs=("correct", "technique")),
        CheckKind("uses", UsesSettings, needs=("correct",)),
        CheckKind("atomics", AtomicsSettings, needs=("correct",)),
        CheckKind("divergence", DivergenceSettings, needs=("correct",)),
        CheckKind("work", WorkSettings, needs=("correct",)),
        CheckKind("occupancy", OccupancySettings, needs=("correct",)),
        CheckKind("launches", LaunchesSettings, needs=("correct",)),
        CheckKind("overlap", OverlapSettings, needs=("correct",)),
        CheckKind("deterministic", needs=("correct", "races")),
        CheckKind("host_code", HostCodeSettings, needs=("present",)),
        CheckKind("speedup", SpeedupSettings, needs=("correct",)),
    )
}
"""All checks by name, in the order in which they run and are shown: what a check depends on comes before it."""

TESTS = "tests"
"""Its checks are called `tests.<name>`, one for each test of a variant."""


def kind_of(check: str) -> CheckKind:
    """What a check of a lab is, by its name."""
    return CHECKS[check.partition(".")[0]]


OF_FUNCTIONS = tuple(name for name in CHECKS if name not in ("technique", TESTS))
"""Those of labs that ask for a function: what goes through shared memory on its way there, nobody follows yet."""
OF_PROGRAMS = tuple(name for name in OF_FUNCTIONS if name != "deterministic")
"""Those of labs that ask for a program, which rounds what it prints."""

OF_KERNELS = tuple(name for name in CHECKS if name not in ("launches", "overlap", TESTS))
"""Those of labs that ask for kernels: the grader launches these, so that nothing can be said of how that is done."""

OF_INTERFACES = {"kernel": OF_KERNELS, "function": OF_FUNCTIONS, "program": OF_PROGRAMS}

OF_WORK = frozenset({"uses", "atomics", "divergence", "work", "occupancy", "launches", "overlap", "deterministic"})
"""Those for which it has to be counted what is executed, and kept what the host asks of the device."""

SPACES = {"bank_conflicts": "shared", "coalescing": "global"}
"""The memory that checks look at which judge a warp's accesses one by one."""
