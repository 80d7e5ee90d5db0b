"""Runs a variant's kernel: the reading of it that fits, then every size that it is graded by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from grader.backends.base import Backend, LaunchOutcome, LaunchRequest
from grader.i18n import _
from grader.lab.records import Lab, Sizes
from grader.oracle.compare import Difference, compare
from grader.oracle.expected import Array, Oracle
from grader.oracle.projected import Projected
from grader.result import CaseKind
from grader.running.cases import dtypes_of, planned_more, request, tile_of_output
from grader.running.choosing import choose, is_right
from grader.running.counting import counters_of
from grader.running.evidence import Evidence, Run
from grader.running.explain import explain
from grader.submission.records import Candidate, VariantBinding

TOO_LONG = ("time", "instructions")
"""Reasons of the emulator for giving up on a launch that may well end."""


class Runner:
    """Runs the kernels of one submission on `backend`; oracle: one that knows the lab's cases already, to share it."""

    def __init__(self, lab: Lab, backend: Backend, oracle: Oracle | None = None) -> None:
        self._lab = lab
        self._cases = lab.cases["emulator"]
        self._oracle = self.oracle = oracle or Oracle(lab)
        self._backend = self.backend = backend

    @property
    def unmeasured(self) -> dict[str, str]:
        """What this backend cannot measure, and why."""
        return {"time": _("Not measured: speed can only be timed on an NVIDIA GPU.")}

    def run(self, evidence: Evidence, entry: str) -> Evidence:
        """`evidence` with the reading that was graded, its runs and its counters; `entry` is the kernel's symbol."""
        binding = evidence.bound

        def trial(candidate: Candidate, sizes: Sizes) -> Run:
            return self.run_once(binding, candidate, entry, "correct", sizes, observe=False)

        choice = choose(self._lab, self._cases, binding, evidence.source, trial)
        candidate = choice.candidate
        runs: list[Run] = []
        for kind, sizes in choice.cases:
            run = self.run_once(binding, candidate, entry, kind, sizes)
            runs.append(run)
            # A launch that was stopped after seconds, or that is impossible, is so at every size.
            if run.outcome.status != "ok":
                break
        if choice.wired is None:
            runs += self._more(evidence, candidate, entry, runs)
        observed = next((r for r in runs if r.kind == "observe" and r.outcome.counters is not None), None)
        diagnoses = explain(self._lab, self._oracle, self._backend, binding, candidate, entry, runs)
        evidence = replace(
            evidence,
            candidate=candidate,
            runs=tuple(runs),
            unmeasured=self.unmeasured,
            diagnoses=diagnoses,
            wired_sizes=choice.wired,
        )
        if observed is None or observed.outcome.counters is None:
            return evidence
        return replace(
            evidence,
            counters=counters_of(observed.outcome.counters, observed.sizes, observed.outcome.thread_instructions),
            array_bytes=self._array_bytes(binding, candidate, observed.sizes),
        )

    def _more(self, evidence: Evidence, candidate: Candidate, entry: str, runs: Sequence[Run]) -> Iterator[Run]:
        """Runs at the variant's own sizes, of a kernel that is right at the lab's exact ones.

        They are larger than what its cost was judged by: one that takes too long there is not blamed for it.
        """
        if any(run.outcome.status != "ok" or (run.kind != "ragged" and not is_right(run)) for run in runs):
            return
        for sizes in planned_more(self._lab, evidence.variant, candidate):
            run = self.run_once(evidence.bound, candidate, entry, "correct", sizes, observe=False)
            if run.outcome.status != "unsupported" and run.outcome.reason not in TOO_LONG:
                yield run

    def run_once(
        self,
        binding: VariantBinding,
        candidate: Candidate,
        entry: str,
        kind: CaseKind,
        sizes: Sizes,
        observe: bool = True,
        changed: Callable[[LaunchRequest], LaunchRequest] | None = None,
    ) -> Run:
        """One launch at one size, compared with the oracle; `changed` makes another launch of it before it runs."""
        dtypes = dtypes_of(self._lab, binding, candidate)
        projected = self._oracle.projected(sizes, dtypes)
        inputs, expected = (projected.inputs, projected.blanks) if projected else self._oracle.case(sizes, dtypes)
        launch = request(self._lab, binding, candidate, entry, sizes, inputs, expected, observe)
        outcome = self._backend.run(changed(launch) if changed else launch)
        if outcome.status != "ok":
            return Run(kind, sizes, outcome, None)
        return Run(
            kind,
            sizes,
            outcome,
            self._difference(candidate, sizes, outcome, inputs, expected, projected),
            changed_inputs=tuple(name for name in inputs if name in outcome.outputs),
        )

    def _difference(
        self,
        candidate: Candidate,
        sizes: Sizes,
        outcome: LaunchOutcome,
        inputs: Mapping[str, Array],
        expected: Mapping[str, Array],
        projected: Projected | None,
    ) -> Difference:
        """Of the first output that is wrong, else of the first output."""

        def difference(name: str) -> Difference:
            got, tile = outcome.outputs[name], tile_of_output(self._lab, name, candidate.launch)
            if projected is not None:
                return projected.compare(name, got, tile)
            tolerance = self._lab.tolerance.at(sizes, str(expected[name].dtype))
            return compare(name, got, expected[name], tolerance, inputs, tile)

        differences = [difference(name) for name in expected if name in outcome.outputs]
        return next((d for d in differences if d.mismatches), differences[0])

    def _array_bytes(self, binding: VariantBinding, candidate: Candidate, sizes: Sizes) -> dict[str, int]:
        dtypes = dtypes_of(self._lab, binding, candidate)
        return {
            p.name: prod(sizes[n] if isinstance(n, str) else n for n in p.shape)
            * np.dtype(dtypes.get(p.name, p.dtype)).itemsize
            for p in self._lab.parameters
            if p.kind != "size"
        }
