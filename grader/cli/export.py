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
                help=_("What to write; may be given several times."),
            ),
            click.Option(
                ["lab_ids", "--lab"], multiple=True, metavar="LAB", help=_("Of this lab only (default: of all labs).")
            ),
            lang_option(),
            labs_option(),
        ],
        callback=_export,
        help=_("Write the marks of a group again from the results in DIR, without grading, in other formats."),
    )


def _export(
    path: Path, formats: tuple[str, ...], lab_ids: tuple[str, ...], lang: str, labs_folders: tuple[Path, ...]
) -> int:
    from grader.grading.output.exporting import export

    return export(path, formats, lang, lab_ids, labs_folders)
