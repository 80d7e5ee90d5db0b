"""`coalescing` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Texts


def ideal_figure(sectors: float) -> str:
    """Sectors a request, as few as can be."""
    return f"{sectors:g}"


TEXTS: Texts = {
    "title": N_("coalescing"),
    "figures": N_("{loads} sectors a request for loads, {stores} for stores"),
    "passed": N_("Coalesced: {figures}."),
    "passed_one": N_("Coalesced on one side: {figures}."),
    "failed": N_("Not coalesced: {figures}. Worst is line {line}."),
    "no_access": N_("no"),
    "ideal_figure": ideal_figure,
    "figure": N_("{sectors:g} (best: {ideal:g})"),
    "hint": N_(
        "Memory comes in sectors of 32 bytes: here a warp's request touches {sectors:g} of them where {ideal:g} "
        "hold all its bytes. Threads with neighbouring threadIdx.x should use neighbouring addresses: threadIdx.x "
        "has to be added to the index as it is, not multiplied by the row length."
    ),
    "hint_tile": N_(
        "Through a tile both sides can be so: exchange the blocks' indices for the output and the threads' "
        "indices inside the tile."
    ),
    "hint_step": N_(
        "Where a thread takes several elements, let it step by the number of threads, not take neighbouring ones."
    ),
}
