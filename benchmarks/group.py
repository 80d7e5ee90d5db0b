"""How long a group takes, how much memory, and how long the same command takes again; without a GPU or with several.

    python benchmarks/group.py                 30 submissions, HTML, PDF and tables
    python benchmarks/group.py --students 300 --no-pdf
    python benchmarks/group.py --backend gpu --no-pdf --gpus 1,2    timed on one GPU, then on two
    python benchmarks/group.py --ready         as on a machine that has graded before: the C++ library is built, the
                                               lab's references are compiled

The submissions are the good and the bad kernels of the tests and the samples, no two of them the same text; nothing is
known of them before, no program, no time.  "Marks" is when the last submission has its mark, sweeps come after.  Memory
is the most that all processes of the run held together, asked for several times a second.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
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


class Watch(threading.Thread):
    """The most that a process and all that it started hold together, in bytes (proportional set sizes).

    marks_s: after how many seconds there were as many results as `students`, None while there are fewer.
    """

    def __init__(self, root: int, reports: Path, students: int) -> None:
        super().__init__(daemon=True)
        self.most = 0
        self.marks_s: float | None = None
        self._reports = reports
        self._students = students
        self._began = time.monotonic()
        self._root = root
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_EVERY_S):
            self.most = max(self.most, self._bytes())
            if self.marks_s is None and len(list(self._reports.glob("*/*/result.json"))) >= self._students:
                self.marks_s = time.monotonic() - self._began
                print(f"{self._students} marks after {self.marks_s:.1f} s", file=sys.stderr, flush=True)

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


@dataclass(frozen=True)
class Figures:
    """Of one run of the command: seconds and bytes."""

    wall_s: float
    marks_s: float
    cpu_s: float
    memory_bytes: int

    def __str__(self) -> str:
        """One line of the table."""
        times = f"{self.wall_s:7.1f} s wall {self.marks_s:7.1f} s to the last mark {self.cpu_s:7.1f} s CPU"
        return f"{times} {self.memory_bytes / 2**20:7.0f} MiB"


def grade(folder: Path, arguments: list[str], environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """The command, started in a folder."""
    return subprocess.Popen(
        [sys.executable, "-m", "grader", "--lang", "en", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))}
        | dict(environment),
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )


def run(folder: Path, arguments: list[str], environment: Mapping[str, str], students: int) -> Figures:
    """One run of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    process = grade(folder, ["group", *arguments], environment)
    watch = Watch(process.pid, folder / "reports", students)
    watch.start()
    process.wait()
    wall_s = time.monotonic() - began
    _wait_for_orphans()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = watch.end()
    return Figures(wall_s, wall_s if watch.marks_s is None else watch.marks_s, cpu_s, memory)


def make_ready(folder: Path, lab: str, backend: str) -> Path:
    """The caches of a machine that has graded one submission of a lab, without what it knows of that submission."""
    make_group(folder / "first", lab, 2)
    caches = folder / "ready"
    environment = {"XDG_CACHE_HOME": str(caches), "CUDA_LAB_GRADER_STORE": str(folder / "first-times")}
    arguments = ["first", "--out", "first-reports", "--lab", lab, "--backend", backend, "--no-pdf"]
    grade(folder, arguments, environment).wait()
    shutil.rmtree(caches / "cuda-lab-grader" / "observations", ignore_errors=True)
    return caches


def _adopt_orphans() -> None:
    """Have the kernel count what processes took whose parents were killed: they become children of this one."""
    pr_set_child_subreaper = 36
    ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0)


def _wait_for_orphans() -> None:
    """They end with their parents."""
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--students", type=int, default=30)
    parser.add_argument("--lab", default="transpose")
    parser.add_argument("--no-pdf", action="store_true")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--backend", choices=("emulator", "gpu"), default="emulator")
    parser.add_argument("--gpus", default="", help="how many to use, one run each: 1,2")
    parser.add_argument("--ready", action="store_true", help="as on a machine that has graded before")
    options = parser.parse_args()
    _adopt_orphans()
    arguments = ["--lab", options.lab, "--backend", options.backend]
    arguments += ["--no-pdf"] if options.no_pdf else []
    arguments += ["--jobs", str(options.jobs)] if options.jobs else []
    cores = len(os.sched_getaffinity(0))
    for gpus in options.gpus.split(","):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make_group(folder / "group", options.lab, options.students)
            if options.ready:
                make_ready(folder, options.lab, options.backend).rename(folder / "caches")
            environment = {"XDG_CACHE_HOME": str(folder / "caches"), "CUDA_LAB_GRADER_STORE": str(folder / "times")}
            if gpus:
                environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(int(gpus))))
            print(f"{options.students} submissions of {options.lab}, {cores} cores{f', {gpus} GPUs' * bool(gpus)}")
            for what in ("first run", "again"):
                print(f"{what:10}{run(folder, arguments, environment, options.students)}", flush=True)


if __name__ == "__main__":
    main()
