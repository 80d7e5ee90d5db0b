"""A function, or a program, as it was run, so that it can be run with other texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from grader.programs.sources import Program
from grader.running.evidence import Evidence
from grader.running.function_runs import FunctionRuns
from grader.submission.cpp.tree import ParsedFile


@dataclass(frozen=True)
class Called:
    """How a function, or a program, was run, and how it is with a change.

    files: of the submission.  changed: the program with a file's text replaced, by its name.
    graded: the evidence of every variant of such a program.

    Raises (changed, graded)
    ------
    UsageError : it cannot be read.  InternalError : no program can be run.
    """

    runs: FunctionRuns
    program: Program
    files: Sequence[ParsedFile]
    changed: Callable[[str, str], Program]
    graded: Callable[[Program], Mapping[str, Evidence]]
