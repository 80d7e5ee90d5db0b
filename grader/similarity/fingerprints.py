"""Fingerprints of a source: k-grams of tokens, of which winnowing keeps some wherever they stand.

Schleimer, Wilkerson, Aiken: Winnowing, local algorithms for document fingerprinting (SIGMOD 2003): of each window of
hashes the least is kept, so that every match of at least `GRAM + WINDOW - 1` tokens is found.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

from grader.similarity.tokens import tokens

GRAM = 10
"""Tokens of a gram: shorter ones are idioms."""
WINDOW = 4


@dataclass(frozen=True, slots=True)
class Print:
    """A source's fingerprints: lines that each covers by hash, and the source's rare choices.

    hashes: by hash, pairs of first and last line, in order.
    """

    hashes: Mapping[int, tuple[tuple[int, int], ...]]
    rare: frozenset[str]


def fingerprint(text: str) -> Print:
    """The fingerprints of a source."""
    found = tokens(text)
    codes = [crc32(token.key.encode()) for token in found.tokens]
    grams = [hash(tuple(codes[at : at + GRAM])) for at in range(len(codes) - GRAM + 1)]
    kept: dict[int, list[tuple[int, int]]] = {}
    last = -1
    for start in range(max(0, len(grams) - WINDOW + 1)):
        window = grams[start : start + WINDOW]
        # The rightmost of the least, as the paper has it.
        at = start + max(range(len(window)), key=lambda n: (-window[n], n))
        if at != last:
            lines = [token.line for token in found.tokens[at : at + GRAM]]
            kept.setdefault(grams[at], []).append((min(lines), max(lines)))
            last = at
    return Print({key: tuple(places) for key, places in kept.items()}, found.rare)
