"""What to do about a wrong output, as far as its diagnosis proves it."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "pitch": N_("A row of {array} has {right} elements."),
    "formula": N_("The right elements are read, so the fault is in what is computed from them."),
    "shared_unset": N_(
        "Shared memory holds whatever the previous block left there. Every element that is read must first be written "
        "by some thread of this block, also where the data has ended."
    ),
    "divided": N_("{n} elements are summed, and the result is as if their sum were divided by {by} instead of {n}."),
    "scaled": N_(
        "Divided by {factor} these values would be right: perhaps a sum is stored where its mean is asked for."
    ),
    "onto_unset": N_("Sum in a variable that starts at 0 and store it once, or set the output to 0 first."),
    "two_writers": N_("Two threads write to the same element: only the one that makes its value may write it."),
}
