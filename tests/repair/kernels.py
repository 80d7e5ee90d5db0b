"""Changes of a small kernel, as what becomes of its lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from grader.repair.function import Change, Function, changed, functions_of
from grader.submission.cpp.parse import parse
from grader.submission.source import SourceText

Make = Callable[[Function], Iterable[Change]]


def changes(make: Make, body: str, before: str = "") -> dict[str, Change]:
    """What `make` makes of a kernel with this body, by the body that it becomes; spaces at a line's ends do not count.

    The kernel takes `const float *a, float *out, int n`; its body begins in line 2, or after what stands `before` it.
    """
    head, end = before + "__global__ void k(const float *a, float *out, int n) {\n", "\n}\n"
    text = head + body + end
    function = functions_of(parse(SourceText(Path("k.cu"), text, "utf-8")), "k")[0]
    found: dict[str, Change] = {}
    for change in make(function):
        after = changed(text, change).removeprefix(head).removesuffix(end)
        found.setdefault("\n".join(line.strip() for line in after.split("\n")), change)
    return found
