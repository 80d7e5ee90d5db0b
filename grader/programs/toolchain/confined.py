"""Runs one command with only the files and the resources that it is given.

A compiler that a hostile source would make read any file or run for ever; `become` is the child's part.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.errors import InternalError
from grader.message import msg
from grader.processes.system import IS_LINUX
from grader.programs.toolchain import become

CPU_SECONDS = 120
"""What `extent` lets through takes a few; templates and constant expressions can take any time."""
WALL_SECONDS = 600.0
"""Ends what hangs."""
ADDRESS_BYTES = 4 << 30
DATA_BYTES = 512 << 20
"""The whole standard library in one file and its templates take 150 MB."""
FILE_BYTES = 64 << 20

_ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a command.

    code: None when it was killed by a limit.  ended_by: "time" where that was the one on processor time, "hang" where
    that on the time of day, "" where another.
    """

    code: int | None
    errors: str
    ended_by: Literal["", "time", "hang"] = ""


def run(command: Sequence[str], rights: Mapping[str, int], folder: Path, use_landlock: bool = True) -> Done:
    """Run `command` in `folder` with nothing but `rights` (see `grader.processes.confinement.confine`)."""
    if not IS_LINUX:
        raise InternalError(msg("programs.not_on_this_system"))
    limits = {
        "address_bytes": ADDRESS_BYTES, "data_bytes": DATA_BYTES, "file_bytes": FILE_BYTES, "cpu_seconds": CPU_SECONDS,
    }  # fmt: skip
    order = json.dumps({"command": list(command), "rights": dict(rights), "landlock": use_landlock, "limits": limits})
    # Without `site`: the few modules that the child needs are found without it, in a third of the time.
    start = f"import sys; sys.path.append({str(_ROOT)!r}); from {become.__name__} import main; main(sys.argv[1])"
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", start, order],
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
    text = raw[: 1 << 20].decode("utf-8", errors="replace")
    code = process.returncode
    return Done(
        None if code < 0 else code,
        text,
        "time" if -code in (signal.SIGXCPU, signal.SIGKILL) else "",
    )
