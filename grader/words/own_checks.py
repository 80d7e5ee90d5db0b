"""The words on what a program says of its own results, and on what runs of it did not come to."""

from __future__ import annotations

from grader.words import N_, Texts

OWN_CHECK: Texts = {
    "forgiven": N_(
        "{file} ends at its first error. What it launches was seen in another run, in which no call reported an error."
    ),
    "own_check": N_(
        "The program's own check says “{line}”, but at {sizes}, where it ran, the kernel is right, and no fault was "
        "seen in its launch and its copies. What is left is which elements of the host's arrays are copied, and how "
        "many, or the check itself."
    ),
    "own_check_by": N_(
        "The program's own check says “{line}”, but at {sizes}, where it ran, the kernel is right, and no fault was "
        "seen in its launch and its copies. What is left is which elements of the host's arrays are copied, and how "
        "many, or the check itself: it compares with what {name}() computes (line {at})."
    ),
    "not_launched": N_(
        "{kernel} is launched in none of the runs that were made of the program, though other kernels are, and each "
        "run came to its end: find out what keeps the program from getting to this line."
    ),
    "signed_smaller": N_(
        "The difference is taken with its sign here, so the program's own check finds no result that is too small: "
        "with all of them made far too small it still called them right. Compare its magnitude, with fabsf() or fabs()."
    ),
    "signed_larger": N_(
        "The difference is taken with its sign here, so the program's own check finds no result that is too large: "
        "with all of them made far too large it still called them right. Compare its magnitude, with fabsf() or fabs()."
    ),
    "not_noticed_smaller": N_(
        "The program's own check does not notice results of this launch that are too small: with all of them made far "
        "too small it still called them right, with all of them far too large it did not. Is it the magnitude of the "
        "difference that it compares?"
    ),
    "not_noticed_larger": N_(
        "The program's own check does not notice results of this launch that are too large: with all of them made far "
        "too large it still called them right, with all of them far too small it did not. Is it the magnitude of the "
        "difference that it compares?"
    ),
    "not_noticed_half": N_(
        "The program's own check looks at a part of this launch's results only: with the second half of what is copied "
        "to the host made wrong it still called them right. How many elements does it compare, and which?"
    ),
    "not_noticed_all": N_(
        "The program's own check does not look at this launch's results: with all that is copied to the host made "
        "wrong it still called them right. Which arrays does it compare?"
    ),
    "hint_own_check": N_(
        "Work out one element by hand: which of the two has it, the kernel's array or the host's? If both do, the "
        "tolerance is too narrow for the rounding of sums, or the comparison takes other elements."
    ),
}
