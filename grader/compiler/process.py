"""Compiling students' files in a process of their own: confined, limited, killed when it takes too long."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from grader.compiler.diagnostics import Diagnostic
from grader.compiler.headers import (
    MACROS,
    PRELUDE,
    PRELUDE_NAME,
    forbidden_include,
    header_folder,
    headers_for,
    needs_bundled,
)
from grader.compiler.result import (
    FROM_COMPILER,
    STAND_IN,
    VERBOSE,
    Asked,
    Compile,
    Compiled,
    CompileResult,
    Ready,
    Unusable,
    failed,
    result_of,
)
from grader.compiler.worker import header_folders
from grader.errors import InternalError
from grader.message import Message, msg
from grader.preprocessor import MAX_TOKENS, NVRTC_STEPS, steps_of_one, too_many_tokens, without_dollars
from grader.processes import limits
from grader.processes.channel import DeadlinePassed, PeerGone
from grader.processes.child import END_WAIT_S, Child, ChildProgram, Ending

CPU_LIMIT_S = 12.0
"""Six times what a large program with the headers of tensor cores takes.  What is made to take long ends before, by
bounds that are counted: steps of constant evaluation (`evaluations`), tokens (`expansion`), memory."""
LIBRARY_CPU_LIMIT_S = 40.0
DATA_BYTES = 320 << 20
"""Memory of its own.  A program of a course takes a fifth; templates that make templates come to their end by it, some
30,000 of them, before their number makes each of them slow."""
LIBRARY_DATA_BYTES = 640 << 20
"""Both of a program that includes Thrust, CUB or the standard library for devices."""
WALL_LIMIT_S = 400.0
"""Ends what hangs: ten of these may share a core before it comes before the other."""
START_LIMIT_S = 300.0

# What a process does to itself; any other signal comes from somebody else, of whom the program knows nothing.
# Not every system has all of them.
_NAMES = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGXFSZ")
_OWN_SIGNALS = {getattr(signal, name) for name in _NAMES if hasattr(signal, name)}
_INLINE = "// begin inline asm"
_LIBRARY = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<(?:thrust|cub|cuda)/", re.MULTILINE)
_SAFE_NAME = re.compile(r"[\w:][\w:<>,&*()\s+-]{0,199}")
_SAFE_FILE = re.compile(r"\w[\w.+-]{0,120}", re.ASCII)

OPTIONS = (
    "-lineinfo",
    "-default-device",
    "--std=c++17",
    # Constants and functions that only the host used: blanking made them unused.
    "--diag-suppress=177",
    f"--pre-include={PRELUDE_NAME}",
)


class CompilerProcess:
    """A compiler process, started at once so that it warms up while the caller reads the submission.

    One process is for one student's files: what a source did to NVRTC's memory must not meet another's.  A process
    that died or was killed is replaced at the next compile.  One that a signal ended is replaced at once, as the signal
    may have been somebody else's; where that ends too, the fault is the student's if it fell over by itself, else ours.

        with CompilerProcess() as compiler:
            result = compiler.compile({"lab.cu": text}, ["kernel", "tiled<16>"], "compute_75")
    """

    def __init__(
        self,
        wall_limit_s: float = WALL_LIMIT_S,
        headers: Path | None = None,
        use_landlock: bool = True,
        toolkits: Sequence[Path] | None = None,
    ) -> None:
        """headers: where NVRTC's headers are unpacked; use_landlock: False to do as on a kernel without it.

        toolkits: folders where headers of a CUDA toolkit may lie, for an NVRTC that brings none.
        """
        self._wall_limit_s = wall_limit_s
        self._use_landlock = use_landlock
        self._header_folder = str(headers if headers is not None else header_folder())
        self._toolkits = toolkits if toolkits is not None else header_folders(os.environ, sys.path)
        self._child: Child[Ready | Unusable | Compiled] | None = None
        self._ready: Ready | None = None
        self._version = ""
        self._lock = threading.RLock()
        # Where it cannot be started, that is told when something is asked of it.
        with contextlib.suppress(OSError):
            self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._end()

    def _end(self, wait_s: float = 0.0) -> Ending | None:
        child, self._child, self._ready = self._child, None, None
        return child.end(wait_s) if child is not None else None

    def nvrtc_version(self) -> str:
        """NVRTC's version, "13.5".

        Raises InternalError: NVRTC cannot be loaded.
        """
        # Asked while another thread waits for its answer, the process would seem to say what nobody asked for.
        if not self._version:
            with self._lock:
                self._version = self._await_ready().version
        return self._version

    def compile(
        self,
        sources: Mapping[str, str],
        names: Sequence[str],
        architecture: str,
        wall_limit_s: float | None = None,
        options: Sequence[str] = (),
    ) -> CompileResult:
        """Compile the first of `sources`; the others are headers that it may include by their names.

        sources: text by file name.
        names: C++ expressions naming the kernels wanted: "kernel", "tiled<16>", "lab::kernel".
        architecture: "compute_75" for PTX, "sm_90" for CUBIN and PTX.
        options: of NVRTC's, besides those that every source is compiled with.

        Nothing that a source does raises: see `CompileResult.reason`.

        Raises InternalError: NVRTC cannot be loaded, or does not know `architecture`.
        """
        # Whole files and what is asked of them later are compiled by threads of their own.
        with self._lock:
            # As the files have them: NVRTC takes no "$" in a name.
            plain = {name: without_dollars(name) for name in dict.fromkeys(names)}
            result = self._compile(sources, list(plain.values()), architecture, wall_limit_s, options)
        if not any("$" in name for name in names):
            return result
        entries = {name: result.entries[compiled] for name, compiled in plain.items() if compiled in result.entries}
        missing = tuple(name for name, compiled in plain.items() if compiled in result.missing)
        return replace(result, entries=entries, missing=missing)

    def _compile(
        self,
        sources: Mapping[str, str],
        names: Sequence[str],
        architecture: str,
        wall_limit_s: float | None,
        options: Sequence[str],
    ) -> CompileResult:
        sources = {name: without_dollars(text) for name, text in sources.items()}
        given, source = next(iter(sources.items()))
        file = given if _SAFE_FILE.fullmatch(given) else STAND_IN
        in_memory = {name: text for name, text in list(sources.items())[1:] if _SAFE_FILE.fullmatch(Path(name).name)}
        install = any(needs_bundled(text) for text in sources.values())
        ready = self._await_ready(install=install)
        endless = too_many_tokens({given: source, **in_memory})
        if endless is not None:
            message = msg("compiler.macros", macro=endless.macro, limit=MAX_TOKENS)
            return failed(ready, "errors", (Diagnostic(endless.file, endless.line, "error", message),))
        if not ready.has_landlock:
            for text in (source, *in_memory.values()):
                refused = forbidden_include(text, frozenset(in_memory))
                if refused is not None:
                    return self._forbidden(ready, given, text, refused)
        safe = [name for name in dict.fromkeys(names) if _SAFE_NAME.fullmatch(name) and "\n" not in name]
        limit_s = wall_limit_s or self._wall_limit_s
        asked = Asked(given, file, source, in_memory, safe, architecture)
        answer, ready = self._ask(ready, install, asked, limit_s, options)
        if isinstance(answer, str):
            return failed(ready, answer)
        if answer.status == "refused":
            raise InternalError(msg("compiler.refused", reason=answer.log.decode(errors="replace")))
        if answer.status == "no_memory":
            return failed(ready, "crashed")

        def as_ptx() -> str:
            virtual = replace(asked, architecture=architecture.replace("sm_", "compute_", 1))
            again, _ready = self._ask(ready, install, virtual, limit_s, options)
            return again.ptx.decode("utf-8", errors="replace") if isinstance(again, Compiled) else ""

        result = result_of(answer, ready, replace(asked, names=names), as_ptx)
        if result.ok and not result.cubin and _is_assembly_of(result.ptx, (source, *in_memory.values())):
            # What stands in `asm` is copied into PTX as it is; the assembler says whether it means anything.
            machine_code = architecture.replace("compute_", "sm_", 1)
            assembled = self.compile(sources, names, machine_code, wall_limit_s)
            if assembled.reason == "errors":
                return assembled
        return result

    def _forbidden(self, ready: Ready, file: str, text: str, refused: str) -> CompileResult:
        position = text.find(refused)
        line = text.count("\n", 0, max(position, 0)) + 1
        message = msg("compiler.forbidden_include", include=refused)
        return failed(ready, "forbidden_include", (Diagnostic(file, line, "error", message),))

    def _start(self, install: bool = False) -> None:
        options = (["install"] if install else []) + ([] if self._use_landlock else ["without-landlock"])
        toolkits = json.dumps([str(folder) for folder in self._toolkits])
        arguments = (self._header_folder, toolkits, *options)
        program = ChildProgram("grader.compiler.worker", arguments, environment={}, is_forkable=True)
        self._child, self._ready = Child(program, FROM_COMPILER), None

    def _await_ready(self, install: bool = False) -> Ready:
        """The process, ready to be asked; with the device's headers where `install`.  InternalError: see `compile`."""
        if self._child is None or self._is_dead():
            self._restart(install)
        ready = self._handshake()
        if install and not ready.headers:
            self._restart(install)
            ready = self._handshake()
        return ready

    def _is_dead(self) -> bool:
        """Whether it has gone since it was last heard of, or says what nobody asked for."""
        return self._ready is not None and self._child is not None and self._child.channel.has_news()

    def _restart(self, install: bool) -> None:
        self._end()
        try:
            self._start(install)
        except OSError as error:
            raise InternalError(_within_limits(error.strerror or str(error))) from error

    def _handshake(self) -> Ready:
        """What the process says when it is ready; where a signal ends it before, what a fresh one says."""
        if self._ready is not None:
            return self._ready
        for last in (False, True):
            assert self._child is not None
            try:
                answer = self._child.channel.receive(time.monotonic() + START_LIMIT_S)
            except DeadlinePassed as error:
                self._end()
                raise InternalError(msg("compiler.not_started")) from error
            except PeerGone as error:
                ending = self._end(END_WAIT_S)
                if ending is not None and ending.by_signal and not last:
                    self._restart(install=False)
                    continue
                raise InternalError(_within_limits(_last_line(ending))) from error
            if isinstance(answer, Ready):
                self._ready = answer
                return answer
            self._end()
            raise InternalError(_unusable(answer))
        raise AssertionError("the second ending raises")

    def _ask(
        self, ready: Ready, install: bool, asked: Asked, wall_limit_s: float, more: Sequence[str]
    ) -> tuple[Compiled | str, Ready]:
        """The process's answer, or the reason why there is none; and the process that is there now.  more: options."""
        source, in_memory = asked.source, asked.in_memory
        for last in (False, True):
            options = [f"--gpu-architecture={asked.architecture}", *OPTIONS, *more]
            if asked.is_machine_code:
                options.append(VERBOSE)
            if ready.headers:
                options += [f"-I{ready.headers}", f"-I{ready.headers}/cccl"]
            # What the compiler's front end takes for itself alone: steps of one constant evaluation.
            steps = steps_of_one({asked.file: source, **in_memory}, NVRTC_STEPS)
            options.append(f"-Xcudafe=--max_cost_constexpr_call={steps}")
            as_found = headers_for([source, *in_memory.values()], bool(ready.headers))
            headers = {**as_found, PRELUDE_NAME: PRELUDE + MACROS, **in_memory}
            has_library = any(_LIBRARY.search(text) for text in (source, *in_memory.values()))
            request = Compile(
                file=asked.file,
                source=source.encode("utf-8", errors="replace"),
                headers={name: text.encode("utf-8", errors="replace") for name, text in headers.items()},
                names=asked.names,
                options=options,
                cpu_seconds=min(LIBRARY_CPU_LIMIT_S if has_library else CPU_LIMIT_S, wall_limit_s),
                data_bytes=LIBRARY_DATA_BYTES if has_library else DATA_BYTES,
            )
            assert self._child is not None
            deadline = time.monotonic() + wall_limit_s
            try:
                self._child.channel.send(request)
                answer = self._child.channel.receive(deadline)
            except DeadlinePassed:
                self._end()
                return "timeout", ready
            except PeerGone:
                ending = self._end(END_WAIT_S)
                reason = _reason_of(ending)
                if reason == "timeout":
                    return reason, ready
                if not last:
                    ready = self._await_ready(install)
                    continue
                if reason:
                    return reason, ready
                raise InternalError(_within_limits(_last_line(ending))) from None
            if isinstance(answer, Compiled):
                return answer, ready
            self._end()
            raise InternalError(msg("compiler.ended", ending=type(answer).__name__))
        raise AssertionError("the second ending returns or raises")


def _is_assembly_of(ptx: str, texts: Sequence[str]) -> bool:
    """Whether PTX holds inline assembly that may be that of `texts`, and not of the device's headers alone."""
    return _INLINE in ptx and any("asm" in text for text in texts)


def _reason_of(ending: Ending | None) -> str:
    """Why a process is gone, where the program that it compiled is why: "timeout", "crashed"; "" where it is not."""
    if ending is None:
        return ""
    # The bound on processor time is a time limit too, unless it is the shell's.
    if ending.status == -signal.SIGXCPU and "ulimit -t" not in limits.shortage():
        return "timeout"
    if ending.by_signal:
        return "crashed" if -ending.status in _OWN_SIGNALS else ""
    return "crashed" if "MemoryError" in ending.output else ""


def _last_line(ending: Ending | None) -> str:
    if ending is None:
        return "?"
    last = ending.output.rpartition("\n")[2][:200]
    return f"{ending}: {last}" if last else str(ending)


def _within_limits(reason: str) -> Message:
    short = limits.shortage()
    return msg("compiler.short", limits=short, reason=reason) if short else msg("compiler.ended", ending=reason)


def _unusable(answer: Unusable | Compiled) -> Message:
    if isinstance(answer, Compiled):
        return msg("compiler.not_started")
    reason = answer.detail.partition("\n")[0][:300]
    if answer.why == "no_toolkit":
        return msg("compiler.no_toolkit", version=reason)
    if answer.why == "no_headers":
        return msg("compiler.no_headers", reason=reason)
    short = limits.shortage()
    return msg("compiler.short", limits=short, reason=reason) if short else msg("compiler.unusable", reason=reason)
