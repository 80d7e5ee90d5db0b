"""Timed sweeps on disk: found again by their key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import structs

from grader.files import read_kept, write_atomically
from grader.message import Message
from grader.result import SweepRecord


def keep(file: Path, records: Sequence[SweepRecord]) -> None:
    """Write records as they come from a run; a folder that cannot be written to is no reason to stop grading."""
    with suppress(OSError):
        write_atomically(file, msgspec.json.encode(records))


def find(file: Path, left_out: Mapping[str, Message]) -> list[SweepRecord] | None:
    """The records in `file`, None where there are none; `left_out`: variants that are not swept, and why."""
    try:
        kept = msgspec.json.decode(read_kept(file), type=list[SweepRecord])
    except (OSError, msgspec.DecodeError):
        return None
    return [
        structs.replace(
            record,
            left_out_said={name: left_out.get(name, reason) for name, reason in record.left_out_said.items()},
        )
        for record in kept
    ]
