"""What every error has in common: where it is."""

from __future__ import annotations

from grader.words.texts import Texts


def at(where: str, what: str) -> str:
    """A file, with a line where there is one, and what is wrong there."""
    return f"{where}: {what}"


TEXTS: Texts = {"at": at}
