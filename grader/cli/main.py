"""The command line: `grade PATH… --lab LAB`, the command that grades, `grade predict` for a GPU that is not there, and
all other commands beside them.

A first argument that is a command's name is that command; anything else is a path to grade (a folder that is called
like a command is written `./labs`).  Every error is one line and an exit code: 2 for what the user can put right, 3 for
a failure of the grader itself, whose traceback goes to a log file.
"""

from __future__ import annotations

import gettext
import itertools
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader import __version__, i18n
from grader.cli.editors import check_command, watch_command
from grader.cli.labs import (
    calibrate_command,
    doctor_command,
    export_command,
    labs_command,
    new_lab_command,
    report_command,
    rescore_command,
    selftest_command,
    similar_command,
)
from grader.cli.options import (
    DeviceType,
    Interrupted,
    PathType,
    backend_option,
    blamed_on_us,
    complain,
    internal,
    interruptible,
    jobs_option,
    lab_option,
    labs_option,
    lang_option,
    no_pdf_option,
    refused_by_system,
    usage_message,
    view_option,
)
from grader.cli.run import build_command, run_command, split
from grader.cli.services import autograder_command, serve_command
from grader.errors import GraderError, UsageError
from grader.i18n import LOCALE_FOLDER, _, ngettext
from grader.message import Message, msg
from grader.report.text import Numbers, prepare_standard_streams
from grader.words import text

if TYPE_CHECKING:
    from grader.lab.checks import View


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
            type=DeviceType("auto", "off"),
            default="auto",
            show_default=True,
            help=_(
                "The GPU to predict times for, or a file that `grade calibrate --device` wrote; "
                "auto: the lab's, else the one at hand, else T4."
            ),
        ),
        labs_option(),
        view_option(),
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
    r"""Return the other commands and the exit codes; \b keeps click from filling the lines."""
    commands = [
        ("grade labs", _("the available labs")),
        ("grade report DIR", _("reports from stored results, in another language")),
        ("grade rescore DIR", _("marks again by changed points and thresholds, nothing is run")),
        ("grade similar DIR", _("similar submissions side by side, other years' too")),
        ("grade export DIR --format F", _("grades for Moodle, Canvas, Gradescope, spreadsheets, build servers")),
        ("grade run PROG.cu", _("run a whole program without a GPU")),
        ("grade build PROG.cu", _("compile a program for `grade run` on a machine without the compiler")),
        ("grade check FILE", _("what to fix, in the format of compilers")),
        ("grade watch FILE", _("the same, repeated after each save")),
        ("grade serve", _("a page to drop a file on")),
        ("grade autograder SERVICE", _("a package for Gradescope, GitHub, GitLab or Moodle")),
        ("grade doctor", _("what this machine can do")),
        ("grade new-lab NAME", _("the skeleton of a lab")),
        ("grade selftest [LAB]", _("whether a lab tells good kernels from bad ones")),
        ("grade predict PATH", _("how long kernels take on a GPU that is not there")),
        ("grade calibrate LAB", _("thresholds of speed that fit this GPU")),
    ]
    codes = [
        ("0", _("every check passed")),
        ("1", _("some check failed")),
        ("2", _("wrong command line, lab or layout of a submission")),
        ("3", _("the grader itself failed")),
        ("4", _("too little could be judged for a verdict")),
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
    view: View | None,
) -> int:
    from grader.processes.limits import IS_LINUX, MANY, cores

    if IS_LINUX and cores() >= MANY:
        # While all else is imported.
        from grader.programs.toolchain import advance

        advance.begin()
    from grader.grading.options import GradeOptions
    from grader.grading.session import Order, carry_out
    from grader.lab import labs
    from grader.report.job import in_language
    from grader.result import gravest_code

    wanted = [labs.find(name, labs_folders) for name in dict.fromkeys(lab_ids)]
    code = 0
    for lab in wanted:
        options = GradeOptions(
            lab=lab.id,
            backend=backend,
            language=i18n.language(),
            labs_folders=tuple(str(folder) for folder in labs_folders),
            remeasure=remeasure,
            profilers=tuple(tool for tool, asked in (("ncu", profile), ("compute-sanitizer", sanitize)) if asked),
            predict=predict,
            view=view or "students",
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
            click.echo(f"━━ {in_language(lab.title, i18n.language())} ({lab.id})")
        try:
            with blamed_on_us(out):
                code = gravest_code((code, carry_out(order)))
        except UsageError as error:
            if len(wanted) == 1:
                raise
            # Who has nothing for one lab may have something for the next.
            code = gravest_code((code, complain(str(error), error.exit_code)))
    return code


DOMAIN = "grader"


def speak(language: str) -> None:
    """Let click speak `language`, as far as our catalogues have its texts."""
    os.environ["LANGUAGE"] = language
    gettext.bindtextdomain(DOMAIN, LOCALE_FOLDER)
    gettext.textdomain(DOMAIN)


def texts() -> list[str]:
    """The texts as click has them, in the language in use; here so that they are extracted and translated."""
    return [
        _("Usage:"),
        _("Options"),
        _("required"),
        _("default: {default}"),
        _("Show this message and exit."),
        _("Invalid value for {param_hint}: {message}"),
        ngettext("{value!r} is not {choice}.", "{value!r} is not one of {choices}.", 2),
        _("{name} {filename!r} is a file."),
        _("{value!r} is not a valid {number_type}."),
        _("{value} is not in the range {range}."),
        _("Option {name!r} does not take a value."),
        ngettext("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments.", 1),
        ngettext("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})", 2),
    ]


INTERRUPTED = 130
KEEP_NOTHING = frozenset({"run", "build", "check", "watch", "serve", "labs", "doctor"})
"""Commands that leave no results behind."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else list(arguments)))


def run(arguments: list[str]) -> int:
    """Run the command line; returns the exit code, having printed one line on standard error if it is 2 or 3."""
    prepare_standard_streams()
    i18n.use(language_of(arguments, os.environ))
    speak(i18n.language())
    commands = {
        "labs": labs_command,
        "doctor": doctor_command,
        "calibrate": calibrate_command,
        "selftest": selftest_command,
        "predict": predict_command,
        "report": report_command,
        "rescore": rescore_command,
        "remark": rescore_command,  # As it was called; a remark is what costs no points.
        "similar": similar_command,
        "export": export_command,
        "new-lab": new_lab_command,
        "run": run_command,
        "build": build_command,
        "check": check_command,
        "watch": watch_command,
        "serve": serve_command,
        "autograder": autograder_command,
    }
    try:
        with interruptible():
            if arguments and arguments[0] == "run":
                words, own = split(arguments[1:])
                return _invoke(run_command(), "grade run", words, own)
            if arguments and arguments[0] in commands:
                return _invoke(commands[arguments[0]](), f"grade {arguments[0]}", arguments[1:])
            if arguments:
                _no_command(arguments[0], list(commands))
            return _invoke(grade_command(), "grade", arguments or ["--help"])
    except click.exceptions.Exit as request:
        # After --help or --version.
        return request.exit_code
    except click.ClickException as error:
        return complain(usage_message(error), 2)
    except GraderError as error:
        return complain(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort) as request:
        code = request.code if isinstance(request, Interrupted) else INTERRUPTED
        keeps_nothing = bool(arguments) and arguments[0] in KEEP_NOTHING
        kept = _("interrupted; finished results are kept, and the same command goes on from there")
        return complain(_("interrupted") if keeps_nothing else kept, code)
    except BrokenPipeError:
        # Whoever read our output (`| head`) has seen enough; Python must not complain of it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return INTERRUPTED
    except Exception as error:
        refusal = refused_by_system(error)
        if refusal:
            return complain(refusal, 2)
        return complain(str(internal(error, Path(tempfile.gettempdir()))), 3)


def _no_command(word: str, commands: Sequence[str]) -> None:
    """Refuse a first word that is nearly a command's name and no file either: it does not lack `--lab`."""
    import difflib

    near = difflib.get_close_matches(word, commands, n=1)
    if near and not word.startswith("-") and not os.path.lexists(word):
        text = _("{word}: no such command, and no such file or folder; did you mean grade {command}?")
        raise UsageError(text.format(word=word, command=near[0]))


def _invoke(command: click.Command, name: str, arguments: list[str], own: object = None) -> int:
    with command.make_context(name, list(arguments), obj=own) as context:
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


def predict_command() -> click.Command:
    """`grade predict`: a table of predicted times."""
    return click.Command(
        "predict",
        params=[
            click.Argument(["path"], type=PathType(), metavar="PATH"),
            lab_option(_("The lab."), required=True),
            click.Option(
                ["--device"],
                type=DeviceType(),
                default="t4",
                show_default=True,
                help=_("The GPU to predict for, or a file that `grade calibrate --device` wrote."),
            ),
            click.Option(
                ["--size"],
                multiple=True,
                metavar="NAME=N",
                help=_("A size of the lab; default: the largest that is timed on a GPU."),
            ),
            labs_option(),
            lang_option(),
        ],
        callback=_predict,
        help=_("Predict how long a submission's kernels take on a GPU, and what limits them. No marks depend on it."),
    )


def _predict(path: Path, lab: str, device: str, size: tuple[str, ...], labs_folders: tuple[Path, ...]) -> int:
    from grader.compiler.process import CompilerProcess
    from grader.grading.reading import Reading
    from grader.lab import labs
    from grader.launching.kernel import bound_kernels
    from grader.launching.programs import ProgramStore
    from grader.measured import PredictedTime
    from grader.report import terminal
    from grader.report.predicted import predicted_table
    from grader.timing.instructions import read_device
    from grader.timing.prediction import predict_kernel, record_of

    assignment = labs.find(lab, labs_folders)
    default = assignment.timing.sizes[-1] if assignment.timing is not None else assignment.cases["emulator"].observe
    sizes = {**default, **_sizes(size, tuple(default))}
    processor = read_device(device)
    reading = Reading(path, assignment, None)
    kernels = bound_kernels(assignment, reading.with_programs_run(reading.bound))
    if not kernels:
        raise UsageError(msg("predict.no_kernel", path=str(path), lab=assignment.id))
    times: dict[str, PredictedTime | str] = {}
    with CompilerProcess() as compiler:
        stores = ProgramStore(compiler, "compute_75"), ProgramStore(compiler, processor.architecture)
        for variant, kernel in kernels.items():
            predicted = predict_kernel(kernel, sizes, processor, stores)
            times[variant] = (
                text(predicted) if isinstance(predicted, Message) else record_of(predicted, sizes, processor)
            )
    shown = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    terminal.show_predicted(terminal.console(), predicted_table(times, shown, Numbers(i18n.language())))
    return 0


def _sizes(given: tuple[str, ...], allowed: tuple[str, ...]) -> dict[str, int]:
    sizes = {}
    for pair in given:
        name, _equals, value = pair.partition("=")
        if name not in allowed or not value.isdecimal() or not 0 < int(value) < 1 << 31:
            raise UsageError(msg("predict.size", given=pair, allowed=", ".join(f"{name}=N" for name in allowed)))
        sizes[name] = int(value)
    return sizes
