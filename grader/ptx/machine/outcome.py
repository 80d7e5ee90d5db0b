"""What an attempt at a launch leaves behind, and who watches it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from grader.ptx.limits import Budget
from grader.ptx.machine.block_batch import BlockBatch
from grader.ptx.observers.hazards import HazardLog
from grader.ptx.observers.interface import Observer


@dataclass
class Outcome:
    """What was used up, what was found, who watched.

    remarks: how often each (kind, line) was worth a remark.  sampled_blocks: how many blocks were watched.
    """

    budget: Budget
    hazards: HazardLog
    observers: Sequence[Observer]
    remarks: dict[tuple[str, int], int] = field(default_factory=dict)
    sampled_blocks: int = 0

    def add_remarks(self, batch: BlockBatch) -> None:
        """Take over the remarks on a batch that has run."""
        for key, count in batch.remarks.items():
            self.remarks[key] = self.remarks.get(key, 0) + count
