"""`grade export DIR`: tables of marks from stored results, as learning systems and spreadsheets take them."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import PathType, labs_option, lang_option
from grader.exports.registry import FORMATS
from grader.i18n import _


def export_command() -> click.Command:
    """`grade export DIR --format F`: files for spreadsheets, Moodle, Canvas, Gradescope, build servers."""
    return click.Command(
        "export",
        params=[
            click.Argument(["path"], type=PathType(file_okay=False), metavar="DIR"),
            click.Option(
                ["formats", "--format"],
                type=click.Choice(list(FORMATS)),
                multiple=True,
                required=True,
                help=_("What to write; may be repeated."),
            ),
            click.Option(
                ["lab_ids", "--lab"],
                multiple=True,
                metavar="LAB",
                help=_("Only this lab (default: all labs); xlsx and course hold all labs even so."),
            ),
            lang_option(),
            labs_option(),
        ],
        callback=_export,
        help=_("Write the grades of a group from the results in DIR in other formats, without grading again."),
    )


def _export(
    path: Path, formats: tuple[str, ...], lab_ids: tuple[str, ...], lang: str, labs_folders: tuple[Path, ...]
) -> int:
    from grader.grading.output.exporting import export

    return export(path, formats, lang, lab_ids, labs_folders)
