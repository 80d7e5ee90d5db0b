"""compute-sanitizer: bad memory accesses and races as NVIDIA's own checker sees them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from grader.backends.base import LaunchRequest
from grader.gpu.profilers import replay
from grader.gpu.profilers.tool import ToolFailed, run
from grader.result import Witness

FOUND = 86
"""The exit status that it is told to end with when it finds something."""

TOOLS = ("memcheck", "racecheck")
_HEADING = re.compile(r"^=========\s+((?:Invalid|Misaligned|Error: Race|Warning: Race|Barrier|Uninitialized)[^\n]*)$")
_PLACE = re.compile(r"\bin\s+\S*?([\w.+-]+\.\w+):(\d+)|\bat\s+\S*?([\w.+-]+\.\w+):(\d+)")
_NEXT_LINES = 12


def check(folder: Path, modules: Mapping[str, bytes], launches: Sequence[tuple[str, LaunchRequest]]) -> list[Witness]:
    """What it finds in some launches, each kind of finding once a line.

    Raises
    ------
    ToolFailed : it is not there, or fails for reasons of its own.
    """
    replay.write(folder, modules, launches)
    found: list[Witness] = []
    for tool in TOOLS:
        options = ["--error-exitcode", str(FOUND), "--print-limit", "50", "--log-file", str(folder / f"{tool}.txt")]
        extra = ["--racecheck-report", "analysis"] if tool == "racecheck" else []
        status, output = run(["compute-sanitizer", "--tool", tool, *options, *extra], folder)
        try:
            log = (folder / f"{tool}.txt").read_text(encoding="utf-8", errors="replace")
        except OSError:
            log = ""
        findings = parse(log, tool)
        # After an error in the kernel the replay itself ends with 1.
        if not findings and status not in (0, FOUND):
            if found:
                # The kernel stops at what was found before.
                break
            raise ToolFailed(f"compute-sanitizer {tool}: status {status}: {(log + output).strip()[-200:]}")
        found += findings
    return found


def parse(log: str, tool: str) -> list[Witness]:
    """The findings in its log: what, and the line of the student's file where it says so."""
    rows = log.splitlines()
    found: dict[tuple[str, int | None], Witness] = {}
    for index, row in enumerate(rows):
        heading = _HEADING.match(row)
        if heading is None:
            continue
        line = None
        for following in rows[index : index + _NEXT_LINES]:
            place = _PLACE.search(following)
            if place is not None:
                line = int(place[2] or place[4])
                break
        text = heading[1].strip()
        found.setdefault((text, line), Witness(tool="compute-sanitizer", name=tool, text=text[:300], line=line))
    return list(found.values())
