"""Findings as workflow commands of GitHub Actions: each shows as an annotation at its line.

https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands
"""

from __future__ import annotations

from grader.findings.finding import Finding, dearest_first, title_of
from grader.findings.formats import Told

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def write(told: Told) -> str:
    """A command for each finding; no text of a student can be a command of its own, as each is one line.

    GitHub keeps the first ten of each level that a step prints: those that most points hang on.
    """
    return "".join(f"{_command(finding)}\n" for finding in dearest_first(told.findings))


def _command(finding: Finding) -> str:
    properties = {
        "file": finding.file,
        "line": finding.line,
        "col": finding.column,
        "endColumn": finding.end_column,
        "title": title_of(finding),
    }
    told = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items() if value)
    words = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
    return f"::{_COMMANDS[finding.level]} {told}::{_data(words)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
