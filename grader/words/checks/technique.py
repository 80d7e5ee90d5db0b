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
    "not_unrolled": N_("No inner loop of the kernel is unrolled: each does one step at a time."),
    "hint_unroll": N_(
        "Write {n} or more steps into the body of the inner loop and raise its counter by as many, or put "
        "“#pragma unroll {n}” right before it."
    ),
    "unrolled": N_("The inner loop is unrolled."),
    "uses_shared": N_("The kernel uses shared memory, which this variant must do without."),
    "hint_direct": N_("This variant is what the others are compared with: read and write global memory directly."),
    "global_only": N_("Works in global memory alone."),
    "left_out": N_("{array} lies in shared memory, but nothing of the result comes from it: the compiler left it out."),
    "hint_left_out": N_("After the barrier take the elements from {array}, not from global memory."),
    "no_shared": N_("The kernel does not use shared memory."),
    "part": N_("Only a part of the data goes through shared memory: {stored} bytes in, {loaded} bytes out."),
    "hint_part": N_("Every element has to be put into the tile and taken from it: {bytes} bytes each way."),
    "reads": N_("Every input element is read from global memory {reads:.2g} times, {allowed:g} would do."),
    "hint_reads": N_("Read an element from global memory once, into the tile; after the barrier take it from there."),
    "passed": N_("All data goes through shared memory."),
}
