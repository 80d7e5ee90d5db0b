"""`grade check PATH --lab LAB`: findings as compilers print theirs, for editors, hooks and services."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from grader.cli.complaints import internal, refused_by_system
from grader.cli.options import PathType, labs_option, lang_option
from grader.errors import UsageError
from grader.i18n import _


def check_command() -> click.Command:
    """`grade check`: the options, in the language in use."""
    from grader.findings.formats import FORMATS

    options: list[click.Parameter] = [
        click.Argument(["path"], type=PathType(), metavar="PATH"),
        click.Option(["--lab"], metavar="LAB", help=_("The lab to grade; `grade labs` lists them.")),
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
            help=_("PATH is a result.json (or a folder with one) and nothing is graded: where the graded files lie."),
        ),
        click.Option(
            ["--out-of"],
            type=click.FloatRange(min=0, min_open=True),
            metavar="N",
            help=_("Full marks on the service's own scale (vpl, classroom); default: the lab's points."),
        ),
        click.Option(
            ["--backend"],
            type=click.Choice(["auto", "gpu", "emulator"]),
            default="emulator",
            show_default=True,
            help=_("Where kernels run; auto takes a GPU when there is one."),
        ),
        labs_option(),
        lang_option(),
    ]
    return click.Command(
        "check",
        params=options,
        callback=_check,
        help=_("Print what is to be mended in one submission, a line each, as compilers do. No report is written."),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _check(
    path: Path,
    lab: str | None,
    format_name: str,
    source: Path | None,
    out_of: float | None,
    backend: str,
    labs_folders: tuple[Path, ...],
    lang: str,
) -> int:
    from grader.findings.formats import write
    from grader.grading.one import grade_one, stored_one
    from grader.grading.options import GradeOptions
    from grader.result import exit_code

    if source is not None:
        # What that grading took, nobody wrote down.
        seconds: float | None = None
        result = stored_one(path)
    elif lab is None:
        raise UsageError(_("{parameter} is missing; see grade --help").format(parameter="--lab"))
    else:
        names = tuple(str(folder) for folder in labs_folders)
        options = GradeOptions(lab=lab, backend=backend, language=lang, labs_folders=names, sweeps=False)
        try:
            result, seconds = grade_one(path, options)
        except UsageError:
            raise
        except Exception as error:
            if refused_by_system(error):
                raise
            raise internal(error, Path(tempfile.gettempdir())) from error
    sys.stdout.write(write(format_name, result, source or path, lang, seconds, out_of))
    return exit_code([result])
