"""`grade check PATH --lab LAB`: findings as compilers print theirs, for editors, hooks and services."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from grader.cli.errors import blamed_on_us, complain
from grader.cli.options import PathType, backend_option, labs_option, lang_option, one_lab
from grader.errors import UsageError
from grader.i18n import _
from grader.report.stream import speak_utf8

LINES = ("gcc", "github")
"""The formats that several submissions can be printed in, one after another."""


def check_command() -> click.Command:
    """`grade check`: the options, in the language in use."""
    from grader.findings.formats import FORMATS

    options: list[click.Parameter] = [
        click.Argument(["paths"], nargs=-1, required=True, type=PathType(), metavar="PATH..."),
        click.Option(
            ["--lab"],
            metavar="LAB",
            multiple=True,
            callback=one_lab,
            help=_("The lab to grade; default: the one that PATH is named after."),
        ),
        click.Option(
            ["format_name", "--format"],
            type=click.Choice(list(FORMATS)),
            default="gcc",
            show_default=True,
            help=_("How findings are printed."),
        ),
        click.Option(
            ["--source"],
            type=PathType(),
            help=_("PATH is a result.json (or a folder with one) and nothing is graded: where the graded files are."),
        ),
        click.Option(
            ["--out-of"],
            type=click.FloatRange(min=0, min_open=True),
            metavar="N",
            help=_("Full marks on the service's own scale (vpl, classroom); default: the lab's points."),
        ),
        backend_option(default="emulator"),
        labs_option(),
        lang_option(),
    ]
    return click.Command(
        "check",
        params=options,
        callback=_check,
        help=_("Print what to fix in submissions, one line each, as compilers do. No report is written."),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _check(
    paths: tuple[Path, ...],
    lab: str | None,
    format_name: str,
    source: Path | None,
    out_of: float | None,
    backend: str,
    labs_folders: tuple[Path, ...],
    lang: str,
) -> int:
    """Exit code 0 when there is nothing to be mended in any of them, else the highest that one of them asks for."""
    if len(paths) > 1 and format_name not in LINES:
        text = _("Several PATHs can be printed as {formats} only; got --format {format}")
        raise UsageError(text.format(formats=", ".join(LINES), format=format_name))
    if format_name != "gcc":
        speak_utf8()
    from grader.result import weightier

    code = 0
    for path in paths:
        try:
            with blamed_on_us(Path(tempfile.gettempdir())):
                text, one = _one(path, lab, format_name, source, out_of, backend, labs_folders, lang)
        except UsageError as error:
            if len(paths) == 1:
                raise
            # A hook names every file of a commit; what is wrong with one is no reason to pass over the others.
            code = weightier((code, complain(str(error), error.exit_code)))
            continue
        sys.stdout.write(text)
        sys.stdout.flush()
        code = weightier((code, one))
    return code


def _one(
    path: Path,
    lab: str | None,
    format_name: str,
    source: Path | None,
    out_of: float | None,
    backend: str,
    labs_folders: tuple[Path, ...],
    lang: str,
) -> tuple[str, int]:
    """What is printed of one submission, and the exit code that it asks for."""
    from grader.findings.formats import mark_text, write
    from grader.grading.options import GradeOptions
    from grader.grading.result_only import graded_result, lab_of, stored_result
    from grader.report.labels import result_status
    from grader.report.numbers import Numbers
    from grader.report.visible import visible_line
    from grader.result import exit_code

    seconds: float | None = None
    if source is not None:
        # What that grading took, nobody wrote down.
        result = stored_result(path)
    else:
        names = tuple(str(folder) for folder in labs_folders)
        found = lab or lab_of(path, names)
        # With what mends a fault, as the report says it.
        options = GradeOptions(lab=found, backend=backend, language=lang, labs_folders=names, sweeps=False)
        result, seconds = graded_result(path, options)
    if format_name == "gcc":
        # Beside the findings, which scripts read: that there are none is no sign that anything was judged.
        status = result_status(result.status)
        mark = mark_text(result, Numbers(lang))
        click.echo(visible_line(f"{source or path}: {status.symbol} {status.word}: {mark}"), err=True)
    return write(format_name, result, source or path, lang, seconds, out_of), exit_code([result])
