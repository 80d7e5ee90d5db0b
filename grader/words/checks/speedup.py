"""`speedup` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Texts


def timed(figures: str, thresholds: str) -> str:
    """What was measured, and what it is measured by."""
    return f"{figures}. {thresholds}"


TEXTS: Texts = {
    "title": N_("speedup"),
    "fault": N_("speedup below the requirement"),
    "hint_wrong": N_("A wrong kernel is not timed. Make the result right first."),
    "figures": N_("At {sizes}: {speedup:.2f} times as fast as the reference kernel ({low:.2f} to {high:.2f})"),
    "figures_of": N_(
        "At {sizes}: {speedup:.2f} times as fast as the reference kernel {variant} ({low:.2f} to {high:.2f})"
    ),
    "timed": timed,
    "thresholds": N_("All points from {full:g} on, the first from {minimum:g}."),
    "undecided": N_("The measurement is not precise enough to tell whether the threshold is reached."),
    "launch_bound": N_(
        "At every size the kernel takes hardly longer than an empty launch: too little to compare speeds."
    ),
    "not_timed": N_("The time was not measured."),
    "hint_bank_conflicts": N_("Bank conflicts cost time here: {n} more wavefronts than needed. Remove them first."),
    "hint_coalescing": N_(
        "Global memory costs time here: {got:g} sectors per request, {ideal:g} at best. Let "
        "neighbouring threads use neighbouring addresses."
    ),
    "hint_occupancy": N_(
        "Few warps fit on a multiprocessor: {pct:g} % of what it can hold. Use fewer registers, less "
        "shared memory per block, or another block size."
    ),
    "hint_work": N_(
        "The memory accesses cannot be improved. Look at the work per thread: fewer threads with "
        "several elements each are often faster."
    ),
}
