"""Findings as GCC and Clang print theirs: the form that every editor's problem matcher knows.

lab.cu:44:5: error: 32-way bank conflict in line 44 … [bank_conflicts]
lab.cu:44:5: note: Lanes 0 and 1 of a warp want …
"""

from __future__ import annotations

from collections.abc import Iterator

from grader.findings.finding import Finding
from grader.findings.formats import Told
from grader.report.visible import visible_line


def write(told: Told) -> str:
    """A line for each finding, and one for its hint; "" where there is nothing to be mended."""
    return "".join(f"{line}\n" for finding in told.findings for line in _lines(finding))


def _lines(finding: Finding) -> Iterator[str]:
    # An editor passes over a line without a place; what concerns no line stands at the file's beginning.
    prefix = f"{visible_line(finding.file)}:{finding.line or 1}:{finding.column or 1}: " if finding.file else ""
    yield f"{prefix}{finding.level}: {finding.message} [{finding.check}]"
    if finding.hint:
        yield f"{prefix}note: {finding.hint}"
