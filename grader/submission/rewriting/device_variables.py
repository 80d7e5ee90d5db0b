"""Which variables in the device's memory kernels change, and which words host code uses: the host sets a size.

Read from the text: `n++`, `own::n = 1`, `&n`, `int &count = n` and macros that do such things to what they are given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from grader.submission.cpp.tree import WORD, ParsedFile, remembered
from grader.submission.effort import spend_on

_CHANGED = (
    re.compile(r"\b(\w++)[\s)]*+(?:(?:[-+*/%&|^]|<<|>>)?=(?!=)|\+\+|--)"),
    re.compile(r"(?:\+\+|--|&)\s*+(?:\w+\s*::\s*|\(\s*)*(\w++)"),
    # A reference is bound to it.
    re.compile(r"&\s*+\w++\s*+[=({]\s*+(?:\w+\s*::\s*|\(\s*)*(\w++)"),
)
_CHANGES = re.compile(r"\+\+|--|(?<![=!<>])=(?!=)|&(?!&)")


def words_of_host(parsed: ParsedFile) -> frozenset[str]:
    """Every word of functions that run on the host."""
    items = (i for i in parsed.items if i.active and not (i.is_kernel or i.is_device or i.kind == "variable"))
    return remembered(
        parsed, "words of host", lambda: frozenset(word for item in items for word in parsed.words(item.node))
    )


def changed_by_device(parsed: ParsedFile) -> frozenset[str]:
    """Names to which functions of the device give a value, or whose address they hand on: counters, no sizes."""
    return remembered(parsed, "changed by device", lambda: frozenset(_find_changed_by_device(parsed)))


def _find_changed_by_device(parsed: ParsedFile) -> Iterator[str]:
    changing = {name for name, macro in parsed.constants.macros.items() if _CHANGES.search(macro.body)}
    for item in parsed.items:
        if not item.active or not (item.is_kernel or item.is_device):
            continue
        text = parsed.text(item.node)
        spend_on(len(text))
        for pattern in _CHANGED:
            yield from (match[1] for match in pattern.finditer(text))
        for statement in re.split("[;{}]", text) if changing else ():
            words = WORD.findall(statement)
            if not changing.isdisjoint(words):
                yield from words
