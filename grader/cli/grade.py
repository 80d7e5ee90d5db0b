"""`grade PATH… --lab LAB`: the command that grades."""

from __future__ import annotations

from pathlib import Path

import click

from grader import __version__
from grader.cli.options import (
    PathType,
    backend_option,
    blamed_on_us,
    complain,
    jobs_option,
    labs_option,
    lang_option,
    no_pdf_option,
)
from grader.devices import gpus
from grader.errors import UsageError
from grader.i18n import _


def grade_command() -> click.Command:
    """`grade PATH… --lab LAB`: the options, in the language in use."""
    options: list[click.Parameter] = [
        click.Argument(["paths"], nargs=-1, required=True, type=PathType(), metavar="PATH..."),
        click.Option(
            ["lab_ids", "--lab"],
            required=True,
            multiple=True,
            metavar="LAB",
            help=_("The lab to grade; `grade labs` lists them. Given several times, each is graded."),
        ),
        backend_option(),
        click.Option(
            ["--out"],
            type=PathType(file_okay=False),
            default=Path("reports"),
            show_default=True,
            help=_("Folder for results and reports."),
        ),
        lang_option(),
        no_pdf_option(),
        jobs_option(_("Submissions graded at the same time (default: one per core, at most 16 for each GPU).")),
        click.Option(
            ["--cluster"],
            default="",
            metavar="ADDRESS",
            help=_("Have a group graded by the workers of this Dask scheduler, e.g. tcp://host:8786."),
        ),
        click.Option(
            ["--roster"],
            type=PathType(),
            metavar="FILE",
            help=_(
                "A table (.csv, .xlsx) of the group: names are taken from it, and students without a submission "
                "are listed."
            ),
        ),
        click.Option(
            ["--single"],
            is_flag=True,
            help=_("PATH is one student's work, whatever folders it holds; nothing is taken for a group."),
        ),
        click.Option(
            ["--force"], is_flag=True, help=_("Grade the whole group again, including unchanged submissions.")
        ),
        click.Option(
            ["--remeasure"], is_flag=True, help=_("Time kernels on the GPU again instead of using stored times.")
        ),
        click.Option(
            ["--profile"], is_flag=True, help=_("Show Nsight Compute's counters beside the emulator's (GPU only).")
        ),
        click.Option(["--sanitize"], is_flag=True, help=_("Ask compute-sanitizer as well (GPU only).")),
        click.Option(
            ["--predict"],
            type=click.Choice(["auto", "off", *gpus()], case_sensitive=False),
            default="auto",
            show_default=True,
            help=_("The GPU to predict times for; auto: the lab's, else the one at hand, else T4."),
        ),
        labs_option(),
        click.Option(
            ["--version"],
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
            help=_("Print the version and exit."),
        ),
    ]
    return click.Command(
        "grade",
        params=options,
        callback=_grade,
        help=_(
            "Grade CUDA lab submissions.  PATH is a student's folder, one .cu file, a folder of students' folders, or "
            "an archive as Moodle, Gradescope, Canvas and GitHub Classroom export it."
        ),
        epilog=_epilog(),
        context_settings={"help_option_names": ["-h", "--help"]},
        options_metavar=_("[OPTIONS]"),
    )


def _epilog() -> str:
    """The other commands and the exit codes; \\b keeps click from filling the lines."""
    commands = [
        ("grade labs", _("the available labs")),
        ("grade report DIR", _("reports from stored results, in another language")),
        ("grade rescore DIR", _("marks again by changed points and thresholds, nothing is run")),
        ("grade similar DIR", _("similar submissions side by side, other years' too")),
        ("grade export DIR --format F", _("grades for Moodle, Canvas, Gradescope, spreadsheets, build servers")),
        ("grade run PROG.cu", _("run a whole program without a GPU")),
        ("grade check FILE", _("what to fix, in the format of compilers")),
        ("grade watch FILE", _("the same, repeated after each save")),
        ("grade serve", _("a page to drop a file on")),
        ("grade autograder SERVICE", _("a package for Gradescope, GitHub, GitLab or Moodle")),
        ("grade doctor", _("what this machine can do")),
        ("grade new-lab NAME", _("the skeleton of a lab")),
        ("grade selftest [LAB]", _("whether a lab tells good kernels from bad ones")),
        ("grade calibrate LAB", _("thresholds of speed that fit this GPU")),
    ]
    codes = [
        ("0", _("every check passed")),
        ("1", _("some check failed")),
        ("2", _("wrong command line, lab or layout of a submission")),
        ("3", _("the grader itself failed")),
    ]
    blocks = ((_("Other commands:"), commands), (_("Exit codes:"), codes))
    paragraphs = []
    for title, rows in blocks:
        width = max(len(name) for name, _text in rows)
        paragraphs.append("\n".join(["\b", title, *(f"  {name:<{width}}  {text}" for name, text in rows)]))
    return "\n\n".join(paragraphs)


def _print_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"grade {__version__}")
        context.exit()


def _grade(
    paths: tuple[Path, ...],
    lab_ids: tuple[str, ...],
    backend: str,
    out: Path,
    lang: str,
    no_pdf: bool,
    jobs: int | None,
    cluster: str,
    roster: Path | None,
    single: bool,
    force: bool,
    remeasure: bool,
    profile: bool,
    sanitize: bool,
    predict: str,
    labs_folders: tuple[Path, ...],
) -> int:
    from grader.grading.options import GradeOptions
    from grader.grading.session import Order, grade
    from grader.lab import labs
    from grader.report.job import in_language
    from grader.result import weightier

    wanted = [labs.find(name, labs_folders) for name in dict.fromkeys(lab_ids)]
    code = 0
    for lab in wanted:
        options = GradeOptions(
            lab=lab.id,
            backend=backend,
            language=lang,
            labs_folders=tuple(str(folder) for folder in labs_folders),
            remeasure=remeasure,
            profilers=tuple(tool for tool, asked in (("ncu", profile), ("compute-sanitizer", sanitize)) if asked),
            predict=predict.lower(),
        )
        order = Order(
            paths,
            out,
            options,
            pdf=not no_pdf,
            jobs=jobs,
            is_fresh=force,
            roster=roster,
            cluster=cluster,
            is_single=single,
        )
        if len(wanted) > 1:
            click.echo(f"━━ {in_language(lab.title, lang)} ({lab.id})")
        try:
            with blamed_on_us(out):
                code = weightier((code, grade(order)))
        except UsageError as error:
            if len(wanted) == 1:
                raise
            # Who has nothing for one lab may have something for the next.
            code = weightier((code, complain(str(error), error.exit_code)))
    return code
