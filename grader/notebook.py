"""`%%grade LAB` in a notebook: the cell's program graded, the verdict and the report below it.

%load_ext grader

%%grade LAB [--lang ru] [--labs DIR]
__global__ void …
"""

from __future__ import annotations

import io
import os
import shlex
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import click

from grader import i18n
from grader.cli.options import labs_option, lang_option
from grader.errors import GraderError
from grader.report.views import Summary
from grader.words import speak

FILE = "cell.cu"
HEIGHT_PX = 640


class Shown:
    """What a cell shows: a notebook takes the page, a terminal the text."""

    def __init__(self, text: str, html: str) -> None:
        self._text = text
        self._html = html

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return self._html


def register(shell: Any) -> None:
    """Make the magic known to an IPython shell."""
    shell.register_magic_function(grade, magic_kind="cell", magic_name="grade")


def grade(line: str, cell: str) -> Shown | None:
    """Grade a cell; what the user can put right is told in one line."""
    try:
        return _grade(line, cell)
    except GraderError as error:
        print(f"grade: {error}", file=sys.stderr)
    except click.ClickException as error:
        print(f"grade: {error.format_message()}", file=sys.stderr)
    return None


def _grade(line: str, cell: str) -> Shown:
    from grader.cli.main import language_of
    from grader.grading.options import GradeOptions
    from grader.grading.session import graded_result
    from grader.lab import labs
    from grader.report import html, terminal
    from grader.report.job import make_job
    from grader.report.rendering import drawn
    from grader.report.summary import summary

    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    i18n.use(language_of(words, os.environ))
    params: list[click.Parameter] = [click.Argument(["lab"]), lang_option(), labs_option()]
    with click.Command("%%grade", params=params, add_help_option=False).make_context("%%grade", words) as context:
        given = context.params
    language = i18n.language()
    speak(language)
    folders = tuple(str(folder) for folder in given["labs_folders"])
    options = GradeOptions(lab=given["lab"], backend="auto", language=language, labs_folders=folders, sweeps=False)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / FILE
        # The magic's own line is the first of the cell: a line of the cell is the same line of the file.
        file.write_text(f"// %%grade {given['lab']}\n{cell}", "utf-8")
        result, _seconds = graded_result(file, options)
    job = make_job(result, labs.find(given["lab"], given["labs_folders"]), language, pdf=False)
    text = io.StringIO()
    terminal.show_result(terminal.console(text), summary(job))
    page = drawn(job, html.document(job), "screen")
    return Shown(text.getvalue(), _verdict(summary(job)) + _framed(page))


def _verdict(view: Summary) -> str:
    status, score = view["status"], view["score"]
    mark = score["mark"]
    if score["pending"]:
        mark += ", " + i18n._("{points} pending").format(points=score["pending"])
    items = []
    for fault in view["faults"]:
        names = ", ".join(variant["name"] for variant in fault["variants"])
        code = f"<br><code>{escape(fault['code'])}</code>" if fault["code"] else ""
        hint = f"<br>→ {escape(fault['hint'])}" if fault["hint"] else ""
        follows = "".join(f"<br>· {escape(line)}" for line in fault["follows"])
        where = fault["where"].replace(f"{FILE}:", i18n._("line") + " ")
        head = " · ".join(filter(None, (fault["check"], names, where)))
        lost = f" −{fault['lost']}" if fault["lost"] else ""
        items.append(f"<li><b>{escape(head)}</b>{lost}{code}<br>{escape(fault['message'])}{hint}{follows}</li>")
    listed = f"<ol>{''.join(items)}</ol>" if items else ""
    reasons = "".join(f"<p>{escape(line)}</p>" for line in view["unjudged"])
    return f"<p><b>{escape(status['symbol'])} {escape(status['word'])}: {escape(mark)}</b></p>{reasons}{listed}"


def _framed(page: str) -> str:
    """The report as a page within the page: nothing is fetched, and no script runs in it but the report's own, which
    its policy names by its hash.  It is a stranger to the notebook: its origin is none.
    """
    title = escape(i18n._("Lab report"))
    size = f'width="100%" height="{HEIGHT_PX}" style="border: 0"'
    frame = f'<iframe sandbox="allow-scripts" srcdoc="{escape(page)}" {size}></iframe>'
    return f"<details><summary>{title}</summary>{frame}</details>"
