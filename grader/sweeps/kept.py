"""Timed sweeps on disk: found again by their key, their reasons said in the language that is then in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import structs

from grader.files import write_atomically
from grader.i18n import Said
from grader.result import SweepPoint, SweepRecord


class _Kept(msgspec.Struct):
    """reasons: for each reason in the records, the text and the data that it was said with."""

    records: list[SweepRecord]
    reasons: dict[str, tuple[str, dict[str, int | float | str]]]


def spoken(records: Sequence[SweepRecord]) -> list[SweepRecord]:
    """The records with plain texts for reasons, as a result holds them."""
    return [structs.replace(r, points=[structs.replace(p, reason=str(p.reason)) for p in r.points]) for r in records]


def keep(file: Path, records: Sequence[SweepRecord]) -> None:
    """Write records as they come from a run; a folder that cannot be written to is no reason to stop grading."""
    said = {p.reason for record in records for p in record.points if isinstance(p.reason, Said)}
    reasons = {str(reason): (reason.message, reason.data) for reason in said if isinstance(reason, Said)}
    with suppress(OSError):
        write_atomically(file, msgspec.json.encode(_Kept(spoken(records), reasons)))


def find(file: Path, left_out: Mapping[str, str]) -> list[SweepRecord] | None:
    """The records in `file`, None where there are none; `left_out`: variants that are not swept, and why."""
    try:
        kept = msgspec.json.decode(file.read_bytes(), type=_Kept)
    except (OSError, msgspec.DecodeError):
        return None

    def again(point: SweepPoint) -> SweepPoint:
        said = kept.reasons.get(point.reason)
        return structs.replace(point, reason=str(Said(*said))) if said else point

    return [
        structs.replace(
            record,
            points=[again(point) for point in record.points],
            left_out={name: left_out.get(name, reason) for name, reason in record.left_out.items()},
        )
        for record in kept.records
    ]
