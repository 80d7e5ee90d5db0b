"""A program compiled and run: from its files, or from the file of `grade build`, to what was observed of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec

from grader.errors import FileError, UsageError, describe_os_error
from grader.files import NotPlain, TooLarge, read_plain, write_atomically
from grader.message import Message, msg
from grader.processes.channel import DeadlinePassed, PeerGone
from grader.programs.kernels import DeviceCompiler
from grader.programs.records import LIMITS, Observation, ProgramFinding, RunLimits, Start
from grader.programs.remembered import RememberedPrograms
from grader.programs.runtime.devices import DEFAULT, GRADING, model_of
from grader.programs.sandbox.process import Code, Order, ProgramProcess
from grader.programs.sources import Program, Sources, named_files
from grader.programs.starts import MAX_TRIES, SizeChange, applied, changes
from grader.programs.toolchain import zig
from grader.programs.toolchain.compile import HostProgram, compile_program
from grader.programs.toolchain.zig import Library, build

TOO_LARGE = LIMITS
# As the linker calls it, without parameters and with them.
_MAINS = frozenset({"main", "__main_void", "__original_main", "__main_argc_argv"})
# What the compiler says where something is declared nowhere.
_UNKNOWN = re.compile(r"undeclared identifier|unknown type name|no member named|file not found|no matching function")
# Calls that ask about a kernel or a variable of the device.
_SPEAKS = re.compile(r"\b(?:__threadfence_system|atomic[A-Z]\w+_system)\b")
_ASKS = re.compile(r"\bcuda(?:Func[SG]et\w+|Occupancy\w+|LaunchCooperative\w+|LaunchKernel\w*|\w*Symbol\w*)\s*[(<]")

NO_LIMITS = RunLimits()
PLAIN = Start()
OPENING_SECONDS = 60.0
"""A GPU, other programs' work on it included."""


Then = Callable[[Sequence[Observation]], "tuple[Start, RunLimits] | None"]
"""What a program is run with after the runs that were seen, and within which limits; None: no more."""


def _to_nobody(_descriptor: int, _data: bytes) -> None:
    """Drop what is printed."""


SUFFIX = ".grade"
_BEGINNING = b"grade build 1\n"
"""Its number is raised where an earlier version's file would be read as something else."""
MAX_BYTES = 256 << 20
"""Largest size of the file, and of its contents."""


class Built(msgspec.Struct, frozen=True):
    """A program and its host code, compiled beforehand for a machine that lacks the compiler.

    by_clang: device code by the number of its file, for what NVRTC cannot be asked for.
    """

    program: Program
    host: HostProgram
    by_clang: Mapping[int, Code]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a program's runs have around them.

    model: what `runtime.devices.model_of` knows.  on_gpu: its kernels run on the first GPU of this machine, which is
      the program's model then.
    emit: told what the program prints, as it prints it: descriptor (1 or 2) and bytes.
    progress: told how far the first build of the C++ library is, which takes a minute.
    host_cache: a folder to keep compiled host code in, for tests that run one program often.
    remembered: what need not be compiled and run again.
    """

    model: str = DEFAULT
    on_gpu: bool = False
    emit: Callable[[int, bytes], None] = _to_nobody
    progress: Callable[[int, int], None] | None = None
    host_cache: Path | None = None
    remembered: RememberedPrograms | None = None


OF_GRADING = Setting(GRADING)


def run_program(
    program: Sources | Built,
    start: Start = PLAIN,
    limits: RunLimits = NO_LIMITS,
    setting: Setting = Setting(),
    smaller: bool = False,
) -> Observation:
    """Run a program and say what it did.

    program: its files, or what was compiled of them beforehand.
    limits: what the run may take, and whether kernels are run at all.
    smaller: where it is beyond the limits, run it with one of its own sizes made smaller instead.
    Raises UsageError: a file cannot be read, or there is no GPU that can be used.
    Raises InternalError: the toolchain is not installed, or a process of ours failed.
    """
    built = program if isinstance(program, Built) else None
    read = program.program if isinstance(program, Built) else program.read(start.words)
    held: list[tuple[int, bytes]] = []

    def hold(descriptor: int, data: bytes) -> None:
        held.append((descriptor, data))

    # What it prints is not known to be what is shown until it has ended.
    around = replace(setting, emit=hold) if smaller else setting

    def run(program: Program, start: Start) -> Observation:
        make = partial(CompiledProgram, program, around, limits.executes or _asks_for_code(program), built)
        return _run_all(make, program, [(start, limits)])[0]

    observed = run(read, start)
    if smaller and isinstance(program, Sources) and is_too_large(observed):
        first_said = list(held)
        cause = observed.cause.id if observed.cause else ""
        for change in changes(read.original, start.arguments, cause)[:MAX_TRIES]:
            held.clear()
            texts, others = applied(change, read.original, start.arguments)
            again = replace(start, arguments=others)
            second = run(replace(program, replaced=texts).read(again.words), again)
            if not is_too_large(second):
                observed = _at_smaller_size(second, change)
                break
        else:
            held[:] = first_said
    for descriptor, data in held:
        setting.emit(descriptor, data)
    mended = [ProgramFinding("mended", "warning", msg("programs.mended"), line, file) for file, line in read.mended]
    observed.findings = [*mended, *observed.findings]
    return observed


def run_each(
    sources: Sources,
    runs: Sequence[Start],
    limits: RunLimits,
    setting: Setting = OF_GRADING,
    enough: Callable[[Observation], bool] = lambda _observation: False,
    then: Then | None = None,
) -> list[Observation]:
    """Run one program several times, compiled once; as many times as it takes to see `enough`.

    then: asked for further runs, whose observations follow the others'.  Raises what `run_program` raises.
    """
    program = sources.read([word for run in runs for word in run.words])
    at_once = limits.executes or then is not None or _asks_for_code(program)
    make = partial(CompiledProgram, program, setting, at_once)
    return _run_all(make, program, [(run, limits) for run in runs], enough, then)


def run_calls(
    program: Program, first: Start, limits: RunLimits, then: Then, compiled: CompiledProgram | None = None
) -> list[Observation]:
    """Run a program compiled once: for what is wanted `first`, and for what `then` asks.

    compiled: the program, to be used and left open; None: it is compiled for this alone.

    Raises InternalError: the toolchain is not installed, or a process of ours failed.
    """
    return _run_all(partial(CompiledProgram, program), program, [(first, limits)], then=then, kept=compiled)


def is_too_large(observation: Observation) -> bool:
    if observation.cause is not None:
        return observation.cause.id in TOO_LARGE
    return any(launch.status == "traced" for launch in observation.launches)


def _at_smaller_size(observation: Observation, change: SizeChange) -> Observation:
    before, after = change.numbers
    message = msg("programs.smaller", name=change.name, before=before, after=after)
    remark = ProgramFinding("smaller", "remark", message, change.line if change.file else 0, change.file)
    observation.findings = [remark, *observation.findings]
    observation.smaller = {"name": change.name, "file": change.file, "line": change.line}
    observation.smaller |= {"before": before, "after": after}
    return observation


@dataclass
class CompiledProgram:
    """A program, compiled once and run as often as is asked for; `close` ends its processes.

    at_once: device code is compiled before anything asks for it.  built: what was compiled beforehand.

    Raises UsageError: there is no GPU that can be used.  InternalError: the toolchain is not installed.
    """

    program: Program
    setting: Setting = OF_GRADING
    at_once: bool = True
    built: Built | None = None
    host: HostProgram | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        on_gpu, built = self.setting.on_gpu, self.built
        self._process = _opened_on_gpu() if on_gpu else None
        self.card = self._process.ready().card if self._process is not None else None
        self._library = build(self.setting.progress) if built is None else None
        major, minor = self.card.capability if self.card is not None else model_of(self.setting.model).capability
        self._architecture = f"compute_{major}{minor}"
        self.host = built.host if built is not None else None
        clang = built.by_clang if built is not None else self._library or {}
        self._device = DeviceCompiler(self.program, self._architecture, clang, self.at_once, on_gpu)

    def run(self, run: Start, limits: RunLimits) -> Observation | None:
        """Run the program; None where the host code does not compile."""
        model, remembered = self.setting.model, self.setting.remembered
        remembered_runs = remembered.runs(self.program, model, limits) if remembered is not None else None
        if remembered_runs is not None:
            observation = remembered_runs.get(run.arguments, run.stdin, self._device.code)
            if observation is not None:
                return observation
        # It starts while the program is compiled.
        if self._process is None or self._process.has_ended:
            self._process = _opened_on_gpu() if self.setting.on_gpu else ProgramProcess()
        if self.host is None:
            assert self._library is not None, "it has host code that was compiled beforehand"
            self.host = _compiled(self.program, self._library, self._architecture, self.setting)
        if not self.host.module:
            return None
        order = _order(self.program, self.host, run, model, limits)
        execute = partial(self._process.run, order, emit=self.setting.emit)
        if remembered_runs is None:
            return execute(self._device.code)
        return remembered_runs.run(run.arguments, run.stdin, self._device.code, execute)

    def run_with(self, other: Program, run: Start, limits: RunLimits) -> Observation | None:
        """Run a program that differs in device code alone, to try the difference; None where this one was not run."""
        if self.host is None or not self.host.module:
            return None
        if self._process is None or self._process.has_ended:
            self._process = ProgramProcess()
        # What is compiled one after another needs one compiler.
        device = DeviceCompiler(
            other, self._architecture, self._library or {}, at_once=True, compiler=self._device.compiler, is_trial=True
        )
        try:
            order = _order(self.program, self.host, run, self.setting.model, limits)
            return self._process.run(order, device.code, emit=self.setting.emit)
        finally:
            device.close()

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
        self._device.close()


def build_program(program: Program, model: str, progress: Callable[[int, int], None] | None = None) -> Built:
    """A program compiled for where the compiler of host code is missing; kernels that clang has to give for `model`.

    Raises UsageError: it does not compile, or cannot run at all.  InternalError: the toolchain is not installed.
    """
    if program.obstacle is not None:
        raise _refused(program.obstacle, *program.obstacle_at)
    library = build(progress)
    major, minor = model_of(model).capability
    architecture = f"compute_{major}{minor}"
    with contextlib.closing(DeviceCompiler(program, architecture, library, at_once=True)) as device:
        host = _compile_host(program, library, architecture)
        if not host.module:
            raise _refused(*_why_not(host, program))
        return Built(program, host, device.whole())


def write_built(built: Built, path: Path) -> None:
    """Write the file of `grade build`.  Raises UsageError where it cannot be written."""
    try:
        write_atomically(path, _BEGINNING + zlib.compress(msgspec.msgpack.encode(built)))
    except OSError as error:
        raise UsageError(msg("programs.not_written", path=str(path), reason=describe_os_error(error))) from error


def read_built(path: Path, arguments: Sequence[str] = ()) -> Built:
    """Read the file of `grade build`, and the files beside it that the arguments name.

    Raises UsageError: it cannot be read, or was not written by this version of the grader.
    """
    try:
        data = read_plain(path, MAX_BYTES)
    except (NotPlain, TooLarge) as error:
        raise FileError(msg("programs.not_built"), path) from error
    except OSError as error:
        raise FileError(describe_os_error(error), path) from error
    if not data.startswith(_BEGINNING):
        raise FileError(msg("programs.not_built"), path)
    try:
        unpacking = zlib.decompressobj()
        packed = unpacking.decompress(data[len(_BEGINNING) :], MAX_BYTES)
        if not unpacking.eof:
            raise FileError(msg("programs.not_built"), path)
        built = msgspec.msgpack.decode(packed, type=Built)
    except (zlib.error, msgspec.MsgspecError) as error:
        raise FileError(msg("programs.not_built"), path) from error
    data_files = {**built.program.data, **named_files(path.resolve().parent, arguments)}
    return msgspec.structs.replace(built, program=replace(built.program, data=data_files))


def _refused(why: Message, file: str, line: int) -> UsageError:
    return FileError(why, file, line or None) if file else UsageError(why)


def _run_all(
    compiled: Callable[[], CompiledProgram],
    program: Program,
    runs: Sequence[tuple[Start, RunLimits]],
    enough: Callable[[Observation], bool] = lambda _observation: False,
    then: Then | None = None,
    kept: CompiledProgram | None = None,
) -> list[Observation]:
    if program.obstacle is not None:
        return [_not_run(program.obstacle, *program.obstacle_at)]
    observations: list[Observation] = []
    with contextlib.nullcontext(kept) if kept is not None else contextlib.closing(compiled()) as running:
        for run in runs:
            observation = running.run(*run)
            if observation is None:
                assert running.host is not None
                return [_not_run(*_why_not(running.host, program))]
            observations.append(observation)
            if enough(observation):
                break
        while then is not None and (further := then(observations)) is not None:
            observation = running.run(*further)
            if observation is None:
                break
            observations.append(observation)
    return observations


def _opened_on_gpu() -> ProgramProcess:
    """Start a process that opens the GPU.  Raises UsageError where none can be used."""
    process = ProgramProcess(on_gpu=True)
    try:
        lacking = process.ready(time.monotonic() + OPENING_SECONDS).lacking
    except DeadlinePassed:
        lacking = f"{OPENING_SECONDS:g} s"
    except PeerGone:
        lacking = str(process.ended())
    if lacking:
        process.close()
        raise UsageError(msg("programs.no_gpu", reason=lacking))
    return process


def _compiled(program: Program, library: Library, architecture: str, setting: Setting) -> HostProgram:
    remembered = setting.remembered
    host = remembered.module(program) if remembered is not None else None
    if host is None:
        host = _host(program, library, architecture, setting.host_cache)
        if remembered is not None:
            remembered.put_module(program, host)
    return host


def _order(program: Program, host: HostProgram, run: Start, model: str, limits: RunLimits) -> Order:
    return Order(
        module=host.module,
        stdin=run.stdin,
        files={**program.data, **run.files},
        arguments=[os.fsencode(word) for word in (f"./{Path(program.units[0]).stem}", *run.arguments)],
        model=model,
        units=[_as_text(name) for name in program.units],
        sources={_as_text(name): text for name, text in program.host.items()},
        unused=sorted((_as_text(file), line) for file, line in host.unused_results),
        parameters=program.parameters,
        limits=limits,
        calls=run.calls,
        wanted=run.wanted,
        is_linked=program.is_linked,
        speaks=any(_SPEAKS.search(text) for text in program.whole.values()),
    )


def _asks_for_code(program: Program) -> bool:
    """Whether a program is likely to ask for device code even where no kernel is executed."""
    return any(_ASKS.search(text) for text in program.host.values())


def _as_text(name: str) -> str:
    """Return a file's name as text, with replacement characters for what is no UTF-8."""
    return os.fsencode(name).decode("utf-8", errors="replace")


def _compile_host(program: Program, library: Library, architecture: str) -> HostProgram:
    options, is_linked = program.macro_options, program.is_linked
    return compile_program(program.units, program.host, library, architecture, options, is_linked)


def _host(program: Program, library: Library, architecture: str, cache: Path | None) -> HostProgram:
    if cache is None:
        return _compile_host(program, library, architecture)
    from grader.programs.toolchain import advance
    from grader.programs.toolchain import compile as compiling

    files = (program.units, sorted(program.host.items()), program.defined, program.is_linked)
    digest = hashlib.sha256(repr((files, library.folder.name, architecture)).encode())
    headers = [path for path in advance.INCLUDE.rglob("*") if path.is_file()]
    for path in sorted([*Path(compiling.__file__).parent.glob("*.py"), *headers]):
        digest.update(path.read_bytes())
    kept = cache / f"{digest.hexdigest()[:32]}.msgpack"
    if kept.is_file():
        return msgspec.msgpack.decode(kept.read_bytes(), type=HostProgram)
    compiled = _compile_host(program, library, architecture)
    if compiled.module:
        # Others may be looking for it.
        own = kept.with_suffix(f".{os.getpid()}")
        own.write_bytes(msgspec.msgpack.encode(compiled))
        own.replace(kept)
    return compiled


def _why_not(host: HostProgram, program: Program) -> tuple[Message, str, int]:
    first = host.diagnostics[0] if host.diagnostics else None
    if program.windows and (host.reason == "undefined" or (first is not None and _UNKNOWN.search(first.text))):
        return msg("programs.needs_windows", header=program.windows), *program.windows_at
    match host.reason:
        case "limit":
            return msg("programs.compiler_limit"), "", 0
        case "long" if host.beyond is not None:
            beyond = host.beyond
            if beyond.in_function:
                return msg("programs.function_too_long", limit=beyond.limit), beyond.file, beyond.line
            return msg("programs.code_too_long", limit=beyond.limit), beyond.file, beyond.line
        case "beyond" if first is not None:
            return msg("programs.reads_beyond", text=first.text), first.file, first.line
        case "time":
            return msg("programs.compiler_time", seconds=zig.CPU_SECONDS), "", 0
        case "hang":
            return msg("programs.compiler_hangs", seconds=int(zig.WALL_SECONDS)), "", 0
        case "undefined":
            return msg("programs.undefined", names=", ".join(_as_written(c.text) for c in host.diagnostics[:5])), "", 0
        case "twice" if any(c.text in _MAINS for c in host.diagnostics):
            return msg("programs.several_mains"), "", 0
        case "twice":
            return msg("programs.defined_twice", names=", ".join(c.text for c in host.diagnostics[:5])), "", 0
    if first is None:
        return msg("programs.compiler_limit"), "", 0
    return msg("programs.host_error", text=first.text), first.file, first.line


def _as_written(symbol: str) -> str:
    """Return a function's name as the program has it: a kernel is launched through a stub of the compiler's."""
    return symbol.replace("__device_stub__", "")


def _not_run(cause: Message, file: str, line: int) -> Observation:
    return Observation(None, [], [ProgramFinding("not_run", "error", cause, line, file)], cause)
