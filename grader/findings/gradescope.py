"""A result for Gradescope: its `results.json` (grader/exports/gradescope.py)."""

from __future__ import annotations

from grader.exports.gradescope import results
from grader.findings.formats import Told


def write(told: Told) -> str:
    """The file's text."""
    return results(told.result, told.language, told.seconds).decode()
