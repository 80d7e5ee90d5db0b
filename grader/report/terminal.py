"""Results on a terminal, and as plain text in a pipe: tables with rich, no decision about the result made here."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, cast

from grader.i18n import _
from grader.report.summary import GroupRow
from grader.report.text import LastingStream, visible, visible_all
from grader.report.views import CellView, FaultView, PredictedTable, Summary

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderResult
    from rich.table import Table
    from rich.text import Text

PIPE_WIDTH = 100
PROSE_WIDTH = 20
"""Columns below which sentences in a table cannot be read."""
STYLES = {
    "pass": "green",
    "fail": "bold red",
    "borderline": "yellow",
    "error": "bold yellow",
    "unjudged": "bold yellow",
}


def console(file: IO[str] | None = None) -> Console:
    """A console on standard output: as wide as the terminal, or 100 columns without escape codes in a pipe.

    Nothing that is printed on it acts on the terminal but what rich itself sends; who stops reading stops nothing else.
    """
    from rich.console import Console, RenderHook

    stream = file or sys.stdout
    # An old locale that lacks a symbol shows a question mark rather than failing.
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
    width = None if stream.isatty() else PIPE_WIDTH
    out = Console(
        file=cast(IO[str], LastingStream(stream)),
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        # In a notebook's kernel rich would show all of it as output of the cell.
        force_jupyter=False,
    )

    class Harmless(RenderHook):
        def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
            return [_Visible(renderable) for renderable in renderables]

    out.push_render_hook(Harmless())
    return out


class _Visible:
    """Something to print, with no character in its texts that acts."""

    def __init__(self, shown: RenderableType) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.segment import Segment

        for segment in console.render(self._shown, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def show_result(out: Console, view: Summary, *, is_sought: bool = False) -> None:
    """One submission: its table of checks, its mark, and what to mend.

    is_sought: changes that mend it are still looked for: what to mend, `show_findings` shows when they are known, since
    what a wrong kernel does first looks like a cause, and is not.
    """
    from rich.text import Text

    view = cast(Summary, visible_all(view))
    student, lab = view["student"], view["lab"]
    heading = Text.assemble((student["name"], "bold"))
    for part in (student["group"], lab["title"]):
        if part:
            heading.append(f" · {part}")
    out.print(heading)
    for line in view["unjudged"]:
        _hang(out, Text(line, style=STYLES[view["status"]["key"]]), 0, 2)
    out.print(_fitting_matrix(out, view))
    out.print(_score_line(view))
    for line in view["decisions"]:
        _hang(out, Text(line), 0, 2)
    for held in view["waiting"]:
        _hang(out, Text(_("… {points} points pending: {reason}").format(**held), style="dim"), 0, 2)
    for row in view["inapplicable"]:
        _hang(out, Text(_("· {check}: does not apply. {reason}").format(**row), style="dim"), 0, 2)
    if is_sought:
        _hang(out, Text(_("Trying changes to find out what to fix …"), style="dim"), 0, 2)
    else:
        show_findings(out, view)


def show_findings(out: Console, view: Summary) -> None:
    """What to mend, what is worth knowing, and predicted times."""
    view = cast(Summary, visible_all(view))
    _show_faults(out, view)
    _show_remarks(out, view)
    if view["predicted_table"] is not None:
        out.print()
        show_predicted(out, view["predicted_table"])


def _hang(out: Console, text: Text, first: int, rest: int) -> None:
    """Print a paragraph; its first line and the following ones each with an indent of their own."""
    from rich.text import Text

    lead, width = rest - first, max(out.width - rest, 1)
    # The first line may hold more than the others by as much as it stands further out.
    head = next(iter(text.wrap(out, width + lead, overflow="fold")), Text())
    left = text[len(head.plain) :]
    while left.plain[:1] == " ":
        left = left[1:]
    lines = [head, *(left.wrap(out, width, overflow="fold") if left.plain else ())]
    shown = Text(" " * first)
    for number, line in enumerate(lines):
        line.rstrip()
        shown.append_text(Text(f"\n{' ' * rest}") if number else Text()).append_text(line)
    out.print(shown)


def _fitting_matrix(out: Console, view: Summary) -> Table:
    """Return the table of checks with as many words as the terminal is wide enough for, none broken."""
    symbols = (*STYLES, "none", "blocked", "skip")
    for silent, is_short in (((), False), (("pass",), False), ((*symbols[-3:], "pass"), False), (symbols, True)):
        rows = _matrix_rows(view, silent, is_short)
        columns = list(zip(*rows, strict=True))
        most = [max(len(text.plain) for text in column) for column in columns]
        # Titles may go on in a second line, what stands beside them may not.
        least = [max((len(word) for text in columns[0] for word in text.plain.split()), default=1), *most[1:]]
        # Three spaces between columns, one at either edge; with all words no line is broken at all.
        free = out.width - 2 - 3 * (len(columns) - 1) - (sum(least) if silent else sum(most))
        if free >= 0:
            break
    return _matrix(rows, _widths(least, most, free) if silent and free >= 0 else None)


def _widths(least: Sequence[int], most: Sequence[int], free: int) -> list[int]:
    """Return widths between what the columns need and could use, with `free` characters to share out."""
    widths = list(least)
    while free > 0 and any(width < limit for width, limit in zip(widths, most, strict=True)):
        # To the first of the narrowest shares: the titles come first and gain most by it.
        index = min((i for i, width in enumerate(widths) if width < most[i]), key=lambda i: (widths[i] / most[i], i))
        widths[index] += 1
        free -= 1
    return widths


def _matrix_rows(view: Summary, silent: Sequence[str], is_short: bool) -> list[list[Text]]:
    """Head, a row for each check, and the points.

    silent: statuses that are shown by their symbol alone.  is_short: "5/20" stands for "5 of 20", and no cell is
    broken but the titles.
    """
    from rich.text import Text

    head = [Text(_("Check")), *(Text(variant["name"]) for variant in view["variants"])]
    checks = [[Text(row["title"]), *(_cell(cell, silent, is_short) for cell in row["cells"])] for row in view["matrix"]]
    totals = [
        ""
        if t["possible"] == "0"
        else f"{t['earned']}/{t['possible']}"
        if is_short
        else _("{earned} of {possible}").format(earned=t["earned"], possible=t["possible"])
        for t in view["totals"]
    ]
    return [head, *checks, [Text(_("Points")), *map(Text, totals)]]


def _matrix(rows: list[list[Text]], widths: Sequence[int] | None) -> Table:
    """Return the table of checks; widths: of the columns, None for whatever they take."""
    table = _table()
    head, *checks, totals = rows
    for index, title in enumerate(head):
        table.add_column(title, overflow="fold", width=widths[index] if widths else None)
    for row in checks:
        table.add_row(*row)
    table.add_section()
    table.add_row(*totals, style="bold")
    return table


def _cell(cell: CellView | None, silent: Sequence[str], is_short: bool) -> Text:
    from rich.text import Text

    if cell is None:
        return Text("")
    if is_short:
        points = cell["pending"] or cell["short"]
        text = Text(cell["symbol"], style=STYLES.get(cell["key"], "dim"))
        return text.append(f" {points}" if points and cell["key"] != "blocked" else "", style="not bold default")
    word = "" if cell["key"] in silent else f" {cell['word']}"
    text = Text(f"{cell['symbol']}{word}", style=STYLES.get(cell["key"], "dim"))
    # That it earned nothing goes without saying; the row would only grow.
    if cell["points"] and cell["key"] != "blocked":
        text.append(f"  {cell['points']}", style="not bold default")
    return text


def _score_line(view: Summary) -> Text:
    from rich.text import Text

    score, status = view["score"], view["status"]
    text = Text(f"{status['symbol']} {status['word']}: ", style=STYLES[status["key"]])
    text.append(score["mark"], style="bold default")
    if score["pending"]:
        text.append(", " + _("{points} pending").format(points=score["pending"]), style="not bold default")
    return text


def _show_faults(out: Console, view: Summary) -> None:
    from rich.padding import Padding
    from rich.text import Text

    if not view["faults"]:
        return
    out.print()
    out.print(Text(_("What to fix"), style="bold"))
    for number, fault in enumerate(view["faults"], start=1):
        names = ", ".join(variant["name"] for variant in fault["variants"])
        title = Text(f"{number}. {fault['status']['symbol']} {fault['check']}", style=STYLES[fault["status"]["key"]])
        title.append(f" · {names}" if names else "", style="not bold default")
        if fault["lost"]:
            title.append(f"  −{fault['lost']}", style="not bold default")
        if fault["held"]:
            title.append(
                "  " + _("{points} more points depend on it").format(points=fault["held"]), style="not bold dim"
            )
        _hang(out, title, 0, 3)
        if fault["where"]:
            place = Text(fault["where"], style="cyan")
            if fault["code"]:
                place.append(f"  {fault['code']}", style="default")
            _hang(out, place, 3, 5)
            if fault["code_before"]:
                before = Text(f"{fault['line_before']}  {fault['code_before']}")
                _hang(out, before, 3, 5)
        out.print(Padding(Text(fault["message"]), (0, 0, 0, 3), expand=False))
        if fault["hint"]:
            _hang(out, Text("→ " + fault["hint"]), 3, 5)
        _show_repair(out, fault)
        _show_follows(out, fault)


def show_predicted(out: Console, table: PredictedTable) -> None:
    """Predicted times, as a table and sentences beneath it."""
    from rich.text import Text

    shown = cast(PredictedTable, visible_all(table))
    out.print(Text(_("Predicted times"), style="bold"))
    if shown["caption"]:
        _hang(out, Text(shown["caption"]), 0, 2)
    show_table(out, shown["titles"], shown["rows"])
    for note in shown["notes"]:
        _hang(out, Text(note, style="dim"), 0, 2)
    if shown["changes"]:
        out.print()
        out.print(Text(_("Changes that may make kernels faster"), style="bold"))
        _hang(out, Text(shown["changes_note"], style="dim"), 0, 2)
    for change in shown["changes"]:
        _hang(out, Text(change["what"]), 3, 5)
        for line in change["said"]:
            _hang(out, Text(line), 5, 7)
        _show_diff(out, change["diff"])


def _show_follows(out: Console, fault: FaultView) -> None:
    from rich.text import Text

    for line in fault["follows"]:
        _hang(out, Text("· " + line, style="dim"), 5, 7)


def _show_repair(out: Console, fault: FaultView) -> None:
    from rich.padding import Padding
    from rich.text import Text

    _show_diff(out, fault["repair"])
    if fault["effect"]:
        out.print(Padding(Text(fault["effect"]), (0, 0, 0, 5), expand=False))


def _show_diff(out: Console, rows: Sequence[str]) -> None:
    from rich.text import Text

    for row in rows:
        style = {"+": "green", "-": "red"}.get(row[:1], "dim")
        # A row that is too long goes on below where its code begins.
        code = row[1:].lstrip()
        _hang(out, Text(row, style=style), 5, 5 + min(len(row) - len(code) + 2, out.width // 3))


def _show_remarks(out: Console, view: Summary) -> None:
    from rich.text import Text

    if not view["remarks"]:
        return
    out.print()
    out.print(Text(_("Worth knowing (costs no points)"), style="bold"))
    for remark in view["remarks"]:
        names = ", ".join(variant["name"] for variant in remark["variants"])
        _hang(out, Text(f"{names}: {remark['text']}" if names else remark["text"]), 3, 5)


def show_group(out: Console, rows: Sequence[GroupRow], variants: Sequence[str]) -> None:
    """A group: a row per student with mark, points of each variant, and the fault that costs most.

    rows: of `group_row` or `failed_row`.
    """
    from rich.text import Text

    titles = [_("Student"), _("Grade"), *variants]
    lines = [[row.student, row.mark, *(f"{cell.symbol} {cell.text}" for cell in row.cells)] for row in rows]
    beside = out.width - _table_width([titles, *lines]) >= PROSE_WIDTH
    table = _table()
    table.add_column(titles[0], overflow="fold")
    table.add_column(titles[1], justify="right", no_wrap=True)
    for variant in variants:
        table.add_column(Text(variant), overflow="fold")
    if beside:
        table.add_column(_("Worst fault"), ratio=1, overflow="fold")
    for row in rows:
        cells = [Text(f"{cell.symbol} {cell.text}", style=STYLES.get(cell.key, "dim")) for cell in row.cells]
        cells += [Text("")] * (len(variants) - len(cells))
        mark = Text(row.mark, style=STYLES.get(row.key, ""))
        table.add_row(Text(row.student), mark, *cells, *([Text(row.fault)] if beside else []))
    out.print()
    out.print(table)
    if not beside and any(row.fault for row in rows):
        out.print(Text(_("Worst fault"), style="bold"))
        for row in rows:
            if row.fault:
                _hang(out, Text(f"{row.student}: {row.fault}"), 0, 2)
        out.print()
    if any(row.decisions for row in rows):
        out.print(Text(_("Teacher's decisions"), style="bold"))
        for row in rows:
            for line in row.decisions:
                _hang(out, Text(f"{row.student}: {line}"), 0, 2)
        out.print()


def show_table(out: Console, titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A plain table; the first column does not wrap.

    Where the terminal is too narrow for words beside each other, each row is a paragraph: its first cell, then a line
    for each other one with its title.
    """
    from rich.text import Text

    needed = [[row[0], *(_narrowed(cell) for cell in row[1:])] for row in [titles, *rows]]
    if _table_width(needed) > out.width:
        for row in rows:
            out.print(Text(row[0], style="bold"))
            for title, cell in zip(titles[1:], row[1:], strict=True):
                if cell:
                    _hang(out, Text(f"{title}: {cell}"), 2, 4)
        out.print()
        return
    table = _table()
    for index, title in enumerate(titles):
        table.add_column(title, no_wrap=index == 0, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    out.print(table)


def _table_width(rows: Sequence[Sequence[str]]) -> int:
    """Return the columns that a table of these cells takes, edges included, when no cell is broken."""
    from rich.cells import cell_len

    count = max(map(len, rows))
    return sum(max(cell_len(row[i]) for row in rows if i < len(row)) + 2 for i in range(count)) + 1


def _narrowed(text: str) -> str:
    """Return the part of a cell that sets its least width: all of a short text, the longest word of prose."""
    return text[:PROSE_WIDTH] if len(text) <= PROSE_WIDTH else max((text[:PROSE_WIDTH], *text.split()), key=len)


def _table() -> Table:
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
