"""The emulated device of a running program: kernels loaded, and run in its memory.

A launch that finds memory as at an earlier one of its kernel is not executed: what that left is put there again.
Benchmarks launch a kernel a hundred times to measure it.  The same code with the same arguments, begun with the same
bytes everywhere, does the same.  Of a kernel's first launch it is kept what memory was and what changed, where that is
little beside running it; from the second on memory is known by digests.  What an array holds is looked at once; its
digest is good until a call of the host's or a kernel writes there.

Arrays may lie elsewhere than before, as they do where each repetition allocates its own: then pointers among the
arguments are known by what they point to, and no address may be in memory or have been printed.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.programs.device import Asked, Device, Outcome, TooSlow, parts_of
from grader.programs.device_linking import own_name
from grader.programs.device_memory import PAGE, Allocation, DeviceMemory
from grader.programs.records import NO_LIMIT
from grader.programs.sandbox.guest import Meter
from grader.ptx.launch import Launch, launch, linked
from grader.ptx.limits import (
    BATCH_LANES,
    STEPS_AFTER_FAULT,
    Budget,
    DeviceTrap,
    LaunchError,
    LimitExceeded,
    Limits,
    PtxError,
)
from grader.ptx.memory import GLOBAL_SPACING, MemoryArray
from grader.ptx.native.thread_runner import charge_of
from grader.ptx.observers.interface import Observer, Scene

OBSERVED_THREADS = 1 << 20
OBSERVED_BATCHES = 32
"""Batches of blocks that are watched of a larger launch, spread over its grid."""
LATER_BATCHES = 2
"""The same, of a launch after `RunLimits.watched_instructions` have been watched."""

PRINTED_BYTES = 1 << 20
"""What one launch may print: as much as the buffer of a GPU holds, which has it in another form."""

_CLOCK = re.compile(r"%(?:clock|globaltimer)")


class _Projection(Observer):
    """Gives up on a launch once the blocks that have run show that all of them will take too much."""

    def __init__(self, limit: int, charge: Callable[[], int], blocks: int) -> None:
        self._limit = limit
        self._charge = charge
        self._blocks = blocks
        self._budgets: list[Budget] = []
        """Budgets of the launch, and of those that its kernels made."""

    def begin(self, scene: Scene) -> None:
        """Before each batch of blocks."""
        if not self._budgets or self._budgets[-1] is not scene.budget:
            self._budgets.append(scene.budget)
        if len(self._budgets) > 1:
            return
        used, done = scene.budget.charged, scene.geometry.first_block
        if (
            done
            and used * self._blocks > self._limit * done
            and used * self._blocks > self._limit * self._charge() * done
        ):
            raise LimitExceeded("instructions", 0, "projected")

    def printed(self) -> str:
        """Return what device code had printed until the launch was ended."""
        return "".join(text for budget in self._budgets for text in budget.printf)


class EmulatedDevice(Device):
    """One emulated device: its memory, and kernels that are run in it at once.  Its time is a model's.

    Arguments as `DeviceMemory` takes them.
    """

    def __init__(self, meter: Meter, executes: bool = True) -> None:
        super().__init__()
        self.memory: DeviceMemory = DeviceMemory(meter, executes)
        self._device = self.memory.device
        self._clocked: set[int] = set()
        self._watched_instructions = 0
        self._repeats = Repeats(self.memory, meter)
        self.textures = self._device.textures

    def load(self, unit: int, ptx: str, compiler: str, cubin: bytes = b"") -> None:
        super().load(unit, ptx, compiler)
        if _CLOCK.search(ptx):
            self._clocked.add(unit)

    def again(self, unit: int, launch: Hashable, execute: Callable[[], Outcome]) -> Outcome:
        # Where device code reads a clock, a kernel need not do the same twice.
        return execute() if unit in self._clocked else self._repeats.run(launch, execute)

    def variable(self, unit: int, name: str) -> Allocation | None:
        for module in self._modules[unit].values():
            variables = linked(module, self._device).variables
            wanted, suffix = parts_of(name), own_name("", unit)
            own = [key for key in variables if key.endswith(suffix) and parts_of(key.removesuffix(suffix)) == wanted]
            variable = variables[own[0]] if own else variables.get(name)
            if variable is None:
                similar = [key for key in variables if parts_of(key) == wanted]
                variable = variables[similar[0]] if len(similar) == 1 else None
            if variable is not None:
                return self._variable(name, variable)
        return None

    def _variable(self, name: str, array: MemoryArray) -> Allocation:
        allocation = self.memory.live.get(array.base)
        return allocation or self.memory.keep(Allocation(name, array.base, array.size, "symbol", 0, "", array=array))

    def run(self, asked: Asked) -> Outcome:
        grid, block, bounds, left, observe = asked.grid, asked.block, asked.bounds, asked.left, asked.observe
        threads = grid[0] * grid[1] * grid[2] * block[0] * block[1] * block[2]
        limit = min(bounds.launch_instructions, left)
        # No kernel that does anything takes fewer.
        if threads * 8 > limit:
            return Outcome("too_large")
        before = self.memory.snapshot() if bounds.passes_over and threads * 200 > limit else None
        observe = observe and (threads * 200 <= limit or not bounds.passes_over)
        limits = Limits(limit, bounds.launch_issued, asked.steps_left, bounds.steps_after_fault, bounds.launch_seconds)
        if not bounds.passes_over:
            limits.printf_bytes = PRINTED_BYTES
        if bounds.steps_after_fault == NO_LIMIT:
            # What a device would have ended leaves nothing for the program to see.
            limits.steps_after_fault, limits.page_bytes = STEPS_AFTER_FAULT, PAGE
        batches = OBSERVED_BATCHES if threads > OBSERVED_THREADS else None
        watchable = bounds.watched_instructions - self._watched_instructions
        if watchable < 0 and threads > BATCH_LANES:
            batches = LATER_BATCHES
        apart = not bounds.passes_over and not asked.at_host
        # What is not watched may be charged less than the first blocks are.
        charge = (lambda: charge_of(self.module(asked.unit, asked.entry), asked.entry, block)) if apart else lambda: 2
        projection = _Projection(limit, charge, grid[0] * grid[1] * grid[2])
        try:
            what = Launch(
                asked.entry,
                grid,
                block,
                list(asked.arguments),
                device=self._device,
                shared_bytes=asked.shared_bytes,
                max_shared_bytes=asked.max_shared_bytes,
                observe=observe,
                observed_batches=batches,
                observed_instructions=max(watchable, 0),
                observers=[projection],
                cooperative=asked.cooperative,
                limits=limits,
                counts_work=bounds.counts_work,
                order=bounds.order,
                unwatched_apart=apart,
            )
            module = self.module(asked.unit, asked.entry)
            file = module.functions[asked.entry].location.file
            with self.memory.at_host_addresses() if asked.at_host else nullcontext():
                report = launch(module, what)
        except LaunchError as error:
            return Outcome("impossible", str(error))
        except LimitExceeded as error:
            if error.kind in ("endless", "deadlock"):
                text = projection.printed()
                return Outcome("endless", error.kind, error.line, error.hazards, printf=text, file=file)
            if error.kind == "time":
                if bounds.passes_over:
                    raise TooSlow(limits.seconds) from error
                return Outcome("too_slow")
            self.memory.restore(before)
            if error.kind == "steps":
                return Outcome("too_many_steps", line=error.line, hazards=error.hazards, steps=error.steps, file=file)
            return Outcome("too_large", line=error.line, thread_instructions=limit, charged=limit, file=file)
        except DeviceTrap as error:
            return Outcome(error.kind, str(error), error.line, printf=projection.printed(), file=file)
        except PtxError as error:
            return Outcome("unsupported", str(error))
        if observe:
            counted = report.counters
            share = counted.sampled_blocks / max(counted.total_blocks, 1)
            self._watched_instructions += round(report.thread_instructions * share)
        return Outcome(
            "ran",
            hazards=tuple(report.hazards),
            remarks=tuple(report.remarks),
            counters=report.counters if observe else None,
            thread_instructions=report.thread_instructions,
            charged=report.charged,
            steps=report.steps,
            printf=report.printf,
            shared_bytes=report.shared_bytes,
            work=tuple(report.work),
            file=file,
        )


# -- launches that are not executed ---------------------------------------------------------------------------

MAX_KEPT_BYTES = 512 << 20
"""Size of all results of launches kept; the least recently used go first."""
TRIES = 6
"""A kernel that so many times in a row found memory as at none of its launches is looked at no more."""
INSTRUCTIONS_PER_BYTE = 0.5
"""Looking at a byte must be little beside running the launch, or all launches since the last look: what is known once
costs nothing from then on, as nothing has changed but what was put there."""
SHORT_TRIES = 3
"""Looks at memory between launches that take less than a look; each in vain takes four times as much to have run."""
COPIED_PER_INSTRUCTION = 0.25
"""Bytes that are copied before first launches of kernels, of which nobody knows what they will take, for each
instruction that kernels have taken so far."""
_CHUNK_WORDS = 1 << 16


@dataclass(frozen=True, slots=True)
class _Known:
    """The contents of an array: its bytes, which of them are valid (None: all, or unknown), and the digest of both."""

    data: Any
    valid: Any
    digest: bytes = b""

    def is_in(self, array: MemoryArray) -> bool:
        """Whether an array is that still."""
        if not np.array_equal(self.data, array.data):
            return False
        valid = _valid(array)
        return valid is None if self.valid is None else valid is not None and np.array_equal(self.valid, valid)


@dataclass(slots=True)
class _Left:
    """The effect of a launch: its outcome, and by number the contents of the arrays that it changed."""

    outcome: Outcome
    changed: dict[int, _Known]
    size: int


@dataclass(frozen=True, slots=True)
class _Key:
    """What decides what a launch does, memory's contents apart.

    launch: arguments among it as they are.  moved: the same with pointers by what they point to.
    places, names: of each array its address; what it is, wherever it lies.
    """

    launch: Hashable
    moved: Hashable
    places: tuple[int, ...]
    names: tuple[Hashable, ...]


@dataclass(frozen=True, slots=True)
class _First:
    """A kernel's first launch: the contents of all arrays before it, and its effect."""

    key: _Key
    before: list[_Known]
    left: _Left


@dataclass(slots=True)
class _Kernel:
    """Counts of launches of one kernel with the same arguments.

    instructions, since: of the last one that was executed; of all since memory was looked at.
    """

    instructions: int = 0
    since: int = 0
    launches: int = 0
    misses: int = 0

    def is_worth_a_look(self, size: int) -> bool:
        """Whether so many bytes of memory are to be looked at before the next launch."""
        if self.instructions >= size * INSTRUCTIONS_PER_BYTE:
            return self.misses < TRIES
        return self.misses < SHORT_TRIES and self.since >= size * INSTRUCTIONS_PER_BYTE * (1 << 2 * self.misses)


class Repeats:
    """Launches of one run."""

    def __init__(self, memory: DeviceMemory, meter: Meter) -> None:
        self._memory = memory
        self._meter = meter
        self._kernels: dict[Hashable, _Kernel] = {}
        self._firsts: OrderedDict[Hashable, _First] = OrderedDict()
        self._left: OrderedDict[Hashable, _Left] = OrderedDict()
        self._elsewhere: dict[Hashable, Hashable] = {}
        """Of what a launch left, by a key that does not say where arrays lie, the one that does."""
        self._plain: set[bytes] = set()
        """Digests of contents that hold no address."""
        self._kept_bytes = 0
        self._copied_bytes = 0
        self._executed = 0

    def run(self, launch: Hashable, execute: Callable[[], Outcome]) -> Outcome:
        """Execute a launch, or do what it did before.

        launch: what besides memory decides what it does, nothing else may; arguments in it are bytes.
        """
        arrays = self._arrays()
        key = self._key(launch, arrays)
        kernel = self._kernels.setdefault(key.moved, _Kernel())
        kernel.launches += 1
        size = sum(array.data.size for array in arrays)
        device = self._memory.device
        if device.heap is not None or device.launch_arguments is not None:
            return self._execute(kernel, execute)
        if kernel.launches == 1:
            return self._run_first(kernel, key, arrays, size, execute)
        is_worth = kernel.is_worth_a_look(size)
        if not is_worth and any(array.digest is None for array in arrays):
            return self._execute(kernel, execute)
        if is_worth:
            self._look_at_first(key)
        digests = tuple(self._digest(array) for array in arrays)
        left = self._find(key, digests, arrays)
        if left is not None:
            kernel.misses = 0
            for number, kept in left.changed.items():
                _put(arrays[number], kept)
            return left.outcome
        if not is_worth:
            return self._execute(kernel, execute)
        kernel.misses += 1
        kernel.since = 0
        outcome = self._execute(kernel, execute)
        if outcome.status == "ran" and len(self._arrays()) == len(arrays):
            changed = {n: array for n, array in enumerate(arrays) if digests[n] != self._digest(array)}
            left_bytes = sum(2 * array.data.size for array in changed.values())
            if self._has_room(left_bytes):
                now = {n: _Known(*_copies(array), self._digest(array)) for n, array in changed.items()}
                self._keep(key, digests, _Left(outcome, now, left_bytes))
        return outcome

    def _run_first(
        self, kernel: _Kernel, key: _Key, arrays: list[MemoryArray], size: int, execute: Callable[[], Outcome]
    ) -> Outcome:
        """Execute a first launch, and keep its effect where that is worth it."""
        may_copy = self._copied_bytes + size <= MAX_KEPT_BYTES // 2 + COPIED_PER_INSTRUCTION * self._executed
        if not may_copy or 2 * size > MAX_KEPT_BYTES:
            return self._execute(kernel, execute)
        self._copied_bytes += size
        self._meter.charge(size)
        before = [_Known(*_copies(array)) for array in arrays]
        outcome = self._execute(kernel, execute)
        is_worth = outcome.status == "ran" and kernel.instructions >= size * INSTRUCTIONS_PER_BYTE
        if is_worth and len(self._arrays()) == len(arrays) and self._has_room(2 * size):
            pairs = [(n, array) for n, array in enumerate(arrays) if not before[n].is_in(array)]
            changed = {n: _Known(*_copies(array)) for n, array in pairs}
            self._firsts[key.moved] = _First(key, before, _Left(outcome, changed, 2 * size))
            self._kept_bytes += 2 * size
        return outcome

    def _look_at_first(self, key: _Key) -> None:
        """File a kernel's first launch under digests, like all others, now that there is a second."""
        first = self._firsts.pop(key.moved, None)
        if first is None:
            return
        self._kept_bytes -= first.left.size
        digests = tuple(self._digest_of(kept.data, kept.valid) for kept in first.before)
        for number, kept in first.left.changed.items():
            first.left.changed[number] = _Known(kept.data, kept.valid, self._digest_of(kept.data, kept.valid))
        first.left.size = sum(2 * kept.data.size for kept in first.left.changed.values())
        self._keep(first.key, digests, first.left)

    def _execute(self, kept: _Kernel, execute: Callable[[], Outcome]) -> Outcome:
        outcome = execute()
        kept.instructions = outcome.charged
        kept.since += outcome.charged
        self._executed += outcome.charged
        return outcome

    def _key(self, launch: Hashable, arrays: list[MemoryArray]) -> _Key:
        names: list[Hashable] = []
        for array in arrays:
            allocation = self._memory.live.get(array.base)
            # What textures and the host know by its address stays.
            may_move = allocation is not None and allocation.kind == "device"
            names.append((array.name, None if may_move else array.base))
        parts = launch if isinstance(launch, tuple) else (launch,)
        moved = tuple(_by_array(part, arrays) if isinstance(part, bytes) else part for part in parts)
        return _Key(launch, moved, tuple(array.base for array in arrays), tuple(names))

    def _find(self, key: _Key, digests: tuple[bytes, ...], arrays: list[MemoryArray]) -> _Left | None:
        exact: Hashable | None = (key.launch, key.places, digests)
        if exact not in self._left:
            exact = self._elsewhere.get((key.moved, key.names, digests))
            left = self._left.get(exact)
            if left is None or left.outcome.printf:
                return None
            contents = [(d, array.data) for d, array in zip(digests, arrays, strict=True)]
            contents += [(kept.digest, kept.data) for kept in left.changed.values()]
            if not all(self._is_plain(digest, data) for digest, data in contents):
                return None
        self._left.move_to_end(exact)
        return self._left[exact]

    def _keep(self, key: _Key, digests: tuple[bytes, ...], left: _Left) -> None:
        exact = (key.launch, key.places, digests)
        self._left[exact] = left
        self._elsewhere[key.moved, key.names, digests] = exact
        self._kept_bytes += left.size

    def _has_room(self, size: int) -> bool:
        """Make room for so many bytes by dropping what was used least recently; whether they fit at all."""
        if size > MAX_KEPT_BYTES:
            return False
        while self._kept_bytes + size > MAX_KEPT_BYTES:
            gone = self._firsts.popitem(last=False)[1].left if self._firsts else self._left.popitem(last=False)[1]
            self._kept_bytes -= gone.size
        return True

    def _is_plain(self, digest: bytes, data: Any) -> bool:
        """Whether nothing in an array's contents looks like an address of the device."""
        if digest in self._plain:
            return True
        self._meter.charge(data.size)
        device, words = self._memory.device, data[: data.size // 8 * 8].view(np.uint64)
        origin, span = np.uint64(device.origin), np.uint64(len(device.arrays) << GLOBAL_SPACING)
        for start in range(0, len(words), _CHUNK_WORDS):
            if (words[start : start + _CHUNK_WORDS] - origin < span).any():
                return False
        self._plain.add(digest)
        return True

    def _digest(self, array: MemoryArray) -> bytes:
        if array.digest is None:
            array.digest = self._digest_of(array.data, array.valid)
        return array.digest

    def _digest_of(self, data: Any, valid: Any) -> bytes:
        self._meter.charge(data.size)
        is_whole = valid is None or bool(valid.min(initial=1))
        digest = hashlib.sha256(f"{data.size} {is_whole}".encode())
        digest.update(data.data)
        if not is_whole:
            digest.update(valid.data)
        return digest.digest()

    def _arrays(self) -> list[MemoryArray]:
        return list({id(array): array for array in self._memory.device.arrays if array is not None}.values())


def _by_array(argument: bytes, arrays: list[MemoryArray]) -> Hashable:
    """Return an argument with each address in it as the number of its array and an offset."""
    words: list[Hashable] = [argument[len(argument) // 8 * 8 :]]
    for (word,) in struct.iter_unpack("<Q", argument[: len(argument) // 8 * 8]):
        number = next((n for n, a in enumerate(arrays) if a.base <= word <= a.base + a.size), None)
        words.append(word if number is None else (number, word - arrays[number].base))
    return tuple(words)


def _copies(array: MemoryArray) -> tuple[Any, Any]:
    """Copy an array's bytes and which of them are valid (None: all, or unknown)."""
    valid = _valid(array)
    return array.data.copy(), None if valid is None else valid.copy()


def _valid(array: MemoryArray) -> Any:
    return None if array.valid is None or array.valid.min(initial=1) else array.valid


def _put(array: MemoryArray, kept: _Known) -> None:
    if array.digest == kept.digest:
        return
    array.data[:] = kept.data
    if array.valid is not None:
        array.valid[:] = 1 if kept.valid is None else kept.valid
    array.digest = kept.digest
