"""Whole programs: what each prints, launches and is told, as the `expected.yaml` beside it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.errors import UsageError
from grader.programs.execution import Setting, run_program
from grader.programs.records import RunLimits, Start
from grader.programs.sources import Sources
from grader.programs.toolchain.advance import thrust_folder
from grader.submission.kernels.records import SeenLaunch
from grader.submission.source import text_of_bytes
from tests.programs.expected import PROGRAMS, expected_of, files_of, line_of, wanted_launches

LIMITS = RunLimits(launch_instructions=200_000_000, launch_issued=6_000_000, kernel_instructions=1_000_000_000)
"""Less than by default, so that what is beyond them takes no time, and machine code of few functions is made."""


def seen(launch: SeenLaunch, wanted: dict[str, Any]) -> dict[str, Any]:
    """Of a launch as much as is asked for."""
    found: dict[str, Any] = {}
    for key, value in wanted.items():
        if key in ("grid", "block"):
            found[key] = list(getattr(launch, key))[: len(value)]
            assert set(getattr(launch, key)[len(value) :]) <= {1}
        elif key == "arguments":
            found[key] = {a.name: a.value for a in launch.arguments if a.name in value}
        else:
            found[key] = getattr(launch, "display" if key == "kernel" else key)
    return found


def param(folder: Path) -> Any:
    expected = expected_of(folder)
    marks = [] if expected.get("quick") else [pytest.mark.slow]
    if expected.get("extra") == "thrust":
        marks.append(pytest.mark.skipif(thrust_folder() is None, reason="the extra `thrust` is not installed"))
    if wrong := expected.get("wrong"):
        marks.append(pytest.mark.xfail(strict=True, reason=wrong, raises=AssertionError))
    return pytest.param(folder, marks=marks, id=folder.name)


@pytest.mark.parametrize("folder", [param(folder) for folder in PROGRAMS])
def test_program(folder: Path, host_cache: Path) -> None:
    expected = expected_of(folder)
    files = files_of(folder, expected)
    start = Start(expected.get("arguments", []), expected.get("stdin", "").encode())
    if "refused" in expected:
        with pytest.raises(UsageError) as refused:
            run_program(Sources(files), start)
        assert refused.value.message.id == expected["refused"]
        return
    got = run_program(Sources(files), start, LIMITS, Setting(host_cache=host_cache))
    assert (got.cause.id if got.cause else None) == expected.get("cause"), got.cause
    assert got.exit == expected["exit"], got.stdout + got.stderr
    if "stdout" in expected:
        assert got.stdout.decode(errors="replace") == expected["stdout"]
    for text in expected.get("prints", []):
        assert text in text_of_bytes(got.stdout)[0]
    wanted = wanted_launches(expected)
    assert [seen(*pair) for pair in zip(got.launches, wanted, strict=False)] == wanted[: len(got.launches)]
    assert len(got.launches) == len(wanted)
    told = sorted([f.kind, f.line] for f in got.findings if f.severity != "remark")
    listed = sorted([kind, line_of(folder, files, line)] for kind, line in expected.get("findings", []))
    assert told == listed, [f for f in got.findings if f.severity != "remark"]
