"""Parts of sentences that many areas use: sizes, threads, numbers, sentences put together."""

from __future__ import annotations

from itertools import pairwise

from grader.words.texts import N_, Texts


def number(value: float | int | str | None) -> str:
    """A number as short as it is exact enough to tell: 17, 0.25, 1.5e-30."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.7g}"
    return str(value)


def sizes(**sizes: int) -> str:
    """{"rows": 33, "cols": 31} as "rows = 33, cols = 31"."""
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def sentences(parts: list[str]) -> str:
    """One after another; what a compiler says has no full stop of its own before the next sentence."""
    said = [part for part in parts if part]
    stops = ["." if after[0].isupper() and part[-1].isalnum() else "" for part, after in pairwise(said)]
    return " ".join(part + stop for part, stop in zip(said, [*stops, ""], strict=False))


def listed(items: list[str], more: bool) -> str:
    """The first of some things, and whether there are more."""
    return ", ".join(items) + (", …" if more else "")


def verbatim(text: str) -> str:
    """As it is."""
    return text


TEXTS: Texts = {
    "number": number,
    "sizes": sizes,
    "sentences": sentences,
    "listed": listed,
    "verbatim": verbatim,
    "thread": N_("thread {thread} of block {block}"),
    "Thread": N_("Thread {thread} of block {block}"),
    "global_memory": N_("global memory"),
    "shared_memory": N_("shared memory"),
    "of_global_memory": N_("of global memory"),
    "of_shared_memory": N_("of shared memory"),
    "local_memory": N_("the thread's local memory"),
    "of_local_memory": N_("of the thread's local memory"),
    "of_array": N_("of {array}"),
}
