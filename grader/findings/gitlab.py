"""Findings as a Code Quality report of GitLab: a merge request shows them beside its lines.

https://docs.gitlab.com/ci/testing/code_quality/
"""

from __future__ import annotations

import json

from grader.findings.finding import identities
from grader.findings.formats import Told

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def write(told: Told) -> str:
    """A list with a record for each finding that has a file; GitLab knows no other."""
    records = [
        {
            "description": f"{finding.message} {finding.hint}".strip(),
            "check_name": finding.check,
            "fingerprint": identity,
            "severity": _SEVERITIES[finding.level],
            "location": {"path": finding.file, "lines": {"begin": finding.line or 1}},
        }
        for finding, identity in zip(told.findings, identities(told.findings), strict=True)
        if finding.file
    ]
    return json.dumps(records, ensure_ascii=False, indent=1) + "\n"
