"""A change of one place of a program that may be what a kernel lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from grader.submission.lexical import Edit

Kind = Literal[
    "index",
    "comparison",
    "guard",
    "bound",
    "barrier",
    "padding",
    "array_size",
    "initial_value",
    "expression",
    "constant",
    "launch",
    "host",
]
"""What is wrong at the place; docs/result.md tells them apart."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a file's text.

    line: where the fault is, in the file as it was handed in.  edits: in characters of that text.
    cost: how unlikely it is by itself, before anything is known of the run; the likeliest are about 1.
    group: what the ranking knows it by: its kind, or a finer class ("move_barrier", "axis", "size", …).
    detail: for words: "before" or "after" a line, "loop_end", "removed", or "".
    to_line: that a call which is moved belongs before or after; 0 of every other change.
    """

    kind: Kind
    line: int
    edits: tuple[Edit, ...]
    cost: float
    group: str
    detail: str = ""
    to_line: int = 0


def changed(text: str, change: Change) -> str:
    """The file's text with the change made; lines that it adds are added."""
    for edit in sorted(change.edits, key=lambda e: (-e.start, -e.end)):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text
