"""Changes of a text within its lines, so that line numbers stay true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters `start` to `end` of a file's device code, and what takes their place.

    constant: the name of the constant whose value comes after `text`; "" for an edit that is always made.
    unset: the value where none is chosen; None: the edit is left out then.
    """

    start: int
    end: int
    text: str
    constant: str = ""
    unset: int | None = None


def apply(text: str, edits: Sequence[Edit], values: Mapping[str, int]) -> str:
    """`text` with the edits made; those of constants that `values` does not name are left out."""
    for edit in sorted(edits, key=lambda e: -e.start):
        value = values.get(edit.constant, edit.unset)
        if edit.constant and value is None:
            continue
        new = f"{edit.text}{value}" if edit.constant else edit.text
        # The number of lines must stay.
        lines = text.count("\n", edit.start, edit.end) - new.count("\n")
        text = text[: edit.start] + new + "\n" * max(0, lines) + text[edit.end :]
    return text
