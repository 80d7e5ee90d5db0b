"""What came of running a kernel once."""

from __future__ import annotations

from dataclasses import dataclass

from grader.backends.base import LaunchOutcome
from grader.lab.records import Sizes
from grader.oracle.compare import Difference
from grader.result import BackendName, CaseKind


@dataclass(frozen=True, slots=True)
class Run:
    """One launch at one size, and how its output compares with the oracle's (None: there was no output).

    changed_inputs: names of inputs that the kernel wrote to.
    backend: what ran it.  drawn: its sizes and data are drawn from the submission (`grader.running.drawn`).
    """

    kind: CaseKind
    sizes: Sizes
    outcome: LaunchOutcome
    difference: Difference | None
    changed_inputs: tuple[str, ...] = ()
    backend: BackendName = "emulator"
    drawn: bool = False

    @property
    def output_is_right(self) -> bool:
        """Whether it ended well with the expected output."""
        return self.difference is not None and self.difference.mismatches == 0

    @property
    def is_right(self) -> bool:
        """Whether it did all that was asked, and nothing that was not: its inputs are as they were."""
        return self.output_is_right and not self.changed_inputs

    @property
    def leaves_its_arrays(self) -> bool:
        """Whether it was seen to work outside of them, whatever came out."""
        return any(hazard.kind == "out_of_bounds" for hazard in self.outcome.hazards)
