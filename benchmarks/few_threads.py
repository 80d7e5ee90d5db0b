"""Speed of the emulator on launches of few threads, beside that of another checkout in the same run.

    python benchmarks/few_threads.py [--against CHECKOUT]

Processor time of one launch, all observers on, of a module that is compiled and parsed already: of the first launch in
its process, generating and compiling code included, and of the best of three later ones.  Peak memory is that of a
process of its own.  `--against` names a folder with another version of the package `grader`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROWS = (
    ("serial_transpose", 256, True),
    ("serial_transpose", 1024, False),
    ("serial_product", 64, True),
    ("serial_product", 128, False),
    ("column_tiles", 128, True),
    ("column_tiles", 256, True),
    ("square_tiles", 128, True),
    ("square_tiles", 256, True),
    ("square_tiles", 512, True),
)
"""Kernel, N, whether the other checkout is asked as well: some take it minutes."""


def measure(kernel: str, n: int) -> dict[str, Any]:
    """Run one row in this process."""
    import numpy as np

    from grader.compiler import worker
    from grader.ptx.frontend.parser import parse
    from grader.ptx.launch import Launch, launch
    from grader.ptx.limits import Limits
    from grader.ptx.memory import Device

    source = Path(__file__).with_suffix(".cu").read_bytes()
    options = ["--gpu-architecture=compute_75", "-lineinfo", "-default-device"]
    module = parse(worker.compile_source("main.cu", source, {}, [], options).ptx.decode())
    rng = np.random.default_rng(n)
    a, b = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    inputs = [a] if kernel == "serial_transpose" else [a, b]
    shape = {"column_tiles": ((n // 64, n // 64), (512,)), "square_tiles": ((n // 64, n // 64), (64,))}
    grid, block = shape.get(kernel, ((1,), (1,)))
    times = []
    for _ in range(4):
        device = Device()
        passed = [device.buffer(f"in{k}", array) for k, array in enumerate(inputs)]
        target = device.buffer("out", 4 * n * n)
        started = time.process_time()
        report = launch(
            module,
            Launch(
                kernel,
                grid,
                block,
                [*passed, target, np.int32(n)],
                device=device,
                observe=True,
                limits=Limits(seconds=3600),
            ),
        )
        times.append(time.process_time() - started)
        expected = a.T if len(inputs) == 1 else a @ b
        if not np.allclose(target.read(np.float32, (n, n)), expected, rtol=1e-3) or report.hazards:
            sys.exit(f"{kernel} came out wrong")
        if times[-1] > 10:
            break
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    counters = [
        (c.line, c.space, c.op, c.requests, c.wavefronts, c.sectors, c.ideal, c.unique_bytes)
        for c in report.counters.by_line
    ]
    return {
        "first": times[0],
        "later": min(times[1:] or times),
        "instructions": report.thread_instructions,
        "peak": peak,
        "counters": counters,
    }


def asked(kernel: str, n: int, folder: str) -> dict[str, Any]:
    """One row in a process of its own, by the package in a folder."""
    # Versions differ in how a launch is written down: each is asked by its own copy of this program.
    command = [sys.executable, str(Path(folder, "benchmarks", "few_threads.py")), "--row", kernel, str(n)]
    result = subprocess.run(command, env={**os.environ, "PYTHONPATH": folder}, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", help="a folder with another version of the package")
    parser.add_argument("--row", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.row:
        print(json.dumps(measure(options.row[0], int(options.row[1]))))
        return
    here = str(Path(__file__).parent.parent)
    head = f"{'kernel':18}{'N':>6}{'M instr':>9} |{'first s':>9}{'later s':>9}{'ns/instr':>10}{'M/s':>7}{'MB':>6} |"
    print(head + (f"{'other s':>9}{'M/s':>7}{'MB':>6}{'ratio':>8}" if options.against else ""))
    for kernel, n, compared in ROWS:
        mine = asked(kernel, n, here)
        millions = mine["instructions"] / 1e6
        row = f"{kernel:18}{n:6}{millions:9.1f} |{mine['first']:9.3f}{mine['later']:9.3f}"
        row += f"{1e3 * mine['later'] / millions:10.1f}{millions / mine['later']:7.0f}{mine['peak']:6.0f} |"
        if options.against and compared:
            other = asked(kernel, n, options.against)
            row += f"{other['later']:9.3f}{millions / other['later']:7.1f}{other['peak']:6.0f}"
            row += f"{other['later'] / mine['later']:7.0f}x"
            if other["counters"] != mine["counters"]:
                row += "  counters differ"
        print(row, flush=True)


if __name__ == "__main__":
    main()
