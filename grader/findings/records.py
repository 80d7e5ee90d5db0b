"""Findings as JSON, for whoever writes an extension of an editor or a script."""

from __future__ import annotations

import json
from dataclasses import asdict

from grader.findings.formats import Told


def write(told: Told) -> str:
    """The verdict, the points, and a record for each finding (docs/places.md)."""
    result = told.result
    score = result.score
    record = {
        "lab": result.lab,
        "status": result.status,
        "score": {"earned": score.earned, "possible": score.possible, "pending": score.pending},
        "seconds": None if told.seconds is None else round(told.seconds, 3),
        "findings": [asdict(finding) for finding in told.findings],
    }
    return json.dumps(record, ensure_ascii=False, indent=1) + "\n"
