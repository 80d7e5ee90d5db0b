"""The student's own code, line by line, with what was counted and found beside each line."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from grader.i18n import _
from grader.report.job import ReportJob
from grader.report.labels import check_status
from grader.report.numbers import Numbers
from grader.report.page.highlight import highlight_lines, lines_of
from grader.report.page.views import GapRow, Listing, NoteGroup, Row
from grader.report.summary import FAULT_STATUSES, shortened, title_of, variant_columns
from grader.report.summary_views import VariantView
from grader.result import LineCounters, Result, Source, Variant

KINDS = ("kernel", "fault", "hazard", "counter")


class Note(NamedTuple):
    """A remark on a line.  kind: one of `KINDS`; level: "bad", "warn", "ok" or "" (neutral)."""

    kind: str
    level: str
    text: str


MAX_LINES = 600
"""Lines of a file that are shown whole; of a longer one, only the surroundings of what is noted."""
CONTEXT_LINES = 12
MOST_LINES = 4000
"""Lines of all files together that are shown, those of the first files first."""


def listings(job: ReportJob) -> list[Listing]:
    """A listing per source file: its name and rows; a row is a line, or a gap of lines that are not shown.

    Of a notebook's text also where a cell begins; lines are numbered within their cell then, as they are told.
    """
    found: list[Listing] = []
    room = MOST_LINES
    for source in job.result.sources:
        rows = _rows(source, job, room)
        room -= sum("number" in row for row in rows)
        found.append({"file": source.notebook or source.file, "rows": rows})
    return found


def _rows(source: Source, job: ReportJob, room: int) -> list[Row]:
    notes = notes_by_line(job, source.file)
    lines = lines_of(source.text)
    shown = _shown(len(lines), notes, room)
    # Backslashes lined up far to the right would each break into a line of their own.
    tokens = highlight_lines([_joined(line) for line in lines], shown)
    rows: list[Row] = []
    last = cell = 0
    for number in [*shown, len(lines) + 1]:
        for first, until in _pieces(source, last + 1, number - 1):
            cell = _enter(rows, source, first, cell)
            rows.append(_gap(_row_of(source, first), _row_of(source, until)))
        if number > len(lines):
            break
        cell = _enter(rows, source, number, cell)
        found = notes.get(number, [])
        level = "bad" if any(note["level"] == "bad" for group in found for note in group["notes"]) else ""
        told = _row_of(source, number)
        rows.append({"number": told, "tokens": tokens[number], "notes": found, "level": level})
        last = number
    return rows


def _pieces(source: Source, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Lines that are not shown, those of each cell by themselves."""
    begins = [begin for begin, _number in source.cells if first < begin <= last]
    for begin, until in pairwise([first, *begins, last + 1]):
        if begin < until:
            yield begin, until - 1


def _enter(rows: list[Row], source: Source, line: int, cell: int) -> int:
    """The cell that a line stands in, 0 for none; it is announced where the one before stood in another."""
    at = source.cell_at(line)
    if at is None:
        return 0
    if at[0] != cell:
        rows.append({"cell": _("Cell {n}").format(n=at[0])})
    return at[0]


def _row_of(source: Source, line: int) -> int:
    """The number that a line is told by."""
    at = source.cell_at(line)
    return at[1] if at else line


def _gap(first: int, last: int) -> GapRow:
    return {"gap": _("lines {first}–{last} are not shown").format(first=first, last=last)}


def _joined(line: str) -> str:
    """A line without the blanks that stand before a backslash at its end."""
    if not line.endswith("\\"):
        return line
    kept = line[:-1].rstrip(" \t")
    return f"{kept} \\" if len(line) - len(kept) > 2 else line


def _shown(total: int, notes: dict[int, list[NoteGroup]], room: int) -> list[int]:
    """The numbers of the lines that are shown, in order."""
    near = {line + d for line in notes for d in range(-CONTEXT_LINES, CONTEXT_LINES + 1)}
    if total <= MAX_LINES:
        wanted = range(1, total + 1)
    elif not near:
        wanted = range(1, MAX_LINES + 1)
    else:
        return sorted(line for line in near if 1 <= line <= total)[:room]
    return list(wanted)[:room]


def notes_by_line(job: ReportJob, file: str) -> dict[int, list[NoteGroup]]:
    """Notes for the lines of `file`: which kernel starts here, faults, hazards, memory requests.

    Per line a list of groups {"variants": …, "notes": …}: a note that holds for several variants (they may share a
    kernel) is told once.  Worst first.
    """
    numbers = Numbers(job.language)
    merged: dict[tuple[int, Note], list[VariantView]] = {}
    for column in variant_columns(job):
        variant = job.result.variants.get(column["name"])
        if variant is None:
            continue
        notes = _check_notes(job.result, column["name"], file)
        if variant.file == file:
            notes = _variant_notes(job.result, column["name"], variant, notes, numbers)
        for line, note in notes:
            told = merged.setdefault((line, note), [])
            if column not in told:
                told.append(column)
    by_line: dict[int, list[NoteGroup]] = {}
    for (line, note), variants in sorted(merged.items(), key=lambda item: KINDS.index(item[0][1].kind)):
        groups = by_line.setdefault(line, [])
        group = next((g for g in groups if g["variants"] == variants), None)
        if group is None:
            group = {"variants": variants, "notes": []}
            groups.append(group)
        group["notes"].append({"kind": note.kind, "level": note.level, "text": note.text})
    return by_line


def _check_notes(result: Result, name: str, file: str) -> list[tuple[int, Note]]:
    """What the checks of a variant found in a file."""
    notes: list[tuple[int, Note]] = []
    for check in result.checks:
        is_here = check.variant == name and check.line and result.file_of(check) == file
        if is_here and check.line and check.status in FAULT_STATUSES:
            symbol = check_status(check.status).symbol
            text = f"{symbol} {title_of(check)}: {shortened(check.message)}"
            notes.append((check.line, Note("fault", "bad", text)))
    return notes


def _variant_notes(
    result: Result, name: str, variant: Variant, of_checks: list[tuple[int, Note]], numbers: Numbers
) -> list[tuple[int, Note]]:
    """Everything known about the lines of a variant's kernel."""
    notes: list[tuple[int, Note]] = []
    if variant.line:
        notes.append((variant.line, Note("kernel", "", _("kernel of this variant"))))
    notes += of_checks
    said = {c.message for c in result.checks if c.variant == name and c.line and c.status in FAULT_STATUSES}
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
        elif counter.op == "atomic":
            text = _(
                "{operation}: no bank conflict; how long atomics of one element wait for each other is not counted"
            )
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
        text = _("{operation}: sectors per request: {cost}, minimum {ideal}")
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
