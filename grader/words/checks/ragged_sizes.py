"""`ragged_sizes` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("sizes not divisible by the tile"),
    "fault": N_("wrong at sizes not divisible by the tile"),
    "takes_no_size": N_("The kernel does not take the size, so only multiples of the tile can be required."),
    "no_sizes": N_("The lab sets no such sizes for this kernel."),
    "passed": Plural("Right at {n} size not divisible by the tile.", "Right at {n} sizes not divisible by the tile."),
    "hint_rest": N_(
        "The loop stops before the remainder: n / T steps miss the last elements when T does not divide "
        "n. Make it (n + T - 1) / T steps, and in the last one use only what lies inside the data."
    ),
    "hint_guard": N_(
        "The grid is rounded up, so its last blocks have threads outside the data: guard every read and every "
        "write with the sizes, and leave __syncthreads() outside the if."
    ),
    "hint_guard_exchanged": N_(
        "Rows and columns are swapped in the output, so the sizes in its guard must be swapped too."
    ),
}
