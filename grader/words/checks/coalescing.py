"""`coalescing` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.i18n import _, decimal, form_of, ngettext
from grader.words.texts import N_, Texts


def ideal_figure(sectors: float) -> str:
    """Sectors a request, as few as can be."""
    return f"{sectors:g}"


def hint(sectors: float, ideal: float) -> str:
    """How many sectors a request touches and needs, and which addresses neighbours should use."""
    text = _(
        "Memory is accessed in 32-byte sectors: here one request of a warp touches {touched}, while {ideal} would hold "
        "all its bytes. Threads with neighbouring threadIdx.x should use neighbouring addresses: add threadIdx.x to "
        "the index as it is, not multiplied by the row length."
    )
    return text.format(touched=_sectors(sectors), ideal=f"{decimal(ideal):g}")


def hint_narrow(sectors: float, ideal: float, width: int, rows: int) -> str:
    """The same of a block so narrow that a warp takes pieces of several rows."""
    text = _(
        "Memory is accessed in 32-byte sectors: here one request of a warp touches {touched}, while {ideal} would hold "
        "all its bytes. In a block {width} threads wide a warp spans {rows} rows of threads, so a request is made of "
        "short pieces of {rows} rows, each of which begins and ends within a sector. Use a block whose width is a "
        "multiple of 32."
    )
    return text.format(touched=_sectors(sectors), ideal=f"{decimal(ideal):g}", width=width, rows=rows)


def _sectors(n: float) -> str:
    return ngettext("{n} sector", "{n} sectors", form_of(round(float(n), 5))).format(n=f"{decimal(n):g}")


TEXTS: Texts = {
    "title": N_("coalescing"),
    "fault": N_("uncoalesced accesses"),
    "figures": N_("{loads} sectors per request for loads, {stores} for stores"),
    "passed": N_("Coalesced: {figures}."),
    "passed_one": N_("Coalesced on one side: {figures}."),
    "failed": N_("Not coalesced: {figures}. Line {line} is the worst."),
    "no_access": N_("no"),
    "ideal_figure": ideal_figure,
    "figure": N_("{sectors:g} (best: {ideal:g})"),
    "hint": hint,
    "hint_narrow": hint_narrow,
    "hint_tile": N_(
        "With a tile both sides can be coalesced: swap the block indices for the output and the thread "
        "indices inside the tile."
    ),
    "hint_step": N_(
        "If a thread processes several elements, let it step by the number of threads instead of taking "
        "neighbouring ones."
    ),
}
