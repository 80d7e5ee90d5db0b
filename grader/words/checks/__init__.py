"""The words of each check, a file a check: its title, what it found, how to fix it; here those of any check."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "blocked": N_("Not graded: the check “{check}” failed."),
    "not_judged": N_("Not graded: the check “{check}” could not be completed."),
    "not_counted": N_("Memory accesses were not counted."),
    "hint_stage": N_(
        "Load a tile into a __shared__ array, call __syncthreads(), then write the output from the array."
    ),
}
