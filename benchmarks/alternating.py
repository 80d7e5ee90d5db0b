"""What launches cost beside another version of the emulator, on a machine that does other work as well.

    python benchmarks/alternating.py CHECKOUT [--rounds 15] [--rows tiled_matmul,halving_sum]

Both versions have a process of their own and take turns, launch by launch, in the same run.  Figures are processor
time of the process, the least of all rounds: what others do adds to a launch and never takes anything away.  Modules
are compiled and parsed already.  The results and the counters of both have to be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
ROWS = (
    ("naive_transpose", 64),
    ("naive_transpose", 256),
    ("tiled_transpose", 64),
    ("tiled_transpose", 256),
    ("naive_matmul", 64),
    ("naive_matmul", 256),
    ("tiled_matmul", 64),
    ("tiled_matmul", 256),
    ("interleaved_sum", 1 << 18),
    ("halving_sum", 1 << 18),
    ("histogram", 1 << 18),
    ("guarded_matmul", 250),
    ("collatz", 1 << 16),
)
NOISE = 1.05


def serve() -> None:
    """Carry out a launch for each line of the input, by the package that this process imports."""
    import numpy as np

    import grader.ptx
    from grader.compiler import worker
    from grader.ptx.frontend.parser import parse
    from grader.ptx.limits import Limits
    from grader.ptx.memory import Device

    source = (FOLDER / "emulator_kernels.cu").read_bytes()
    options = ["--gpu-architecture=compute_75", "-lineinfo", "-default-device"]
    module = parse(worker.compile_source("main.cu", source, {}, [], options).ptx.decode())

    def carry_out(kernel: str, n: int, observe: bool) -> dict[str, Any]:
        rng = np.random.default_rng(n)
        shared = 0
        arrays: list[Any]
        if kernel.endswith("_sum"):
            grid, block, shared = (n // 256,), (256,), 1024
            arrays, size = [rng.random(n, np.float32), np.zeros(n // 256, np.float32)], n - 3
        elif kernel == "histogram":
            grid, block, size = (64,), (256,), n
            arrays = [rng.integers(0, 1 << 16, n).astype(np.int32), np.zeros(256, np.int32)]
        elif kernel == "collatz":
            grid, block, size = (n // 256,), (256,), n - 536
            arrays = [np.arange(n, dtype=np.int32), np.zeros(n, np.int32)]
        else:
            grid, block, size = (-(-n // 16), -(-n // 16)), (16, 16), n
            count = 2 if kernel.endswith("matmul") else 1
            arrays = [*(rng.random((n, n), np.float32) for _ in range(count)), np.zeros((n, n), np.float32)]
        device = Device()
        passed = [*(device.buffer(f"b{k}", array) for k, array in enumerate(arrays)), np.int32(size)]
        more: dict[str, Any] = {"device": device, "shared_bytes": shared, "observe": observe}
        more["limits"] = Limits(seconds=600)
        # Before it had a record for a launch, the package took what belongs to one as parameters.
        record = getattr(grader.ptx, "Launch", None)
        started = time.process_time()
        report = (
            grader.ptx.launch(module, record(kernel, grid, block, passed, **more))
            if record
            else grader.ptx.launch(module, kernel, grid, block, passed, **more)
        )
        seconds = time.process_time() - started
        out = passed[-2].read(arrays[-1].dtype, arrays[-1].shape)
        counts = [
            (c.line, c.space, c.op, c.requests, c.wavefronts, c.sectors, c.ideal, c.unique_bytes)
            for c in report.counters.by_line
        ]
        found = zlib.crc32(out.tobytes()), sorted(counts), len(report.hazards), report.thread_instructions
        return {"seconds": seconds, "found": found}

    for line in sys.stdin:
        print(json.dumps(carry_out(*json.loads(line))), flush=True)


class Version:
    """A checkout's emulator in a process of its own."""

    def __init__(self, folder: str) -> None:
        environment = {**os.environ, "PYTHONPATH": folder, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, folder, "--serve"]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/"
        )

    def ask(self, row: tuple[str, int, bool]) -> dict[str, Any]:
        """Carry out one launch."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(row) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def close(self) -> None:
        """Let it end."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def main() -> None:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("against", metavar="CHECKOUT", help="a folder with another version of the package")
    parser.add_argument("--rounds", type=int, default=15, help="launches of each version in each row")
    parser.add_argument("--rows", default="", help="kernels to be looked at, all where none is named")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve()
        return
    here, there = Version(str(FOLDER.parent)), Version(str(Path(options.against).resolve()))
    wanted = options.rows.split(",") if options.rows else [kernel for kernel, _n in ROWS]
    print(f"{'kernel':18}{'N':>8}{'':>10}{'here ms':>10}{'there ms':>10}{'ratio':>8}")
    for kernel, n in (row for row in ROWS if row[0] in wanted):
        for observe in (False, True):
            row = (kernel, n, observe)
            pairs = [(here.ask(row), there.ask(row)) for _ in range(options.rounds)]
            mine, theirs = (min(pair[k]["seconds"] for pair in pairs) for k in (0, 1))
            ratio = mine / theirs
            note = "" if pairs[0][0]["found"] == pairs[0][1]["found"] else "  they differ"
            print(
                f"{kernel:18}{n:8}{'observed' if observe else 'plain':>10}{1e3 * mine:10.2f}{1e3 * theirs:10.2f}"
                f"{ratio:8.2f}{'' if ratio < NOISE else ' *'}{note}",
                flush=True,
            )
    here.close()
    there.close()


if __name__ == "__main__":
    main()
