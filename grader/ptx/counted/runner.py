"""Carries out the loops that can be carried out at once, in place of their iterations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.ptx.counted.form import Form, form_of
from grader.ptx.counted.generate import (
    CONTIGUOUS,
    EQUAL,
    LANES,
    SCATTERED,
    UNIFORM,
    UNROLLED,
    WORD,
    Module,
    ResolvedLoad,
    Shape,
)
from grader.ptx.counted.progress import Irregular, Progress, advance, progress_of
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.machine.groups import Group
from grader.ptx.machine.scheduler import Shortcut
from grader.ptx.memory.access import Access, as_int64, locate
from grader.ptx.observers.interface import RepeatedLoads
from grader.ptx.values.kinds import Affine, Vec, split_shift
from grader.ptx.values.lanes import Array, remember

FEWEST_LANES = 256
"""Fewer are no slower one iteration after the other."""
FEWEST_TRIPS = 4
MOST_TRIPS = 4096
"""At once: in between the clock is looked at."""
PATIENCE = 4_000_000
"""Thread-instructions of a loop before it is worth its compilation, of 10 ms."""


def shortcuts_of(code: Code) -> Mapping[CodeBlock, Shortcut]:
    """The loops of a kernel that can be carried out at once."""
    kept_with: dict[str, dict[CodeBlock, Shortcut]] = code.program.module.derived.setdefault("counted", {})
    found = kept_with.get(code.name)
    if found is None:
        found = kept_with[code.name] = {}
        for block, known in zip(code.blocks, code.graph.blocks, strict=True):
            form = form_of(code, block, known.successors)
            if form is not None:
                found[block] = CountedLoop(code, form)
    return found


@dataclass
class CountedLoop:
    """One loop; called with a group at its header.

    waited: thread-instructions that it has executed, one iteration after the other.  pause: iterations that are not
    looked at any more.  failures: how often in a row it did not move by constants.  refused: there is no WebAssembly.
    """

    code: Code
    form: Form
    waited: int = 0
    pause: int = 0
    failures: int = 0
    refused: bool = False
    modules: dict[Shape, Module | None] = field(default_factory=dict)

    def __call__(self, group: Group) -> bool:
        """Go round as often as can be told, with everybody told of it; False where nothing was done."""
        lanes, batch = group.lanes, group.batch
        watchers = batch.watchers
        if self.refused or lanes.n < FEWEST_LANES or len(watchers.repeated) != len(watchers.access):
            return False
        size = self.form.block.size
        self.waited += size * lanes.n
        if self.pause:
            self.pause -= 1
            return False
        try:
            progress = self._progress(group)
            loads = self._resolved(batch, group, progress)
        except Irregular:
            self.failures += 1
            self.pause = 2 ** min(self.failures, 10)
            return False
        self.failures = 0
        if not self._is_worth_it(batch, lanes.n, progress.trips):
            # Nor will it be in the iterations that are left.
            self.pause = progress.trips - 1
            return False
        results = self._computed(group, progress, loads)
        if results is None:
            self.pause = progress.trips - 1
            return False
        self._tell(batch, progress, loads)
        batch.count(self.form.block, lanes, progress.trips)
        batch.budget.turns += progress.trips
        self._go_on(group, progress, results)
        return True

    def _progress(self, group: Group) -> Progress:
        """How the loop goes on, which is the same whenever it is come to with the same values."""
        known: list[Any] = []
        lasts = group.lanes.lasting
        for index in self.form.reads:
            value = group.registers[index]
            if isinstance(value, (Vec, Affine)):
                vec, shift = split_shift(value)
                lasts &= vec.lasting
                known += [id(vec), shift]
            else:
                known += [None, value]
        key = ("progress", id(self.form), *known)
        found = group.lanes.memo.get(key) if lasts else None
        if found is None:
            progress = progress_of(self.form, group.registers, self.code.register_bytes, MOST_TRIPS)
            if not lasts:
                return progress
            found = remember(group.lanes.memo, key, (self.form, progress))
        return found[1]

    def _is_worth_it(self, batch: BlockBatch, lanes: int, trips: int) -> bool:
        """Whether so many iterations take long enough, and no limit falls into them."""
        budget, limits = batch.budget, batch.budget.limits
        work = self.form.block.size * trips
        if budget.issued + work > limits.issued or budget.thread_instructions + work * lanes > limits.instructions:
            return False
        return trips >= FEWEST_TRIPS and self.waited + work * lanes >= PATIENCE

    def _resolved(self, batch: BlockBatch, group: Group, progress: Progress) -> list[ResolvedLoad]:
        """Where the loads go.  Raises Irregular unless all of them are all right in all iterations."""
        found = []
        further = progress.trips - 1
        for load, (value, step) in zip(self.form.loads, progress.before, strict=True):
            resolved = locate(batch.device, value, load.offset, WORD, group.lanes)
            if resolved is None or step % WORD:
                raise Irregular
            array = resolved.array
            low, high = (0, 0) if resolved.vec is None else resolved.vec.signed_bounds()
            low, high = low + resolved.shift, high + resolved.shift
            first, last = low + min(0, further * step), high + max(0, further * step) + WORD
            if array.space != "global" or array.rows or first < 0 or last > array.size:
                raise Irregular
            if array.valid is not None and not array.valid[array.storage + first : array.storage + last].all():
                raise Irregular
            found.append(ResolvedLoad(resolved, step, low))
        return found

    def _tell(self, batch: BlockBatch, progress: Progress, loads: list[ResolvedLoad]) -> None:
        if batch.watchers.repeated:
            first = tuple(
                Access(load.spec, where.address, batch.geometry)
                for load, where in zip(self.form.loads, loads, strict=True)
            )
            all_loads = RepeatedLoads(first, tuple(where.step for where in loads), progress.trips)
            for tell in batch.watchers.repeated:
                tell(all_loads)

    def _go_on(self, group: Group, progress: Progress, results: dict[int, Array]) -> None:
        """Registers and place after the last iteration."""
        sizes = self.code.register_bytes
        for index, (value, step) in progress.after.items():
            group.registers[index] = advance(value, (progress.trips - 1) * step, 8 * sizes[index])
        for index, result in results.items():
            group.registers[index] = Vec(result, group.lanes)
        if progress.leaves:
            group.block = self.form.after
            group.from_back_edge = (self.form.block.index, self.form.after) in self.code.back_edges
        else:
            group.from_back_edge = True

    def _computed(self, group: Group, progress: Progress, loads: list[ResolvedLoad]) -> dict[int, Array] | None:
        """Registers of data as the last iteration leaves them."""
        kinds: list[str] = []
        tables: list[int] = []
        offsets: list[Array] = []
        numbers: dict[int, int] = {}
        for where in loads:
            vec = where.address.vec
            if vec is None:
                kinds.append(UNIFORM)
                tables.append(-1)
                continue
            kind, table = _quads(vec)
            kinds.append(kind)
            if id(vec) not in numbers:
                numbers[id(vec)] = len(offsets)
                offsets.append(table)
            tables.append(numbers[id(vec)])
        if not offsets:
            return None
        shape = Shape(tuple(kinds), tuple(tables))
        if shape not in self.modules:
            self.modules[shape] = Module.of(self.form, shape)
        module = self.modules[shape]
        if module is None:
            self.refused = True
            return None
        return module.run(group, progress.trips, loads, offsets)


def _quads(vec: Vec) -> tuple[str, Array]:
    """How four neighbouring lanes lie to each other, and the byte offsets from the smallest lane's that tell the rest.

    The offsets are one for four lanes, or for each lane where lanes are scattered; the last ones are repeated until
    there are as many as are worked on at once.
    """
    found: tuple[str, Array] | None = vec.memo.get("quads")
    if found is None:
        offsets = (as_int64(vec) - vec.signed_bounds()[0]).astype(np.int32)
        if len(offsets) % LANES:
            offsets = np.pad(offsets, (0, -len(offsets) % LANES), "edge")
        quads = offsets.reshape(-1, LANES)
        distances = quads - quads[:, :1]
        if (distances == _NEIGHBOURS).all():
            kind, quads = CONTIGUOUS, quads[:, :1]
        elif not distances.any():
            kind, quads = EQUAL, quads[:, :1]
        else:
            kind = SCATTERED
        if len(quads) % UNROLLED:
            quads = np.pad(quads, ((0, -len(quads) % UNROLLED), (0, 0)), "edge")
        found = remember(vec.memo, "quads", (kind, quads.ravel()))
    return found


_NEIGHBOURS = np.arange(LANES, dtype=np.int32) * WORD
