"""Whole programs: what each prints, launches and is told, as the `expected.yaml` beside it says.

A folder a program: its `.cu` files (the one with `main` first by name order, or `files`), its headers, and

    files: [main.cu, other.cu]     all `.cu` files of the folder where left out
    arguments: ["100"]             of the command line
    exit: 0                        null where it does not come to its own end
    cause: programs.needs_threads  id of the message that says why
    stdout: |                      exactly
    launches:                      all of them, in order; grid and block with as many numbers as they have
      - {kernel: k, grid: [4], block: [256], shared_bytes: 0, status: ran, arguments: {n: 1000}}
    findings: [[kind, line], …]    all errors and warnings, in any order; remarks are not listed
    slow: true                     kept out of the quick tests
    only_here: reason              what a GPU does otherwise: not compared with one
    binds: {lab: …}                what grading makes of it, for the tests of grading
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from grader.programs.observe import observe
from grader.programs.records import ObservedLaunch

HERE = Path(__file__).parent
PROGRAMS = sorted(path.parent for path in HERE.glob("*/expected.yaml"))
KNOWN_KEYS = {
    "files",
    "arguments",
    "stdin",
    "exit",
    "cause",
    "stdout",
    "launches",
    "findings",
    "binds",
    "slow",
    "only_here",
}


def expected_of(folder: Path) -> dict[str, Any]:
    found = yaml.safe_load((folder / "expected.yaml").read_text(encoding="utf-8"))
    assert set(found) <= KNOWN_KEYS, f"{folder.name}: unknown keys {set(found) - KNOWN_KEYS}"
    return dict(found)


def files_of(folder: Path, expected: dict[str, Any]) -> list[Path]:
    names = expected.get("files") or sorted(p.name for p in folder.glob("*.cu"))
    return [folder / name for name in sorted(names, key=lambda name: "main" not in name)]


@pytest.fixture(scope="session")
def host_cache(pytestconfig: pytest.Config) -> Path:
    """Compiled host code by its hash, kept from one run of the tests to the next."""
    assert pytestconfig.cache is not None
    return pytestconfig.cache.mkdir("programs")


def seen(launch: ObservedLaunch, wanted: dict[str, Any]) -> dict[str, Any]:
    """Of a launch as much as is asked for."""
    found: dict[str, Any] = {}
    for key, value in wanted.items():
        if key in ("grid", "block"):
            found[key] = list(getattr(launch, key))[: len(value)]
            assert set(getattr(launch, key)[len(value) :]) <= {1}
        elif key == "arguments":
            found[key] = {a.name: a.value for a in launch.arguments if a.name in value}
        else:
            found[key] = getattr(launch, key)
    return found


@pytest.mark.parametrize(
    "folder",
    [pytest.param(p, marks=[pytest.mark.slow] if expected_of(p).get("slow") else [], id=p.name) for p in PROGRAMS],
)
def test_program(folder: Path, host_cache: Path) -> None:
    expected = expected_of(folder)
    stdin = expected.get("stdin", "").encode()
    got = observe(files_of(folder, expected), expected.get("arguments", []), stdin=stdin, host_cache=host_cache)
    assert got.cause is None or got.cause.id == expected.get("cause"), got.cause
    assert got.exit == expected["exit"], got.cause
    if "stdout" in expected:
        assert got.stdout.decode() == expected["stdout"]
    launches = [seen(launch, wanted) for launch, wanted in zip(got.launches, expected["launches"], strict=False)]
    assert launches == expected["launches"]
    assert len(got.launches) == len(expected["launches"])
    told = sorted([f.kind, f.line] for f in got.findings if f.severity != "remark")
    assert told == sorted(expected["findings"]), [f for f in got.findings if f.severity != "remark"]
