"""`grade predict PATH --lab LAB`: what a submission's kernels would take on a GPU that is not there."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import DeviceType, PathType, labs_option, lang_option, one_lab
from grader.errors import UsageError
from grader.i18n import _
from grader.message import Message, msg
from grader.words import text


def predict_command() -> click.Command:
    """`grade predict`: a table of predicted times."""
    return click.Command(
        "predict",
        params=[
            click.Argument(["path"], type=PathType(), metavar="PATH"),
            click.Option(["--lab"], metavar="LAB", multiple=True, required=True, callback=one_lab, help=_("The lab.")),
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


def _predict(
    path: Path, lab: str, device: str, size: tuple[str, ...], labs_folders: tuple[Path, ...], lang: str
) -> int:
    from grader.compiler.process import CompilerProcess
    from grader.grading.reading import Reading
    from grader.lab import labs
    from grader.launching.kernel import bound_kernels
    from grader.launching.programs import ProgramStore
    from grader.prediction.instructions import read_device
    from grader.prediction.model import predict_kernel, record_of
    from grader.report import terminal
    from grader.report.numbers import Numbers
    from grader.report.predicted import predicted_table
    from grader.result import PredictedTime

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
            foretold = predict_kernel(kernel, sizes, processor, stores)
            times[variant] = text(foretold) if isinstance(foretold, Message) else record_of(foretold, sizes, processor)
    shown = ", ".join(f"{name} = {value}" for name, value in sizes.items())
    terminal.show_predicted(terminal.console(), predicted_table(times, shown, Numbers(lang)))
    return 0


def _sizes(given: tuple[str, ...], allowed: tuple[str, ...]) -> dict[str, int]:
    sizes = {}
    for pair in given:
        name, _equals, value = pair.partition("=")
        if name not in allowed or not value.isdecimal() or not 0 < int(value) < 1 << 31:
            raise UsageError(msg("predict.size", given=pair, allowed=", ".join(f"{name}=N" for name in allowed)))
        sizes[name] = int(value)
    return sizes
