"""`technique` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.i18n import _, decimal, form_of, ngettext
from grader.words.texts import N_, Texts


def reads(reads: float, allowed: float) -> str:
    """How often an element is read, and how often it need be."""
    shown = float(f"{float(reads):.2g}")
    times = ngettext("{n} time", "{n} times", form_of(shown)).format(n=f"{decimal(shown):g}")
    text = _("Every input element is read from global memory {times}; {allowed} would be enough.")
    return text.format(times=times, allowed=f"{decimal(allowed):g}")


TEXTS: Texts = {
    "title": N_("technique"),
    "fault": N_("required technique not used"),
    "unused": N_(
        "What is in shared memory does not reach the result: of {sampled} elements traced back, "
        "{through} came through it."
    ),
    "unused_at": N_("At {sizes} the result does not depend on what is in shared memory."),
    "hint_unused": N_("After the barrier take the elements from the tile, not from global memory."),
    "own": N_("Every thread reads from shared memory only what it stored there itself: nothing is shared."),
    "hint_own": N_(
        "A thread can keep a private copy in a register. Let threads use what others have loaded: after "
        "the barrier read the element that the thread needs, whichever thread stored it."
    ),
    "not_unrolled": N_("No inner loop of the kernel is unrolled: each does one step per pass."),
    "hint_unroll": N_(
        "Write {n} or more steps in the body of the inner loop and increase its counter by as many, or "
        "put “#pragma unroll {n}” right before it."
    ),
    "unrolled": N_("The inner loop is unrolled."),
    "uses_shared": N_("The kernel uses shared memory, which this variant must not use."),
    "hint_direct": N_("The other variants are compared with this one: read and write global memory directly."),
    "global_only": N_("Uses global memory only."),
    "left_out": N_("{array} is in shared memory, but the result does not depend on it: the compiler removed it."),
    "hint_left_out": N_("After the barrier take the elements from {array}, not from global memory."),
    "no_shared": N_("The kernel does not use shared memory."),
    "part": N_("Only a part of the data goes through shared memory: {stored} bytes in, {loaded} bytes out."),
    "hint_part": N_("Every element has to be stored in the tile and read from it: {bytes} bytes each way."),
    "reads": reads,
    "hint_reads": N_("Read an element from global memory once, into the tile; after the barrier take it from there."),
    "hint_small_tile": N_(
        "A block computes only {shape} elements here, and every block reads its rows and columns anew. Let a block be "
        "16×16 or 32×32."
    ),
    "passed": N_("All data goes through shared memory."),
}
