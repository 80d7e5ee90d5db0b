"""`grade similar DIR`: pairs of similar submissions, side by side."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import PathType, labs_option, lang_option
from grader.i18n import _


def similar_command() -> click.Command:
    """`grade similar DIR [--archive DIR]`: who may have copied, as a hint for the teacher."""
    return click.Command(
        "similar",
        params=[
            click.Argument(["path"], type=PathType(file_okay=False), metavar="DIR"),
            click.Option(
                ["archives", "--archive"],
                type=PathType(file_okay=False),
                multiple=True,
                metavar="DIR",
                help=_("Results or submissions of another year to compare with; may be given several times."),
            ),
            lang_option(),
            labs_option(),
        ],
        callback=_similar,
        help=_("Look for similar submissions among the results in DIR, and show them side by side."),
    )


def _similar(path: Path, archives: tuple[Path, ...], lang: str, labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.output.comparing import compare_stored

    return compare_stored(path, lang, archives, labs_folders)
