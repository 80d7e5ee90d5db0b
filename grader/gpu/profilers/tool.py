"""Running another tool on replayed launches."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

LIMIT_S = 60.0


class ToolFailed(Exception):
    """The tool is not there, not permitted, or did not end in time; says which."""


def run(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run a tool on the launches in `folder`; its exit status and the end of what it printed.

    Raises
    ------
    ToolFailed : it is not installed, or took longer than `LIMIT_S`.
    """
    path = shutil.which(command[0])
    if path is None:
        raise ToolFailed(f"{command[0]} is not installed")
    replay = [sys.executable, "-m", "grader.gpu.device.replay", str(folder)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(Path(p).absolute()) for p in sys.path)}
    process = subprocess.Popen(
        [path, *command[1:], *replay],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    try:
        output, _none = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise ToolFailed(f"{command[0]} did not end within {LIMIT_S:g} s") from None
    return process.returncode, output[-20_000:].decode("utf-8", errors="replace")
