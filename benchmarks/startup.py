"""Whole-process times of `grade`: until the verdicts stand on the terminal, until the HTML, until the PDF.

    python benchmarks/startup.py [--runs 7] [--student submissions/ivanov] [--lab transpose] [--backend auto]

Every run is a fresh process with an empty output folder; times count from its start.  One run that is not counted
goes before, so that files are in the page cache.  Prints median, best and worst.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGETS_S = {"verdicts": 1.0, "HTML": 2.5, "PDF": 4.5}


def measure(student: str, lab: str, backend: str) -> dict[str, float]:
    """Seconds from process start to each milestone of one run."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "grader", student, "--lab", lab, "--out", out, "--lang", "en"]
        command += ["--backend", backend]
        started = time.perf_counter()
        reached: dict[str, float] = {}
        # Compiled modules are kept from one run to the next, as they are wherever the package is installed.
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            for line in process.stdout:
                elapsed = time.perf_counter() - started
                if line.startswith("Report:"):
                    reached["HTML"] = elapsed
                elif line.startswith("PDF:"):
                    reached["PDF"] = elapsed
                elif "HTML" not in reached:
                    # The last line before the report's is the end of the verdicts.
                    reached["verdicts"] = elapsed
        if process.returncode not in (0, 1) or not list(Path(out).glob("*/*/report.html")):
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
    print(f"{'':10}{'median':>8}{'best':>8}{'worst':>8}{'target':>8}")
    for milestone, target in TARGETS_S.items():
        times = [run[milestone] for run in runs if milestone in run]
        if times:
            row = (statistics.median(times), min(times), max(times), target)
            print(f"{milestone:10}" + "".join(f"{value:8.2f}" for value in row))


if __name__ == "__main__":
    main()
