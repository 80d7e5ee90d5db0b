"""`ragged_sizes` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("sizes off the tile"),
    "takes_no_size": N_("The kernel is not handed the size, so only multiples of the tile can be asked of it."),
    "no_sizes": N_("The lab has no such sizes for this kernel."),
    "passed": Plural(
        "Right at {n} size that is no multiple of the tile.", "Right at {n} sizes that are no multiple of the tile."
    ),
    "hint_rest": N_(
        "The loop stops before the rest: n / T steps leave out what is left when T does not divide n. Take (n + T "
        "- 1) / T steps, and in the last one take part only with what lies inside the data."
    ),
    "hint_guard": N_(
        "The grid is rounded up, so its last blocks have threads outside the data: guard every read and every "
        "write with the sizes, and leave __syncthreads() outside the if."
    ),
    "hint_guard_exchanged": N_("Rows and columns change places in the output, and so must the sizes in its guard."),
}
