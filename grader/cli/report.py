"""`grade report DIR`: stored results shown again, in another language if asked for."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import PathType, labs_option, lang_option, no_pdf_option
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
    from grader.grading.output.retelling import retell

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
    from grader.grading.output.rescoring import rescore

    return rescore(path, lang, not no_pdf, labs_folders)
