"""Data that go through memory a few lanes at a time."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "found": N_(
        "Only a few lanes are active in the requests of line {line}: {requests} requests, where full "
        "warps need {needed}."
    ),
    "hint_block": N_(
        "A block of {x}×{y} threads leaves most of its warp idle: a warp has 32 lanes, and a request "
        "costs the same whether one of them is active or all. Launch blocks of at least 32 threads, "
        "ideally a multiple of 32."
    ),
    "hint_turns": N_(
        "A request costs the same whether one lane of a warp is active or all 32. Let all threads of a "
        "warp execute this line together: no loop in which they take turns, no if that picks one thread."
    ),
}
