"""Whole programs changed at random: whatever they do, they are run or said not to run, and nothing of ours fails.

`python -m tests.observation.test_fuzz SECONDS [SEED]` goes on for as long as it is told and keeps what fails.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.programs.observation import observed
from grader.submission.kernels.records import ObservedRuns
from grader.submission.source import decode_bytes

PROGRAMS = sorted(Path(__file__).parents[1].glob("*/*.cu"))
NUMBERS = [b"0", b"-1", b"1073741824", b"3", b"99999999999", b"1"]
STATEMENTS = [
    *(b"return 0;", b"while (1);", b"cudaDeviceReset();", b"cudaFree(0);", b"*(int *)0 = 1;", b"exit(3);", b"abort();"),
    *(b"throw 1;", b"cudaGetLastError();"),
]


def changed(chance: random.Random, text: bytes) -> bytes:
    """A program with one to four changes: a number, a statement more, a line gone or doubled, a name for another."""
    for _change in range(chance.randint(1, 4)):
        lines = text.split(b"\n")
        line = chance.randrange(len(lines))
        match chance.randrange(5):
            case 0:
                text = _replaced(chance, text, rb"\b\d+\b", NUMBERS)
            case 1:
                text = _replaced(chance, text, rb";", [b"; " + statement for statement in STATEMENTS])
            case 2:
                text = b"\n".join([*lines[:line], *lines[line + 1 :]])
            case 3:
                text = b"\n".join([*lines[:line], chance.choice(lines), *lines[line:]])
            case _:
                names = rb"\b(?:cuda\w+|d_\w+|h_\w+|n|N|&)\b"
                text = _replaced(chance, text, names, re.findall(names, text) or [b"n"])
    return text


def _replaced(chance: random.Random, text: bytes, pattern: bytes, by: list[bytes]) -> bytes:
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    one = chance.choice(found)
    return text[: one.start()] + chance.choice(by) + text[one.end() :]


def run(chance: random.Random, folder: Path) -> ObservedRuns | None:
    """What comes of one changed program, which lies in `folder` then; None where it is no text any more."""
    path = folder / "a.cu"
    path.write_bytes(changed(chance, chance.choice(PROGRAMS).read_bytes()))
    try:
        return observed([decode_bytes(path, path.read_bytes())], None, [96, 64])
    except UsageError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_changed_program_is_run_or_said_not_to_run(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    for _program in range(4):
        found = run(chance, tmp_path)
        assert found is None or found.failed is None, (tmp_path / "a.cu").read_bytes()


def main(seconds: float, seed: int = 0) -> None:
    """Go on until the time is over; each program that fails is kept."""
    chance, end, runs = random.Random(seed), time.monotonic() + seconds, 0
    folder = Path(tempfile.mkdtemp(prefix="changed-programs-"))
    while time.monotonic() < end:
        runs += 1
        try:
            found = run(chance, folder)
            fault = found.failed if found is not None else None
        except Exception as error:
            fault = error  # type: ignore[assignment]
        if fault is not None:
            (folder / "a.cu").rename(folder / f"{runs}.cu")
            print(f"{folder}/{runs}.cu: {fault!r}", flush=True)
    print(f"{runs} programs")


if __name__ == "__main__":
    main(float(sys.argv[1]), *map(int, sys.argv[2:]))
