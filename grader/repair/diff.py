"""What a change changes, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

CONTEXT = 1


def diff_lines(before: str, after: str) -> Iterator[str]:
    """A unified diff without its head: "@@ …", then lines that begin with " ", "-" or "+"."""
    rows = difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm="", n=CONTEXT)
    for number, row in enumerate(rows):
        if number >= 2:
            yield row
