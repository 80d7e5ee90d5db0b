"""The checks of a result as tests with points, as services that know tests have them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from grader.i18n import _
from grader.report.numbers import Numbers
from grader.report.summary import code_at, where
from grader.result import Check, Result
from grader.words import check_title


@dataclass(frozen=True, slots=True)
class Test:
    """One check of one variant.

    name: of both, in words.  place, code: the line that it found a fault in, "" where there is none.
    file, line: the same apart, for services that ask for both; no line in a notebook, whose own nobody sees.
    score, possible: points, on the service's scale.
    """

    name: str
    check: Check
    place: str
    code: str
    file: str
    line: int | None
    score: float
    possible: float


def tests(result: Result, out_of: float | None) -> Iterator[Test]:
    """A test for each check that applies, in order; out_of: full marks on the service's scale, None for points."""
    scale = scale_of(result, out_of)
    lines = {source.file: source.text.split("\n") for source in result.sources}
    notebooks = {source.file: source.notebook for source in result.sources if source.notebook}
    for check in result.checks:
        if check.status == "skip" and check.skip_reason == "not_applicable":
            continue
        if check.status == "pass" and not check.possible:
            continue
        file = result.file_of(check) or ""
        yield Test(
            name=f"{check.variant} · {check_title(check.check)}",
            check=check,
            place=where(result, file, check.line) if check.line else "",
            code=code_at(lines, file, check.line),
            file=notebooks.get(file, file) if check.line else "",
            line=None if file in notebooks else check.line,
            score=round(check.earned * scale, 4),
            possible=round(check.possible * scale, 4),
        )


def scale_of(result: Result, out_of: float | None) -> float:
    """What a point of the lab is on the service's scale."""
    if out_of is None or not result.score.possible:
        return 1.0
    return out_of / result.score.possible


def mark_text(result: Result, numbers: Numbers) -> str:
    """A result's points in words, and those that are pending."""
    score = result.score
    mark = numbers.mark(score.earned, score.possible)
    if score.pending:
        mark += ", " + _("{points} pending").format(points=numbers.points(score.pending))
    return mark
