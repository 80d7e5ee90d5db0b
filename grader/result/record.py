"""What all records of a result have in common: immutable, fields by name, unknown fields refused."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records: immutable, fields by name, unknown fields refused when read."""
