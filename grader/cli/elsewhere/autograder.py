"""`grade autograder SERVICE --lab LAB`: what Gradescope, GitHub, GitLab and Moodle run the grader by."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import PathType, labs_option, lang_option, one_lab
from grader.errors import UsageError
from grader.i18n import _


def autograder_command() -> click.Command:
    """`grade autograder`: the options, in the language in use."""
    from grader.autograders.services import SERVICES

    options: list[click.Parameter] = [
        click.Argument(["service"], type=click.Choice(list(SERVICES)), metavar="|".join(SERVICES)),
        click.Option(
            ["--lab"],
            required=True,
            multiple=True,
            callback=one_lab,
            metavar="LAB",
            help=_("The lab to grade; `grade labs` lists them."),
        ),
        click.Option(
            ["--out"],
            type=PathType(),
            help=_("The archive (gradescope, moodle) or the repository's folder (github, gitlab) to write."),
        ),
        click.Option(
            ["--grader"],
            default="",
            metavar="REQUIREMENT",
            help=_("What pip installs the grader from; default: this version, put next to the scripts."),
        ),
        labs_option(),
        lang_option(),
    ]
    return click.Command(
        "autograder",
        params=options,
        callback=_autograder,
        help=_("Write what a service needs to run the grader. --lang is the language of messages to students."),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _autograder(
    service: str, lab: str, out: Path | None, grader: str, labs_folders: tuple[Path, ...], lang: str
) -> int:
    from grader.autograders.package import Order, write_folder, zipped
    from grader.autograders.services import ARCHIVES, SERVICES
    from grader.files import write_atomically
    from grader.grading.secret import secret
    from grader.lab import labs
    from grader.paths import data_root
    from grader.report.visible import visible_line

    found = labs.find(lab, list(labs_folders))
    if any(character in grader for character in "\"'\\`$\n@"):
        raise UsageError(_("--grader {value}: no quotes, $, ` or @").format(value=grader))
    order = Order(
        lab=found,
        language=lang,
        built_in=found.path.resolve().is_relative_to((data_root() / "assignments").resolve()),
        requirement=grader,
        # A repository is the student's to read.
        secret=secret() if service == "gradescope" else "",
    )
    files = SERVICES[service](order)
    if service in ARCHIVES:
        target = out or Path(f"{service}-{lab}.zip")
        write_atomically(target, zipped(files))
        text = _("Written: {path} ({n} files, {kilobytes} kB)")
        size = target.stat().st_size // 1000
        click.echo(text.format(path=visible_line(str(target)), n=len(files), kilobytes=size))
    else:
        target = out or Path()
        write_folder(target, files)
        for file in files:
            click.echo(_("Written: {path}").format(path=visible_line(str(target / file.name))))
    return 0
