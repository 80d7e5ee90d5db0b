"""Stored results shown again, in the language in use, and scored again by a changed lab file or a teacher's decisions.

Nothing is run.  What a kernel did does not change with the lab file's thresholds, so where a check's `data` hold what
its thresholds are compared with, its verdict follows from them.  Everything else has to be graded again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from grader.checks.execution import said
from grader.checks.memory_accesses import TOLERANCE
from grader.course.decisions import Decider, find_decider_again, see_that_decisions_are_known, undone, write_ledger
from grader.course.roster import Person
from grader.errors import UsageError, describe_os_error
from grader.exports import COURSE_EXPORTS, EXPORTS, pages
from grader.exports.entries import Entry, Table, rest_of, rules_of, source_of
from grader.exports.pages import rows_of
from grader.files import read_kept, write_atomically
from grader.grading.cache import is_rendered, put_reports, rescored, retold
from grader.grading.paths import RESULT_NAME, Announcer, StoredRun, find_stored, stored_groups
from grader.grading.tables import Tables, compare_once, course_tables
from grader.lab import labs
from grader.lab.checks import BankConflictSettings, CoalescingSettings, SpeedupSettings
from grader.lab.records import CheckSpec, Lab
from grader.message import Message, msg, sentences_of
from grader.processes.pool import Answer, Pool, wait
from grader.report.job import ReportJob, make_job
from grader.report.rendering import Reply, rendering_pool
from grader.report.text import Numbers, visible_line
from grader.result import WAITING, Check, CheckStatus, Result, Score, encode, gravest_code, marked
from grader.timing.sampling import mark
from grader.words import check_title, text, told

if TYPE_CHECKING:
    from rich.console import Console


def retell(path: Path, language: str, pdf: bool, labs_folders: Sequence[Path], only_stale: bool = False) -> int:
    """Write and show again what lies at `path`, in `language`, which is the one in use; returns the exit code.

    only_stale: of a group's reports, those that already lie there as they would be written are left alone.

    Raises UsageError: nothing is there, it cannot be read or written, or its lab is not known here.
    """
    from grader.report import terminal

    runs = find_stored(path)
    by_id = {run.lab: labs.find(run.lab, labs_folders) for run in runs}
    out = terminal.console()
    code = 0
    with rendering_pool(pdf) as rendering:
        for run in runs:
            try:
                code = gravest_code(
                    (code, _Retelling(run, by_id[run.lab], language, pdf, rendering, out).tell(only_stale))
                )
            except OSError as error:
                raise UsageError(describe_os_error(error)) from error
        for folder in dict.fromkeys(run.outputs.out for run in runs if run.is_group):
            tables = Tables(language)
            all_tables, left_out = course_tables(folder, {}, labs_folders)
            shown = [table for table in all_tables if table.entries]
            for line in (*tables.of_course(COURSE_EXPORTS, shown, folder), *left_out, *tables.problems):
                out.print(visible_line(line), soft_wrap=True)
    return code


class _Retelling:
    def __init__(
        self, run: StoredRun, lab: Lab, language: str, pdf: bool, rendering: Pool[ReportJob, Reply], out: Console
    ) -> None:
        self._run = run
        self._lab = lab
        self._language = language
        self._pdf = pdf
        self._rendering = rendering
        self._out = out
        self._announced = Announcer(run.outputs)

    def tell(self, only_stale: bool) -> int:
        """Write and show it; returns the exit code that the reports ask for."""
        entries = [e if e.result is None else replace(e, result=self._rewritten(e.result)) for e in self._run.entries]
        for entry in entries:
            if entry.result is not None:
                folder = self._run.outputs.folder(entry.student)
                if only_stale and self._run.is_group and is_rendered(folder, self._lab, self._language, self._pdf):
                    self._announced.rendered.add(entry.student)
                    continue
                job = make_job(entry.result, self._lab, self._language, str(folder), self._pdf)
                self._rendering.submit(job, job)
                if not self._run.is_group:
                    self._show(job)
        lines = self._rendered()
        if self._run.is_group:
            lines = self._conclude(entries)
        for line in lines:
            self._out.print(visible_line(line), soft_wrap=True)
        self._out.file.flush()
        return self._announced.code

    def _rewritten(self, result: Result) -> Result:
        again = told(result)
        if again != result:
            folder = self._run.outputs.folder(result.student.id)
            before, after = read_kept(folder / RESULT_NAME), encode(again)
            write_atomically(folder / RESULT_NAME, after)
            retold(folder, before, after, self._language)
        if result.schema_version == 1:
            self._out.print(visible_line(text(msg("session.old_result", student=result.student.id))), soft_wrap=True)
        return again

    def _show(self, job: ReportJob) -> None:
        from grader.report import terminal
        from grader.report.summary import summary

        terminal.show_result(self._out, summary(job))
        self._out.print()

    def _rendered(self) -> list[str]:
        lines = []
        while self._rendering.unfinished:
            for event in self._rendering.events():
                lines += self._announced.lines(event)
                if isinstance(event, Answer) and event.is_last:
                    student = event.task.result.student.id
                    names = self._announced.files.pop(student, set())
                    put_reports(self._run.outputs.folder(student), self._lab, self._language, names)
            if self._rendering.unfinished:
                wait(self._rendering)
        return lines

    def _conclude(self, entries: Sequence[Entry]) -> list[str]:
        """Write a group's tables and show its marks; return lines that name the files."""
        from grader.report import terminal

        outputs, names = self._run.outputs, [variant.name for variant in self._lab.variants]
        linked = [
            replace(e, report=outputs.report_link(e.student)) if e.student in self._announced.rendered else e
            for e in entries
        ]
        tables = Tables(self._language)
        sourced = [e if e.result is None else replace(e, source=source_of(e.result)) for e in linked]
        table = Table(self._lab, sourced, similar=compare_once(self._lab, sourced, outputs.out))
        lines = tables.of_lab((*EXPORTS, pages.SIMILAR), table, outputs)
        lines += tables.problems
        rows = rows_of(linked, names, self._language)
        terminal.show_group(self._out, rows, names)
        return [line for line in (*lines, *self._announced.notices) if line]


@dataclass(frozen=True, slots=True)
class _Again:
    status: CheckStatus
    credit: float
    message: Message | None
    open: float = 0.0


def rescored_check(check: Check, spec: CheckSpec, old_points: float, settings_changed: bool) -> Check | None:
    """The check by `spec`, None where what is stored does not suffice; old_points: what it could give before."""
    possible = 0.0 if check.skip_reason == "not_applicable" else spec.points
    if not settings_changed or check.status in ("skip", "error"):
        credit = check.earned / old_points if old_points else (1.0 if check.status == "pass" else 0.0)
        return _with(check, credit, possible, check.pending > 0 or _waits(check))
    again = _judged(check, spec.settings)
    if again is None:
        return None
    changed = _with(check, again.credit, possible, waits=False)
    changed = msgspec.structs.replace(changed, pending=round(possible * again.open, 2))
    if again.message is not None:
        changed = msgspec.structs.replace(changed, message_said=again.message)
    if again.status != check.status:
        # What the old verdict advised is no fault any more, or was none yet.
        changed = msgspec.structs.replace(changed, status=again.status, hint="", hint_said=None)
    return changed


def _with(check: Check, credit: float, possible: float, waits: bool) -> Check:
    return msgspec.structs.replace(
        check,
        earned=0.0 if waits else round(possible * credit, 2),
        pending=possible if waits else 0.0,
        possible=possible,
    )


def _waits(check: Check) -> bool:
    return check.status == "error" or check.skip_reason in WAITING


def _judged(check: Check, settings: Any) -> _Again | None:
    data = check.data
    match settings:
        case BankConflictSettings() if "ways" in data:
            credit = max((p.share for p in settings.partial if data["ways"] <= p.ways), default=0.0)
            return _Again(check.status, 1.0 if check.status == "pass" else credit, None)
        case CoalescingSettings() if "load_ratio" in data:
            return _coalescing(check, settings)
        case SpeedupSettings() if {"speedup", "low", "high", "full"} <= data.keys():
            return _speedup(check, settings)
    return None


def _coalescing(check: Check, settings: CoalescingSettings) -> _Again | None:
    reached = settings.judged(check.data["load_ratio"], check.data["store_ratio"])
    figures = check.message_said.data.get("figures") if check.message_said is not None else None
    # The stored ratios are rounded: too near a threshold they do not tell.
    limits = [settings.max_ratio, *(p.ratio for p in settings.partial)]
    if figures is None or any(0 < abs(reached - limit) <= 1e-4 for limit in limits):
        return None
    if reached <= settings.max_ratio + TOLERANCE:
        is_both = settings.sides == "both"
        passed = msg("checks.coalescing.passed" if is_both else "checks.coalescing.passed_one", figures=figures)
        return _Again("pass", 1.0, passed)
    if check.status == "pass":
        # Which line is to blame is not stored.
        return None
    credit = max((p.share for p in settings.partial if reached <= p.ratio + TOLERANCE), default=0.0)
    return _Again("fail", credit, None)


def _speedup(check: Check, settings: SpeedupSettings) -> _Again | None:
    message = check.message_said
    said_of = sentences_of(message)[:1]
    parts = said_of[0].data if said_of and said_of[0].id == "checks.speedup.timed" else {}
    figures = parts.get("figures")
    if not isinstance(figures, Message) or figures.id.startswith("checks.speedup.figures_own") != settings.own:
        # Another kernel is compared with now, or the words are an earlier version's.
        return None
    if not settings.own and figures.data.get("variant", check.variant) != settings.against:
        return None
    is_predicted = "predicted_for" in check.data
    if is_predicted and not settings.predicted:
        return None
    got = mark(settings, *(float(check.data[name]) for name in ("speedup", "low", "high")))
    status, again = said(settings, got, figures, is_predicted)
    return _Again(status, got.share, again, got.open)


def rescore(folder: Path, language: str, pdf: bool, labs_folders: Sequence[Path]) -> int:
    """Mark what lies in `folder` again and say whose marks change and why; returns the exit code.

    Raises UsageError: no group lies there, or its lab changed in more than points and thresholds.
    """
    try:
        runs = list(stored_groups(folder))
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    if not runs:
        raise UsageError(msg("session.no_group", path=str(folder)))
    by_id = {run.lab: labs.find(run.lab, labs_folders) for run in runs}
    deciders = {run.lab: find_decider_again(folder, run.lab) for run in runs}
    for run in runs:
        decider = deciders[run.lab]
        see_that_decisions_are_known(decider, (e.result for e in run.entries if e.result is not None), folder)
        if run.rest != rest_of(by_id[run.lab]):
            raise UsageError(_what_changed(run, by_id[run.lab]))
        decider.overrides.validate(by_id[run.lab])
        deciders[run.lab] = decider.for_people([entry.person or Person(id=entry.student) for entry in run.entries])
    rescorings = [_Rescoring(run, by_id[run.lab], deciders[run.lab], language) for run in runs]
    unclear = [line for rescoring in rescorings for line in rescoring.unclear()]
    for line in unclear:
        print(visible_line(line))
    if unclear:
        return 2
    try:
        changes = sum(rescoring.write() for rescoring in rescorings)
        for lab, decider in deciders.items():
            write_ledger(decider, folder, lab)
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    print(text(msg("session.rescored", n=changes)))
    retell(folder, language, pdf, labs_folders, only_stale=True)
    return 0


def _what_changed(run: StoredRun, lab: Lab) -> Message:
    """Return why a lab has to be graded again: a check more or less also changes what is run."""
    old, new = set(run.checks), set(rules_of(lab))
    added, removed = ", ".join(sorted(new - old)), ", ".join(sorted(old - new))
    if not old or old == new:
        return msg("session.lab_changed", lab=run.lab)
    if added and removed:
        return msg("session.checks_exchanged", lab=run.lab, added=added, removed=removed)
    if added:
        return msg("session.checks_added", lab=run.lab, added=added)
    return msg("session.checks_removed", lab=run.lab, removed=removed)


class _Rescoring:
    """A lab's group that is marked again.

    The labs of a folder are marked by the same files: where one has to be graded again, nothing is written.
    """

    def __init__(self, run: StoredRun, lab: Lab, decider: Decider, language: str) -> None:
        self._run = run
        self._decider = decider
        self._numbers = Numbers(language)
        self._old = run.checks
        self._new = rules_of(lab)
        self._specs = {f"{v.name}.{check.check}": check for v in lab.variants for check in v.checks}

    def unclear(self) -> list[str]:
        """A line for each work that has to be graded again."""
        return [
            text(msg("session.grade_again", student=entry.student, lab=self._run.lab, checks=", ".join(unclear)))
            for entry in self._run.entries
            if entry.result is not None and (unclear := self._again(undone(entry.result))[1])
        ]

    def write(self) -> int:
        """Write what changes and say it; returns how many marks do."""
        count = 0
        for entry in self._run.entries:
            before = entry.result
            if before is None:
                continue
            after = told(self._decider.decided(self._again(undone(before))[0], entry.person))
            if after == before:
                continue
            folder = self._run.outputs.folder(after.student.id)
            data, again = read_kept(folder / RESULT_NAME), encode(after)
            write_atomically(folder / RESULT_NAME, again)
            rescored(folder, data, again, is_as_graded=self._old == self._new)
            if after.score != before.score:
                count += 1
                for line in self._differences(before, after):
                    print(visible_line(line))
        return count

    def _again(self, result: Result) -> tuple[Result, list[str]]:
        """Return the result by the new rules, and the checks that cannot be judged from what is stored."""
        checks, unclear = [], []
        for check in result.checks:
            old, spec = self._old.get(check.id), self._specs.get(check.id)
            if old is None or spec is None:
                unclear.append(check.id)
                continue
            again = rescored_check(check, spec, old.points, self._settings_changed(check.id))
            if again is None:
                unclear.append(check.id)
            else:
                checks.append(again)
        unclear += sorted(set(self._new) - {check.id for check in result.checks})
        return marked(result, checks), unclear

    def _settings_changed(self, check: str) -> bool:
        return self._old[check].settings != self._new[check].settings

    def _differences(self, before: Result, after: Result) -> list[str]:
        lines = [f"{after.student.id}: {self._difference(before.score, after.score)}"]
        was = {check.id: check for check in before.checks}
        for check in after.checks:
            difference = self._difference(was[check.id], check)
            if difference:
                lines.append(f"  {check.variant}: {check_title(check.check)}: {difference}")
        return lines

    def _difference(self, before: Score | Check, after: Score | Check) -> str:
        """Return which points (earned, possible, pending) changed, "" where none did."""
        points, parts = self._numbers.points, []
        if (before.earned, before.possible) != (after.earned, after.possible):
            parts.append(
                f"{points(before.earned)}/{points(before.possible)} → {points(after.earned)}/{points(after.possible)}"
            )
        if before.pending != after.pending:
            change = msg("session.points_pending", before=points(before.pending), after=points(after.pending))
            parts.append(text(change))
        return ", ".join(parts)
