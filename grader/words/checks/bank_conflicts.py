"""`bank_conflicts` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "title": N_("bank conflicts"),
}
