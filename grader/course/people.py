"""Who a student is beyond their folder's name."""

from __future__ import annotations

import unicodedata

from grader.result import Record


def composed(text: str) -> str:
    """A text as people type it: a Mac takes the letters of names apart (`й` is `и` and a breve; NFC, UAX #15)."""
    return unicodedata.normalize("NFC", text)


def sorted_as(name: str) -> str:
    """What a name is sorted by: capitals as small letters, ё as е, Latin letters without their accents."""
    whole = composed(name).casefold().replace("ё", "е")
    # The breve of й is no accent: it is a letter of its own.
    return "".join(
        unicodedata.normalize("NFD", letter)[0] if unicodedata.name(letter, "").startswith("LATIN") else letter
        for letter in whole
    )


class Person(Record, frozen=True):
    """A student as a roster or a learning system's export knows them; "" where nothing is known.

    id: their folder's name, by which results go.  number: the university's (a record book's, an SIS id).
    participant: Moodle's number of a participant, as its exports write it.  canvas_id: Canvas's number of a user.
    team: what those have in common who handed in one work together.
    place: in the roster, from 1; 0 for who is in none.
    handed_in: when the work that counts was handed in, ISO 8601.  extra_days: by how much its deadline is later.
    """

    id: str
    name: str = ""
    group: str = ""
    email: str = ""
    number: str = ""
    participant: str = ""
    canvas_id: str = ""
    handed_in: str = ""
    extra_days: float = 0.0
    team: str = ""
    place: int = 0

    @property
    def key(self) -> str:
        """What tells two of one name apart in the exports of a system."""
        return self.participant or self.canvas_id or self.id
