"""A result for Moodle's Virtual Programming Lab: lines of comments, and the proposed grade.

https://vpl.dis.ulpgc.es/documentation/ (Automated program assessment).  A line `Comment :=>>- …` is a title that
opens what follows it, `Comment :=>>>…` is shown as it is; the last line that begins with `Grade :=>>` is the grade.
"""

from __future__ import annotations

from collections.abc import Iterator

from grader.findings.finding import cost_of, dearest_first, title_of
from grader.findings.formats import Told
from grader.findings.graded import mark_text, scale_of
from grader.report.labels import result_status
from grader.report.numbers import Numbers
from grader.report.summary import unjudged_lines
from grader.report.visible import visible_line


def write(told: Told) -> str:
    """Every line begins with a tag of ours, so that no text of a student's can be taken for one.

    Where the grader failed, or judged too little, there is no grade: the service keeps the submission as not evaluated.
    """
    return "".join(f"{line}\n" for line in _lines(told))


def _lines(told: Told) -> Iterator[str]:
    numbers = Numbers(told.language)
    result = told.result
    status = result_status(result.status)
    yield f"Comment :=>>- {status.symbol} {status.word}: {mark_text(result, numbers)}"
    for line in unjudged_lines(result, told.language)[:1]:
        yield f"Comment :=>> {line}"
    for finding in dearest_first(told.findings):
        yield f"Comment :=>>- {visible_line(title_of(finding))}{cost_of(finding, numbers)}"
        place = f"{finding.file}:{finding.line}" if finding.line else finding.file
        if place:
            yield f"Comment :=>>>{visible_line(place)}"
        yield f"Comment :=>> {visible_line(finding.message)}"
        if finding.hint:
            yield f"Comment :=>> → {visible_line(finding.hint)}"
    if result.status not in ("error", "not_judged"):
        # A number as PHP reads it, whatever the language.
        yield f"Grade :=>> {result.score.earned * scale_of(result, told.out_of):.2f}"
