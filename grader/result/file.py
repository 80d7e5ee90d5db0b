"""`result.json`: results as bytes and back, and the schema of it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.errors import UsageError
from grader.message import msg
from grader.result.result import SCHEMA_VERSION, Result


def encode(result: Result) -> bytes:
    """The result as indented UTF-8 JSON, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n"


def decode(data: bytes, path: Path | str = "result.json") -> Result:
    """The result in `data`.

    Raises
    ------
    UsageError : not JSON, or not of this schema; names `path` and the offending place.
    """
    try:
        return msgspec.json.decode(data, type=Result)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        found = _version(data)
        if found > SCHEMA_VERSION:
            what = msg("session.newer_result", path=str(path), found=found, known=SCHEMA_VERSION)
        else:
            what = msg("session.no_result", path=str(path), known=SCHEMA_VERSION, reason=str(error))
        raise UsageError(what) from error


class _Versioned(msgspec.Struct):
    schema_version: int = 0


def _version(data: bytes) -> int:
    """The version of the schema that `data` names, 0 for none."""
    try:
        return msgspec.json.decode(data, type=_Versioned).schema_version
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def json_schema() -> dict[str, object]:
    """JSON Schema of `result.json`; the package carries it as `result.schema.json`."""
    schema = msgspec.json.schema(Result)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "CUDA lab result", **schema}


def write_schema(path: Path) -> None:
    """Write `json_schema()` to `path` (run it after a change of the records; a test compares)."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(json_schema()), indent=2) + b"\n")
