"""The commands that grade nothing: about labs and this machine (`grade labs`, `new-lab`, `selftest`, `calibrate`,
`doctor`), and about stored results (`report`, `rescore`, `export`, `similar`).
"""

from __future__ import annotations

from pathlib import Path

import click

from grader import i18n
from grader.cli.options import PathType, backend_option, complain, jobs_option, labs_option, lang_option, no_pdf_option
from grader.devices import DEVICE_FILE
from grader.errors import FileError, UsageError, describe_os_error
from grader.i18n import _
from grader.message import msg
from grader.report.text import Numbers, visible_line
from grader.words import said


def labs_command() -> click.Command:
    """`grade labs`: a table of the available labs."""
    return click.Command(
        "labs", params=[labs_option(), lang_option()], callback=_labs, help=_("List the available labs.")
    )


def _labs(labs_folders: tuple[Path, ...]) -> int:
    from grader.lab import labs
    from grader.report import terminal
    from grader.report.job import in_language

    numbers = Numbers(i18n.language())
    readable, broken = [], []
    for name in labs.folders(labs_folders):
        try:
            readable.append(labs.find(name, labs_folders))
        except FileError as error:
            broken.append(error)
    rows = []
    for lab in sorted(readable, key=labs.by_course):
        points = sum(check.points for variant in lab.variants for check in variant.checks)
        names = ", ".join(variant.name for variant in lab.variants)
        rows.append((lab.id, in_language(lab.title, i18n.language()), names, numbers.points(points)))
    terminal.show_table(terminal.console(), [_("Lab"), _("Title"), _("Variants"), _("Points")], rows)
    for refused in broken:
        complain(str(refused), refused.exit_code)
    return 2 if broken else 0


def new_lab_command() -> click.Command:
    """`grade new-lab NAME`: the skeleton of a lab."""
    return click.Command(
        "new-lab",
        params=[
            click.Argument(["name"], metavar="NAME"),
            click.Option(
                ["--into"],
                type=PathType(file_okay=False),
                default=Path("assignments"),
                show_default=True,
                help=_("Folder to create the lab in."),
            ),
            click.Option(
                ["--interface"],
                type=click.Choice(["kernel", "function", "program"]),
                help=_(
                    "What students hand in; program only with --from.  "
                    "[default: kernel; function with --signature; what --from has]"
                ),
            ),
            click.Option(
                ["--signature"],
                default="",
                metavar="TEXT",
                help=_("The function that is asked for, e.g. 'void solve(const float *in, float *out, int n)'."),
            ),
            click.Option(
                ["--memory"],
                type=click.Choice(["device", "host"]),
                help=_("Where the function's pointers lead.  [default: device]"),
            ),
            click.Option(
                ["--from", "solution"],
                type=PathType(),
                metavar="FILE",
                help=_("A solution that the lab is proposed from, by running it."),
            ),
            click.Option(
                ["--run", "run_as"],
                default="",
                metavar="TEXT",
                help=_("With --from: how the whole program is started, e.g. '-n 1000 -i in.txt out.txt'."),
            ),
            lang_option(),
        ],
        callback=_new_lab,
        help=_("Write the skeleton of a lab, ready to be graded."),
    )


def _new_lab(
    name: str,
    into: Path,
    interface: str | None,
    signature: str,
    memory: str | None,
    solution: Path | None,
    run_as: str,
) -> int:
    from grader.lab.interfaces import SIGNATURE
    from grader.lab.labs import create, next_steps

    if solution is not None:
        from grader.proposing.writing import propose

        if signature or memory:
            raise UsageError(msg("labs.new_not_with_from", option="--signature" if signature else "--memory"))
        folder = propose(name, solution, into, interface, lambda line: click.echo(visible_line(said(line))), run_as)
        click.echo(visible_line(said(msg("proposing.then", folder=str(folder)))))
        for line in next_steps(name, folder, "solution.cu", " --record")[1:]:
            click.echo(visible_line(said(line)))
        return 0
    if interface == "program" or run_as:
        raise UsageError(msg("labs.new_program_from"))
    if interface == "kernel" or (interface is None and not signature):
        if signature or memory:
            raise UsageError(msg("labs.new_of_function", option="--signature" if signature else "--memory"))
        folder = create(name, into)
    else:
        folder = create(name, into, signature=signature or SIGNATURE, memory=memory or "device")
    for line in next_steps(name, folder):
        click.echo(visible_line(said(line)))
    return 0


def calibrate_command() -> click.Command:
    """`grade calibrate LAB`: thresholds for the lab's speed checks, from its reference kernels on this GPU."""
    return click.Command(
        "calibrate",
        params=[
            click.Argument(["lab"], required=False),
            click.Option(
                ["--device"],
                type=click.Path(dir_okay=False, path_type=Path),
                metavar="FILE.yaml",
                help=_("Measure this GPU instead, and write the file that times are predicted by."),
            ),
            labs_option(),
            lang_option(),
        ],
        callback=_calibrate,
        help=_("Time a lab's reference kernels on this GPU and propose thresholds for its speedup checks."),
    )


def _calibrate(lab: str | None, device: Path | None, labs_folders: tuple[Path, ...]) -> int:
    from grader.gpu.calibrate import calibrate, rows
    from grader.lab import labs
    from grader.report import terminal
    from grader.yaml_file import choose

    if device is not None and lab is None:
        return _calibrate_device(device)
    if lab is None or device is not None:
        allowed = choose("", labs.folders(labs_folders))
        raise UsageError(msg("calibrate.which_lab", allowed=allowed))
    calibrations = calibrate(labs.find(lab, labs_folders))
    columns = [
        _("Variant"),
        _("Compared with"),
        _("Measured"),
        _("Minimum"),
        _("Full"),
        _("In the lab file"),
        _("Verdict"),
    ]
    terminal.show_table(terminal.console(), columns, rows(calibrations))
    return 0 if all(row.is_sound for row in calibrations) else 1


def _calibrate_device(file: Path) -> int:
    from grader.gpu.calibrate import measure_device, write_device

    if file.suffix != DEVICE_FILE:
        raise UsageError(msg("calibrate.file_name", file=str(file), ending=DEVICE_FILE))
    processor = measure_device()
    try:
        write_device(processor, file)
    except OSError as error:
        raise UsageError(describe_os_error(error)) from error
    text = _("Measured: {device}. Use it with --predict {file}").format(device=processor.name, file=file)
    click.echo(visible_line(text))
    return 0


def selftest_command() -> click.Command:
    """`grade selftest [LAB]`: the labs' known-good and known-bad kernels, each with the verdict that it must get."""
    return click.Command(
        "selftest",
        params=[
            click.Argument(["lab"], required=False),
            click.Option(
                ["--record"],
                is_flag=True,
                help=_("Kernels without a verdict get the one that they have now, in verdicts.yaml."),
            ),
            backend_option(),
            jobs_option(),
            labs_option(),
            lang_option(),
        ],
        callback=_selftest,
        help=_("Grade kernels that are known to be good or bad, and check that each gets the expected verdict."),
    )


def _selftest(lab: str | None, record: bool, backend: str, jobs: int | None, labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.selftest import selftest

    return selftest(lab, backend, jobs, labs_folders, record)


def doctor_command() -> click.Command:
    """`grade doctor`: what this machine can do, and what to install for the rest."""
    text = _("Show what this machine can do, and what to install.")
    return click.Command("doctor", params=[lang_option()], callback=_doctor, help=text)


def _doctor() -> int:
    """Print what this machine can do; return 0 whatever is found."""
    from grader import doctor
    from grader.report import terminal

    symbols = {"ok": "✓", "missing": "✗", "optional": "–"}
    tools = doctor.examine()
    rows = [
        (f"{symbols[tool.state]} {said(tool.name)}", said(tool.found), said(tool.purpose), said(tool.advice))
        for tool in tools
    ]
    titles = [_("Tool"), _("Found"), _("What for"), _("What to install")]
    terminal.show_table(terminal.console(), titles, rows)
    missing = [said(tool.name) for tool in tools if tool.state == "missing"]
    optional = [said(tool.name) for tool in tools if tool.state == "optional"]
    out = terminal.console()
    if missing:
        out.print(_("Missing for grading or reports: {names}.").format(names=", ".join(missing)))
    else:
        out.print(_("Everything that grading and reports need is here."))
    if optional:
        out.print(_("Optional, not found: {names}.").format(names=", ".join(optional)))
    return 0


# -- stored results ---------------------------------------------------------------------


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


def _report(path: Path, no_pdf: bool, labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.rescoring import retell

    return retell(path, i18n.language(), not no_pdf, labs_folders)


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


def _rescore(path: Path, no_pdf: bool, labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.rescoring import rescore

    return rescore(path, i18n.language(), not no_pdf, labs_folders)


def export_command() -> click.Command:
    """`grade export DIR --format F`: files for spreadsheets, Moodle, Canvas, Gradescope, build servers."""
    from grader.exports import FORMATS

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


def _export(path: Path, formats: tuple[str, ...], lab_ids: tuple[str, ...], labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.tables import export

    return export(path, formats, i18n.language(), lab_ids, labs_folders)


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


def _similar(path: Path, archives: tuple[Path, ...], labs_folders: tuple[Path, ...]) -> int:
    from grader.grading.tables import compare_stored

    return compare_stored(path, i18n.language(), archives, labs_folders)
