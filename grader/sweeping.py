"""Sweeps of a submission that has been graded: its right kernels and the lab's own, on the GPU or counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.evidence import Evidence
from grader.lab import Lab
from grader.oracle import Oracle
from grader.result import SweepRecord
from grader.submission.bind import bind
from grader.submission.changes import Program
from grader.submission.folder import FoundSubmission
from grader.submission.records import SourceText, Submission
from grader.submission.source import decode
from grader.sweeps import EmulatorSweeps, subjects_of

if TYPE_CHECKING:
    from grader.compiler.process import CompileResult, CompilerProcess


def changeable(lab: Lab, found: FoundSubmission, submission: Submission) -> Program:
    """A submission of which changed copies can be made: its texts are read and bound anew."""
    main = submission.sources[: len(found.files)]

    def rebind(texts: Mapping[Path, SourceText]) -> Submission:
        def header(path: Path) -> SourceText:
            return texts.get(path) or decode(path)

        return bind(found, [texts.get(source.path, source) for source in main], lab, header)

    return Program(submission, rebind)


def count_work(
    lab: Lab,
    program: Program,
    evidence: Mapping[str, Evidence],
    oracle: Oracle,
    compiler: CompilerProcess,
    architecture: str,
) -> list[SweepRecord]:
    """All of the lab's sweeps on the emulator; `evidence` by variant tells which kernels are right."""

    def compile_program(sources: Mapping[str, str], expressions: Sequence[str]) -> CompileResult:
        return compiler.compile(sources, expressions, architecture)

    subjects, left_out = subjects_of(lab, program, evidence)
    return EmulatorSweeps(lab, oracle, compile_program).run(subjects, left_out)
