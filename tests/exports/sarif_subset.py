"""The part of SARIF 2.1.0 that we write, as a JSON Schema of our own: every property below stands in the standard.

Written after sections 3.13 to 3.30 and 3.49 of the specification, which OASIS lets nobody ship changed parts of.
`additionalProperties` is false wherever it is in the standard's own schema, so a slip in a name fails.
"""

from __future__ import annotations

from typing import Any

_BAG: dict[str, Any] = {"type": "object", "additionalProperties": True}
_LINE = {"type": "integer", "minimum": 1}


def _record(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


_TEXT = _record(["text"], text={"type": "string", "minLength": 1})
_LOCATION = _record(
    ["physicalLocation"],
    physicalLocation=_record(
        ["artifactLocation"],
        artifactLocation=_record(
            ["uri"],
            # A relative reference (RFC 3986) without what would need escapes.
            uri={"type": "string", "pattern": r"^(?![a-z]+:)(?!/)[A-Za-z0-9._~%!$&'()*+,;=@/-]+$"},
        ),
        region=_record(["startLine"], startLine=_LINE, startColumn=_LINE, endColumn=_LINE),
    ),
)
_RESULT = _record(
    ["message", "ruleId"],
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": -1},
    level={"enum": ["none", "note", "warning", "error"]},
    message=_TEXT,
    locations={"type": "array", "minItems": 0, "items": _LOCATION},
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    properties=_BAG,
)
_DRIVER = _record(
    ["name"],
    name={"type": "string"},
    version={"type": "string"},
    rules={
        "type": "array",
        "uniqueItems": True,
        "items": _record(["id"], id={"type": "string"}, shortDescription=_TEXT),
    },
)
SUBSET = _record(
    ["version", "runs"],
    **{
        "$schema": {"type": "string", "format": "uri"},
        "version": {"enum": ["2.1.0"]},
        "runs": {
            "type": "array",
            "items": _record(
                ["tool"],
                tool=_record(["driver"], driver=_DRIVER),
                columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                language={"type": "string", "pattern": r"^[a-zA-Z]{2}(-[a-zA-Z]{2})?$"},
                invocations={
                    "type": "array",
                    "items": _record(["executionSuccessful"], executionSuccessful={"type": "boolean"}),
                },
                results={"type": "array", "items": _RESULT},
                properties=_BAG,
            ),
        },
    },
)
