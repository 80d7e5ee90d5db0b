"""A command run as a service would: on half a core, in little memory, its whole process tree measured."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it.

    peak_bytes: of the proportional set sizes of all its processes together, 0 where nobody looked.
    cpu_seconds: of all of them.  is_limited: whether the limits held.
    """

    code: int
    output: str
    seconds: float
    peak_bytes: int
    cpu_seconds: float
    is_limited: bool


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    cwd: Path,
    cores: float = 0.5,
    memory_bytes: int = 768 << 20,
    is_watched: bool = False,
) -> Run:
    """Run `command` to its end; is_watched: its memory is looked at, which takes processor time itself."""
    with _limits(cores, memory_bytes) as groups:

        def enter() -> None:
            for group in groups:
                # There are machines that let groups be made, and nobody into them.
                with contextlib.suppress(OSError):
                    (group / "cgroup.procs").write_text(str(os.getpid()))

        started, before = time.monotonic(), os.times()
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=enter,
        )
        peak = 0
        while is_watched and process.poll() is None:
            peak = max(peak, sum(map(proportional_bytes, tree(process.pid))))
            time.sleep(LOOK_S)
        output = process.communicate()[0].decode(errors="replace")
        seconds, after = time.monotonic() - started, os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(process.returncode, output, seconds, peak, used, bool(groups))


@contextlib.contextmanager
def _limits(cores: float, memory_bytes: int) -> Iterator[list[Path]]:
    """Control groups with the limits; [] where this machine lets nobody make any."""
    root, name = Path("/sys/fs/cgroup"), f"grader-test-{os.getpid()}-{time.monotonic_ns()}"
    period = 100_000
    if (root / "cgroup.controllers").exists():
        wanted = {root / name: {"cpu.max": f"{int(cores * period)} {period}", "memory.max": str(memory_bytes)}}
    else:
        wanted = {
            root / "cpu" / name: {"cpu.cfs_period_us": str(period), "cpu.cfs_quota_us": str(int(cores * period))},
            root / "memory" / name: {"memory.limit_in_bytes": str(memory_bytes)},
        }
    made: list[Path] = []
    try:
        for group, settings in wanted.items():
            group.mkdir()
            made.append(group)
            for file, value in settings.items():
                (group / file).write_text(value)
    except OSError:
        _remove(made)
        made = []
    try:
        yield made
    finally:
        _remove(made)


def _remove(groups: list[Path]) -> None:
    for group in groups:
        for _try in range(50):
            try:
                group.rmdir()
                break
            except OSError:
                time.sleep(0.1)


def tree(pid: int) -> list[int]:
    found = [pid]
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += tree(int(child))
    return found


def proportional_bytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
