"""`ragged_sizes` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("sizes not divisible by the tile"),
    "fault": N_("wrong at sizes not divisible by the tile"),
    "size_is_constant": N_(
        "The size is a constant of the program, {name}, so only multiples of the tile can be required."
    ),
    "takes_no_size": N_("The kernel does not take the size, so only multiples of the tile can be required."),
    "no_sizes": N_("The lab sets no such sizes for this kernel."),
    "passed": Plural("Right at {n} size not divisible by the tile.", "Right at {n} sizes not divisible by the tile."),
    "hint_guard": N_(
        "At such a size the last blocks have threads outside the data, and some threads have less to do than others: "
        "no access of theirs may leave its array."
    ),
}
