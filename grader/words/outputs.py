"""An output that is wrong: how many elements, the first of them."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts


def value_at(value: str, element: str) -> str:
    """A value, and the element of an input that it is."""
    return f"{value} ({element})"


TEXTS: Texts = {
    "value_at": value_at,
    "untouched": N_("The kernel wrote nothing to {name}."),
    "wrong": Plural("{n} of {total} elements is wrong.", "{n} of {total} elements are wrong."),
    "first_unwritten": N_("The first: {where} should be {expected}, but no thread wrote it."),
    "first": N_("The first: {where} should be {expected}, got {got}."),
    "input_changed": N_("The kernel writes to its input {name}."),
    "hint_input_changed": N_("The input must not change: declare it const, and check which pointer is written to."),
    "only_unwritten": N_("All wrong elements were written by no thread."),
    "constant_columns": N_("All elements of a column are the same."),
    "constant_rows": N_("All elements of a row are the same."),
    "projections": Plural(
        "checked by {n} random projection; it misses a wrong row with a probability of at most 2⁻{power}",
        "checked by {n} random projections; they miss a wrong row with a probability of at most 2⁻{power}",
    ),
}
