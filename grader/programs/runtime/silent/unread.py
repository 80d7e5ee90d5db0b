"""Where data go: results that nobody ever reads, or that are overwritten before anybody did."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.message import msg
from grader.programs.device_memory import Allocation
from grader.programs.records import ObservedLaunch
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import State

MAX_STEPS = 20_000
# Not beyond the next such word: a text of them alone would be searched again from each.
_DEVICE_CODE = re.compile(r"\b__(?:global|device)__\b(?:(?!__(?:global|device)__)[^;{])*\{")
_DEVICE_VARIABLE = re.compile(r"\b__(?:device|managed)__\b(?:(?!__(?:device|managed)__)[^(;{\[=])*[;=\[{]")
_TELLS = re.compile(r"\b(?:printf|assert|__trap|tex\w+|surf\w+)\s*[(<]")


@dataclass(slots=True)
class Result:
    """What a launch has left in an allocation, and where all of it was overwritten; None: it is still there."""

    kernel: str
    overwritten: Place | None = None


def overwritten(state: State, allocation: Allocation | None, offset: int, size: int, place: Place) -> None:
    """The host wrote `size` bytes of an allocation from `offset` on, by a copy or a memset."""
    result = state.results.get(id(allocation))
    if allocation is not None and result is not None and offset == 0 and size >= allocation.size:
        result.overwritten = result.overwritten or place


def read(state: State, allocation: Allocation | None, place: Place, into: Allocation | None = None) -> None:
    """Somebody read an allocation: the host, or whoever will read the one that it was copied into."""
    result = state.results.pop(id(allocation), None)
    if allocation is not None and result is not None and result.overwritten is not None:
        state.tell(
            "overwritten",
            "error",
            msg("programs.overwritten", array=allocation.name, kernel=result.kernel, read_line=place.line),
            result.overwritten,
        )
    if allocation is not None and len(state.flow) <= MAX_STEPS:
        state.flow.append((None, (allocation,), (into,) if into is not None and not into.host else ()))


def launched(state: State, record: ObservedLaunch, found: Sequence[Allocation | None]) -> None:
    """A launch, with the allocation that each of its arguments lies in, None for a number or what is not known."""
    if len(state.flow) > MAX_STEPS:
        return
    reads = [allocation for allocation in found if allocation is not None]
    writes = [a for a, x in zip(found, record.arguments, strict=True) if a is not None and " const*" not in x.type]
    # What goes where it cannot be followed, or where the host reads without a call, counts as read.
    is_open = not writes or any(allocation.host for allocation in writes)
    for allocation, argument in zip(found, record.arguments, strict=True):
        is_open |= allocation is None and argument.value is None
        is_open |= argument.type.count("*") > 1
    state.flow.append((record, tuple(reads), () if is_open else tuple(writes)))
    for allocation in reads:
        state.results.pop(id(allocation), None)
    if not is_open:
        state.results.update((id(allocation), Result(record.kernel)) for allocation in writes)


def tell_unread(state: State, code: int) -> None:
    """Tell of kernels no launch of which computes anything that is read in the end; `code`: the program's exit code."""
    if len(state.flow) > MAX_STEPS or state.objects_made or state.arrays or state.failures:
        return
    if code and state.hollow and _has_seen_results(state):
        # Without its kernels having run they are wrong, and it may have given up.
        return
    for text in state.sources.texts.values():
        if _DEVICE_VARIABLE.search(text) or any(_TELLS.search(body) for body in _device_code(text)):
            return
    wanted: set[int] = set()
    dead: dict[str, ObservedLaunch] = {}
    live: set[str] = set()
    for record, reads, writes in reversed(state.flow):
        if writes and not any(id(allocation) in wanted for allocation in writes):
            if record is not None:
                dead[record.kernel] = dead.get(record.kernel, record)
            continue
        wanted |= {id(allocation) for allocation in reads}
        if record is not None:
            live.add(record.kernel)
    for kernel, record in reversed(dead.items()):
        if kernel not in live:
            message = msg("programs.never_read", kernel=kernel)
            state.tell("never_read", "warning", message, Place(record.line, record.file))


def _has_seen_results(state: State) -> bool:
    """Whether anything that a kernel may have written has come to the host."""
    written: set[int] = set()
    for record, reads, writes in state.flow:
        if record is not None or any(id(allocation) in written for allocation in reads):
            if not writes:
                return True
            written |= {id(allocation) for allocation in writes}
    return False


def _device_code(text: str) -> Iterator[str]:
    """The bodies of functions for the device, as far as braces tell."""
    at = 0
    while match := _DEVICE_CODE.search(text, at):
        depth, at = 1, match.end()
        while depth and at < len(text):
            depth += (text[at] == "{") - (text[at] == "}")
            at += 1
        yield text[match.end() : at]
