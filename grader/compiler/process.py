"""Compiling students' files in a process of their own: confined, limited, killed when it takes too long."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from grader.compiler import nvcc, protocol
from grader.compiler.diagnostics import Diagnostic, diagnostics_of
from grader.compiler.headers import (
    PRELUDE,
    PRELUDE_NAME,
    forbidden_include,
    header_folder,
    needs_bundled,
)
from grader.compiler.resources import VERBOSE, Resources, resources_of
from grader.compiler.toolkit import header_folders
from grader.errors import InternalError
from grader.message import msg

WALL_LIMIT_S = 20.0
START_LIMIT_S = 60.0

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from grader.compiler.worker import main; main(sys.argv[1:])"
)
_ENTRY = re.compile(r"\.entry\s+([\w$.]+)")
_SAFE_NAME = re.compile(r"[\w:][\w:<>,&*()\s+-]{0,199}")
# Other names would be escaped in the PTX, or could hold what an option or a message is made of.
_SAFE_FILE = re.compile(r"\w[\w.+-]{0,120}", re.ASCII)

OPTIONS = (
    "-lineinfo",
    "-default-device",
    "--std=c++17",
    # Constants and functions that only the host used: blanking made them unused.
    "--diag-suppress=177",
    f"--pre-include={PRELUDE_NAME}",
)


@dataclass(frozen=True, slots=True)
class CompileResult:
    """What came of compiling one source.

    ok: the source compiled, and every kernel that was asked for is in the PTX.
    entries: symbol in the PTX by name expression, for those found; `missing` are the others.
    reason: "" when ok, else "errors", "missing_entry" (PTX and the entries found are there all the same), "timeout"
      (wall clock or processor time), "crashed" (the compiler ran out of memory or fell over), "forbidden_include".
    log: the compiler's own words about the student's file, at most 32 KiB; untrusted text.
    isolation: "landlock", or "include_filter" where the kernel lacks Landlock.
    resources: what each kernel takes, by symbol; compiled to machine code only.
    """

    ok: bool
    ptx: str = ""
    cubin: bytes = b""
    entries: Mapping[str, str] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    log: str = ""
    nvrtc_version: str = ""
    reason: str = ""
    missing: tuple[str, ...] = ()
    isolation: str = ""
    resources: Mapping[str, Resources] = field(default_factory=dict)


class CompilerProcess:
    """A compiler process, started at once so that it warms up while the caller reads the submission.

    One process is for one student's files: what a source did to NVRTC's memory must not meet another's.  A process
    that died or was killed is replaced at the next compile.

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
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._version = ""
        self._landlock = False
        self._headers = ""
        self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        # The whole group: NVRTC starts no process, but nothing must outlive this call if one ever did.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def nvrtc_version(self) -> str:
        """NVRTC's version, "13.5".

        Raises
        ------
        InternalError : NVRTC cannot be loaded.
        """
        self._await_ready()
        return self._version

    def compile(
        self,
        sources: Mapping[str, str],
        names: Sequence[str],
        architecture: str,
        wall_limit_s: float | None = None,
    ) -> CompileResult:
        """Compile the first of `sources`; the others are headers that it may include by their names.

        Parameters
        ----------
        sources : text by file name.
        names : C++ expressions naming the kernels wanted: "kernel", "tiled<16>", "lab::kernel".
        architecture : "compute_75" for PTX, "sm_90" for CUBIN and PTX.

        Nothing that a source does raises: see `CompileResult.reason`.

        Raises
        ------
        InternalError : NVRTC cannot be loaded, or does not know `architecture`.
        """
        given, source = next(iter(sources.items()))
        file = given if _SAFE_FILE.fullmatch(given) else "source.cu"
        in_memory = {name: text for name, text in list(sources.items())[1:] if _SAFE_FILE.fullmatch(Path(name).name)}
        install = any(needs_bundled(text) for text in sources.values())
        self._await_ready(install=install)
        if not self._landlock:
            for text in (source, *in_memory.values()):
                refused = forbidden_include(text, frozenset(in_memory))
                if refused is not None:
                    return self._forbidden(given, text, refused)
        safe = [name for name in dict.fromkeys(names) if _SAFE_NAME.fullmatch(name) and "\n" not in name]
        answer = self._ask(file, source, in_memory, safe, architecture, wall_limit_s or self._wall_limit_s)
        if isinstance(answer, str):
            return self._failed(answer)
        status, log_bytes, *outputs = answer
        if status == b"refused":
            raise InternalError(msg("compiler.refused", reason=log_bytes.decode(errors="replace")))
        diagnostics, log = diagnostics_of(log_bytes.decode("utf-8", errors="replace"), {file: source, **in_memory})
        if file != given:
            diagnostics = tuple(
                Diagnostic(given if d.file == file else d.file, d.line, d.severity, d.message) for d in diagnostics
            )
        if status != b"ok":
            if not any(d.severity == "error" for d in diagnostics):
                message = msg("compiler.error_elsewhere")
                diagnostics += (Diagnostic(given, 1, "error", message),)
            return self._failed("errors", diagnostics, log)
        ptx = outputs[0].decode("utf-8", errors="replace")
        pairs = zip(outputs[2::2], outputs[3::2], strict=True)
        symbols = {name.decode(): symbol.decode() for name, symbol in pairs}
        # Success is not believed: a NUL or a stray byte can end a source early, with success and an empty log.
        present = set(_ENTRY.findall(ptx))
        entries = {name: symbol for name, symbol in symbols.items() if symbol in present}
        missing = tuple(name for name in dict.fromkeys(names) if name not in entries)
        return CompileResult(
            ok=not missing,
            ptx=ptx,
            cubin=outputs[1],
            entries=entries,
            diagnostics=diagnostics,
            log=log,
            nvrtc_version=self._version,
            reason="missing_entry" if missing else "",
            missing=missing,
            isolation=self._isolation,
            resources=resources_of(log_bytes.decode("utf-8", errors="replace")),
        )

    @property
    def _isolation(self) -> str:
        return "landlock" if self._landlock else "include_filter"

    def _failed(self, reason: str, diagnostics: tuple[Diagnostic, ...] = (), log: str = "") -> CompileResult:
        return CompileResult(
            ok=False,
            diagnostics=diagnostics,
            log=log,
            nvrtc_version=self._version,
            reason=reason,
            isolation=self._isolation,
        )

    def _forbidden(self, file: str, text: str, refused: str) -> CompileResult:
        position = text.find(refused)
        line = text.count("\n", 0, max(position, 0)) + 1
        message = msg("compiler.forbidden_include", include=refused)
        return self._failed("forbidden_include", (Diagnostic(file, line, "error", message),))

    def _start(self, install: bool = False) -> None:
        arguments = [self._header_folder, json.dumps([str(folder) for folder in self._toolkits])]
        arguments += ["install"] if install else []
        arguments += [] if self._use_landlock else ["without-landlock"]
        # The grader may run from a checkout or a zip of paths that isolated mode would not find.
        paths = json.dumps([str(Path(path).absolute()) for path in sys.path])
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, paths, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Line tables hold the working folder; a fixed one keeps outputs alike and says nothing of this machine.
            cwd="/",
            env={},
            start_new_session=True,
        )
        self._ready = False

    def _await_ready(self, install: bool = False) -> None:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._start(install)
        self._handshake()
        if install and not self._headers:
            self.close()
            self._start(install=True)
            self._handshake()

    def _handshake(self) -> None:
        if self._ready:
            return
        assert self._process is not None and self._process.stdout is not None
        try:
            answer = protocol.receive(self._process.stdout.fileno(), time.monotonic() + START_LIMIT_S)
        except (protocol.PeerGone, protocol.DeadlinePassed) as error:
            self.close()
            raise InternalError(msg("compiler.not_started")) from error
        if answer[0] != b"ready":
            self.close()
            reason = answer[1].decode(errors="replace").partition("\n")[0][:300]
            if answer[0] == b"no-toolkit":
                message = msg("compiler.no_toolkit", version=reason)
                raise InternalError(message)
            if answer[0] == b"no-headers":
                message = msg("compiler.no_headers", reason=reason)
                raise InternalError(message)
            message = msg("compiler.unusable", reason=reason)
            raise InternalError(message)
        self._version, confinement, self._headers = (part.decode() for part in answer[1:])
        self._landlock = confinement == "landlock"
        self._ready = True

    def _ask(
        self,
        file: str,
        source: str,
        in_memory: Mapping[str, str],
        names: Sequence[str],
        architecture: str,
        wall_limit_s: float,
    ) -> list[bytes] | str:
        """The process's answer, or the reason why there is none; the process is gone then."""
        assert self._process is not None and self._process.stdin is not None and self._process.stdout is not None
        options = [f"--gpu-architecture={architecture}", *OPTIONS]
        if architecture.startswith("sm_"):
            options.append(VERBOSE)
        if self._headers:
            options += [f"-I{self._headers}", f"-I{self._headers}/cccl"]
        as_found = nvcc.headers_for([source, *in_memory.values()], bool(self._headers))
        headers = {**as_found, PRELUDE_NAME: PRELUDE + nvcc.MACROS, **in_memory}
        parts = [str(int(wall_limit_s) + 1), str(len(options)), str(len(headers)), *options]
        parts += [part for pair in headers.items() for part in pair]
        parts += [file, source, *names]
        deadline = time.monotonic() + wall_limit_s
        try:
            protocol.send(self._process.stdin.fileno(), [part.encode("utf-8", errors="replace") for part in parts])
            return protocol.receive(self._process.stdout.fileno(), deadline)
        except protocol.DeadlinePassed:
            self.close()
            return "timeout"
        except protocol.PeerGone:
            # Dead by its own hand or the kernel's: the limit on processor time is a time limit too.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=1.0)
            code = self._process.returncode
            self.close()
            return "timeout" if code == -signal.SIGXCPU else "crashed"
