"""The arrays that a program sets to zero before it launches a kernel that adds to them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from grader.submission.binding.entries import Entry

_TO_ZERO = re.compile(r"\]\s*=\s*(?:\(\w+\)\s*)?0(?:\.0*)?[fF]?\s*;|\*\s*\w+\s*=\s*0(?:\.0*)?[fF]?\s*;")


def zeroed_before(entry: Entry, entries: Sequence[Entry]) -> set[str]:
    """Pointers to arrays that the program sets to zero before the launch, and that the kernel adds to."""
    text = entry.shape.text
    adds = {
        p.name for p in entry.kernel.parameters if p.is_pointer and p.is_written and (p.is_read or "atomic" in text)
    }
    if entry.seen:
        by_kernels = {buffer for other in entries for buffer in _buffers_zeroed_by(other)}
        return {
            a.name
            for a in entry.seen
            if a.name in adds and (a.before == "zeros" or (a.before == "kernel" and a.buffer in by_kernels))
        }
    found = set()
    for site in entry.sites[:1]:
        for argument, parameter in zip(site.arguments, entry.kernel.parameters[-len(site.arguments) :], strict=False):
            set_to_zero = rf"\bcudaMemset(?:Async)?\s*\(\s*{re.escape(argument)}\s*,\s*0\s*,"
            if parameter.name in adds and re.search(set_to_zero, entry.parsed.source.text):
                found.add(parameter.name)
    return found


def _buffers_zeroed_by(entry: Entry) -> set[str]:
    """The arrays that were handed to a kernel which does nothing but set its only array to zero."""
    arrays = [p for p in entry.kernel.parameters if p.is_pointer]
    if len(arrays) != 1 or arrays[0].is_read or not _TO_ZERO.search(entry.shape.text):
        return set()
    return {a.buffer for site in entry.sites for a in site.seen if a.name == arrays[0].name and a.buffer}
