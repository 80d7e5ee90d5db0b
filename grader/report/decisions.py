"""What a teacher decided of a result, in words."""

from __future__ import annotations

from collections.abc import Iterator

from grader.i18n import _, ngettext
from grader.report.numbers import Numbers
from grader.report.visible import visible_line
from grader.result import Override, Result
from grader.words import check_title


def decision_lines(result: Result, language: str) -> list[str]:
    """A line for each decision: what was given in place of what, why, what lateness cost; [] without any.

    The last one says if a decision is missing: nobody knows when the work was handed in.
    """
    lines = decided(result, language)
    if result.decisions is not None and result.decisions.asks_time:
        lines.append(_("it is not known when the work was submitted; no penalty is applied"))
    return lines


def decided(result: Result, language: str) -> list[str]:
    """A line for each decision that was made, as `decision_lines`."""
    return [visible_line(line) for line in _lines(result, Numbers(language))]


def _lines(result: Result, numbers: Numbers) -> Iterator[str]:
    for check in result.checks:
        if check.override is not None:
            title = f"{check.variant}: {check_title(check.check)}"
            yield _override(title, check.override, numbers)
    decisions = result.decisions
    if decisions is None:
        return
    late = decisions.late
    if late is not None:
        days = ngettext("{n} day late", "{n} days late", late.days).format(n=late.days)
        cost = _("−{percent} of the points earned, {points} points").format(
            percent=numbers.percent(late.penalty_pct), points=numbers.points(late.lost)
        )
        times = _("submitted {handed_in}, due {deadline}").format(
            handed_in=_clock(late.handed_in), deadline=_clock(late.deadline)
        )
        yield f"{days} ({times}): {cost}"
    if decisions.total is not None:
        yield _override(_("Total"), decisions.total, numbers)
    if decisions.note:
        yield _("Teacher's note: {note}").format(note=decisions.note)


def _override(what: str, override: Override, numbers: Numbers) -> str:
    line = _("{what}: the teacher gives {points} instead of {was}: {reason}").format(
        what=what, points=numbers.points(override.points), was=numbers.points(override.was), reason=override.reason
    )
    if override.outdated:
        line += " " + _("(What this replaces has changed since.)")
    return line


def _clock(time: str) -> str:
    return time[:16].replace("T", " ")
