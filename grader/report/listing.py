"""The student's own code, line by line, with what was counted and found beside each line."""

from __future__ import annotations

import re
from typing import NamedTuple

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.labels import check_status
from grader.report.numbers import Numbers
from grader.report.view import FAULT_STATUSES, View, shortened, variant_columns
from grader.report.visible import visible
from grader.result import LineCounters, Result, Source, Variant
from grader.words import check_title

KINDS = ("kernel", "fault", "hazard", "counter")


class Note(NamedTuple):
    """A remark on a line.  kind: one of `KINDS`; level: "bad", "warn", "ok" or "" (neutral)."""

    kind: str
    level: str
    text: str


MAX_LINES = 600
"""Lines of a file that are shown whole; of a longer one, only the surroundings of what is noted."""
CONTEXT_LINES = 12
MAX_LINE_CHARACTERS = 400

Token = tuple[str, str]
"""CSS class ("" for plain text) and text."""


def listings(job: ReportJob) -> list[View]:
    """A listing per source file: its name and rows; a row is a line, or a gap of lines that are not shown."""
    return [{"file": source.file, "rows": _rows(source, job)} for source in job.result.sources]


def _rows(source: Source, job: ReportJob) -> list[View]:
    notes = notes_by_line(job, source.file)
    # Backslashes lined up far to the right would each break into a line of their own.
    lines = highlight(re.sub(r"[ \t]{2,}\\$", r" \\", source.text, flags=re.MULTILINE))
    shown = _shown(len(lines), notes)
    rows: list[View] = []
    gap_start = 0
    for number, tokens in enumerate(lines, start=1):
        if number not in shown:
            gap_start = gap_start or number
            continue
        if gap_start:
            rows.append(_gap(gap_start, number - 1))
            gap_start = 0
        found = notes.get(number, [])
        level = "bad" if any(note["level"] == "bad" for group in found for note in group["notes"]) else ""
        rows.append({"number": number, "tokens": tokens, "notes": found, "level": level})
    if gap_start:
        rows.append(_gap(gap_start, len(lines)))
    return rows


def _gap(first: int, last: int) -> View:
    return {"gap": _("lines {first}–{last} are not shown").format(first=first, last=last)}


def _shown(total: int, notes: dict[int, list[View]]) -> set[int]:
    if total <= MAX_LINES:
        return set(range(1, total + 1))
    near = {line + d for line in notes for d in range(-CONTEXT_LINES, CONTEXT_LINES + 1)}
    return {line for line in near if 1 <= line <= total} or set(range(1, MAX_LINES + 1))


def notes_by_line(job: ReportJob, file: str) -> dict[int, list[View]]:
    """Notes for the lines of `file`: which kernel starts here, faults, hazards, memory requests.

    Per line a list of groups {"variants": …, "notes": …}: a note that holds for several variants (they may share a
    kernel) is told once.  Worst first.
    """
    numbers = Numbers(job.language)
    merged: dict[tuple[int, Note], list[View]] = {}
    for column in variant_columns(job):
        variant = job.result.variants.get(column["name"])
        if variant is None or variant.file != file:
            continue
        for line, note in _variant_notes(job.result, column["name"], variant, numbers):
            told = merged.setdefault((line, note), [])
            if column not in told:
                told.append(column)
    by_line: dict[int, list[View]] = {}
    for (line, note), variants in sorted(merged.items(), key=lambda item: KINDS.index(item[0][1].kind)):
        groups = by_line.setdefault(line, [])
        group = next((g for g in groups if g["variants"] == variants), None)
        if group is None:
            group = {"variants": variants, "notes": []}
            groups.append(group)
        group["notes"].append(note._asdict())
    return by_line


def _variant_notes(result: Result, name: str, variant: Variant, numbers: Numbers) -> list[tuple[int, Note]]:
    """Everything known about the lines of a variant's kernel."""
    notes: list[tuple[int, Note]] = []
    if variant.line:
        notes.append((variant.line, Note("kernel", "", _("kernel of this variant"))))
    said = set()
    for check in result.checks:
        if check.variant == name and check.line and check.status in FAULT_STATUSES:
            symbol = check_status(check.status).symbol
            text = f"{symbol} {check_title(check.check)}: {shortened(check.message)}"
            notes.append((check.line, Note("fault", "bad", text)))
            said.add(check.message)
    seen = set()
    for hazard in variant.hazards:
        # A hazard that a check has already put beside its line is not told twice, nor are its like in that line.
        told = (hazard.line, hazard.kind) in seen or any(hazard.message in message for message in said)
        if hazard.line and not told:
            notes.append((hazard.line, Note("hazard", "bad", shortened(hazard.message))))
        seen.add((hazard.line, hazard.kind))
    if variant.counters is not None:
        for counter in variant.counters.by_line:
            if counter.line and counter.requests and counter.space in ("shared", "global"):
                text, wasteful = counter_note(counter, numbers)
                notes.append((counter.line, Note("counter", "warn" if wasteful else "ok", text)))
    return notes


def counter_note(counter: LineCounters, numbers: Numbers) -> tuple[str, bool]:
    """What one line's requests cost, and whether that is more than they need."""
    if counter.space == "shared":
        operations = {
            "load": _("shared load"),
            "store": _("shared store"),
            "atomic": _("shared atomic"),
        }
        cost = numbers.decimal(counter.wavefronts / counter.requests)
        if counter.ways > 1:
            text = _("{operation}: {ways}-way conflict, wavefronts per request: {cost}")
        else:
            text = _("{operation}: no conflict, wavefronts per request: {cost}")
        return text.format(operation=operations[counter.op], ways=counter.ways, cost=cost), counter.ways > 1
    operations = {
        "load": _("global load"),
        "store": _("global store"),
        "atomic": _("global atomic"),
    }
    wasteful = counter.sectors > counter.ideal * 1.005
    if wasteful:
        text = _("{operation}: sectors per request: {cost}, enough would be {ideal}")
    else:
        text = _("{operation}: sectors per request: {cost}")
    return (
        text.format(
            operation=operations[counter.op],
            cost=numbers.decimal(counter.sectors / counter.requests),
            ideal=numbers.decimal(counter.ideal / counter.requests),
        ),
        wasteful,
    )


def highlight(text: str) -> list[list[Token]]:
    """Lines of tokens whose texts joined are `text` without its line ends; very long lines are cut.

    Characters that act on the page or on the reader (`visible`) are replaced.
    """
    from pygments import lex
    from pygments.lexers import get_lexer_by_name
    from pygments.token import Comment, Keyword, Name, Number, String, is_token_subtype

    classes = (
        (Comment.Preproc, "p"),
        (Comment.PreprocFile, "p"),
        (Comment, "c"),
        (Keyword, "k"),
        (Name.Builtin, "b"),
        (String, "s"),
        (Number, "n"),
    )
    lines: list[list[Token]] = [[]]
    for kind, value in lex(visible(text), get_lexer_by_name("cuda", stripnl=False, ensurenl=False)):
        css = next((name for token, name in classes if is_token_subtype(kind, token)), "")
        for index, part in enumerate(value.split("\n")):
            if index:
                lines.append([])
            if part:
                _append(lines[-1], css, part)
    if text.endswith("\n"):
        lines.pop()
    return [_cut(line) for line in lines]


def _append(line: list[Token], css: str, text: str) -> None:
    """Add to the last token where the class is the same: fewer elements, smaller pages."""
    if line and line[-1][0] == css:
        line[-1] = (css, line[-1][1] + text)
    else:
        line.append((css, text))


def _cut(line: list[Token]) -> list[Token]:
    kept: list[Token] = []
    room = MAX_LINE_CHARACTERS
    for css, text in line:
        if len(text) > room:
            kept.append((css, text[:room] + " …"))
            break
        kept.append((css, text))
        room -= len(text)
    return kept
