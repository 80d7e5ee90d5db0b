"""Findings as SARIF 2.1.0, the Static Analysis Results Interchange Format of OASIS.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html; GitHub's code scanning and editors read it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from grader import __version__
from grader.findings.finding import Finding, identities, title_of
from grader.findings.formats import Told

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def write(told: Told) -> str:
    """A log of one run: a rule for each kind of check that found something, a result for each finding."""
    found: dict[str, Finding] = {}
    for finding in told.findings:
        found.setdefault(finding.check, replace(finding, variants=()))
    rules = list(found)
    driver = {"name": "cuda-lab-grader", "version": __version__, "rules": [_rule(one) for one in found.values()]}
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "language": told.language,
        "invocations": [{"executionSuccessful": told.result.status not in ("error", "not_judged")}],
        "results": [
            _result(finding, rules.index(finding.check), identity)
            for finding, identity in zip(told.findings, identities(told.findings), strict=True)
        ],
        "properties": {
            "lab": told.result.lab,
            "status": told.result.status,
            "earned": told.result.score.earned,
            "possible": told.result.score.possible,
            "pending": told.result.score.pending,
        },
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, ensure_ascii=False, indent=1) + "\n"


def _rule(finding: Finding) -> dict[str, Any]:
    return {"id": finding.check, "shortDescription": {"text": title_of(finding)}}


def _result(finding: Finding, rule: int, identity: str) -> dict[str, Any]:
    words = f"{finding.message}\n{finding.hint}" if finding.hint else finding.message
    result: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": finding.level,
        "message": {"text": words},
        # The same fault of the same variant in a later commit, whatever line it stands in by then.
        "partialFingerprints": {"fault/v1": identity},
        "properties": {"variants": list(finding.variants), "lost": finding.lost},
    }
    if finding.file:
        location: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.file)}}
        region = {"startLine": finding.line, "startColumn": finding.column, "endColumn": finding.end_column}
        if finding.line:
            location["region"] = {name: value for name, value in region.items() if value}
        result["locations"] = [{"physicalLocation": location}]
    return result
