"""Whole-process times of `grade`: until the verdicts stand on the terminal, until the first HTML, until all is written.

    python benchmarks/startup.py [--runs 7] [--student submissions/ivanov] [--lab transpose] [--backend auto]

Every run is a fresh process with an empty output folder; times count from its start.  One run that is not counted
goes before, so that files are in the page cache.  Prints median, best and worst, and each as a ratio to the verdicts.

The first page is there when its file is: it has the marks, and is written once more with what follows them ("Report:").
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

TARGETS = {"verdicts": 1.0, "first HTML": 1.7, "HTML": None, "PDF": 2.5}
"""Of the ratios to the verdicts' time."""
BETWEEN_LOOKS_S = 0.005
MARK = re.compile(r"\S [a-z ]+: [\d.]+ of [\d.]+ points")
"""The line beneath the verdicts: `✓ passed: 95 of 100 points`."""


def measure(student: str, lab: str, backend: str) -> dict[str, float]:
    """Seconds from process start to each milestone of one run."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "grader", student, "--lab", lab, "--out", out, "--lang", "en"]
        command += ["--backend", backend]
        started = time.perf_counter()
        reached: dict[str, float] = {}
        ended = threading.Event()

        def look_for_page() -> None:
            while not ended.wait(BETWEEN_LOOKS_S):
                if any(Path(out).glob("*/*/report.html")):
                    reached["first HTML"] = time.perf_counter() - started
                    return

        # Compiled modules are kept from one run to the next, as they are wherever the package is installed.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        looking = threading.Thread(target=look_for_page)
        looking.start()
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
                assert process.stdout is not None
                for line in process.stdout:
                    elapsed = time.perf_counter() - started
                    if line.startswith("Report:"):
                        reached["HTML"] = elapsed
                    elif line.startswith("PDF:"):
                        reached["PDF"] = elapsed
                    elif MARK.match(line):
                        reached.setdefault("verdicts", elapsed)
        finally:
            ended.set()
            looking.join()
        if process.returncode not in (0, 1) or "first HTML" not in reached:
            sys.exit(f"{' '.join(command)} ended with status {process.returncode}")
    return reached


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--student", default="submissions/ivanov")
    parser.add_argument("--lab", default="transpose")
    parser.add_argument("--backend", default="auto", choices=["auto", "gpu", "emulator"])
    arguments = parser.parse_args()
    what = (arguments.student, arguments.lab, arguments.backend)
    measure(*what)
    runs = [measure(*what) for _run in range(arguments.runs)]
    cores = len(os.sched_getaffinity(0))
    print(f"{arguments.student}, {arguments.lab}: {len(runs)} runs, {cores} cores, seconds from process start\n")
    print(f"{'':12}{'median':>8}{'best':>8}{'worst':>8}{'ratio':>8}{'target':>8}")
    for milestone, target in TARGETS.items():
        times = [run[milestone] for run in runs if milestone in run]
        if times:
            ratio = statistics.median(run[milestone] / run["verdicts"] for run in runs if milestone in run)
            row = (statistics.median(times), min(times), max(times), ratio)
            print(f"{milestone:12}" + "".join(f"{value:8.2f}" for value in row) + (f"{target:8.1f}" if target else ""))


if __name__ == "__main__":
    main()
