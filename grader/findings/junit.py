"""A result as JUnit XML, as GitLab and build servers show tests: a case for each check (grader/exports/junit.py)."""

from __future__ import annotations

from grader.exports.entries import Entry
from grader.exports.junit import document
from grader.findings.formats import Told


def write(told: Told) -> str:
    """The document's text."""
    result = told.result
    return document([Entry(result.student.id, result)], result.lab, told.language).decode()
