"""The command line: `grade PATH… --lab LAB`, `grade labs`, `grade doctor`.

A first argument that is a command's name is that command; anything else is a path to grade (a folder that is called
like a command is written `./labs`).  Every error is one line and an exit code: 2 for what the user can put right,
3 for a failure of the grader itself, whose traceback goes to a log file.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from grader import __version__, i18n
from grader.errors import GraderError, InternalError, LabError, UsageError
from grader.i18n import _

INTERRUPTED = 130
LOG_NAME = "grade-error.log"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run the command line; returns the exit code, having printed one line on standard error if it is 2 or 3."""
    i18n.use(language_of(arguments, os.environ))
    commands = {
        "labs": labs_command,
        "doctor": doctor_command,
        "calibrate": calibrate_command,
        "selftest": selftest_command,
        "new-lab": new_lab_command,
    }
    try:
        if arguments and arguments[0] in commands:
            return _invoke(commands[arguments[0]](), f"grade {arguments[0]}", arguments[1:])
        return _invoke(grade_command(), "grade", arguments or ["--help"])
    except click.exceptions.Exit as request:
        # After --help or --version.
        return request.exit_code
    except click.ClickException as error:
        return _complain(_usage_message(error), 2)
    except GraderError as error:
        return _complain(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _complain(_("interrupted; what is finished is kept"), INTERRUPTED)
    except BrokenPipeError:
        # Whoever read our output (`| head`) has seen enough; Python must not complain of it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except Exception as error:
        return _complain(str(_internal(error, Path(tempfile.gettempdir()))), 3)


def _invoke(command: click.Command, name: str, arguments: list[str]) -> int:
    with command.make_context(name, list(arguments)) as context:
        return int(command.invoke(context) or 0)


def language_of(arguments: Sequence[str], environment: os._Environ[str] | dict[str, str]) -> str:
    """The language to speak: `--lang`, else the locale's if there is a catalogue for it, else English.

    Found before the command line is parsed, for its help and its errors speak it too.
    """
    for argument, following in itertools.zip_longest(arguments, arguments[1:], fillvalue=""):
        if argument == "--lang":
            return following
        if argument.startswith("--lang="):
            return argument.removeprefix("--lang=")
    # The first that is set decides, as POSIX has it.
    locale = next((v for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (v := environment.get(name))), "")
    spoken = locale[:2].lower()
    return spoken if spoken in i18n.languages() else "en"


def write_log(folder: Path) -> Path:
    """Write the current exception's traceback to a file in `folder`, or in the temporary folder; returns the file."""
    text = traceback.format_exc()
    for place in (folder, Path(tempfile.gettempdir())):
        try:
            (place / LOG_NAME).write_text(text)
        except OSError:
            continue
        return place / LOG_NAME
    return Path(os.devnull)


def _internal(error: Exception, folder: Path) -> InternalError:
    """What to say of a failure of the grader itself: what failed, and where the whole of it is written."""
    what = str(error) if isinstance(error, GraderError) else type(error).__name__
    text = _("the grader failed ({error}); details are in {log}")
    return InternalError(text.format(error=what, log=write_log(folder)))


def _complain(message: str, code: int) -> int:
    from grader.report.visible import visible

    print("grade: " + visible(" ".join(message.split())), file=sys.stderr)
    return code


def _usage_message(error: click.ClickException) -> str:
    if isinstance(error, click.NoSuchOption):
        message = _("there is no option {option}").format(option=error.option_name)
        near = ", ".join(error.possibilities or [])
        return message + (_("; did you mean {options}?").format(options=near) if near else "")
    if isinstance(error, click.MissingParameter) and error.param is not None:
        name = error.param.opts[0] if isinstance(error.param, click.Option) else (error.param.metavar or "").rstrip(".")
        return _("{parameter} is missing; see grade --help").format(parameter=name)
    return error.format_message()


def grade_command() -> click.Command:
    """`grade PATH… --lab LAB`: the options, in the language in use."""
    options: list[click.Parameter] = [
        click.Argument(["paths"], nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..."),
        click.Option(["--lab"], required=True, metavar="LAB", help=_("The lab to grade; `grade labs` lists them.")),
        click.Option(
            ["--backend"],
            type=click.Choice(["auto", "gpu", "emulator"]),
            default="auto",
            show_default=True,
            help=_("Where kernels run; auto takes a GPU when there is one."),
        ),
        click.Option(
            ["--out"],
            type=click.Path(path_type=Path, file_okay=False),
            default=Path("reports"),
            show_default=True,
            help=_("Folder for results and reports."),
        ),
        lang_option(),
        click.Option(["--no-pdf"], is_flag=True, help=_("Write the HTML report only.")),
        click.Option(
            ["--jobs"],
            type=click.IntRange(min=1),
            default=None,
            metavar="N",
            help=_("Submissions graded at the same time (default: one per core)."),
        ),
        click.Option(
            ["--remeasure"], is_flag=True, help=_("Time kernels on the GPU anew instead of taking stored times.")
        ),
        click.Option(
            ["--profile"], is_flag=True, help=_("Show Nsight Compute's counters beside the emulator's (GPU only).")
        ),
        click.Option(["--sanitize"], is_flag=True, help=_("Ask compute-sanitizer as well (GPU only).")),
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
            "Grade CUDA lab submissions.  PATH is a student's folder, one .cu file, or a folder of students' folders."
        ),
        epilog=_epilog(),
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _epilog() -> str:
    """The other commands and the exit codes; \\b keeps click from filling the lines."""
    commands = [
        ("grade labs", _("the labs there are")),
        ("grade doctor", _("what this machine can do")),
        ("grade new-lab NAME", _("the skeleton of a lab")),
        ("grade calibrate LAB", _("thresholds of speed that fit this GPU")),
    ]
    codes = [
        ("0", _("every check passed")),
        ("1", _("some check failed")),
        ("2", _("wrong command line, lab or layout of a submission")),
        ("3", _("the grader itself failed")),
    ]
    blocks = ((_("Other commands:"), commands), (_("Exit codes:"), codes))
    return "\n\n".join(
        "\n".join(["\b", title, *(f"  {name:<14} {text}" for name, text in rows)]) for title, rows in blocks
    )


def lang_option() -> click.Option:
    """`--lang`, of every command."""
    return click.Option(
        ["--lang"],
        type=click.Choice(i18n.languages()),
        default=i18n.language(),
        help=_("Language of messages and reports (default: the locale's)."),
    )


def labs_option() -> click.Option:
    """`--labs DIR`, of every command that looks for labs."""
    return click.Option(
        ["labs_folders", "--labs"],
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="DIR",
        help=_("A folder with more labs; may be given several times."),
    )


def _print_version(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"grade {__version__}")
        context.exit()


def _grade(
    paths: tuple[Path, ...],
    lab: str,
    backend: str,
    out: Path,
    lang: str,
    no_pdf: bool,
    jobs: int | None,
    remeasure: bool,
    profile: bool,
    sanitize: bool,
    labs_folders: tuple[Path, ...],
) -> int:
    from grader.grading import Order, grade

    order = Order(
        paths=paths,
        lab=lab,
        backend=backend,
        out=out,
        language=lang,
        pdf=not no_pdf,
        jobs=jobs,
        labs_folders=labs_folders,
        remeasure=remeasure,
        witnesses=[tool for tool, asked in (("ncu", profile), ("compute-sanitizer", sanitize)) if asked],
    )
    try:
        return grade(order)
    except UsageError:
        raise
    except Exception as error:
        raise _internal(error, out) from error


def calibrate_command() -> click.Command:
    """`grade calibrate LAB`: thresholds for the lab's speed checks, from its reference kernels on this GPU."""
    return click.Command(
        "calibrate",
        params=[click.Argument(["lab"]), labs_option(), lang_option()],
        callback=_calibrate,
        help=_("Time a lab's reference kernels on this GPU and propose what its speed checks should ask for."),
    )


def _calibrate(lab: str, labs_folders: tuple[Path, ...], lang: str) -> int:
    from grader import labs
    from grader.calibrate import calibrate, rows
    from grader.report import terminal

    found = calibrate(labs.find(lab, labs_folders))
    columns = [_("Variant"), _("Against"), _("Measured"), _("Minimum"), _("Full"), _("In the lab file"), _("Verdict")]
    terminal.show_table(terminal.console(), columns, rows(found))
    return 0 if all(row.is_sound for row in found) else 1


def selftest_command() -> click.Command:
    """`grade selftest [LAB]`: the labs' known-good and known-bad kernels, each with the verdict that it must get."""
    return click.Command(
        "selftest",
        params=[
            click.Argument(["lab"], required=False),
            click.Option(
                ["--backend"],
                type=click.Choice(["auto", "gpu", "emulator"]),
                default="auto",
                show_default=True,
                help=_("Where kernels run; auto takes a GPU when there is one."),
            ),
            click.Option(
                ["--jobs"],
                type=click.IntRange(min=1),
                default=None,
                metavar="N",
                help=_("Submissions graded at the same time (default: one per core)."),
            ),
            labs_option(),
            lang_option(),
        ],
        callback=_selftest,
        help=_("Grade kernels that are known to be good or bad, and see that each gets the verdict that it must get."),
    )


def _selftest(lab: str | None, backend: str, jobs: int | None, labs_folders: tuple[Path, ...], lang: str) -> int:
    """Exit code 0 when every kernel got its verdict, 1 when not."""
    from grader.selftest import selftest

    return selftest(lab, backend, jobs, labs_folders)


def labs_command() -> click.Command:
    """`grade labs`: a table of the labs there are."""
    return click.Command(
        "labs", params=[labs_option(), lang_option()], callback=_labs, help=_("List the labs there are.")
    )


def _labs(labs_folders: tuple[Path, ...], lang: str) -> int:
    from grader import labs
    from grader.report import terminal
    from grader.report.job import in_language
    from grader.report.numbers import Numbers

    numbers = Numbers(lang)
    rows, broken = [], []
    for name in sorted(labs.folders(labs_folders)):
        try:
            lab = labs.find(name, labs_folders)
        except LabError as error:
            broken.append(error)
            continue
        points = sum(check.points for variant in lab.variants for check in variant.checks)
        names = ", ".join(variant.name for variant in lab.variants)
        rows.append((name, in_language(lab.title, lang), names, numbers.points(points)))
    terminal.show_table(terminal.console(), [_("Lab"), _("Title"), _("Variants"), _("Points")], rows)
    for refused in broken:
        _complain(str(refused), refused.exit_code)
    return 2 if broken else 0


def doctor_command() -> click.Command:
    """`grade doctor`: what this machine can do, and what to install for the rest."""
    text = _("Show what this machine can do, and what to install.")
    return click.Command("doctor", params=[lang_option()], callback=_doctor, help=text)


def _doctor(lang: str) -> int:
    """Exit code 0 unless something that grading itself needs is missing."""
    from grader import doctor
    from grader.report import terminal

    symbols = {"ok": "✓", "missing": "✗", "optional": "–"}
    findings = doctor.examine()
    terminal.show_table(
        terminal.console(),
        [_("Tool"), _("Found"), _("What for"), _("What to install")],
        [(f"{symbols[f.state]} {f.name}", f.found, f.purpose, f.advice) for f in findings],
    )
    return 0


def new_lab_command() -> click.Command:
    """`grade new-lab NAME`: the skeleton of a lab."""
    return click.Command(
        "new-lab",
        params=[
            click.Argument(["name"], metavar="NAME"),
            click.Option(
                ["--into"],
                type=click.Path(path_type=Path, file_okay=False),
                default=Path("assignments"),
                show_default=True,
                help=_("Folder of labs to write it into."),
            ),
            lang_option(),
        ],
        callback=_new_lab,
        help=_("Write the skeleton of a lab, which can be graded as it stands."),
    )


def _new_lab(name: str, into: Path, lang: str) -> int:
    from grader.new_lab import create, next_steps

    for line in next_steps(name, create(name, into)):
        click.echo(line)
    return 0
