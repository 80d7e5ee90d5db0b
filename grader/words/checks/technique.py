"""`technique` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "title": N_("technique"),
    "unused": N_(
        "What lies in shared memory does not reach the result: of {sampled} elements that were followed back, "
        "{through} came by way of it."
    ),
    "hint_unused": N_("After the barrier take the elements from the tile, not from global memory."),
    "own": N_("Every thread reads back from shared memory only what it put there itself: nothing is shared."),
    "hint_own": N_(
        "A copy of its own a thread may as well keep in a register. Let threads use what others have loaded: after the "
        "barrier take the element that the thread needs, whoever put it there."
    ),
}
