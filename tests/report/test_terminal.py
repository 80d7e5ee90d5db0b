"""Results on a terminal and in a pipe."""

from __future__ import annotations

import io
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from grader import i18n
from grader.i18n import _
from grader.report import terminal
from grader.report.summary import failed_row, group_row, student_line, summary
from tests import sample_results
from tests.report.jobs import job, named

VARIANTS = ["naive", "shared", "padded"]


def shown(for_job: object, language: str = "en") -> str:
    file = io.StringIO()
    i18n.use(language)
    try:
        terminal.show_result(terminal.console(file), summary(for_job))  # type: ignore[arg-type]
    finally:
        i18n.use("en")
    return file.getvalue()


def test_what_to_fix_names_the_line_and_the_remedy() -> None:
    text = shown(job(sample_results.failed()))
    start = text.index("What to fix")
    assert text[start:].splitlines()[1:4] == [
        "1. ✗ bank conflicts · padded  −20",
        "   transpose.cu:12  if (x < rows && y < cols) out[y * rows + x] = t[threadIdx.x][threadIdx.y];",
        "   32-way bank conflicts",
    ]
    assert "   → Declare the tile as t[T][T + 1]." in text


def test_what_to_fix_waits_for_the_changes_that_are_tried() -> None:
    """What a wrong kernel does first looks like a cause: it is not shown before the cause is known."""
    file, view = io.StringIO(), summary(job(sample_results.failed()))
    terminal.show_result(terminal.console(file), view, is_sought=True)
    before = file.getvalue()
    assert "✗ needs work" in before and before.rstrip().endswith("Trying changes to find out what to fix …")
    terminal.show_findings(terminal.console(file), view)
    whole = shown(job(sample_results.failed()))
    assert file.getvalue().removeprefix(before) == whole[whole.index("\nWhat to fix") :]


def test_nothing_to_fix_is_no_heading() -> None:
    text = shown(job())
    assert "What to fix" not in text
    assert "✓ passed: 80 of 100 points, 20 pending" in text
    assert "… 20 points pending: not measured: this machine has no NVIDIA GPU" in text


@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_pipe_gets_plain_text_of_bounded_width(language: str) -> None:
    text = shown(job(sample_results.failed(), language=language), language)
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= terminal.PIPE_WIDTH


def test_cyrillic_columns_are_aligned() -> None:
    rows = [line for line in shown(job(language="ru"), "ru").splitlines() if "пройдено  " in line]
    assert len(rows) == 2
    assert rows[0].rindex("✓") == rows[1].rindex("✓")


@pytest.mark.parametrize("name", ["[bold]x[/bold]", ":smile:", "\x1b[31mred", "A" * 300, "<script>"])
def test_hostile_names_are_shown_as_they_are(name: str) -> None:
    text = shown(named(name))
    assert "\x1b" not in text
    assert "".join(name.replace("\x1b", "␛").split()) in "".join(text.replace("\n", "").split())


def test_a_group_is_a_row_per_student() -> None:
    result = sample_results.failed()
    passed = group_row(sample_results.passed(), VARIANTS, "en")
    rows = [passed, group_row(result, VARIANTS, "en"), failed_row("nobody", "no .cu file")]
    file = io.StringIO()
    terminal.show_group(terminal.console(file), rows, VARIANTS)
    lines = {line.split()[0]: line for line in file.getvalue().splitlines() if line.strip()}
    assert lines["ivanov"].split() == ["ivanov", "80", "of", "100", "✓", "20", "✓", "20", "✓", "40"]
    assert lines["petrova"].split()[:10] == ["petrova", "25", "of", "80", "✗", "0", "✗", "20", "✗", "5"]
    assert "bank conflicts (transpose.cu:12): 32-way bank" in lines["petrova"]
    assert lines["nobody"].split() == ["nobody", "–", "no", ".cu", "file"]


def test_the_running_account_is_one_line_each() -> None:
    assert student_line(sample_results.failed(), "en", "Петрова Анна") == "✗ Петрова Анна: 25 of 80"


def test_a_worst_fault_is_cut_to_one_readable_length() -> None:
    checks = [msgspec.structs.replace(c, message="long\nand longer" * 90) for c in sample_results.failed().checks]
    row = group_row(msgspec.structs.replace(sample_results.failed(), checks=checks), VARIANTS, "en")
    assert row.fault == "bank conflicts (transpose.cu:12): long"


def test_a_narrow_terminal_cuts_no_title() -> None:
    """Five variants in Russian on 80 columns: ticks without words, the names of checks whole."""
    from rich.console import Console

    i18n.use("ru")
    view = summary(job(language="ru"))
    view["variants"] += [{"name": name, "title": "", "colour": "#000"} for name in ("fourth", "fifth")]
    for row in view["matrix"]:
        row["cells"] += row["cells"][:2]
    view["totals"] += view["totals"][:2]
    file = io.StringIO()
    terminal.show_result(Console(file=file, width=80, markup=False, highlight=False), view)
    text = file.getvalue()
    assert "…" not in text[: text.index("Баллы")].replace("…  20 отложено", "")
    assert "✓  20" in text and "✓ пройдено" not in text[: text.index("Баллы")]


@pytest.mark.parametrize("language", ["en", "ru"])
def test_five_variants_with_faults_break_in_no_cell(language: str) -> None:
    """On 80 columns; "7.5 of 22.5" five times beside the titles would not fit."""
    from rich.console import Console

    i18n.use(language)
    view = summary(job(sample_results.failed(), language=language))
    view["variants"] += [{"name": name, "title": "", "colour": "#000"} for name in ("coarsened", "tensor")]
    for row in view["matrix"]:
        cell = next(cell for cell in row["cells"] if cell)
        row["cells"] = [{**cell, "points": _("{earned} of {possible}"), "short": "7.5/22.5", "key": "fail"}] * 5
    view["totals"] += view["totals"][:2]
    file = io.StringIO()
    terminal.show_result(Console(file=file, width=80, markup=False, highlight=False), view)
    text = file.getvalue()
    table = text[: text.index(_("Points"))].splitlines()
    assert sum(line.count(" 7.5/22.5") for line in table) == 5 * len(view["matrix"])
    assert all(line.count("7.5/22.5") in (0, 5) for line in table)


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("width", [52, 60, 80, 100])
def test_no_word_of_the_table_is_broken(width: int, language: str) -> None:
    from rich.console import Console

    i18n.use(language)
    view = summary(job(sample_results.failed(), language=language))
    file = io.StringIO()
    terminal.show_result(Console(file=file, width=width, markup=False, highlight=False), view)
    table = file.getvalue()
    assert max(map(len, table.splitlines())) <= width
    words = set(table[: table.index(view["status"]["word"])].split())
    for row in view["matrix"]:
        assert set(row["title"].split()) <= words


def test_what_does_not_apply_is_explained() -> None:
    result = sample_results.passed()
    reason = "The kernel is not handed the size."
    checks = [
        msgspec.structs.replace(
            c, status="skip", skip_reason="not_applicable", message=reason, earned=0.0, possible=0.0
        )
        if c.check == "bank_conflicts"
        else c
        for c in result.checks
    ]
    text = shown(job(msgspec.structs.replace(result, checks=checks)))
    assert text.count("· bank conflicts: does not apply. The kernel is not handed the size.") == 1


def test_whatever_is_printed_steers_no_terminal() -> None:
    from rich.table import Table

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    file = Terminal()
    out = terminal.console(file)
    table = Table("a\x1b[2J")
    table.add_row("\u202egnp.exe", "\x9b2J")
    out.print("reports/\x1b]0;title\x07/report.html", soft_wrap=True)
    out.print(table)
    shown = file.getvalue()
    assert "reports/␛]0;title" in shown
    assert not any(sign in shown for sign in ("\x1b]", "\x1b[2J", "\x07", "\u202e", "\x9b"))


def test_output_that_nobody_reads_stops_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    import os

    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as stream:
        out = terminal.console(stream)
        for _line in range(3):
            out.print("a line")
            out.file.flush()
    assert capfd.readouterr().err == ""


def test_output_to_a_full_disk_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    with Path("/dev/full").open("w") as stream:
        out = terminal.console(stream)
        for _line in range(3):
            out.print("a line")
            out.file.flush()
    assert capfd.readouterr().err == "grade: No space left on device\n"


def narrow(columns: int) -> tuple[Console, io.StringIO]:
    out = terminal.console(file := io.StringIO())
    out.width = columns
    return out, file


def test_a_table_that_does_not_fit_is_told_row_by_row() -> None:
    titles = ["Tool", "Found", "What to install"]
    rows = [
        ["✓ a-tool-of-ours", "13.5", ""],
        ["– another", "not installed", "apt install the-package-with-a-long-name"],
    ]
    out, file = narrow(80)
    terminal.show_table(out, titles, rows)
    assert "Tool" in file.getvalue().splitlines()[1]
    out, file = narrow(40)
    terminal.show_table(out, titles, rows)
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "✓ a-tool-of-ours",
        "  Found: 13.5",
        "– another",
        "  Found: not installed",
        "  What to install: apt install",
        "    the-package-with-a-long-name",
        "",
    ]


@pytest.mark.parametrize("columns", [50, 60, 80, 100])
def test_no_word_of_a_group_s_faults_is_broken(columns: int) -> None:
    rows = [group_row(sample_results.failed(), VARIANTS, "en"), failed_row("smirnov", "nothing was handed in at all")]
    out, file = narrow(columns)
    terminal.show_group(out, rows, VARIANTS)
    words = file.getvalue().split()
    assert {"conflicts", "nothing", "handed"} <= set(words), words
    assert ("smirnov:" in words) == (columns < 80)
    assert max(map(len, file.getvalue().splitlines())) <= columns
