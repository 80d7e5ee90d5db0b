"""Collects what went wrong: the first offender by name, the others by number."""

from __future__ import annotations

from typing import Any

from grader.ptx.frontend.nodes import Instruction
from grader.ptx.records import Hazard, Index3
from grader.ptx.values.geometry import Geometry

MAX_HAZARDS = 200
"""Different faults kept; a kernel with more is broken enough."""


class HazardLog:
    """Hazards by (kind, detail, instruction, array, other instruction); counts accumulate over the whole launch."""

    def __init__(self) -> None:
        self._found: dict[tuple[Any, ...], tuple[Hazard, int]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(
        self,
        geometry: Geometry,
        kind: str,
        detail: str,
        instruction: Instruction,
        lane: int,
        count: int,
        *,
        op: str = "",
        space: str = "",
        array: str = "",
        offset: int = 0,
        width: int = 0,
        array_bytes: int = 0,
        within_warp: bool = False,
        other: Instruction | None = None,
        other_op: str = "",
        other_thread: tuple[Index3, Index3] | None = None,
    ) -> None:
        """Record `count` offences of one kind by one instruction; `lane` is the first offender's.

        other_thread: (block, thread) of the access it conflicts with.
        """
        key = (kind, detail, id(instruction), array, id(other), within_warp)
        known = self._found.get(key)
        if known is not None:
            self._found[key] = (known[0], known[1] + count)
            return
        if len(self._found) >= MAX_HAZARDS:
            return
        block, thread = geometry.coordinates(lane)
        hazard = Hazard(
            kind,
            detail,
            instruction.location.line,
            space,
            op,
            array,
            offset,
            width,
            array_bytes,
            block,
            thread,
            count,
            within_warp,
            other.location.line if other else 0,
            other_op,
            other_thread[0] if other_thread else None,
            other_thread[1] if other_thread else None,
        )
        self._found[key] = (hazard, count)

    def report(self) -> list[Hazard]:
        """All hazards, by line, then kind."""
        import dataclasses

        hazards = [dataclasses.replace(hazard, count=count) for hazard, count in self._found.values()]
        return sorted(hazards, key=lambda hazard: (hazard.line, hazard.kind, hazard.detail))
