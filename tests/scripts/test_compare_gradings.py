"""What counts as a difference between two gradings."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "compare_gradings.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_gradings", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def result(**changes: Any) -> dict[str, Any]:
    check = {"id": "naive.races", "status": "pass", "earned": 5.0, "message": "no races", "line": None, **changes}
    return {"score": {"earned": 5.0}, "checks": [check, {"id": "naive.correct", "status": "pass"}]}


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        (result(), result(), []),
        (result(), result(message={"id": "races.none"}), []),
        (result(), result(data={"n": 1}), []),
        (result(), result(status="fail"), ["checks[naive.races].status"]),
        (result(), result(earned=4.0, line=3), ["checks[naive.races].earned", "checks[naive.races].line"]),
        (result(data={"n": 1}), result(data={}), ["checks[naive.races].data.n"]),
        (result(data={}), result(), []),
        ({"checks": result()["checks"][:1]}, result() | {"score": {}}, ["checks[naive.correct]"]),
        (result(), {**result(), "checks": result()["checks"][::-1]}, ["checks order"]),
        ({"cases": [{"mismatches": 0}]}, {"cases": [{"mismatches": None}]}, ["cases[0].mismatches"]),
        ({"by_line": [1, 2]}, {"by_line": [1]}, ["by_line"]),
    ],
)
def test_verdicts_marks_and_counters_count_and_texts_do_not(
    script: ModuleType, old: Any, new: Any, places: list[str]
) -> None:
    assert [row.place for row in script.differences(old, new)] == places


def test_what_differs_alike_in_many_files_is_told_once(script: ModuleType) -> None:
    row = script.Difference("checks[a].status", "pass", "fail")
    lines = list(script.tell({f"{name}.cu": [row] for name in "abcde"}))
    assert lines == ["a.cu, b.cu, c.cu and 2 more:\n    checks[a].status: pass → fail"]


def test_samples_and_kernels_with_known_verdicts_are_graded(script: ModuleType) -> None:
    names = [job.name for job in script.jobs()]
    assert "submissions/ivanov (transpose)" in names
    assert "tests/kernels/transpose/good/float4.cu (transpose)" in names
    assert "tests/kernels/matmul/bad/missing_guard.cu (matmul)" in names
