"""What a result says of the smallest changes that make what was handed in right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from grader.grading.options import GradeOptions
from grader.lab.records import Lab
from grader.repair.of_function import function_repairs
from grader.repair.search import with_repairs, without_answers
from grader.result import Result
from grader.running.evidence import Evidence

if TYPE_CHECKING:
    from grader.running.called import Called


def with_function_changes(result: Result, called: Called | None, found: Mapping[str, Evidence]) -> Result:
    """`result` with the smallest change that makes a wrong function, or a program, right.

    called: how it was run, None where it was not.  found: evidence by variant.
    """
    return with_repairs(result, function_repairs(called, found, result.checks)) if called is not None else result


def with_answers(result: Result, lab: Lab, options: GradeOptions) -> Result:
    """`result` with no change to be read from it, unless the student, or who grades, is to see them."""
    return result if lab.repairs == "student" or options.answers else without_answers(result)
