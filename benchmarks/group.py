"""How long a group takes, how much memory, and how long the same command takes again; needs no GPU.

    python benchmarks/group.py                 30 submissions, HTML, PDF and tables
    python benchmarks/group.py --students 300 --no-pdf

The submissions are the good and the bad kernels of the tests and the samples, no two of them the same text.  Memory is
the most that all processes of the run held together, asked for several times a second.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SAMPLE_EVERY_S = 0.2


def sources(lab: str) -> list[str]:
    """Right and wrong solutions of a lab, in turn."""
    folder = ROOT / "tests" / "kernels" / lab
    files = [*sorted((ROOT / "submissions").glob(f"*/{lab}.cu"))]
    for good, bad in zip(cycle(sorted((folder / "good").rglob("*.cu"))), sorted((folder / "bad").rglob("*.cu"))):
        files += [good, bad]
    return [file.read_text("utf-8", errors="replace") for file in files]


def make_group(folder: Path, lab: str, students: int) -> None:
    """A folder for each student, with a text of their own."""
    for number, text in enumerate(islice(cycle(sources(lab)), students)):
        place = folder / f"student{number:03}"
        place.mkdir(parents=True)
        (place / f"{lab}.cu").write_text(f"{text}\n// student {number}\n", "utf-8")


class Memory(threading.Thread):
    """The most that a process and all that it started hold together, in bytes (proportional set sizes)."""

    def __init__(self, root: int) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self._root = root
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_EVERY_S):
            self.most = max(self.most, self._bytes())

    def end(self) -> int:
        """Stop; returns the most."""
        self._ended.set()
        self.join()
        return self.most

    def _bytes(self) -> int:
        parents = {}
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                parents[int(process.name)] = int((process / "stat").read_text().rpartition(")")[2].split()[1])
        family, grown = {self._root}, True
        while grown:
            more = {child for child, parent in parents.items() if parent in family} - family
            family |= more
            grown = bool(more)
        return sum(map(pss_bytes, family))


def pss_bytes(process: int) -> int:
    """What a process holds, its part of what it shares; 0 for one that is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError, StopIteration):
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return 0


def run(folder: Path, lab: str, arguments: list[str]) -> tuple[float, float, int]:
    """Wall and CPU seconds of one run of the command, and its memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "group", "--lab", lab, "--backend", "emulator", "--lang", "en", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    memory = Memory(process.pid)
    memory.start()
    process.wait()
    wall_s = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, memory.end()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--lab", default="transpose")
    parser.add_argument("--no-pdf", action="store_true")
    parser.add_argument("--jobs", type=int, default=0)
    options = parser.parse_args()
    arguments = ["--no-pdf"] if options.no_pdf else []
    arguments += ["--jobs", str(options.jobs)] if options.jobs else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_group(folder / "group", options.lab, options.students)
        print(f"{options.students} submissions of {options.lab}, {len(os.sched_getaffinity(0))} cores")
        for what in ("first run", "again"):
            wall_s, cpu_s, memory = run(folder, options.lab, arguments)
            print(f"{what:10} {wall_s:7.1f} s wall {cpu_s:7.1f} s CPU {memory / 2**20:7.0f} MiB", flush=True)


if __name__ == "__main__":
    main()
