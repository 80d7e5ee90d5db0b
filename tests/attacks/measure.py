"""Runs a command and measures the whole tree of its processes: processor seconds, and memory that it holds at once.

Memory is what the processes hold for themselves and their share of what several hold (proportional set size), summed
over all that descend from the command and looked at twice a second.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PERIOD_S = 0.4
_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True, slots=True)
class Took:
    """What became of a command: status None where the clock had to end it."""

    status: int | None
    output: str
    cpu_s: float
    peak_bytes: int


def run(command: Sequence[str], wall_s: float, folder: Path, environment: dict[str, str] | None = None) -> Took:
    """Run `command` in `folder` for at most `wall_s`, which is for what hangs; descendants end with it."""
    # Descendants whose parents have gone come to this process, so that their time is counted and nothing is left over.
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    own = os.times()
    before_s = own.children_user + own.children_system
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    peak, over = [0], threading.Event()

    def watch() -> None:
        while not over.wait(PERIOD_S):
            peak[0] = max(peak[0], sum(map(_held_bytes, descendants(process.pid))))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    status: int | None
    try:
        raw, _nothing = process.communicate(timeout=wall_s)
        status = process.returncode
    except subprocess.TimeoutExpired:
        for number in [process.pid, *descendants(process.pid)]:
            _kill(number)
        raw, _nothing = process.communicate()
        status = None
    over.set()
    watcher.join()
    _reap()
    after = os.times()
    cpu_s = after.children_user + after.children_system - before_s
    return Took(status, raw.decode("utf-8", errors="replace"), cpu_s, peak[0])


def descendants(root: int) -> list[int]:
    """A process and all that descend from it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, open_ = [], [root]
    while open_:
        number = open_.pop()
        found.append(number)
        open_ += parents.get(number, [])
    return found


def _held_bytes(number: int) -> int:
    try:
        text = Path(f"/proc/{number}/smaps_rollup").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in text.splitlines() if line.startswith("Pss:")), 0)


def _kill(number: int) -> None:
    try:
        os.kill(number, signal.SIGKILL)
    except ProcessLookupError:
        return


def _reap() -> None:
    """Take the time of what has come to this process from parents that have gone."""
    while True:
        try:
            number, _status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not number:
            return
