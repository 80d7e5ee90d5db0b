"""A changed program graded as if it had been handed in: the judgement on one kernel of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.checks import judge
from grader.launching.kernel import BoundKernel
from grader.launching.trial import Trials
from grader.repair.change import Change, changed
from grader.result import Check
from grader.running.evidence import Evidence
from grader.running.kernel_runs import run_kernel
from grader.submission.files.source import SourceText
from grader.submission.records import VariantBinding
from grader.submission.rewriting.changes import Rebind


@dataclass(frozen=True, slots=True)
class Proof:
    """Grades changed copies of the program that holds `kernel`, as `evidence` came to be.

    rebind: reads a program with other texts.  source: the file that holds the kernel.
    """

    trials: Trials
    drawn_trials: Trials
    rebind: Rebind
    source: SourceText
    kernel: BoundKernel
    evidence: Evidence

    def graded(self, change: Change) -> tuple[list[Check], Evidence] | None:
        """The verdicts on the changed kernel, and what they rest on.

        None where it is not found any more, or takes something else.
        """
        text = changed(self.source.text, change)
        submission = self.rebind({self.source.path: replace(self.source, text=text)})
        known = self.kernel.binding
        found = submission.bindings.get(known.variant)
        if not isinstance(found, VariantBinding) or found.kernel.name != known.kernel.name:
            return None
        if [p.name for p in found.kernel.parameters] != [p.name for p in known.kernel.parameters]:
            return None
        binding = replace(found, interpretations=(self.kernel.interpretation,), expression=known.expression)
        kernel = BoundKernel(self.kernel.lab, submission, binding, self.kernel.interpretation)
        return self.of_kernel(self.trials, self.drawn_trials, kernel, self.evidence)

    @staticmethod
    def of_kernel(
        trials: Trials, drawn_trials: Trials, kernel: BoundKernel, before: Evidence
    ) -> tuple[list[Check], Evidence]:
        """The verdicts on a kernel of a changed program, and what they rest on; before: its evidence as handed in."""
        fresh = Evidence(
            before.lab,
            before.variant,
            kernel.binding,
            interpretation=kernel.interpretation,
            source=kernel.submission.device_source,
        )
        evidence = run_kernel(trials, drawn_trials, fresh, kernel, explained=False)
        return judge(evidence), evidence
