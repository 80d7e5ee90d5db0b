"""Gradings with the search for the smallest change, by one compiler for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from grader.grading.options import GradeOptions, Warm
from grader.grading.pipeline import grade
from grader.lab.labs import find
from grader.result import Result

KERNELS = Path(__file__).parent.parent / "kernels"

Grade = Callable[[str, Path], Result]


@pytest.fixture(scope="package")
def graded() -> Iterator[Grade]:
    """Grades a file for a lab, with what is kept from students."""
    with Warm() as warm:

        def grade_one(lab: str, path: Path) -> Result:
            options = GradeOptions(backend="emulator", answers=True)
            return grade(path, replace(find(lab, ()), sweeps=()), options, warm=warm)

        yield grade_one
