"""What is said of figures of times that a program prints and that are not what the words beside them say."""

from __future__ import annotations

from grader.words import N_, Texts

FIGURES: Texts = {
    "unit": N_(
        "{code} is printed as a time in {unit}, but it is one in {actual}: convert it, or print its own unit beside it."
    ),
    "unit_s": N_("seconds"),
    "unit_ms": N_("milliseconds"),
    "unit_us": N_("microseconds"),
    "unit_ns": N_("nanoseconds"),
    "with_warm_up": N_(
        "The time that is printed contains {count} launches of {kernel}, but is divided by {divisor}: the first "
        "launch, which warms up, is timed with the others. Begin the time after it."
    ),
    "divided_twice": N_(
        "The time that is printed contains {count} launches of {kernel}, but is divided by {divisor}: twice by the "
        "number of repetitions. Divide once."
    ),
    "of_one": N_(
        "The time that is printed contains a single launch of {kernel}, the last of {divisor}, but is divided by "
        "{divisor}: begin the time once, before the loop."
    ),
    "of_other": N_("The time that is printed for {row} is not that of {row}: it was taken around {kernel}."),
    "of_copy": N_(
        "The time that is printed for the kernel contains no launch: it was taken around the copy in line {line}."
    ),
    "of_both": N_(
        "The time that is printed for {row} contains the launch of {kernel} in line {line} as well: begin it after "
        "that, or end it before."
    ),
    "with_copy": N_(
        "The time that line {line} prints for {kernel} contains a copy between host and device as well, so it is "
        "not how long the kernel takes: the copy belongs before the time begins or after it ends."
    ),
    "of_all": N_(
        "The time that is printed is that of {count} launches of {kernel} together: for the time of one launch "
        "divide it by their number."
    ),
    "of_nothing": N_(
        "The time that is printed for {row} contains no launch: both ends of it are taken on the same side of the "
        "launch."
    ),
    "bytes_once": N_(
        "This rate is half of what {kernel} moves in the time beside it: its arrays have {bytes} bytes together, "
        "and what is read counts as well as what is written."
    ),
    "bytes_elements": N_(
        "This rate counts elements, not bytes: the arrays of {kernel} have {bytes} bytes together. Multiply by the "
        "size of an element."
    ),
    "operations_once": N_(
        "This rate is half of what {kernel} computes in the time beside it: the product of matrices takes "
        "{operations} operations here, each multiplication and each addition being one."
    ),
    "operations_square": N_(
        "This rate counts too few operations: the product of matrices that {kernel} computes takes {operations} "
        "here, 2 * n * n * n, since each element is a sum of n products."
    ),
    "rate_large": N_(
        "This rate is {factor} times larger than what is done in the time beside it: do the units of the time and "
        "of the rate fit?"
    ),
    "rate_small": N_(
        "This rate is {factor} times smaller than what is done in the time beside it: do the units of the time and "
        "of the rate fit?"
    ),
    "rate_of_all": N_(
        "This rate is the work of one launch over the time of {count} launches of {kernel}: divide the time by "
        "their number."
    ),
    "rate_grows": N_("This rate grows with the time: the work has to be divided by the time, not multiplied by it."),
    "upside_down": N_(
        "This speedup is upside down: it is the new time divided by the old one. Divide the time of what is "
        "compared with by the time of what is measured."
    ),
    "always_one": N_("This speedup is always 1: a time is divided by itself."),
    "speedup_large": N_(
        "This speedup is {factor} times too large: the two times that are divided are in different units."
    ),
    "speedup_small": N_(
        "This speedup is {factor} times too small: the two times that are divided are in different units."
    ),
    "speedup_of_other": N_(
        "The speedup in the row of {own} is computed from the time of {kernel}: divide by the time of {own}."
    ),
}

AREAS = {"figures": FIGURES}
"""Texts by the first part of their ids."""
