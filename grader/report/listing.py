"""The student's own code, line by line, with what was counted and found beside each line."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import NamedTuple, cast

from grader.i18n import _
from grader.measured import LineCounters
from grader.report.job import ReportJob, variant_columns
from grader.report.summary import FAULT_STATUSES, shortened, title_of
from grader.report.text import Numbers, check_status, lines_of, visible
from grader.report.views import GapRow, LineRow, Listing, NoteGroup, Row, Token, VariantView
from grader.result import Result, Source, Variant

MAX_LINE_CHARACTERS = 400
TIME_LIMIT_S = 15.0
"""Processor time; far beyond what the lines of any honest program take."""
_COMMENT_OR_TEXT = re.compile(r"""/\*|\*/|//|"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'""")


class _TooLong(Exception):
    """The lexer takes too long."""


def highlight(text: str) -> list[list[Token]]:
    """Lines of tokens whose texts joined are `text` without its line ends; very long lines are cut.

    Characters that act on the page or on the reader (`visible`) are replaced.
    """
    lines = lines_of(text)
    tokens = highlight_lines(lines, range(1, len(lines) + 1))
    return [tokens[number] for number in range(1, len(lines) + 1)]


def highlight_lines(lines: Sequence[str], wanted: Sequence[int]) -> dict[int, list[Token]]:
    """Tokens of the lines whose numbers, from 1, are `wanted`, in order."""
    texts = {number: _cut(visible(lines[number - 1])) for number in wanted}
    by_line: dict[int, list[Token]] = {number: [("", text)] if text else [] for number, text in texts.items()}
    inside = _begins_in_comment(lines, wanted)
    try:
        with _limited(TIME_LIMIT_S):
            for run in _runs(wanted):
                written = [number for number in run if texts[number].strip()]
                if written:
                    tokens = _lexed([texts[number] for number in written], run[0] in inside)
                    by_line.update(zip(written, tokens, strict=True))
    except _TooLong:
        pass
    return by_line


def _runs(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Yield consecutive numbers together."""
    run: list[int] = []
    for number in numbers:
        if run and number != run[-1] + 1:
            yield run
            run = []
        run.append(number)
    if run:
        yield run


def _begins_in_comment(lines: Sequence[str], wanted: Sequence[int]) -> set[int]:
    """Return the wanted lines that begin within a comment."""
    starts = {run[0] for run in _runs(wanted)}
    last = max(starts, default=0)
    numbers = set()
    inside = False
    for number, line in enumerate(lines[:last], start=1):
        if number in starts and inside:
            numbers.add(number)
        if "/*" not in line and "*/" not in line:
            continue
        for match in _COMMENT_OR_TEXT.finditer(line):
            sign = match[0]
            if sign == "//" and not inside:
                break
            inside = sign == "/*" or (inside and sign != "*/")
    return numbers


def _lexed(lines: Sequence[str], in_comment: bool) -> list[list[Token]]:
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
    text = "\n".join(["/*", *lines, ""] if in_comment else [*lines, ""])
    lexed: list[list[Token]] = [[]]
    for kind, value in lex(text, get_lexer_by_name("cuda", stripnl=False, ensurenl=False)):
        css = next((name for token, name in classes if is_token_subtype(kind, token)), "")
        for index, part in enumerate(value.split("\n")):
            if index:
                lexed.append([])
            if part:
                _append(lexed[-1], css, part)
    return lexed[1:-1] if in_comment else lexed[:-1]


def _append(line: list[Token], css: str, text: str) -> None:
    """Add to the last token where the class is the same: fewer elements, smaller pages."""
    if line and line[-1][0] == css:
        line[-1] = (css, line[-1][1] + text)
    elif css and len(line) > 1 and line[-2][0] == css and not line[-1][1].strip():
        # The class of what is between two words cannot be seen.
        (_css, before), (_none, between) = line[-2:]
        line[-2:] = [(css, before + between + text)]
    else:
        line.append((css, text))


def _cut(line: str) -> str:
    """Return a line of bounded length; a comment that ends in what is cut off ends before it."""
    if len(line) <= MAX_LINE_CHARACTERS:
        return line
    kept, rest = line[:MAX_LINE_CHARACTERS], line[MAX_LINE_CHARACTERS:]
    is_open = kept.rfind("/*") > kept.rfind("*/")
    return kept + (" …*/" if is_open and "*/" in rest else " …")


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raise `_TooLong` when the block has used the processor for that long; no limit outside the main thread."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_number: int, _frame: FrameType | None) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


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
    files: list[Listing] = []
    room = MOST_LINES
    for source in job.result.sources:
        rows = _rows(source, job, room)
        room -= sum("number" in row for row in rows)
        files.append({"file": source.notebook or source.file, "rows": rows})
    return files


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
        groups = notes.get(number, [])
        level = "bad" if any(note["level"] == "bad" for group in groups for note in group["notes"]) else ""
        row_number = _row_of(source, number)
        rows.append({"number": row_number, "tokens": tokens[number], "notes": groups, "level": level})
        last = number
    return rows


def _pieces(source: Source, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of lines that are not shown, one for each cell."""
    begins = [begin for begin, _number in source.cells if first < begin <= last]
    for begin, until in pairwise([first, *begins, last + 1]):
        if begin < until:
            yield begin, until - 1


def _enter(rows: list[Row], source: Source, line: int, cell: int) -> int:
    """Return the cell of a line, 0 for none, announcing it where the line before stood in another."""
    at = source.cell_at(line)
    if at is None:
        return 0
    if at[0] != cell:
        rows.append({"cell": _("Cell {n}").format(n=at[0])})
    return at[0]


def _row_of(source: Source, line: int) -> int:
    """Return the number that a line is shown with."""
    at = source.cell_at(line)
    return at[1] if at else line


def _gap(first: int, last: int) -> GapRow:
    return {"gap": _("lines {first}–{last} are not shown").format(first=first, last=last)}


def _joined(line: str) -> str:
    """Return a line without the blanks before a backslash at its end."""
    if not line.endswith("\\"):
        return line
    kept = line[:-1].rstrip(" \t")
    return f"{kept} \\" if len(line) - len(kept) > 2 else line


def _shown(total: int, notes: dict[int, list[NoteGroup]], room: int) -> list[int]:
    """Return the numbers of the lines that are shown, in order."""
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
        notes = _variant_notes(job.result, column["name"], variant, file, notes, numbers)
        for line, note in notes:
            columns = merged.setdefault((line, note), [])
            if column not in columns:
                columns.append(column)
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
    notes: list[tuple[int, Note]] = []
    for check in result.checks:
        is_here = check.variant == name and check.line and result.file_of(check) == file
        if is_here and check.line and check.status in FAULT_STATUSES:
            symbol = check_status(check.status).symbol
            text = f"{symbol} {title_of(check)}: {shortened(check.message)}"
            notes.append((check.line, Note("fault", "bad", text)))
    return notes


def _variant_notes(
    result: Result, name: str, variant: Variant, file: str, of_checks: list[tuple[int, Note]], numbers: Numbers
) -> list[tuple[int, Note]]:
    """Return everything known about a variant's lines in a file."""
    notes: list[tuple[int, Note]] = []
    if variant.line and variant.file == file:
        notes.append((variant.line, Note("kernel", "", _("kernel of this variant"))))
    notes += of_checks
    messages = {c.message for c in result.checks if c.variant == name and c.line and c.status in FAULT_STATUSES}
    noted = set()
    for hazard in variant.hazards:
        # A hazard that a check has already put beside its line is not told twice, nor are its like in that line.
        is_noted = (hazard.line, hazard.kind) in noted or any(hazard.message in message for message in messages)
        if hazard.line and (hazard.file or variant.file) == file and not is_noted:
            notes.append((hazard.line, Note("hazard", "bad", shortened(hazard.message))))
        noted.add((hazard.line, hazard.kind))
    if variant.counters is not None:
        for counter in variant.counters.by_line:
            is_here = (counter.file or variant.file) == file
            if is_here and counter.line and counter.requests and counter.space in ("shared", "global"):
                text, wasteful = counter_note(counter, numbers)
                notes.append((counter.line, Note("counter", "warn" if wasteful else "ok", text)))
    return notes


def counter_note(counter: LineCounters, numbers: Numbers) -> tuple[str, bool]:
    """What one line's requests cost, and whether that is more than they need."""
    if counter.space == "shared":
        operations = {"load": _("shared load"), "store": _("shared store"), "atomic": _("shared atomic")}
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
    operations = {"load": _("global load"), "store": _("global store"), "atomic": _("global atomic")}
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


LINES_TOGETHER, LONGEST = 6, 90
"""Lines of a file in a row on paper, and the characters of one that surely needs no second line there."""


def on_paper(shown: Sequence[Listing]) -> list[Listing]:
    """The same with lines of which nothing is said several in a row: a row of a table takes the time of ten lines."""
    return [{"file": one["file"], "rows": list(_joined_rows(one["rows"]))} for one in shown]


def _joined_rows(rows: Sequence[Row]) -> Iterator[Row]:
    above: LineRow | None = None
    joined = 1
    for row in rows:
        line = _short(row)
        if above is not None and line is not None and joined < LINES_TOGETHER:
            above["number"] = f"{above['number']}\n{line['number']}"
            above["tokens"] += [("", "\n"), *line["tokens"]]
            joined += 1
            continue
        if above is not None:
            yield above
        above, joined = line, 1
        if line is None:
            yield row
    if above is not None:
        yield above


def _short(row: Row) -> LineRow | None:
    """Return a copy of a line of which nothing is said and that needs no second one; None for other rows."""
    if "number" not in row:
        return None
    line = cast(LineRow, row)
    is_long = sum(len(text.expandtabs()) for _class, text in line["tokens"]) > LONGEST
    if is_long or line["notes"] or line["level"]:
        return None
    return {"number": line["number"], "tokens": list(line["tokens"]), "notes": [], "level": ""}
