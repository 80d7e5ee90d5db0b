"""`correct` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("correct result"),
    "passed": Plural("Every element is right at {n} size.", "Every element is right at {n} sizes."),
    "hint_columns_made": N_("Only the first {made} columns are made, as many as the block has threads."),
    "hint_rows_made": N_("Only the first {made} rows are made, as many as the block has threads."),
    "hint_loop_on": N_(
        "Let every thread go on with those that are left, in a loop whose step is the number of threads: for (int "
        "j = threadIdx.x; j < n; j += blockDim.x)."
    ),
    "hint_drawn": N_(
        "At the lab's own sizes and data it is right. This case is drawn anew for every submission: the kernel has to "
        "work for any sizes and any data, so look for what it takes for granted of them."
    ),
    "hint_follow": N_(
        "Follow one element by hand: which thread reads it, where it stores it, and who writes it out. The value "
        "that came out instead says where it was taken from."
    ),
}
