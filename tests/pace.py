"""Bounds on processor time that mean the same work on every machine.

A bound in seconds fails on a slow machine and proves nothing on a fast one.  So a piece of work that never changes is
done before and after what is bounded, and the bound grows with what that takes here.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

REFERENCE_S = 0.057
"""Processor time of `_work` on the machine where the bounds were measured, with nothing else running."""


def slowness() -> float:
    """Processor time of the piece of work now, as a multiple of what it takes where bounds were measured; at least 1.

    At least, as a bound needs no tightening: each of them leaves room for several times the work.
    """
    began_s = time.process_time()
    _work()
    return max(1.0, (time.process_time() - began_s) / REFERENCE_S)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail where the block takes more of this process's time than `seconds` of the machine where they were measured."""
    before = slowness()
    began_s = time.process_time()
    yield
    took_s = time.process_time() - began_s
    allowed_s = seconds * max(before, slowness())
    assert took_s <= allowed_s, f"{took_s:.2f} s of processor time, more than {allowed_s:.2f} s"


def _work() -> None:
    """What readers of texts do: words, dictionaries, calls."""
    seen: dict[str, int] = {}
    for number in range(200):
        text = " ".join(f"a{n}[{n * number % 97}] = b{n % 13};" for n in range(300))
        for word in re.findall(r"\w+", text):
            seen[word] = seen.get(word, 0) + len(word)
