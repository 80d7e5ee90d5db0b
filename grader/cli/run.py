"""`grade run PROG.cu… [-- ARGS]`, a whole CUDA program on a machine without a GPU, and `grade build`, its host code
compiled beforehand.

What a run showed is told on the terminal and as JSON (docs/run.md).  `grade build` writes one file that `grade run`
takes in place of the program.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from grader.cli.options import blamed_on_us, lang_option
from grader.cli.run_report import json_of, text_of
from grader.errors import UsageError
from grader.i18n import _
from grader.message import msg
from grader.programs.records import is_limit

if TYPE_CHECKING:
    from grader.programs.execution import Built
    from grader.programs.records import RunLimits

MAX_STDIN_BYTES = 64 << 20
MAX_HEADERS = 256
MAX_SEARCHED_BYTES = 1 << 20
_HEADER = re.compile(
    rb'^[ \t]*#[ \t]*include[ \t]*"((?:\.\./){0,8}[\w./ -]{1,200}\.(?:h|hh|hpp|hxx|cuh|inl))"', re.MULTILINE
)
COMPILER = "grader.cli.run.compiler"
_WITH_VALUE = frozenset(
    {
        "-Xcompiler",
        "-Xptxas",
        "-Xlinker",
        "-Xnvlink",
        "-Xcudafe",
        "-arch",
        "-code",
        "-gencode",
        "-ccbin",
        "-o",
        "-l",
        "-L",
    }
    | {"--compiler-options", "--ptxas-options", "--linker-options", "--gpu-architecture", "--gpu-code", "-x", "-std"}
    | {"--generate-code", "--compiler-bindir", "--output-file", "--library", "--library-path", "--std", "-maxrregcount"}
    | {"-t", "--threads", "-diag-suppress", "--diag-suppress", "-O", "--optimize"}
)
_IDLE = re.compile(
    r"-O[0-3sg]|-Ofast|-[gGcwv]|-m64|-W[\w=+-]*|-f[a-z][\w=+-]*|-m[a-z][\w=+-]*|-pg|-pedantic|-dc|-dlink|-rdc=\w+|-cudart=?\w*"
    r"|-l\w[\w.+-]*|-L.+|-std=[\w+]+|-x=?cu|-arch=.+|-code=.+|-gencode=.+|-ccbin=.+|-maxrregcount=\d+|-Xcompiler=.+"
    r"|-Xptxas=.+|-Xlinker=.+|-lineinfo|-extended-lambda"
    r"|-expt-(?:extended-lambda|relaxed-constexpr)|-keep|-res-usage|-pthread|-fopenmp|-diag-suppress=.+"
    r"|--(?:std|gpu-architecture|gpu-code|generate-code|compiler-options|ptxas-options|linker-options|library|library-path"
    r"|relocatable-device-code|maxrregcount|cudart|optimize|machine|default-stream|diag-suppress|threads"
    r"|compiler-bindir)=.+"
    r"|--(?:extended-lambda|expt-extended-lambda|expt-relaxed-constexpr|generate-line-info|device-debug|debug"
    r"|device-c|resource-usage|disable-warnings|restrict|verbose)"
)
"""Options of nvcc's that change nothing here; `_WITH_VALUE`: those whose next word belongs to them."""
_ARITHMETIC = re.compile(r"--?(?:use_fast_math|(fmad|ftz|prec-div|prec-sqrt)(?:=(\w+))?)")
"""Options that change what device code computes: both compilers get them."""
WATCHED_INSTRUCTIONS = 200_000_000
"""Thread-instructions of watched blocks, in all launches together: about five seconds."""
GPU_SECONDS = 60.0
"""A kernel that has not ended by then hangs."""
BEYOND_LIMITS = 4
"""Exit code of a program that ended at a limit of ours."""


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
        click.Option(
            ["--backend"],
            type=click.Choice(["emulator", "gpu", "auto"]),
            default="emulator",
            show_default=True,
            help=_("What kernels run on; auto: the GPU of this machine, if there is one."),
        ),
        click.Option(
            ["--check"],
            is_flag=True,
            help=_(
                "After the run on a GPU, have the emulator tell counters and hazards of launches within its limits."
            ),
        ),
        click.Option(
            ["--limit"],
            metavar="N|none",
            help=_("Instructions that a launch, and the host code, may take; 20 and 200 billion otherwise."),
        ),
        click.Option(
            ["--shrink"], is_flag=True, help=_("Beyond the limits, run the program with one of its sizes made smaller.")
        ),
        click.Option(["as_json", "--json"], is_flag=True, help=_("Print one JSON record instead (docs/run.md).")),
        lang_option(),
    ]
    return _RunCommand(
        "run",
        params=options,
        callback=_run,
        help=_(
            "Run a CUDA program without a GPU. Its standard output is the program's own; what it launched and what "
            "went wrong is told on standard error. Everything after -- is passed to the program."
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


class _RunCommand(click.Command):
    """`grade run`, which takes nvcc's options too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[COMPILER], rest = compiler_options(args)
        return super().parse_args(ctx, rest)


@dataclass(frozen=True, slots=True)
class CompilerOptions:
    """What options of nvcc's say: folders of headers, macros with what they stand for, arithmetic as NVRTC takes it."""

    folders: Sequence[Path]
    defined: Sequence[tuple[str, str]]
    arithmetic: Sequence[str]


def compiler_options(words: list[str]) -> tuple[CompilerOptions, list[str]]:
    """What nvcc's options among `words` say, and the words that are none of its options.

    What optimises, warns, links or chooses an architecture changes nothing here.

    Raises UsageError: a macro with parameters, or what is no macro's name; what is neither "true" nor "false".
    """
    folders: list[Path] = []
    defined: dict[str, str] = {}
    arithmetic: list[str] = []
    rest: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word in ("-I", "--include-path", "-isystem"):
            folders.append(Path(next(waiting, ".")))
        elif word.startswith(("-I", "--include-path=")) and not word.startswith("--i="):
            folders.append(Path(word.removeprefix("--include-path=").removeprefix("-I")))
        elif word in ("-D", "--define-macro", "-U", "--undefine-macro"):
            _define(defined, next(waiting, ""), is_undone=word in ("-U", "--undefine-macro"))
        elif macro := re.match(r"-D|-U|--define-macro=|--undefine-macro=", word):
            _define(defined, word[macro.end() :], is_undone=macro[0] in ("-U", "--undefine-macro="))
        elif choice := _ARITHMETIC.fullmatch(word):
            value = (choice[2] or next(waiting, "")) if choice[1] else ""
            if value not in ("true", "false") and choice[1]:
                raise UsageError(msg("programs.neither_true_nor_false", option=f"--{choice[1]}", text=value))
            arithmetic.append(f"--{choice[1]}={value}" if value else "--use_fast_math")
        elif word in _WITH_VALUE:
            next(waiting, None)
        elif not _IDLE.fullmatch(word):
            rest.append(word)
    return CompilerOptions(folders, list(defined.items()), arithmetic), rest


def _define(defined: dict[str, str], text: str, *, is_undone: bool) -> None:
    name, has_body, body = text.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name) or "\n" in body:
        raise UsageError(msg("programs.macro_option", option=text))
    defined.pop(name, None)
    if not is_undone:
        defined[name] = body if has_body else "1"


def limits_of(text: str | None) -> RunLimits:
    """What a run may take, by what `--limit` says: memory as this machine has it.

    Raises UsageError: it is neither a number nor "none".
    """
    from grader.processes.limits import available_bytes
    from grader.programs.records import NO_LIMIT, RunLimits

    # The rest is the emulator's own, and what others on the machine need.
    half = max(1 << 30, available_bytes() // 2)
    limits = RunLimits(
        host_bytes=half,
        device_bytes=half,
        wall_seconds=3600,
        watched_instructions=WATCHED_INSTRUCTIONS,
        keeps_steps=True,
    )
    if text is None:
        return limits
    try:
        count = NO_LIMIT if text == "none" else int(float(text))
    except (ValueError, OverflowError):
        count = 0
    if count <= 0:
        raise UsageError(msg("programs.bad_limit", text=text))
    count = min(count, NO_LIMIT)
    return msgspec.structs.replace(
        limits,
        launch_instructions=count,
        host_instructions=count,
        launch_issued=count,
        launch_seconds=math.inf,
        wall_seconds=math.inf,
    )


def _run(
    words: tuple[str, ...],
    device: str,
    backend: str,
    check: bool,
    limit: str | None,
    shrink: bool,
    as_json: bool,
) -> int:
    from grader.gpu.process import has_driver
    from grader.processes.limits import IS_LINUX
    from grader.programs.card_times import checked, same_model
    from grader.programs.execution import Setting, run_program
    from grader.programs.records import Start, for_gpu
    from grader.programs.sources import Sources

    if not IS_LINUX:
        raise UsageError(msg("programs.not_on_this_system"))
    options: CompilerOptions = click.get_current_context().meta[COMPILER]
    folders = [folder for folder in options.folders if folder.is_dir()]
    on_gpu = backend == "gpu" or (backend == "auto" and has_driver())
    limits = limits_of(limit)
    if on_gpu:
        limits = for_gpu(limits, GPU_SECONDS if limit is None else math.inf)
    own = click.get_current_context().obj or []
    built = _built(words, own)
    if built is not None and (shrink or options.defined or options.arithmetic):
        raise UsageError(msg("programs.built_already", path=words[0]))
    paths = [] if built is not None else program_paths(words)

    def emit(descriptor: int, data: bytes) -> None:
        stream = sys.stderr if descriptor == 2 else sys.stdout
        stream.buffer.write(data)
        stream.buffer.flush()

    stdin = b"" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read(MAX_STDIN_BYTES)
    sources = Sources(paths, {}, started_in(paths, folders), folders, options.defined, options.arithmetic)
    run = partial(run_program, built or sources, Start(own, stdin))
    with blamed_on_us(Path()):
        setting = Setting(device, on_gpu, progress=build_progress())
        observation = run(limits, setting if as_json else replace(setting, emit=emit), shrink)
        if check and on_gpu:
            model = same_model(observation.device, device)
            observation = checked(observation, run(limits_of(limit), Setting(model)))
    if as_json:
        print(json_of(observation))
    else:
        sys.stdout.flush()
        print(text_of(observation), end="", file=sys.stderr, flush=True)
    if is_limit(observation.cause):
        return BEYOND_LIMITS
    return 1 if observation.exit is None else observation.exit


def program_paths(words: Sequence[str]) -> list[Path]:
    """The files of a program.  Raises UsageError where one is not there, or is none."""
    paths = [Path(word) for word in words]
    for path in paths:
        if not path.is_file():
            raise UsageError(msg("programs.no_file", path=str(path)))
        if path.suffix not in {".cu", ".cpp", ".cc", ".c"}:
            raise UsageError(msg("programs.no_program", path=str(path)))
    return paths


def _built(words: Sequence[str], arguments: Sequence[str]) -> Built | None:
    """Return a program that was compiled beforehand, where a single file of that kind is named."""
    from grader.programs.execution import SUFFIX, read_built

    is_one = len(words) == 1 and Path(words[0]).suffix == SUFFIX
    return read_built(Path(words[0]), arguments) if is_one else None


def started_in(paths: Sequence[Path], folders: Sequence[Path]) -> Path | None:
    """The folder that the program's files lie in: that in which we were started, where they are named from there."""
    here = Path.cwd()
    if not paths:
        return None
    named = [*paths, *folders, *_headers_above(paths)]
    if any(path.is_absolute() or not path.resolve().is_relative_to(here) for path in named):
        lie_in = {path.resolve().parent for path in named if path not in folders}
        lie_in |= {folder.resolve() for folder in folders}
        return None if len(lie_in) == 1 else Path(os.path.commonpath(lie_in))
    return None if all(path.resolve().parent == here for path in named) and not folders else here


def _headers_above(paths: Sequence[Path]) -> list[Path]:
    """The headers that files, or these headers themselves, include by a path that leads out of their folder.

    Nothing but headers: what else lies there is none of a program's business.
    """
    headers: dict[Path, bool] = {}
    queue = list(paths)
    while queue and len(headers) < MAX_HEADERS:
        path = queue.pop()
        with contextlib.suppress(OSError), path.open("rb") as file:
            for match in _HEADER.finditer(file.read(MAX_SEARCHED_BYTES)):
                header = (path.parent / os.fsdecode(match[1])).resolve()
                if header not in headers and header.is_file():
                    headers[header] = b".." in match[1].split(b"/")
                    queue.append(header)
    return [header for header, leads_out in headers.items() if leads_out]


def build_progress() -> Callable[[int, int], None]:
    """Tells of the first build of the C++ library, on the terminal's error stream."""
    shown_pct = 0

    def progress(done: int, total: int) -> None:
        nonlocal shown_pct
        step = total if sys.stderr.isatty() else 4
        if done * step // total > shown_pct or done == total:
            shown_pct = done * step // total
            text = _("building the C++ library for programs, once: {done} of {total} files").format(
                done=done, total=total
            )
            print(f"\r{text}" if sys.stderr.isatty() else text, end="", file=sys.stderr, flush=True)
            if done == total or not sys.stderr.isatty():
                print(file=sys.stderr)

    return progress


_OUTPUT = "grader.cli.run.output"


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
    """`grade build`, which takes nvcc's options too."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for word, following in pairwise(args):
            if word in ("-o", "--output-file"):
                ctx.meta[_OUTPUT] = Path(following)
        ctx.meta[COMPILER], rest = compiler_options(args)
        return super().parse_args(ctx, rest)


def _build(words: tuple[str, ...], device: str) -> int:
    from grader.programs.execution import SUFFIX, build_program, write_built
    from grader.programs.sources import Sources

    meta = click.get_current_context().meta
    paths = program_paths(words)
    options: CompilerOptions = meta[COMPILER]
    folders = [folder for folder in options.folders if folder.is_dir()]
    sources = Sources(paths, {}, started_in(paths, folders), folders, options.defined, options.arithmetic)
    output = meta.get(_OUTPUT) or Path(paths[0].with_suffix(SUFFIX).name)
    with blamed_on_us(Path()):
        write_built(build_program(sources.read(), device, build_progress()), output)
    print(output, file=sys.stderr)
    return 0
