"""`work`: threads do no more, together, than the task takes, and what they do grows with its size as it has to."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab import formula
from grader.lab.checks import WorkSettings
from grader.message import Message, msg, sizes_msg
from grader.running.evidence import Evidence, Work

TOLERANCE = 1e-9
"""Limits are formulas; this absorbs their rounding."""


def judge(evidence: Evidence, settings: WorkSettings) -> Verdict:
    """Compare what is done for each element, then how it grows; name the line that does most."""
    observed = evidence.observed_work
    exact = [work for work in evidence.work if work.kind in ("correct", "observe") and not work.drawn]
    if observed is None:
        return not_measured(msg("checks.not_counted"))
    field = settings.of
    each = observed.total(field) / observed.elements
    data: dict[str, object] = {"of": field, "per_element": round(each, 4)}
    figure = msg("checks.work.each", each=round(each, 2), what=msg(f"checks.work.{field}"))
    if settings.max_per_element is not None:
        needed = formula.evaluate(str(settings.max_per_element), observed.sizes)
        data["max_per_element"] = needed
        if each > needed + TOLERANCE:
            message = msg(
                "checks.work.too_much", figure=figure, sizes=sizes_msg(observed.sizes), needed=round(needed, 2)
            )
            return _at_most(evidence, settings, observed, message, data)
    if not settings.growth:
        return passed(msg("checks.work.passed", figure=figure, sizes=sizes_msg(observed.sizes)), data=data)
    small, large = (end(exact, key=lambda work: formula.evaluate(settings.growth, work.sizes)) for end in (min, max))
    by = formula.evaluate(settings.growth, large.sizes) / formula.evaluate(settings.growth, small.sizes)
    least = small.total(field)
    if not least or by <= 1:
        # At the other sizes it was not counted, or nothing was done at all.
        return not_measured(msg("checks.not_counted"))
    got, needed = large.total(field) / least, settings.slack * by
    data |= {"growth": round(got, 4), "max_growth": round(needed, 4)}
    grown = msg(
        "checks.work.growth",
        small=sizes_msg(small.sizes),
        large=sizes_msg(large.sizes),
        got=round(got, 2),
    )
    if got > needed + TOLERANCE:
        message = msg("checks.work.grows", what=msg(f"checks.work.{field}"), growth=grown, needed=round(needed, 2))
        return _at_most(evidence, settings, large, message, data)
    return passed(msg("checks.work.passed_growth", figure=figure, growth=grown), data=data)


def _at_most(
    evidence: Evidence, settings: WorkSettings, work: Work, message: Message, data: dict[str, object]
) -> Verdict:
    """A failure at the line that does most of the work."""
    rows = work.by_line()
    if not rows:
        # A library does it all.
        return failed(message, None, data=data)
    file, worst = max(rows, key=lambda row: getattr(row[1], settings.of))
    share = round(100 * getattr(worst, settings.of) / work.total(settings.of))
    verdict = failed(
        msg("checks.work.at_line", message=message, line=worst.line, share=share),
        msg(f"checks.work.hint_{settings.of}"),
        worst.line,
        data=data,
    )
    return replace(verdict, file=evidence.file_of(file))
