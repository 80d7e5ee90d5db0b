"""Commands on stored results: `grade report`, `grade rescore`, `grade export`, `grade similar`."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import PathType, labs_option, lang_option, no_pdf_option
from grader.exports import FORMATS
from grader.i18n import _


def report_command() -> click.Command:
    """`grade report DIR`: reports, tables of marks and `result.json` written again from stored results."""
    return click.Command(
        "report",
        params=[
            click.Argument(["path"], type=PathType(), metavar="DIR"),
            lang_option(),
            no_pdf_option(),
            labs_option(),
        ],
        callback=_report,
        help=_(
            "Write the reports again from the results in DIR, without grading again: the folder of a group, "
            "a student, or a lab."
        ),
    )


def _report(path: Path, lang: str, no_pdf: bool, labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.rescoring import retell

    return retell(path, lang, not no_pdf, labs_folders)


def rescore_command() -> click.Command:
    """`grade rescore DIR`: stored results marked by a changed lab file and the teacher's decisions."""
    return click.Command(
        "rescore",
        params=[
            click.Argument(["path"], type=PathType(file_okay=False), metavar="DIR"),
            lang_option(),
            no_pdf_option(),
            labs_option(),
        ],
        callback=_rescore,
        help=_(
            "Mark the results in DIR again by changed points and thresholds of the lab file, by group.yaml and "
            "overrides.yaml, without running anything, and show whose marks change."
        ),
    )


def _rescore(path: Path, lang: str, no_pdf: bool, labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.rescoring import rescore

    return rescore(path, lang, not no_pdf, labs_folders)


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
    from grader.grading.tables import export

    return export(path, formats, lang, lab_ids, labs_folders)


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
    from grader.grading.tables import compare_stored

    return compare_stored(path, lang, archives, labs_folders)
