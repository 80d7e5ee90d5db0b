"""A group's results as rows of one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.i18n import _
from grader.report.job import decided
from grader.report.numbers import Numbers, check_status, result_status
from grader.report.summary import FAULT_STATUSES, blocked_points, lost_points, shortened, title_of, unjudged, where
from grader.report.visible import visible_line
from grader.result import Result

# A variant is as good as its worst check.
_SEVERITY = {"fail": 4, "error": 3, "borderline": 2, "pass": 1, "skip": 0}


@dataclass(frozen=True, slots=True)
class GroupCell:
    """What became of a variant: the worst status, and its points."""

    key: str
    symbol: str
    text: str


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A student.

    report: the address of their report.  cells: none where nothing was graded.  fault: the dearest.
    decisions: why the mark is not the sum of the cells, a line for each thing that the teacher decided.
    """

    student: str
    name: str
    group: str
    report: str
    key: str
    mark: str
    cells: tuple[GroupCell, ...]
    fault: str
    decisions: tuple[str, ...] = ()


def group_row(result: Result, variants: Sequence[str], language: str, report: str = "") -> GroupRow:
    """A student's row: mark, a cell per variant, the fault that costs most."""
    numbers = Numbers(language)
    return GroupRow(
        student=visible_line(result.student.id),
        name=visible_line(result.student.name or result.student.id),
        group=visible_line(result.student.group),
        report=report,
        key=result_status(result.status).key,
        mark=_("{earned} of {possible}").format(
            earned=numbers.points(result.score.earned), possible=numbers.points(result.score.possible)
        ),
        cells=tuple(_cell(result, name, numbers) for name in variants),
        fault=worst_fault(result),
        decisions=tuple(decided(result, language)),
    )


def _cell(result: Result, variant: str, numbers: Numbers) -> GroupCell:
    checks = [check for check in result.checks if check.variant == variant]
    worst = max(checks, key=lambda check: _SEVERITY[check.status], default=None)
    status = check_status(worst.status, worst.skip_reason) if worst else check_status("skip", "not_applicable")
    return GroupCell(status.key, status.symbol, numbers.points(sum(check.earned for check in checks)))


def student_line(result: Result, language: str) -> str:
    """A submission in one line, for the running account of a long grading."""
    row = group_row(result, [], language)
    return f"{result_status(result.status).symbol} {row.student}: {row.mark}"


def failed_row(student: str, reason: str) -> GroupRow:
    """The row of a submission that could not be graded at all."""
    name = visible_line(student)
    return GroupRow(name, name, "", "", "error", "–", (), visible_line(reason))


def worst_fault(result: Result) -> str:
    """The fault that costs most, with its place, in words, or why there is no verdict; "" where there is neither."""
    checks = result.checks
    reason = next(iter(unjudged(result)), None)
    if reason is not None:
        return visible_line(f"{result_status(result.status).word}: {shortened(reason.root.message)}")
    costs = {c.id: lost_points(c) + blocked_points(checks, c) for c in checks}
    # For what the teacher gave all points, none is lost.
    faults = [c for c in checks if c.status in FAULT_STATUSES and (costs[c.id] or c.override is None)]
    if not faults:
        return ""
    worst = max(faults, key=lambda c: (c.status == "fail", costs[c.id]))
    place = where(result, result.file_of(worst), worst.line) if worst.line else ""
    return visible_line(f"{title_of(worst)}{f' ({place})' if place else ''}: {shortened(worst.message)}")
