"""The emulator as a backend: exact results, counters and hazards on any machine, no time.

A counter of launches may be compared with any number, and no number of launches that are really made reaches all of
them.  So a program's memory is looked at: a number that every launch changes by the same amount, or by the same factor,
is carried on to what it would be after many more.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

import numpy as np
import numpy.typing as npt

from grader.devices import OPT_IN_SHARED_BYTES, sentinel_byte
from grader.lab.compare import sentinel
from grader.launching import backend
from grader.launching.programs import RememberedLaunches
from grader.measured import BackendName
from grader.message import Message, msg, verbatim
from grader.ptx.frontend.nodes import Module
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import MAX_STATIC_SHARED, Launch, launch, linked
from grader.ptx.limits import (
    ISSUED_PER_LAUNCH,
    SECONDS_PER_LAUNCH,
    STEPS_AFTER_FAULT,
    STEPS_PER_LAUNCH,
    DeviceTrap,
    InstructionError,
    LaunchError,
    LimitExceeded,
    Limits,
    PtxError,
    PtxSyntaxError,
    UnsupportedInstruction,
)
from grader.ptx.lowering.program import Part, part_of, program_of
from grader.ptx.memory import Buffer, Device, MemoryArray
from grader.ptx.observers.interface import Enough, Observer
from grader.ptx.observers.provenance import AlteredShared, Provenance
from grader.ptx.observers.warp_steps import WarpFollower
from grader.ptx.records import Hazard
from grader.ptx.values import Array

LOOKS = 4
_SMALLEST = 1e-30
_ROUNDING = 1e-3


class Variables:
    """The variables of a program that live on from launch to launch; `look` is called after each launch."""

    def __init__(self, arrays: Iterable[MemoryArray]) -> None:
        self._arrays = list(arrays)
        self._looks: list[list[Array]] = []

    def look(self) -> None:
        """Remember what they hold; what has not changed since the last look is the same array, not a copy of it."""
        last = self._looks[-1] if self._looks else [np.empty(0, np.uint32)] * len(self._arrays)
        current = map(_whole_words, self._arrays)
        looks = [old if np.array_equal(old, new) else new.copy() for old, new in zip(last, current, strict=True)]
        self._looks = [*self._looks[1 - LOOKS :], looks]

    @property
    def have_moved(self) -> bool:
        """Whether any of the launches after the first look has changed something."""
        return any(
            a is not b and not np.array_equal(a, b)
            for other in self._looks[1:]
            for a, b in zip(self._looks[0], other, strict=True)
        )

    def age(self, launches: int) -> bool:
        """Make of each number what it would be after so many more launches; False where none changes evenly."""
        if len(self._looks) < LOOKS:
            return False
        aged = False
        for number, array in enumerate(self._arrays):
            past = [looks[number] for looks in self._looks]
            if past[0] is past[1]:
                continue
            current = _whole_words(array)
            # A variable of eight bytes is one number, not two.
            wholes, numbers = (np.uint64, np.float64) if len(current) == 2 else (np.uint32, np.float32)
            # Only what has changed can go on changing: an array of 64 MiB of which nothing moves costs a comparison.
            moved = np.flatnonzero(past[0].view(wholes) != past[1].view(wholes))
            if not len(moved):
                continue
            looks = np.stack([look.view(wholes)[moved] for look in past])
            later = current.view(wholes)[moved]
            aged |= _age(looks, looks.view(numbers), later, later.view(numbers), launches)
            current.view(wholes)[moved] = later
        return aged


def _whole_words(array: MemoryArray) -> Array:
    """(words,) uint32: what a variable holds; its storage goes on beyond its end."""
    words: Array = array.data[: min(-(-array.size // 4), len(array.data) // 4) * 4].view(np.uint32)
    return words


def _age(looks: Array, past_numbers: Array, wholes: Array, numbers: Array, launches: int) -> bool:
    """Extrapolate `wholes`, and `numbers` in the same memory, from `looks` (looks, values), their past."""
    counts, counted = _carried_on(looks, launches)
    # A whole number that counts is far below any normal floating-point number.
    normal = np.abs(past_numbers[-1]) > _SMALLEST
    grows, grown = _carried_on(past_numbers, launches)
    grows &= normal
    rises, risen = _raised(past_numbers, launches)
    rises &= normal & ~grows & ~counts
    wholes[counts] = counted[counts]
    numbers[grows] = grown[grows]
    numbers[rises] = risen[rises]
    return bool((counts | grows | rises).any())


def _carried_on(looks: Array, launches: int) -> tuple[Array, Array]:
    """Return which values of (looks, values) change by the same amount each time, and what they come to."""
    with np.errstate(all="ignore"):
        steps = np.diff(looks, axis=0)
        return (steps[0] != 0) & _same(steps), looks[-1] + steps[0] * looks.dtype.type(launches)


def _raised(looks: Array, launches: int) -> tuple[Array, Array]:
    """Return which numbers change by the same factor each time, and what they come to."""
    with np.errstate(all="ignore"):
        factors = looks[1:] / looks[:-1]
        return (factors[0] != 1) & _same(factors), looks[-1] * factors[0] ** looks.dtype.type(launches)


def _same(rows: Array) -> Array:
    """Return (values,) whether all rows are the same, for floats within rounding."""
    allowed = _ROUNDING * np.abs(rows[0]) if rows.dtype.kind == "f" else np.zeros_like(rows[0])
    same: Array = (np.where(rows > rows[0], rows - rows[0], rows[0] - rows) <= allowed).all(axis=0)
    return same


INSTRUCTIONS_BEFORE = 20_000_000
"""Thread-instructions of the launches made ahead, together: none is begun beyond that."""

INSTRUCTIONS_PER_TRACE = 20_000_000
"""Traced launches are small, and there are several; where a warp is followed, a part of the launch is enough."""


class Emulator:
    """Runs programs in PTX, each parsed once.

    remembered: launches that need not be made again; None: every one is made.
    """

    def __init__(self, remembered: RememberedLaunches | None = None) -> None:
        self._remembered = remembered
        self._programs: dict[str, Module | backend.LaunchOutcome] = {}
        self._parts: dict[tuple[str, frozenset[str]], Part] = {}
        self._launched: Counter[bytes] = Counter()

    @property
    def name(self) -> BackendName:
        return "emulator"

    def run(self, code: backend.Code, request: backend.LaunchRequest) -> backend.LaunchOutcome:
        """Run one launch on a device of its own, so that no launch sees what another left behind."""
        if code.key not in self._programs:
            self._programs[code.key] = _opened(code.ptx)
        program = self._programs[code.key]
        if isinstance(program, backend.LaunchOutcome):
            return program
        # What the launch, and those before it, follow from.
        entries = frozenset((request.entry, *(earlier.entry for earlier in request.before)))
        if (code.key, entries) not in self._parts:
            self._parts[code.key, entries] = part_of(program, entries)
        part = self._parts[code.key, entries]
        self._launched[part.content] += 1
        number = self._launched[part.content]
        kept = None if self._remembered is None or self._remembered.is_ended else self._remembered
        remembered = kept.get(part, number, request) if kept is not None else None
        if remembered is not None:
            return remembered
        # Addresses and clocks are the same in every grading of a kernel, and others in each of its launches.
        outcome = _Launches(part.module, Device(_poison(request), part.seed + number)).run(request)
        if kept is not None:
            kept.put(part, number, request, outcome)
        return outcome


def _opened(ptx: str) -> Module | backend.LaunchOutcome:
    """Parse a program; an outcome, for every launch of it, where the emulator cannot read it."""
    try:
        return parse(ptx)
    except UnsupportedInstruction as error:
        return backend.LaunchOutcome("unsupported", reason="no_instruction", said=verbatim(str(error)), line=error.line)
    except PtxSyntaxError as error:
        # Ours, in inline assembly too: what is no PTX the assembler has refused before.
        message = msg("launches.unreadable_ptx", reason=str(error))
        return backend.LaunchOutcome("unsupported", reason="unreadable", said=message)


def _number_bytes(request: backend.LaunchRequest) -> int:
    """Return the bytes of the floats that a kernel is handed; 0 where it is handed none."""
    types = (np.dtype(a.dtype) for a in request.arguments if isinstance(a, backend.BufferArgument))
    return next((t.itemsize for t in types if t.kind == "f"), 0)


def _of_one_file(hazard: Hazard) -> Hazard:
    """`hazard` without its file: it is one that was compiled, and who asked knows which."""
    return dataclasses.replace(hazard, file="")


def _refusal(error: LaunchError) -> Message:
    if error.kind == "shared_memory":
        return msg("launches.shared_bytes", bytes=error.got, limit=error.limit)
    if error.kind == "cooperative":
        return msg("launches.cooperative", blocks=error.got, limit=error.limit)
    if error.kind == "threads":
        return msg("launches.threads", threads=error.got, limit=error.limit)
    return verbatim(str(error))


def _digest(outputs: Mapping[str, npt.NDArray[np.generic]]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name, array in outputs.items():
        digest.update(name.encode())
        digest.update(array.tobytes())
    return digest.digest()


class _Launches:
    def __init__(self, module: Module, device: Device) -> None:
        self._module = module
        self._device = device

    def run(self, request: backend.LaunchRequest) -> backend.LaunchOutcome:
        """One launch, after those that are to come before it."""
        device = self._device
        if not request.before:
            return self._launch(request)
        variables = Variables(linked(self._module, device).variables.values())
        outputs: dict[bytes, Mapping[str, npt.NDArray[np.generic]]] = {}
        left = INSTRUCTIONS_BEFORE
        for number, earlier in enumerate(request.before):
            outcome = self._launch(earlier)
            if outcome.status != "ok":
                return outcome
            outputs.setdefault(_digest(outcome.outputs), outcome.outputs)
            left -= outcome.thread_instructions or 0
            if left < 0:
                break
            linked(self._module, device).reset(request.reset)
            # A long row of launches is not looked at to its end: variables may be large.
            if request.age or number < LOOKS:
                variables.look()
        if request.age and not variables.age(request.age):
            return backend.LaunchOutcome("unsupported", reason=backend.NO_AGE)
        outcome = self._launch(request)
        return dataclasses.replace(outcome, earlier=backend.Earlier(tuple(outputs.values()), variables.have_moved))

    def _launch(self, request: backend.LaunchRequest) -> backend.LaunchOutcome:
        device = self._device
        buffers = {}
        before: dict[str, npt.NDArray[np.generic]] = {}
        arguments: list[Buffer | np.generic | bytes] = []
        for argument in request.arguments:
            if isinstance(argument, backend.BufferArgument):
                content = sentinel(argument.shape, argument.dtype) if argument.initial is None else argument.initial
                written = argument.initial is not None
                buffers[argument.name] = device.buffer(argument.name, content, initialised=written)
                before[argument.name] = content
                handed = buffers[argument.name]
                first = argument.start * np.dtype(argument.dtype).itemsize
                arguments.append(np.uint64(handed.address + first) if first else handed)
            else:
                arguments.append(argument.converted())
        history = Provenance(self._module) if request.trace else None
        observers: list[Observer] = [history] if history else []
        if request.altered:
            observers.append(AlteredShared(_number_bytes(request)))
        follower = WarpFollower(request.followed)
        if request.followed:
            observers.append(follower)
        is_short = history or request.followed
        instructions = request.instructions or (INSTRUCTIONS_PER_TRACE if is_short else backend.INSTRUCTIONS_PER_LAUNCH)
        issued = min(ISSUED_PER_LAUNCH, instructions)
        limits = Limits(instructions, issued, STEPS_PER_LAUNCH, STEPS_AFTER_FAULT, SECONDS_PER_LAUNCH)
        try:
            configuration = Launch(
                request.entry,
                request.grid,
                request.block,
                arguments,
                device=device,
                shared_bytes=request.shared_bytes,
                # Only dynamic arrays can make use of it: a static one above 48 KiB does not pass the assembler.
                max_shared_bytes=OPT_IN_SHARED_BYTES if request.shared_bytes else MAX_STATIC_SHARED,
                cooperative=request.cooperative,
                observe=request.observe,
                observers=observers,
                limits=limits,
                counts_work=request.counts_work,
                order=request.order,
            )
            report = launch(self._module, configuration)
        except InstructionError as error:
            return backend.LaunchOutcome(
                "unsupported", reason="no_instruction", said=verbatim(str(error)), line=error.line
            )
        except LaunchError as error:
            return backend.LaunchOutcome("impossible", reason=error.kind, said=_refusal(error))
        except LimitExceeded as error:
            if error.kind == "time":
                message = msg("launches.emulator_slow", seconds=limits.seconds)
                return backend.LaunchOutcome("unsupported", reason="slow", said=message, line=error.line)
            is_given_up = error.kind == "steps"
            return backend.LaunchOutcome(
                "unsupported" if is_given_up else "fault",
                hazards=tuple(_of_one_file(h) for h in error.hazards) if is_given_up else (),
                reason=error.kind,
                said=msg("launches.emulator_steps") if is_given_up else None,
                line=error.line,
                steps=follower.steps(),
                issued=error.issued,
            )
        except Enough:
            return backend.LaunchOutcome("ok", steps=follower.steps())
        except DeviceTrap as error:
            return backend.LaunchOutcome("fault", reason=error.kind, line=error.line)
        except PtxError as error:
            return backend.LaunchOutcome("unsupported", reason="emulator", said=verbatim(str(error)))
        except Exception as error:
            # A slip of the emulator must cost this kernel's student nothing, and the other kernels not their verdict.
            message = msg("launches.emulator_failed", kind=type(error).__name__, text=str(error))
            return backend.LaunchOutcome("unsupported", reason="emulator", said=message)
        outputs = {}
        for argument in request.arguments:
            if isinstance(argument, backend.BufferArgument):
                array = buffers[argument.name].read(argument.dtype, argument.shape)
                if argument.is_output or not np.array_equal(array.view(np.uint8), before[argument.name].view(np.uint8)):
                    outputs[argument.name] = array
        for counter in report.counters.by_line:
            counter.file = ""
        for row in report.work:
            row.file = ""
        return backend.LaunchOutcome(
            "ok",
            outputs=outputs,
            counters=report.counters if request.observe else None,
            hazards=tuple(map(_of_one_file, report.hazards)),
            remarks=tuple(report.remarks),
            thread_instructions=report.thread_instructions,
            printf=report.printf,
            trace=history,
            state=program_of(self._module).state(request.entry),
            issued=report.issued,
            steps=follower.steps(),
            work=tuple(report.work),
            shared_bytes=report.shared_bytes,
        )


def _poison(request: backend.LaunchRequest) -> int:
    """Return the byte that untyped memory holds, shared memory above all: NaN where the kernel is handed floats."""
    types = [argument.dtype for argument in request.arguments if isinstance(argument, backend.BufferArgument)]
    return sentinel_byte(next((t for t in types if np.dtype(t).kind == "f"), types[0] if types else "float32"))
