"""What it takes to have a program run: `python benchmarks/programs.py [--every 1]`, over `tests/programs`.

For each program that a lab grades: processor seconds and wall seconds until its verdicts stand on the terminal, with
nothing known of it and again; and what its observation is made of.  All cached data but what is built once for a
machine is left out by an empty cache folder.  Prints medians and the worst.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "tests" / "programs"


def used() -> float:
    """Processor seconds of this process and of its children that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def timed(rows: dict[str, list[tuple[float, float, str]]], what: str, name: str, act: Callable[[], Any]) -> Any:
    """What `act` returns; its processor and wall seconds go into `rows`."""
    processor, wall = used(), time.perf_counter()
    found = act()
    rows.setdefault(what, []).append((used() - processor, time.perf_counter() - wall, name))
    return found


def empty_cache(folder: Path) -> dict[str, str]:
    """An environment whose cache has what is built once for a machine, and nothing of any program."""
    own = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "cuda-lab-grader"
    (folder / "cuda-lab-grader").mkdir()
    for name in ("nvrtc", "programs"):
        if (own / name).is_dir():
            (folder / "cuda-lab-grader" / name).symlink_to(own / name)
    return {**os.environ, "XDG_CACHE_HOME": str(folder)}


def verdicts(path: Path, lab: str, environment: dict[str, str]) -> None:
    """Grade as a student would, without a report."""
    command = [sys.executable, "-m", "grader", "check", str(path), "--lab", lab]
    done = subprocess.run(command, env=environment, capture_output=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{path}: status {done.returncode}\n{done.stderr.decode()}")


def parts(folder: Path, rows: dict[str, list[tuple[float, float, str]]]) -> None:
    """The steps of one observation, one after another."""
    from grader.programs.execution import run_each
    from grader.programs.records import Start
    from grader.programs.runs_with_kernels import TRACED
    from grader.programs.sources import Sources, read_program
    from grader.programs.toolchain.compile import compile_program
    from grader.programs.toolchain.zig import build

    files = sorted(folder.glob("*.cu"))
    program = timed(rows, "reading", folder.name, partial(read_program, files))
    if program.obstacle is None:
        compiling = partial(compile_program, program.units, program.host, build())
        timed(rows, "host compiler and linker", folder.name, compiling)
        timed(rows, "observation, all of it", folder.name, partial(run_each, Sources(files), [Start()], TRACED))


def main() -> None:
    """Start, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="take each Nth program only")
    every = parser.parse_args().every
    graded = []
    for expected in sorted(PROGRAMS.glob("*/expected.yaml")):
        lab = (yaml.safe_load(expected.read_text("utf-8")).get("grading") or {}).get("lab")
        if lab:
            graded.append((expected.parent, lab))
    rows: dict[str, list[tuple[float, float, str]]] = {}
    for folder, lab in graded[::every]:
        with tempfile.TemporaryDirectory() as name:
            environment = empty_cache(Path(name))
            timed(rows, "verdicts, first time", folder.name, partial(verdicts, folder, lab, environment))
            timed(rows, "verdicts, again", folder.name, partial(verdicts, folder, lab, environment))
        parts(folder, rows)
    print(f"{len(graded[::every])} programs, {len(os.sched_getaffinity(0))} cores; seconds\n")
    print(f"{'':28}{'processor':>20}{'wall':>20}")
    print(f"{'':28}{'median':>10}{'worst':>10}{'median':>10}{'worst':>10}")
    for what, found in rows.items():
        columns = [[row[index] for row in found] for index in (0, 1)]
        cells = "".join(f"{statistics.median(column):10.2f}{max(column):10.2f}" for column in columns)
        print(f"{what:28}{cells}   {max(found)[2]}")


if __name__ == "__main__":
    main()
