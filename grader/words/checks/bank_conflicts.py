"""`bank_conflicts` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts


def failed(conflict: str, also: str | None, efficiency: str | None) -> str:
    """The worst conflict, other lines with some, the efficiency that it comes to."""
    return conflict + (f", {also}" if also else "") + (f"; {efficiency}" if efficiency else "") + "."


TEXTS: Texts = {
    "title": N_("bank conflicts"),
    "no_shared": N_("The kernel does not use shared memory, so there is no conflict to resolve."),
    "passed": N_("No bank conflicts: {requests} requests in {wavefronts} wavefronts, the fewest possible."),
    "failed": failed,
    "conflict": N_("{ways}-way bank conflict in line {line} (excess wavefronts per request: {excess:g})"),
    "also": Plural("also in line {lines}", "also in lines {lines}"),
    "efficiency": N_("efficiency of shared memory {pct:.2f} %"),
    "hint_lanes": N_(
        "Lanes {lane_a} and {lane_b} of a warp access words {word_a} and {word_b} of shared memory; "
        "both are in bank {bank} (word mod 32), which serves one word at a time."
    ),
    "hint_words": N_("In total {n} different words of that bank are accessed at once."),
    "hint_rows_pad": N_(
        "In a block {width} threads wide a warp spans {rows} rows of threads, so one request touches "
        "{rows} rows of the tile, and padding by one element is not enough to separate them."
    ),
    "hint_rows": N_(
        "In a block {width} threads wide a warp spans {rows} rows of threads, so one request touches "
        "{rows} rows of the tile."
    ),
    "hint_block": N_(
        "Use a block 32 threads wide (32×32, or 32×8 with a loop) and a [32][32 + 1] tile: every warp "
        "then works on one row or one column of it."
    ),
    "hint_column": N_(
        "Rows of {name} are {pitch} words apart, so the elements of a column share banks. Declare it "
        "with one extra column, {name}[{rows}][{pitch} + 1]: a column then spans all 32 banks. The "
        "extra column is never used."
    ),
    "hint_odd": N_(
        "Make the distance between the words of neighbouring lanes odd: pad every row of the tile by one element, "
        "and count that element in every index of the tile."
    ),
}
