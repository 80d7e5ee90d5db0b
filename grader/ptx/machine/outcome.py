"""What an attempt at a launch leaves behind, and who watches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.ptx.limits import Tally
from grader.ptx.machine.chunk import Chunk
from grader.ptx.observers.hazards import HazardLog
from grader.ptx.observers.interface import Observer


@dataclass
class Outcome:
    """What was used up, what was found, who watched.

    remarks: how often each (kind, line) was worth a remark.  sampled_blocks: how many blocks were watched.
    """

    tally: Tally
    hazards: HazardLog
    observers: Sequence[Observer]
    remarks: dict[tuple[str, int], int] = field(default_factory=dict)
    sampled_blocks: int = 0

    def add_remarks(self, chunk: Chunk) -> None:
        """Take over the remarks on a chunk that has run."""
        for key, count in chunk.remarks.items():
            self.remarks[key] = self.remarks.get(key, 0) + count
