"""The tokens of C expressions, and what a number among them is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from grader.submission.effort import spend

MAX_TOKENS = 512

_TOKEN = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | (?P<number>0[xX][0-9a-fA-F']+[uUlL]* | 0[bB][01']+[uUlL]*
        | (?:\d[\d']*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)
    | (?P<name>[^\W\d]\w*(?:\s*::\s*[^\W\d]\w*)*)
    | (?P<operator><<|>>|<=|>=|==|!=|&&|\|\||->|[-+*/%&|^~!<>?:()\[\]{},.=])
    """,
    re.VERBOSE | re.DOTALL,
)


class NotReadable(ValueError):
    """The text is no expression of the kind that is read here."""


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str


def tokens(text: str) -> list[Token]:
    """The tokens of `text`.

    Raises
    ------
    NotReadable : a character that no expression has, or more than `MAX_TOKENS` tokens.
    """
    found: list[Token] = []
    position = 0
    while position < len(text):
        spend(1)
        match = _TOKEN.match(text, position)
        if match is None or match.end() == position:
            raise NotReadable(f"{text[position]!r} is not part of an expression")
        position = match.end()
        if match.lastgroup is not None:
            found.append(Token(match.lastgroup, re.sub(r"\s+", "", match.group())))
            if len(found) > MAX_TOKENS:
                raise NotReadable(f"more than {MAX_TOKENS} tokens")
    return found


def number(text: str) -> int | float:
    """The value of a C number, suffixes and digit separators allowed.

    Raises
    ------
    NotReadable : too long for any number of a program, or no number.
    """
    body = text.replace("'", "").lower()
    if len(body) > 64:
        raise NotReadable("a number of more than 64 characters")
    try:
        if body.startswith("0x"):
            return int(body.rstrip("ul"), 16)
        if body.startswith("0b"):
            return int(body.rstrip("ul"), 2)
        if any(c in body for c in ".ef"):
            return float(body.rstrip("fl"))
        digits = body.rstrip("ul")
        return int(digits, 8) if digits.startswith("0") and len(digits) > 1 else int(digits)
    except ValueError as error:
        raise NotReadable(f"{text!r} is no number") from error
