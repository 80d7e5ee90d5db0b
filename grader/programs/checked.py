"""A program that a GPU has run and the emulator after it: what that counts and finds, beside the GPU's times."""

from __future__ import annotations

import msgspec

from grader.message import Message, msg
from grader.programs.records import Observation, ObservedLaunch, is_limit
from grader.programs.runtime.devices import MODELS, model_of

_OF_RUN = frozenset({"api_error", "unnoticed_error", "too_large", "unsupported", "hangs", "not_run", "output_cut"})
"""Kinds of findings that are about the run that they were made in, and say nothing of another."""


def same_model(card: str, otherwise: str) -> str:
    """The model that is the GPU of a name, so that the program does the same on the emulator."""
    return next((name for name in MODELS if model_of(name).name == card), otherwise)


def checked(on_card: Observation, emulated: Observation) -> Observation:
    """The run on a GPU with counters, hazards and findings of the same program's run on the emulator.

    Launches are the same as long as both runs make the same ones; one that did not run to its end on the emulator, and
    what follows it, has none.
    """
    launches = list(on_card.launches)
    count = 0
    for real, seen in zip(on_card.launches, emulated.launches, strict=False):
        is_seen = seen.status in ("ran", "faulted") or seen.status == real.status == "failed"
        if not is_seen or _what(real) != _what(seen):
            break
        launches[count] = msgspec.structs.replace(
            real, hazards=seen.hazards, counters=seen.counters, thread_instructions=seen.thread_instructions
        )
        count += 1
    known = {(finding.kind, finding.file, finding.line) for finding in on_card.findings}
    more = [
        finding
        for finding in emulated.findings
        if finding.kind not in _OF_RUN and (finding.kind, finding.file, finding.line) not in known
    ]
    return msgspec.structs.replace(
        on_card,
        launches=launches,
        findings=[*on_card.findings, *more],
        checked=count,
        check_ended=_why(launches[count:], emulated),
    )


def _why(rest: list[ObservedLaunch], emulated: Observation) -> Message | None:
    """Why launches were not seen on the emulator, or not all that the program does after them."""
    if is_limit(emulated.cause):
        return msg("programs.check_limit")
    if emulated.cause is not None:
        return msg("programs.check_ended", why=emulated.cause)
    return msg("programs.check_differs", kernel=rest[0].kernel, line=rest[0].line) if rest else None


def _what(launch: ObservedLaunch) -> tuple[object, ...]:
    return launch.symbol, launch.file, launch.line, launch.grid, launch.block, launch.shared_bytes
