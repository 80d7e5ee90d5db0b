"""Whole programs graded as they are, without a `submission.yaml`: which kernel is which variant, and every verdict.

The programs are those of `tests/programs`; what each is expected to get stands in its `expected.yaml` and was worked
out by hand.  A check that rests on one that fails is skipped, as docs/result.md says; all that is not listed passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from grader.errors import UsageError
from grader.grading.options import GradeOptions
from grader.grading.pipeline import grade
from grader.lab.checks import CHECKS
from grader.result import Result
from tests.marks_only import marks_only
from tests.programs.expected import PROGRAMS, expected_of, files_of, line_of

GRADED = [path for path in PROGRAMS if "grading" in expected_of(path)]


def param(folder: Path) -> Any:
    expected = expected_of(folder)
    marks = [] if expected.get("quick") else [pytest.mark.slow]
    if wrong := expected["grading"].get("wrong"):
        marks.append(pytest.mark.xfail(strict=True, reason=wrong, raises=AssertionError))
    return pytest.param(folder, marks=marks, id=folder.name)


def verdicts(result: Result, variant: str) -> dict[str, str | None]:
    """The status of each check of a variant, and the line of those that fail."""
    return {
        check.check: f"fail {check.line}" if check.status == "fail" else check.status
        for check in result.checks
        if check.variant == variant
    }


def wanted_verdicts(
    checks: Mapping[str, str | None], fails: Mapping[str, int | None], skips: list[str]
) -> dict[str, str | None]:
    """What a variant's checks must say when exactly `fails` fail (each at its line), and `skips` do not apply."""
    wanted: dict[str, str | None] = {}
    for name in sorted(checks, key=list(CHECKS).index):
        kind = CHECKS[name]
        blocked = any(wanted.get(need, "pass") != "pass" and need not in skips for need in kind.needs)
        if name in fails:
            wanted[name] = f"fail {fails[name]}"
        elif name in skips or blocked or any(wanted.get(need, "pass") != "pass" for need in kind.credit_needs):
            wanted[name] = "skip"
        else:
            # No GPU is here, so nothing is timed.
            wanted[name] = "skip" if name == "speedup" else "pass"
    return wanted


@pytest.mark.parametrize("folder", [param(folder) for folder in GRADED])
def test_program(folder: Path) -> None:
    expected = expected_of(folder)
    files = files_of(folder, expected)
    grading = expected["grading"]
    lab = marks_only(grading["lab"])
    handed_in = files[0] if len(list(folder.iterdir())) == 2 else folder
    if "refused" in grading:
        with pytest.raises(UsageError) as refused:
            grade(handed_in, lab, GradeOptions(backend="emulator"))
        assert refused.value.message.id == grading["refused"]
        return
    result = grade(handed_in, lab, GradeOptions(backend="emulator"))
    got: dict[str, dict[str, str | None]] = {}
    wanted: dict[str, dict[str, str | None]] = {}
    for name, variant in grading["variants"].items():
        record = result.variants[name]
        found = verdicts(result, name)
        places = variant.get("fails", {})
        fails = {check: None if at is None else line_of(folder, files, at) for check, at in places.items()}
        # A line that is not given may be any.
        found |= {
            check: "fail None" for check, at in fails.items() if at is None and str(found[check]).startswith("fail")
        }
        got[name] = {"kernel": record.kernel} | found
        wanted[name] = {"kernel": variant.get("kernel")} | wanted_verdicts(found, fails, variant.get("skips", []))
    assert got == wanted, "\n".join(f"{c.id}: {c.message}" for c in result.checks if c.status == "fail")
