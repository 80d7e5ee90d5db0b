"""Data that go through memory a few lanes at a time."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "found": N_(
        "Few lanes take part in a request in line {line}: {requests} requests where whole warps need {needed}."
    ),
    "hint_block": N_(
        "A block of {x}×{y} threads leaves most of its warp idle: a warp has 32 lanes, and a request costs the "
        "same whether one of them takes part or all. Launch blocks of 32 threads or more, best a multiple of 32."
    ),
    "hint_turns": N_(
        "A request costs the same whether one lane of a warp takes part or all 32. Let all threads of a warp go "
        "through this line together: no loop in which they take turns, no if that picks a thread."
    ),
}
