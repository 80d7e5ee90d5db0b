"""Launches that were made before from the same memory: what they left there is put there again, nothing is run.

Benchmarks launch a kernel a hundred times to measure it.  The same code with the same arguments, begun with the same
bytes everywhere, does the same: so from a kernel's second launch on it is kept what memory was and what changed.
What an array holds is looked at once; its digest is good until a call of the host's or a kernel may have written there.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from grader.programs.device import Outcome
from grader.programs.device_memory import DeviceMemory
from grader.programs.meter import Meter
from grader.ptx.memory import MemoryArray

MAX_KEPT_BYTES = 512 << 20
"""Of what launches left; what was used least recently goes first."""
TRIES = 6
"""A kernel that so many times in a row found memory as at none of its launches is looked at no more."""
INSTRUCTIONS_PER_BYTE = 0.5
"""Looking at a byte must be little beside running the launch."""


@dataclass(slots=True)
class _Kernel:
    """What is known of launches of one kernel with the same arguments."""

    instructions: int = 0
    launches: int = 0
    misses: int = 0


@dataclass(frozen=True, slots=True)
class _Left:
    """What a launch came to: its outcome, and of arrays that it changed where each lies, its bytes, which are valid,
    and the digest of both."""

    outcome: Outcome
    changed: tuple[tuple[int, Any, Any, bytes], ...]
    size: int


class Repeats:
    """Launches of one run."""

    def __init__(self, memory: DeviceMemory, meter: Meter) -> None:
        self._memory = memory
        self._meter = meter
        self._kernels: dict[Hashable, _Kernel] = {}
        self._left: OrderedDict[tuple[Hashable, bytes], _Left] = OrderedDict()
        self._kept_bytes = 0

    def run(self, launch: Hashable, execute: Callable[[], Outcome]) -> Outcome:
        """Execute a launch, or do what it did before.

        launch: what besides memory decides what it does; nothing else may.
        """
        known = self._kernels.setdefault(launch, _Kernel())
        known.launches += 1
        arrays = self._arrays()
        size = sum(array.data.size for array in arrays)
        is_worth = known.misses < TRIES and known.instructions >= size * INSTRUCTIONS_PER_BYTE
        if known.launches == 1 or not is_worth or self._memory.device.heap is not None:
            return self._execute(known, execute)
        before = {array.base: self._digest(array) for array in arrays}
        key = launch, hashlib.sha256(b"".join(before.values())).digest()
        left = self._left.get(key)
        if left is not None:
            known.misses = 0
            self._left.move_to_end(key)
            at = {array.base: array for array in arrays}
            for base, data, valid, digest in left.changed:
                array = at[base]
                if array.digest != digest:
                    array.data[:] = data
                    if valid is not None and array.valid is not None:
                        array.valid[:] = valid
                    array.digest = digest
            return left.outcome
        known.misses += 1
        outcome = self._execute(known, execute)
        if outcome.status == "ran" and len(self._arrays()) == len(arrays):
            self._keep(key, outcome, [array for array in arrays if before[array.base] != self._digest(array)])
        return outcome

    def _execute(self, known: _Kernel, execute: Callable[[], Outcome]) -> Outcome:
        outcome = execute()
        known.instructions = outcome.thread_instructions
        for array in self._arrays():
            array.digest = None
        return outcome

    def _digest(self, array: MemoryArray) -> bytes:
        """Of where an array lies and what is in it, and of which bytes anything wrote."""
        if array.digest is None:
            self._meter.charge(array.data.size)
            is_whole = array.valid is None or bool(array.valid.all())
            digest = hashlib.sha256(f"{array.base} {array.data.size} {is_whole}".encode())
            digest.update(array.data.data)
            if array.valid is not None and not is_whole:
                digest.update(array.valid.data)
            array.digest = digest.digest()
        return array.digest

    def _arrays(self) -> list[MemoryArray]:
        return list({id(array): array for array in self._memory.device.arrays if array is not None}.values())

    def _keep(self, key: tuple[Hashable, bytes], outcome: Outcome, changed: list[MemoryArray]) -> None:
        size = sum(2 * array.data.size for array in changed)
        if size > MAX_KEPT_BYTES:
            return
        while self._kept_bytes + size > MAX_KEPT_BYTES:
            self._kept_bytes -= self._left.popitem(last=False)[1].size
        copies = tuple(
            (a.base, a.data.copy(), None if a.valid is None else a.valid.copy(), self._digest(a)) for a in changed
        )
        self._left[key] = _Left(outcome, copies, size)
        self._kept_bytes += size
