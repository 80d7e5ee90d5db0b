"""Runs one command with only the files and the resources that it is given.

A compiler that a hostile source would make read any file or run for ever; `limits.become` is the child's part.
"""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from grader.errors import InternalError
from grader.message import msg
from grader.processes import limits
from grader.processes.child import Child, ChildProgram, can_wait, start_server
from grader.processes.limits import IS_LINUX, isolated_python

CPU_SECONDS = 15
"""What `extent` lets through takes a few, and steps of constant evaluation are counted; a type's name can take any."""
LIBRARY_CPU_SECONDS = 120
"""Where Thrust's and CUB's templates are the program's: each of their algorithms takes a second or two."""
WALL_SECONDS = 600.0
"""Ends what hangs."""
ADDRESS_BYTES = 4 << 30
DATA_BYTES = 512 << 20
"""The whole standard library in one file and its templates take 150 MB."""
FILE_BYTES = 512 << 20
"""Object code has every byte of the program's global arrays in it, of those that are zero, too."""
ERROR_BYTES = 1 << 20
"""Of what a command says."""

_ROOT = Path(__file__).parents[3]
_SILENT = msgspec.msgpack.Decoder(None)
"""It says nothing but what stands in its output."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a command.

    code: None when it was killed by a limit.  ended_by: "time" where that was the one on processor time, "hang" where
    that on the time of day, "" where another.
    """

    code: int | None
    errors: str
    ended_by: Literal["", "time", "hang"] = ""


def run(
    command: Sequence[str],
    rights: Mapping[str, int],
    folder: Path,
    use_landlock: bool = True,
    cpu_seconds: int = CPU_SECONDS,
) -> Done:
    """Run `command` in `folder` with nothing but `rights` (see `grader.processes.limits.confine`)."""
    if not IS_LINUX:
        raise InternalError(msg("programs.not_on_this_system"))
    bounds = {
        "address_bytes": ADDRESS_BYTES, "data_bytes": DATA_BYTES, "file_bytes": FILE_BYTES, "cpu_seconds": cpu_seconds,
    }  # fmt: skip
    asked = {"command": list(command), "rights": dict(rights), "folder": str(folder), "landlock": use_landlock}
    order = json.dumps({**asked, "limits": bounds})
    program = ChildProgram(limits.__name__, (order,), environment={}, is_forkable=True, output_bytes=ERROR_BYTES)
    if can_wait() and start_server(program) is not None:
        return _forked(program)
    # Without `site`: the few modules that the child needs are found without it, in a third of the time.
    start = f"import sys; sys.path.append({str(_ROOT)!r}); from {limits.__name__} import become; become(sys.argv[1])"
    process = subprocess.Popen(
        [*isolated_python(), "-S", "-c", start, order],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env={},
        start_new_session=True,
    )
    try:
        _nothing, raw = process.communicate(timeout=WALL_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return Done(None, "", "hang")
    return _done(process.returncode, raw[:ERROR_BYTES].decode("utf-8", errors="replace"))


def _forked(program: ChildProgram) -> Done:
    """Run the command in a child forked from a process that has imported what it needs."""
    started = time.monotonic()
    ending = Child(program, _SILENT).end(WALL_SECONDS)
    if time.monotonic() - started >= WALL_SECONDS:
        return Done(None, "", "hang")
    return _done(ending.status, ending.output)


def _done(status: int, errors: str) -> Done:
    is_of_time = -status in (signal.SIGXCPU, signal.SIGKILL)
    return Done(None if status < 0 else status, errors, "time" if is_of_time else "")
