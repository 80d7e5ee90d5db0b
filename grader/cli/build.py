"""`grade build PROG.cu…`: a program's host code compiled beforehand, as one file that `grade run` takes."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path

import click

from grader.cli.options import blamed_on_us, lang_option
from grader.cli.run import DEFINED, FOLDERS, build_progress, compiler_options, program_paths, started_in
from grader.i18n import _

_OUTPUT = "grader.cli.build.output"


def build_command() -> click.Command:
    """`grade build`: the options, in the language in use."""
    from grader.programs.runtime.devices import DEFAULT, MODELS

    options: list[click.Parameter] = [
        click.Argument(["words"], nargs=-1, required=True, metavar="PROG.cu..."),
        click.Option(
            ["--device"],
            type=click.Choice(list(MODELS)),
            default=DEFAULT,
            show_default=True,
            help=_("The oldest GPU that kernels are to run on which NVRTC cannot compile."),
        ),
        lang_option(),
    ]
    return _BuildCommand(
        "build",
        params=options,
        callback=_build,
        help=_(
            "Compile a program's host code into one file (-o FILE; PROG.grade otherwise), which `grade run` takes in "
            "place of the program where the compiler of host code is not installed. Kernels are compiled when it runs."
        ),
        context_settings={"help_option_names": ["-h", "--help"]},
        options_metavar=_("[OPTIONS]"),
    )


class _BuildCommand(click.Command):
    """It takes what nvcc is given, too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word, following in pairwise(args):
            if word in ("-o", "--output-file"):
                ctx.meta[_OUTPUT] = Path(following)
        ctx.meta[FOLDERS], ctx.meta[DEFINED], rest = compiler_options(args)
        return super().parse_args(ctx, rest)


def _build(words: tuple[str, ...], device: str, lang: str) -> int:
    from grader.programs.built import SUFFIX, write
    from grader.programs.observe import build_program
    from grader.programs.sources import read_program

    meta = click.get_current_context().meta
    paths = program_paths(words)
    folders = [folder for folder in meta[FOLDERS] if folder.is_dir()]
    output = meta.get(_OUTPUT) or Path(paths[0].with_suffix(SUFFIX).name)
    with blamed_on_us(Path()):
        program = read_program(paths, (), None, started_in(paths, folders), folders, meta[DEFINED])
        write(build_program(program, device, build_progress()), output)
    print(output, file=sys.stderr)
    return 0
