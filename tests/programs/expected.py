"""What each program here is expected to do: its `expected.yaml`, read.

A folder a program: its `.cu` files (the one with `main` in its name first, or `files`), its headers and data, and

    about: one sentence                what the program shows
    files: [main.cu, other.cu]         all `.cu` files of the folder where left out
    arguments: ["100"]                 of the command line
    stdin: text
    refused: submission.utf16          id of the message that the program is refused with; then nothing of the below
    exit: 0                            null where it does not come to its own end
    cause: programs.needs_threads      id of the message that says why
    stdout: |                          exactly
    prints: [text, …]                  what stands in the output, where times are printed too
    launches:                          all of them, in order; grid and block with as many numbers as they have
      - {kernel: k, grid: [4], block: [256], shared_bytes: 0, status: ran, arguments: {n: 1000}, times: 3}
    findings: [[kind, line], …]        all errors and warnings, in any order
    remarks: [[kind, line], …]         all remarks, compared where the key stands
    grading:                           what grading makes of it (tests/grading/test_programs.py)
      lab: transpose
      variants:
        naive: {kernel: name, fails: {coalescing: line}, skips: [ragged_sizes]}
        padded: {fails: {present: null}}        no kernel was found
      host: {fails: {host_code: line}}
      wrong: why grading does not say this yet
    wrong: why grade run does not do this yet
    only_here: reason                  what a GPU does otherwise: not compared with one
    only_printed: reason               the same of its launches alone
    extra: thrust                      what has to be installed beside the grader; else it is skipped
    quick: true                        among the quick tests

A line is its number or, better, a text that stands in one line only: "file.h: text" where it is not the first file.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

from grader.submission.source import text_of_bytes

HERE = Path(__file__).parent
PROGRAMS = sorted(path.parent for path in HERE.glob("*/expected.yaml"))
KEYS = {
    *("about", "files", "arguments", "stdin", "refused", "exit", "cause", "stdout", "prints", "launches", "findings"),
    *("grading", "remarks", "wrong", "only_here", "only_printed", "quick", "extra"),
}


@cache
def expected_of(folder: Path) -> dict[str, Any]:
    """The folder's `expected.yaml`, for all who ask to read alone: every process that collects tests reads them all."""
    expected = yaml.load((folder / "expected.yaml").read_text("utf-8"), yaml.CSafeLoader)
    assert set(expected) <= KEYS, f"{folder.name}: unknown keys {set(expected) - KEYS}"
    return dict(expected)


def files_of(folder: Path, expected: dict[str, Any]) -> list[Path]:
    """The program's files, the one with `main` in its name first."""
    names = expected.get("files") or sorted(p.name for p in folder.glob("*.cu"))
    return [folder / name for name in sorted(names, key=lambda name: "main" not in name)]


def line_of(folder: Path, files: list[Path], place: int | str) -> int:
    """The number of the line that `place` means."""
    if isinstance(place, int):
        return place
    name, colon, rest = place.partition(": ")
    path = folder / name if colon and (folder / name).is_file() else files[0]
    wanted = rest if path is not files[0] or name == files[0].name else place
    lines = text_of_bytes(path.read_bytes())[0].replace("\r\n", "\n").split("\n")
    found = [number for number, text in enumerate(lines, start=1) if wanted in text]
    assert len(found) == 1, f"{folder.name}: {wanted!r} stands in lines {found}"
    return found[0]


def wanted_launches(expected: dict[str, Any]) -> list[dict[str, Any]]:
    """The launches expected, one a launch, each with its status."""
    every = []
    for launch in expected["launches"]:
        plain = {"status": "ran"} | {key: value for key, value in launch.items() if key != "times"}
        every += [plain] * launch.get("times", 1)
    return every
