"""Starting the process of a program, and what is said with it.

To the process: one frame with the order as JSON, the module, what it reads from standard input, names and contents of
the files that it may open; then an answer to each "code": PTX, or nothing and the reason.
From it: "ready" and its confinement; any number of "print" (descriptor, bytes) and "code" (number of a file of the
program, name expressions of templates); at the end "done" with an `Observation`, or "failed".
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from grader.compiler import protocol
from grader.errors import InternalError
from grader.message import msg
from grader.programs.records import Observation

WALL_SECONDS = 300.0
"""Ends what hangs; everything else is counted."""

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from grader.programs.sandbox.worker import main; main(sys.argv[1:])"
)


class ProgramProcess:
    """A process for one program, started at once so that it warms up while the program is compiled."""

    def __init__(self, use_landlock: bool = True) -> None:
        paths = json.dumps([str(Path(path).absolute()) for path in sys.path])
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _START, paths, *([] if use_landlock else ["without-landlock"])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            # Lines of the host's code in what wasmtime says of a crash.
            env={"WASMTIME_BACKTRACE_DETAILS": "1"}
            | {name: os.environ[name] for name in ("OPENBLAS_CORETYPE",) if name in os.environ},
            start_new_session=True,
        )

    def close(self) -> None:
        """End the process."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def run(
        self,
        order: Mapping[str, object],
        module: bytes,
        stdin: bytes,
        files: Mapping[str, bytes],
        code: Callable[[int, Sequence[str]], tuple[str, str]],
        emit: Callable[[int, bytes], None],
    ) -> Observation:
        """Run a program.

        Parameters
        ----------
        order : "arguments", with the program's own name first; "model", a key of `runtime.devices.MODELS`; "units",
          names of its files; "sources", their text; "unused", places whose error nobody looks at; "parameters", names
          of the parameters of kernels; "limits", `RunLimits`.
        code : PTX of a file with the templates named, or "" and the reason.
        emit : told what the program prints.

        Raises
        ------
        InternalError : the process failed by a fault of ours.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        to, back = self._process.stdin.fileno(), self._process.stdout.fileno()
        deadline = time.monotonic() + WALL_SECONDS
        try:
            protocol.receive(back, deadline)
            pairs = [part for name, content in files.items() for part in (name.encode(), content)]
            protocol.send(to, [json.dumps(order).encode(), module, stdin, *pairs])
            while True:
                kind, *parts = protocol.receive(back, deadline)
                if kind == b"print":
                    emit(int(parts[0]), parts[1])
                elif kind == b"code":
                    answer = code(int(parts[0]), [name.decode("utf-8", errors="replace") for name in parts[1:]])
                    protocol.send(to, [part.encode() for part in answer])
                elif kind == b"done":
                    return msgspec.json.decode(parts[0], type=Observation)
                else:
                    reason = parts[0].decode("utf-8", errors="replace")
                    error = InternalError(msg("programs.process_failed", reason=reason[:300]))
                    # For the log file that the command line writes.
                    error.add_note(parts[1].decode("utf-8", errors="replace"))
                    raise error
        except protocol.DeadlinePassed:
            return Observation(None, [], [], msg("programs.hangs", seconds=int(WALL_SECONDS)))
        except (protocol.PeerGone, msgspec.DecodeError) as error:
            return Observation(None, [], [], msg("programs.process_died", reason=str(error)))
        finally:
            self.close()
