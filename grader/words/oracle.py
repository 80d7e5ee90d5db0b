"""Faults of a lab's oracle."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "missing_output": N_("the oracle does not compute `{name}`"),
    "shape": N_("`{name}` has shape {got}, the lab says {shape}"),
    "failed": N_("the oracle failed at {sizes}: {kind}: {error}"),
    "no_python": N_("is not a Python file"),
    "no_function": N_("has no function `{name}`"),
}
