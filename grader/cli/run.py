"""`grade run PROG.cu… [-- ARGS]`: a whole CUDA program on a machine without a GPU."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from grader.cli.errors import blamed_on_us
from grader.cli.options import lang_option
from grader.errors import UsageError
from grader.i18n import _
from grader.message import msg

MAX_STDIN_BYTES = 64 << 20


def run_command() -> click.Command:
    """`grade run`: the options, in the language in use."""
    from grader.programs.runtime.devices import DEFAULT, MODELS

    options: list[click.Parameter] = [
        click.Argument(["words"], nargs=-1, required=True, metavar="PROG.cu... [-- ARGS]"),
        click.Option(
            ["--device"],
            type=click.Choice(list(MODELS)),
            default=DEFAULT,
            show_default=True,
            help=_("The GPU that the program is told it runs on."),
        ),
        click.Option(["as_json", "--json"], is_flag=True, help=_("Print one JSON record instead (docs/run.md).")),
        lang_option(),
    ]
    return click.Command(
        "run",
        params=options,
        callback=_run,
        help=_(
            "Run a CUDA program without a GPU: first its own output, then what it launched and what went "
            "wrong. Everything after -- is passed to the program."
        ),
        context_settings={"help_option_names": ["-h", "--help"], "ignore_unknown_options": False},
        options_metavar=_("[OPTIONS]"),
    )


def split(words: list[str]) -> tuple[list[str], list[str]]:
    """A command line's words as those of ours and those after the first `--`, the program's own."""
    if "--" not in words:
        return words, []
    index = words.index("--")
    return words[:index], words[index + 1 :]


def _run(words: tuple[str, ...], device: str, as_json: bool, lang: str) -> int:
    from grader.cli import run_report
    from grader.processes.system import IS_LINUX
    from grader.programs.observe import observe

    if not IS_LINUX:
        raise UsageError(msg("programs.not_on_this_system"))
    own = click.get_current_context().obj or []
    paths = [Path(word) for word in words]
    for path in paths:
        if not path.is_file():
            raise UsageError(msg("programs.no_file", path=str(path)))
        if path.suffix not in {".cu", ".cpp", ".cc", ".c"}:
            raise UsageError(msg("programs.no_program", path=str(path)))

    def emit(descriptor: int, data: bytes) -> None:
        stream = sys.stderr if descriptor == 2 else sys.stdout
        stream.buffer.write(data)
        stream.buffer.flush()

    stdin = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read(MAX_STDIN_BYTES)
    with blamed_on_us(Path()):
        observation = observe(
            paths, own, device, stdin, (lambda _descriptor, _data: None) if as_json else emit, _build_progress()
        )
    if as_json:
        print(run_report.as_json(observation))
    else:
        sys.stdout.flush()
        print(run_report.as_text(observation), end="")
    return 1 if observation.exit is None else observation.exit


def _build_progress() -> Callable[[int, int], None]:
    """Tells of the first build of the C++ library, on the terminal's error stream."""
    said = 0

    def progress(done: int, total: int) -> None:
        nonlocal said
        step = total if sys.stderr.isatty() else 4
        if done * step // total > said or done == total:
            said = done * step // total
            text = _("building the C++ library for programs, once: {done} of {total} files").format(
                done=done, total=total
            )
            print(f"\r{text}" if sys.stderr.isatty() else text, end="", file=sys.stderr, flush=True)
            if done == total or not sys.stderr.isatty():
                print(file=sys.stderr)

    return progress
