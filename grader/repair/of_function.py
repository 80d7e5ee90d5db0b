"""Functions and whole programs that come out wrong: changes of their kernels and of their host code, tried by running
them at the smallest size that shows the fault, then at the lab's others, then graded in full.

What changes device code alone is run with the host code as it was compiled: most of a run's time is that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from math import prod

from grader.checks import checks_with, judge
from grader.lab.checks import HostCodeSettings
from grader.programs.execution import CompiledProgram
from grader.programs.records import Observation
from grader.programs.sources import Program
from grader.repair.clues import clues_of
from grader.repair.function import Change, Function, changed, functions_of
from grader.repair.host import ANYWHERE, NAMED, WAITS
from grader.repair.host_arguments import directions_at, host_of
from grader.repair.host_calls import host_changes, initial_changes, leaves_memory, lifetime_changes, waits
from grader.repair.launch_sites import launches_of
from grader.repair.launches import grid_changes
from grader.repair.of_cost import COSTS, changed_program, cheaper, limits_beside
from grader.repair.ranking import IN_PLANE, changes_of, in_order
from grader.repair.symptom import faults
from grader.repair.verified import OF_COST, VerifiedRepair, judged
from grader.result import Check
from grader.running.evidence import Evidence, HostFault
from grader.running.function_runs import LIMITS, Called, Case, FunctionRuns
from grader.running.host_code import of_call
from grader.submission.cpp.tree import ParsedFile

MAX_DEVICE = 144
"""Changes of device code that are run."""
MAX_DRAWN = 16
"""The same where a drawn case alone shows the fault, which may be a large one."""
MAX_HOST = 12
"""The same of host code, which is compiled anew for each."""
MAX_PROOFS = 2
"""Changes that are graded in full."""
OF_HOST = checks_with("host")
OF_LIFETIMES = ("freed_array", "second_call", "second_call_with")
"""Reasons of faults for which something lives on, or is given back, that should not."""
EXCHANGED_AXES = (("index", "axes"), ("index", "axes_next"))
"""Changes of a kernel that exchanging the grid's two numbers in its launch may stand for."""
MENDED = (*checks_with("result"), *OF_HOST)
"""Checks whose failing is looked into, in this order."""


def function_repairs(
    called: Called, evidence_by_variant: Mapping[str, Evidence], checks: Sequence[Check]
) -> list[VerifiedRepair]:
    """The first change with which each variant that failed passes every check, else the first with which it is right
    and fails none but checks of its cost; [] where none is found.

    evidence_by_variant: evidence by variant.  checks: the verdicts on all of them.
    """
    failed = {c.check: c for c in checks if c.status == "fail" and c.check in MENDED}
    first = next((failed[name] for name in MENDED if name in failed), None)
    if first is None:
        return _cheaper(called, evidence_by_variant, checks)
    evidence = evidence_by_variant[first.variant]
    if evidence.uncombined_blocks:
        # One block that does it all would be right, and is not what is asked for.
        return []
    of_host = frozenset(f.message.id for f in (*_counted(evidence), *evidence.host.of_launch))
    case = _shown(called.runs, evidence) or (_with_faults(called.runs, of_host) if of_host else None)
    if case is None:
        return []
    tried = _Tried(called, evidence, first, case, of_host if first.check in OF_HOST else frozenset())
    partly: list[VerifiedRepair] = []
    if not tried.begin(called.compiled):
        return []
    for parsed, change, program in islice(tried.survivors(called.compiled), MAX_PROOFS):
        repairs = _graded(called, parsed, change, program, evidence_by_variant, checks)
        if repairs and all(repair.is_complete for repair in repairs):
            return repairs
        partly = partly or repairs
    return partly


def _counted(evidence: Evidence) -> tuple[HostFault, ...]:
    """Return the faults of host code that cost points: what else it lacks, a change need not mend."""
    settings = next((s.settings for s in evidence.variant.checks if isinstance(s.settings, HostCodeSettings)), None)
    return evidence.host.counted(settings.of if settings is not None else "all")


def _cheaper(
    called: Called, evidence_by_variant: Mapping[str, Evidence], checks: Sequence[Check]
) -> list[VerifiedRepair]:
    failed = {c.check: c for c in checks if c.status == "fail"}
    check = next((failed[name] for name in COSTS if name in failed), None)
    if check is None or not OF_COST.issuperset(failed):
        return []
    for parsed, change in cheaper(called, check):
        program = changed_program(called, parsed, change)
        repairs = _graded(called, parsed, change, program, evidence_by_variant, checks) if program is not None else []
        if repairs and all(repair.is_complete for repair in repairs):
            return repairs
    return []


def _graded(
    called: Called,
    parsed: ParsedFile,
    change: Change,
    program: Program,
    evidence_by_variant: Mapping[str, Evidence],
    checks: Sequence[Check],
) -> list[VerifiedRepair]:
    after = called.graded(program)
    repairs = []
    for name, evidence in evidence_by_variant.items():
        own = [c for c in checks if c.variant == name]
        if not any(c.status == "fail" for c in own):
            continue
        repair = judged(parsed, evidence, change, own, judge(after[name]), after[name], ("speedup",))
        was_whole = all(run.outcome.status == "ok" for run in evidence.runs)
        texts = parsed.source.text, changed(parsed.source.text, change)
        if (
            repair is None
            or not repair.is_shown
            or leaves_memory(evidence.host, after[name].host, *texts, was_whole=was_whole)
        ):
            return []
        repairs.append(replace(repair, proof="call"))
    return repairs


def _shown(runs: FunctionRuns, evidence: Evidence) -> Case | None:
    """Return the smallest case that shows a fault, of the lab's own if any does; None where no change can mend it."""
    wrong = [r for r in evidence.runs if r.outcome.status != "ok" or not r.is_right or faults(r)]
    if any(r.outcome.status == "unsupported" for r in wrong):
        return None
    own = [r for r in evidence.runs if not r.drawn]
    for ways in (runs.named(), runs.drawn_cases(replace(evidence, runs=tuple(own)))):
        by_key = {(case.kind, repr(case.sizes), case.drawn): case for case in ways}
        places = [(prod(r.sizes.values()), (r.kind, repr(r.sizes), r.drawn)) for r in wrong]
        cases = [(size, by_key[place]) for size, place in places if place in by_key]
        if cases:
            return min(cases, key=lambda row: row[0])[1]
    return None


def _code(program: Program) -> dict[str, str]:
    """Return a program's host code without white space, which changes of device code leave the same."""
    return {file: "".join(text.split()) for file, text in program.host.items()}


def _with_faults(runs: FunctionRuns, wanted: frozenset[str]) -> Case | None:
    """Return the smallest of the lab's own cases in which the host has one of these faults; None: there is none."""
    cases = sorted(zip(runs.named(), runs.observations, strict=False), key=lambda row: prod(row[0].sizes.values()))
    return next((case for case, observation in cases if wanted & _told_of_host(runs, case, observation)), None)


def _told_of_host(runs: FunctionRuns, case: Case, observation: Observation) -> set[str]:
    host = of_call([(case.sizes, observation)], runs.lab.files)
    return {fault.message.id for fault in (*host.faults, *host.of_launch)}


@dataclass
class _Tried:
    """Changes of a program, run one after another.

    case: shows the fault.  check: that failed because of it.  of_host: ids of what the host is told to do wrong, where
      that is to be gone.
    is_in_planes: whether anything is launched with more than one axis.
    """

    called: Called
    evidence: Evidence
    check: Check
    case: Case
    of_host: frozenset[str] = frozenset()
    limits = LIMITS
    is_in_planes = True

    def begin(self, compiled: CompiledProgram) -> bool:
        """Run the unchanged program, which sets the limits of others; return whether it is wrong."""
        observation = compiled.run(*self.called.runs.begun(self.case, LIMITS))
        if observation is None or self._is_right(self.case, observation):
            return False
        launches = [launch for call in observation.calls for launch in call.launches]
        self.is_in_planes = any(launch.grid[1:] + launch.block[1:] != (1, 1, 1, 1) for launch in launches)
        self.limits = limits_beside(launches, len(self.case.data))
        return True

    def survivors(self, compiled: CompiledProgram) -> Iterator[tuple[ParsedFile, Change, Program]]:
        """Yield the changes with which all of the lab's own cases are right, in order."""
        host = self.evidence.host
        is_of_host = bool(host.of_launch) or self.check.check in OF_HOST or any(f.kind == "copy" for f in host.faults)
        is_of_host = is_of_host or self.check.data.get("reason") in OF_LIFETIMES
        ways = [self._of_device(compiled), self._of_host()]
        if self._unset:
            yield from self._of_host("unset")
        # Nothing but the fault itself gives occasion to these.
        yield from self._of_host("halved")
        if self.evidence.one_block is not None:
            yield from self._of_host("levels")
        # What is wrong at large sizes alone is likelier a launch than a kernel.
        for way in reversed(ways) if is_of_host or self.case.drawn else ways:
            for parsed, change, program in way:
                if (change.kind, change.detail) in EXCHANGED_AXES:
                    # As the kernel is written neighbouring threads may well take neighbouring elements.
                    yield from self._of_host("axes")
                yield parsed, change, program

    @property
    def _unset(self) -> set[str]:
        hazards = [h for run in self.evidence.runs for h in run.outcome.hazards]
        return {h.array for h in hazards if h.kind == "uninitialized" and h.space == "global"}

    def _of_device(self, compiled: CompiledProgram) -> Iterator[tuple[ParsedFile, Change, Program]]:
        tried, own = 0, _code(self.called.program)
        lives_on = self.check.data.get("reason") in OF_LIFETIMES
        for parsed, change in self._ranked():
            if lives_on and change.kind in ("guard", "barrier"):
                # What lives on from the first call is mended where it is left, not by letting all threads go on.
                continue
            program = self._changed(parsed, change)
            if program is None or _code(program) != own:
                continue
            tried += 1
            if tried > (MAX_DRAWN if self.case.drawn else MAX_DEVICE):
                return
            if self._is_right(
                self.case, compiled.run_with(program, *self.called.runs.begun(self.case, self.limits))
            ) and all(
                self._is_right(case, compiled.run_with(program, *self.called.runs.begun(case, LIMITS)))
                for case in self._others()
            ):
                yield parsed, change, program

    def _of_host(self, detail: str = "") -> Iterator[tuple[ParsedFile, Change, Program]]:
        ranked = [row for row in self._ranked_of_host() if detail in ("", row[1].detail)]
        for parsed, change, program in islice(self._programs(ranked), MAX_HOST):
            with closing(CompiledProgram(program)) as compiled:
                if all(
                    self._is_right(case, compiled.run(*self.called.runs.begun(case, LIMITS)))
                    for case in (self.case, *self._others())
                ):
                    yield parsed, change, program

    def _programs(self, ranked: Sequence[tuple[ParsedFile, Change]]) -> Iterator[tuple[ParsedFile, Change, Program]]:
        """Yield the changed programs that can be read and are others: no `main` that the grader's own stands in for."""
        for parsed, change in ranked:
            program = self._changed(parsed, change)
            if program is not None and program != self.called.program:
                yield parsed, change, program

    def _others(self) -> Iterator[Case]:
        own = self.case.kind, self.case.sizes
        return (case for case in self.called.runs.named() if (case.kind, case.sizes) != own)

    def _is_right(self, case: Case, observation: Observation | None) -> bool:
        run = self.called.runs.judged(case, observation) if observation is not None else None
        if observation is None or run is None or run.outcome.status != "ok" or not run.is_right or faults(run):
            return False
        return not self.of_host or not self.of_host & _told_of_host(self.called.runs, case, observation)

    def _changed(self, parsed: ParsedFile, change: Change) -> Program | None:
        return changed_program(self.called, parsed, change)

    def _ranked(self) -> list[tuple[ParsedFile, Change]]:
        """Return changes of device code, likeliest first."""
        hazards = [h for run in self.evidence.runs for h in faults(run)]
        lines = [n for n in (self.check.line, *self.check.data.get("lines", [])) if isinstance(n, int)]
        functions: list[Function] = []
        for parsed in self.called.files:
            kernels = [name for name, item in parsed.functions.items() if item.is_kernel]
            reached = {f.item.start: f for name in kernels for f in functions_of(parsed, name)}
            functions += reached.values()
        suspects = [f for f in functions if f.item.name.rpartition("::")[2] in self.called.runs.suspects]
        if len(suspects) < sum(f.is_kernel for f in functions):
            # What is launched in right runs as well has done no harm there.
            lines += [n for f in suspects for n in range(f.line(f.body), f.body.end_point.row + 2)]
        diagnoses = self.evidence.diagnoses
        diagnosis = diagnoses.get("ragged" if self.case.kind == "ragged" else "correct") or diagnoses.get("correct")
        clues = clues_of(functions, self.check.check, hazards, diagnosis, lines, {})
        ranked = in_order(clues, changes_of(functions, {}, ()))
        return [
            (f.parsed, c) for f, c in ranked if self.is_in_planes or not any(IN_PLANE.search(e.text) for e in c.edits)
        ]

    def _ranked_of_host(self) -> list[tuple[ParsedFile, Change]]:
        """Return changes of host code, those in lines that a fault names first."""
        faults_of_host = (*self.evidence.host.faults, *self.evidence.host.of_launch)
        fault_lines = {fault.line for fault in faults_of_host} | {self.check.line}
        named = {(fault.line, detail) for fault in faults_of_host for detail in NAMED.get(fault.message.id, ())}
        is_unread = any(fault.message.id == "programs.never_read" for fault in faults_of_host)
        details = {detail for _line, detail in named} & ANYWHERE
        waiting = [fault.line for fault in faults_of_host if fault.message.id.startswith(WAITS)]
        outside = {h.array for run in self.evidence.runs for h in faults(run) if h.space == "global" and h.array}
        rows: list[tuple[float, int, ParsedFile, Change]] = []
        for parsed in self.called.files:
            host = host_of(parsed)
            changes = [change for launch in launches_of(parsed) for change in grid_changes(launch)]
            changes += [change for line in waiting for change in waits(host, line)]
            changes += directions_at(host, {line for line, detail in named if detail == "direction"})
            changes += host_changes(host, outside, (), ())
            changes += lifetime_changes(host) if self.check.data.get("reason") in OF_LIFETIMES else ()
            changes += initial_changes(host, self._unset) if self._unset else ()
            for change in changes:
                is_wanted = change.line in fault_lines or (waiting and change.detail == "stream")
                cost = change.cost + (0.0 if is_wanted else 0.5) - (change.detail in details)
                cost -= (change.line, change.detail) in named
                # What no copy fetches may be what another one takes in its place.
                cost -= is_unread and change.detail in ("source", "swap")
                rows.append((cost, len(rows), parsed, change))
        rows.sort(key=lambda row: row[:2])
        unique: dict[object, tuple[ParsedFile, Change]] = {}
        for _cost, _number, parsed, change in rows:
            unique.setdefault((parsed.file, change.key), (parsed, change))
        return list(unique.values())
