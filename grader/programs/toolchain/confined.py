"""Runs one command with only the files and the resources that it is given.

Started as `python -I -c …`, the process becomes the command: a compiler that a hostile source would make read any
file or run for ever.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import InternalError
from grader.message import msg
from grader.processes.system import IS_LINUX

CPU_SECONDS = 15
WALL_SECONDS = 60.0
ADDRESS_BYTES = 4 << 30
DATA_BYTES = 768 << 20
"""The whole standard library in one file and its templates take 150 MB."""
FILE_BYTES = 64 << 20

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv.pop(1)); "
    "from grader.programs.toolchain.confined import main; main(sys.argv[1])"
)


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a command: `code` is None when it was killed by a limit."""

    code: int | None
    errors: str
    is_confined: bool


def run(command: Sequence[str], rights: Mapping[str, int], folder: Path, use_landlock: bool = True) -> Done:
    """Run `command` in `folder` with nothing but `rights` (see `grader.compiler.sandbox.confine`)."""
    if not IS_LINUX:
        raise InternalError(msg("programs.not_on_this_system"))
    paths = json.dumps([str(Path(path).absolute()) for path in sys.path])
    order = json.dumps({"command": list(command), "rights": dict(rights), "landlock": use_landlock})
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _START, paths, order],
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
        return Done(None, "", True)
    text = raw[: 1 << 20].decode("utf-8", errors="replace")
    is_confined = not text.startswith(_UNCONFINED)
    code = process.returncode
    return Done(None if code < 0 else code, text.removeprefix(_UNCONFINED), is_confined)


_UNCONFINED = "without landlock\n"


def main(order: str) -> None:
    """In the child: give up every right but those named, then become the command."""
    import resource

    from grader.compiler import sandbox

    asked = json.loads(order)
    sandbox.die_with_parent()
    if not (asked["landlock"] and sandbox.confine(asked["rights"])):
        os.write(2, _UNCONFINED.encode())
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES, ADDRESS_BYTES))
    resource.setrlimit(resource.RLIMIT_DATA, (DATA_BYTES, DATA_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    os.execve(asked["command"][0], asked["command"], {"PATH": ""})
