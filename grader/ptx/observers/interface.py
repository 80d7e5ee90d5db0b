"""What may watch a launch: one interface for traffic, races, provenance and whoever comes next.

Hazards are collected here as well: the first offender by name, the others by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from grader.ptx.access import Access, ResolvedAddress
from grader.ptx.affine import Geometry
from grader.ptx.frontend.nodes import Instruction
from grader.ptx.limits import Budget
from grader.ptx.memory import NOWHERE, MemoryArray, Owner
from grader.ptx.records import Hazard, LaunchReport
from grader.ptx.values import Array, Lanes

MAX_HAZARDS = 200
"""Different faults kept; a kernel with more is broken enough."""


@dataclass(frozen=True, slots=True)
class BlamedOperation:
    """What the first thread to blame was about to do; `offset_bytes` counts from the start of the whole array."""

    instruction: Instruction
    lane: int
    op: str
    space: str = ""
    owner: Owner = NOWHERE
    offset_bytes: int = 0
    width_bytes: int = 0


@dataclass(frozen=True, slots=True)
class OtherOperation:
    """What the blamed operation conflicts with; within_warp: it is of the same warp."""

    instruction: Instruction
    op: str
    lane: int
    within_warp: bool = False


class HazardLog:
    """Hazards by (kind, detail, instruction, array, other instruction); counts accumulate over the whole launch.

    page_bytes: as in `Limits`.
    """

    def __init__(self, page_bytes: int = 0) -> None:
        self._hazards: dict[tuple[Any, ...], tuple[Hazard, int]] = {}
        self._page_bytes = page_bytes
        self.has_fault = False
        """Whether an access was outside of its array, or its pages."""

    def __len__(self) -> int:
        return len(self._hazards)

    def add(
        self,
        geometry: Geometry,
        kind: str,
        detail: str,
        blamed: BlamedOperation,
        count: int,
        other: OtherOperation | None = None,
    ) -> None:
        """Record `count` hazards of one kind by one instruction; blamed: the first thread's operation."""
        instruction, owner = blamed.instruction, blamed.owner
        offset = blamed.offset_bytes - owner.start
        is_fault = kind == "out_of_bounds" and self._is_beyond(offset, owner.size, blamed.space)
        self.has_fault = self.has_fault or is_fault
        within_warp = other is not None and other.within_warp
        key = (kind, detail, id(instruction), owner.name, id(other.instruction if other else None), within_warp)
        recorded = self._hazards.get(key)
        if recorded is not None:
            first, times = recorded
            if not is_fault or not self._page_bytes or self._is_beyond(first.offset_bytes, owner.size, first.space):
                self._hazards[key] = (first, times + count)
                return
            # The first that a device notices is worth more than the first of all.
            count += times
        elif len(self._hazards) >= MAX_HAZARDS:
            return
        block, thread = geometry.coordinates(blamed.lane)
        other_block, other_thread = geometry.coordinates(other.lane) if other else (None, None)
        hazard = Hazard(
            kind,
            detail,
            instruction.location.line,
            blamed.space,
            blamed.op,
            owner.name,
            offset,
            blamed.width_bytes,
            owner.size,
            block,
            thread,
            count,
            within_warp,
            other.instruction.location.line if other else 0,
            other.op if other else "",
            other_block,
            other_thread,
            instruction.location.file,
        )
        self._hazards[key] = (hazard, count)

    def _is_beyond(self, offset: int, size: int, space: str) -> bool:
        """Whether an access outside of its array so far from its start counts as a fault."""
        page = self._page_bytes
        if not page:
            return True
        return space in ("global", "generic") and not -page <= offset < -(-size // page) * page

    def report(self) -> list[Hazard]:
        """All hazards, by line, then kind."""
        import dataclasses

        hazards = [dataclasses.replace(hazard, count=count) for hazard, count in self._hazards.values()]
        return sorted(hazards, key=lambda hazard: (hazard.line, hazard.kind, hazard.detail))


@dataclass(frozen=True)
class BarrierCompletion:
    """Who met at a barrier for so many threads, by its number: sets of lanes, and whether each waited for the rest."""

    barrier: int
    parties: list[tuple[Lanes, bool]]


@dataclass(frozen=True, slots=True)
class RepeatedAccesses:
    """Accesses of a loop: its first iteration's in their order, how far each moves in every further one, in bytes.

    All lanes of each go to one array of global memory in every iteration; times: how many iterations there are.
    Stores come with what they stored in the last one, and no thread goes where another one has stored in the loop.
    """

    first: tuple[Access, ...]
    steps: tuple[int, ...]
    times: int

    @property
    def address(self) -> ResolvedAddress:
        """Return the address of the last access of the first iteration."""
        return self.first[-1].address

    def stored_arrays(self) -> set[int]:
        return {id(event.address.array) for event in self.first if event.op == "store"}

    def of_array(self, array: MemoryArray) -> RepeatedAccesses:
        own = [k for k, event in enumerate(self.first) if event.address.array is array]
        return RepeatedAccesses(tuple(self.first[k] for k in own), tuple(self.steps[k] for k in own), self.times)

    def one_by_one(self) -> Iterator[Access]:
        """Return all accesses in the order in which they happen."""
        for iteration in range(self.times):
            for event, step in zip(self.first, self.steps, strict=True):
                yield event.moved(iteration * step) if iteration else event


@dataclass(frozen=True, slots=True)
class Scene:
    """Blocks that are about to run side by side: where they stand, where faults are told, what was used up so far."""

    geometry: Geometry
    hazards: HazardLog
    budget: Budget


class Enough(Exception):
    """Ends a launch of which an observer has seen all that it was made for."""


class Observer:
    """Watches a launch; what it does not override costs the launch nothing.

    A launch calls `begin`, then what happens in the order in which it happens, then `end`, for each set of blocks that
    run side by side, and `finish` once when all is over.
    """

    def begin(self, scene: Scene) -> None:
        """Blocks are about to run."""

    def executed(self, instructions: tuple[Instruction, ...], lanes: Lanes) -> None:
        """Lanes are about to execute a basic block; no loop is carried out at once where anybody wants to be told."""

    def access(self, event: Access) -> None:
        """Lanes load, store or change something, in shared or global memory."""

    def may_repeat(self, accesses: RepeatedAccesses) -> bool:
        """Whether such a loop may be told of at once, before it is; what it stores is not known yet."""
        return True

    def repeated(self, accesses: RepeatedAccesses) -> None:
        """Lanes have gone through a loop; who has `access` and not this is told of each access."""

    def barrier(self, released: Array | None, completion: BarrierCompletion | None) -> None:
        """Threads are released: the blocks, (blocks,) bool, None for all; who met where it was not for whole blocks."""

    def arrival(self, barrier: int, lanes: Lanes) -> None:
        """Lanes have come to a barrier, by its number, and do not wait."""

    def warp_sync(self, lanes: Lanes, masks: Array | None) -> None:
        """Lanes have met, those of a warp that name the same ones, (n,) uint32; None: all that have not returned."""

    def fence(self, lanes: Lanes, in_block_only: bool) -> None:
        """Lanes execute a fence; it may count within their blocks only."""

    def renewed(self, array: MemoryArray, start: int, size: int) -> None:
        """Bytes of an array are handed out anew: they have nothing to do with what they were before."""

    def end(self) -> None:
        """All threads of the blocks have returned."""

    def finish(self, report: LaunchReport) -> None:
        """The launch is over: add to the report what was found."""


class Watchers:
    """The observers' methods that some blocks call, by event."""

    def __init__(self, observers: Sequence[Observer] = ()) -> None:
        def those_with(name: str) -> list[Callable[..., Any]]:
            plain = getattr(Observer, name)
            return [getattr(o, name) for o in observers if getattr(type(o), name) is not plain]

        self.executed: list[Callable[[tuple[Instruction, ...], Lanes], None]] = those_with("executed")
        self.access: list[Callable[[Access], None]] = those_with("access")
        self.repeated: list[Callable[[RepeatedAccesses], None]] = those_with("repeated")
        self.may_repeat: list[Callable[[RepeatedAccesses], bool]] = those_with("may_repeat")
        self.barrier: list[Callable[[Array | None, BarrierCompletion | None], None]] = those_with("barrier")
        self.arrival: list[Callable[[int, Lanes], None]] = those_with("arrival")
        self.warp_sync: list[Callable[[Lanes, Array | None], None]] = those_with("warp_sync")
        self.fence: list[Callable[[Lanes, bool], None]] = those_with("fence")
        self.renewed: list[Callable[[MemoryArray, int, int], None]] = those_with("renewed")
        self.end: list[Callable[[], None]] = those_with("end")

    @property
    def nobody(self) -> bool:
        """Whether no observer wants to be told of anything while the blocks run."""
        return not any(vars(self).values())


NOBODY = Watchers()
