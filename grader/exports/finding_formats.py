"""The formats of findings: each a function of what was found, for one submission."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from grader import __version__
from grader.exports.entries import Entry
from grader.exports.findings import (
    REMARK,
    Finding,
    Whereabouts,
    cost_of,
    costliest_first,
    findings,
    identities,
    repository_of,
    title_of,
)
from grader.exports.systems import gradescope_results, junit_document
from grader.i18n import _
from grader.report.job import where
from grader.report.predicted import in_figures, in_words
from grader.report.summary import code_at, matrix, unjudged_lines
from grader.report.text import Numbers, clipped, result_status, visible_line
from grader.report.views import CellView
from grader.result import Check, Result, is_unjudged
from grader.words import check_title


@dataclass(frozen=True, slots=True)
class FormatInput:
    """What a format is made from.

    findings: with paths as the format wants them.  seconds: what the grading took, None where nobody measured it.
    language: of the texts.  out_of: what full marks are where the service has a scale of its own, None for points.
    """

    result: Result
    findings: list[Finding]
    language: str
    seconds: float | None = None
    out_of: float | None = None


# The checks of a result as tests with points, as services that know tests have them.


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


# Findings as GCC and Clang print theirs: the form that every editor's problem matcher knows.
#
# lab.cu:44:5: error: 32-way bank conflict in line 44 … [bank_conflicts]
# lab.cu:44:5: note: Lanes 0 and 1 of a warp want …


def _gcc(given: FormatInput) -> Iterator[str]:
    """Yield a line for each finding and one for its hint, none where there is nothing to mend."""
    for finding in given.findings:
        # An editor passes over a line without a place; what concerns no line stands at the file's beginning.
        prefix = f"{visible_line(finding.file)}:{finding.line or 1}:{finding.column or 1}: " if finding.file else ""
        yield f"{prefix}{finding.level}: {finding.message} [{finding.check}]"
        if finding.hint:
            yield f"{prefix}note: {finding.hint}"


def _json(given: FormatInput) -> str:
    """Return the verdict, the points, and a record for each finding (docs/places.md)."""
    result = given.result
    score = result.score
    record = {
        "lab": result.lab,
        "status": result.status,
        "score": {"earned": score.earned, "possible": score.possible, "pending": score.pending},
        "predicted": in_figures(result),
        "seconds": None if given.seconds is None else round(given.seconds, 3),
        "findings": [asdict(finding) for finding in given.findings],
    }
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"


# Findings as SARIF 2.1.0, the Static Analysis Results Interchange Format of OASIS.
#
# https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; GitHub's code scanning and editors read it.

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def _sarif(given: FormatInput) -> str:
    """Return a log of one run: a rule for each kind of check that found something, a result for each finding."""
    by_check: dict[str, Finding] = {}
    for finding in given.findings:
        by_check.setdefault(finding.check, replace(finding, variants=()))
    rules = list(by_check)
    driver = {"name": "cuda-lab-grader", "version": __version__, "rules": [_rule(one) for one in by_check.values()]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "language": given.language,
        "invocations": [{"executionSuccessful": given.result.status not in ("error", "not_judged")}],
        "results": [
            _result(finding, rules.index(finding.check), identity)
            for finding, identity in zip(given.findings, identities(given.findings), strict=True)
        ],
        "properties": {
            "lab": given.result.lab,
            "status": given.result.status,
            "earned": given.result.score.earned,
            "possible": given.result.score.possible,
            "pending": given.result.score.pending,
            "predicted": in_figures(given.result),
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1) + "\n"


def _rule(finding: Finding) -> dict[str, Any]:
    return {"id": finding.check, "shortDescription": {"text": title_of(finding)}}


def _result(finding: Finding, rule: int, identity: str) -> dict[str, Any]:
    words = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": words},
        # The same fault of the same variant in a later commit, whatever line it stands in by then.
        "partialFingerprints": {"fault/v1": identity},
        "properties": {"variants": list(finding.variants), "lost": finding.lost},
    }
    if finding.file:
        location: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.file)}}
        region = {"startLine": finding.line, "startColumn": finding.column, "endColumn": finding.end_column}
        if finding.line:
            location["region"] = {name: value for name, value in region.items() if value}
        result["locations"] = [{"physicalLocation": location}]
    return result


# Findings as workflow commands of GitHub Actions: each shows as an annotation at its line.
#
# https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def _github(given: FormatInput) -> Iterator[str]:
    """A command for each finding; no text of a student can be a command of its own, as each is one line.

    GitHub keeps the first ten of each level that a step prints: those that most points hang on.
    """
    for finding in costliest_first(given.findings):
        properties = {
            "file": finding.file,
            "line": finding.line,
            "col": finding.column,
            "endColumn": finding.end_column,
            "title": title_of(finding),
        }
        parameters = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value)
        words = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
        yield f"::{_COMMANDS[finding.level]} {parameters}::{_data(words)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# Findings as a Code Quality report of GitLab: a merge request shows them beside its lines.
#
# https://docs.gitlab.com/ci/testing/code_quality/

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def _gitlab(given: FormatInput) -> str:
    """Return a list with a record for each finding that has a file; GitLab knows no other."""
    records = [
        {
            "description": f"{finding.message} {finding.hint}".strip(),
            "check_name": finding.check,
            "fingerprint": identity,
            "severity": _SEVERITIES[finding.level],
            "location": {"path": finding.file, "lines": {"begin": finding.line or 1}},
        }
        for finding, identity in zip(given.findings, identities(given.findings), strict=True)
        if finding.file
    ]
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"


def _junit(given: FormatInput) -> str:
    result = given.result
    return junit_document([Entry(result.student.id, result)], result.lab, given.language).decode()


# A result as Markdown: the summary of a job, a comment on a merge request.

_ACTING = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~@&:])")
_MARKS = {"error": "❌", "warning": "⚠️", "note": "💡"}


def _markdown(given: FormatInput) -> Iterator[str]:
    """Yield mark, checks with points, and what to fix; nothing of a student's acts as markup."""
    numbers = Numbers(given.language)
    result = given.result
    status = result_status(result.status)
    yield f"## {status.symbol} {_plain(result.lab)}: {mark_text(result, numbers)}"
    yield ""
    for line in unjudged_lines(result, given.language)[:1]:
        yield _plain(line)
        yield ""
    faults = [f for f in costliest_first(given.findings) if f.level != "note"]
    if faults:
        yield f"### {_('What to fix')}"
        yield ""
        for finding in faults:
            yield from _item(finding, numbers)
        yield ""
    names = list(result.variants)
    yield f"| {_('Check')} | " + " | ".join(_plain(name) for name in names) + " |"
    yield "| --- |" + " --- |" * len(names)
    for row in matrix(result.checks, names, numbers):
        yield f"| {_plain(row['title'])} | " + " | ".join(map(_cell, row["cells"])) + " |"
    times = in_words(result, numbers)
    if times:
        yield f"| {_('Predicted time')} | " + " | ".join(_plain(times.get(name, "")) for name in names) + " |"
    remarks = [f for f in given.findings if f.level == "note"]
    if remarks:
        yield ""
        yield f"### {_('Worth knowing (costs no points)')}"
        yield ""
        for finding in remarks:
            yield from _item(finding, numbers)


def _cell(cell: CellView | None) -> str:
    return "" if cell is None else _plain(f"{cell['symbol']} {cell['points']}".rstrip())


def _item(finding: Finding, numbers: Numbers) -> Iterator[str]:
    place = f"{finding.file}:{finding.line}" if finding.line else finding.file
    where = f" {_code(place)}" if place else ""
    # Remarks stand under a title that says what they are.
    title = ", ".join(finding.variants) if finding.check == REMARK else title_of(finding)
    bold = f" **{_plain(title)}**" if title else ""
    yield f"- {_MARKS[finding.level]}{bold}{cost_of(finding, numbers)}{where}  "
    yield f"  {_plain(finding.message)}"
    if finding.hint:
        yield f"  <br>→ {_plain(finding.hint)}"


def _plain(text: str) -> str:
    return _ACTING.sub(r"\\\1", visible_line(text))


def _code(text: str) -> str:
    return "`" + visible_line(text).replace("`", "ˋ") + "`"


# A result for GitHub Classroom: what its autograding reporter takes from an earlier step, in Base64.
#
# The reporter adds up the points of the tests: https://github.com/classroom-resources/autograding-grading-reporter

_STATUSES = {"pass": "pass", "skip": "pass", "borderline": "pass", "fail": "fail", "error": "error"}
_MOST_BYTES = 64_000
"""Size of all messages together: the reporter gets them in an environment variable, which Linux bounds to 128 KiB."""
_RESULTS = {"passed": "pass", "failed": "fail", "not_judged": "error", "error": "error"}


def _classroom(given: FormatInput) -> str:
    """Return one line of Base64."""
    result = given.result
    listed = list(tests(result, given.out_of))
    each = _MOST_BYTES // max(1, len(listed))
    shown = [
        {
            "name": test.name,
            "status": "error" if is_unjudged(test.check) else _STATUSES[test.check.status],
            "score": test.score,
            "message": clipped(" ".join(filter(None, (test.place, test.check.message, test.check.hint))), each),
            "test_code": test.check.id,
            "filename": test.file,
            "line_no": test.line or 0,
            "execution_time": "0s",
        }
        for test in listed
    ]
    record = {
        "version": 1,
        "status": _RESULTS[result.status],
        "max_score": round(result.score.possible * scale_of(result, given.out_of), 2),
        "tests": shown,
    }
    return base64.b64encode(json.dumps(record, ensure_ascii=False).encode()).decode("ascii") + "\n"


# A result for Moodle's Virtual Programming Lab: lines of comments, and the proposed grade.
#
# https://vpl.dis.ulpgc.es/documentation/ (Automated program assessment).  A line `Comment :=>>- …` is a title that
# opens what follows it, `Comment :=>>>…` is shown as it is; the last line that begins with `Grade :=>>` is the grade.


def _vpl(given: FormatInput) -> Iterator[str]:
    """Every line begins with a tag of ours, so that no text of a student's can be taken for one.

    Where the grader failed, or judged too little, there is no grade: the service keeps the submission as not evaluated.
    """
    numbers = Numbers(given.language)
    result = given.result
    status = result_status(result.status)
    yield f"Comment :=>>- {status.symbol} {status.word}: {mark_text(result, numbers)}"
    for line in unjudged_lines(result, given.language)[:1]:
        yield f"Comment :=>> {line}"
    for finding in costliest_first(given.findings):
        yield f"Comment :=>>- {visible_line(title_of(finding))}{cost_of(finding, numbers)}"
        place = f"{finding.file}:{finding.line}" if finding.line else finding.file
        if place:
            yield f"Comment :=>>>{visible_line(place)}"
        yield f"Comment :=>> {visible_line(finding.message)}"
        if finding.hint:
            yield f"Comment :=>> → {visible_line(finding.hint)}"
    for name, time in in_words(result, numbers).items():
        yield f"Comment :=>> {visible_line(name)}: {_('Predicted time')} {time}"
    if result.status not in ("error", "not_judged"):
        # A number as PHP reads it, whatever the language.
        yield f"Grade :=>> {result.score.earned * scale_of(result, given.out_of):.2f}"


def _gradescope(given: FormatInput) -> str:
    return gradescope_results(given.result, given.language, given.seconds).decode()


FORMATS: dict[str, Callable[[FormatInput], str | Iterator[str]]] = {
    "gcc": _gcc,
    "json": _json,
    "sarif": _sarif,
    "github": _github,
    "gitlab": _gitlab,
    "junit": _junit,
    "markdown": _markdown,
    "classroom": _classroom,
    "vpl": _vpl,
    "gradescope": _gradescope,
}
"""What writes each, by its name: as a text, or line by line."""
_IN_REPOSITORY = {"sarif", "github", "gitlab", "markdown"}
"""Their paths are told relative to the repository's root."""


def write(
    name: str, result: Result, source: Path, language: str, seconds: float | None = None, out_of: float | None = None
) -> str:
    """The findings of a result in the format `name`, ready to be printed; `source` is what was graded (see `Told`)."""
    root = repository_of(source) if name in _IN_REPOSITORY else None
    digests = {one.notebook or one.file: one.sha256 for one in result.sources}
    all_findings = findings(result, Whereabouts(source, result.lab, root, digests))
    text = FORMATS[name](FormatInput(result, all_findings, language, seconds, out_of))
    return text if isinstance(text, str) else "".join(f"{line}\n" for line in text)
