"""What to tell where the system has no more to give: the bounds that a process was under are named with it."""

from __future__ import annotations

from grader.message import Message, msg
from grader.processes.limits import shortage


def no_process(reason: str) -> Message:
    """What to tell where the system lets no process start."""
    return with_bounds(msg("session.no_process", reason=reason))


def with_bounds(what: Message) -> Message:
    bounds = shortage()
    return msg("session.with_bounds", what=what, bounds=bounds) if bounds else what
