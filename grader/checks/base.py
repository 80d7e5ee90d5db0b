"""What a check says: a verdict, and how each kind of it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from grader.message import Message
from grader.result import CheckStatus, Diagnosis, SkipReason

NO_DATA: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says.

    credit: the part of the check's points that is earned, 0 to 1 (a failed check may still earn a part).
    message: what was found.  hint: why it matters and how to mend it.  line: of the student's file.
    file: that the line is in, "" for the kernel's.
    data: JSON values that the message is made of.
    diagnosis: why the output is wrong, where that is what was found.
    """

    status: CheckStatus
    message: Message
    credit: float = 0.0
    hint: Message | None = None
    line: int | None = None
    skip_reason: SkipReason = ""
    data: Mapping[str, object] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None
    file: str = ""


def passed(message: Message, line: int | None = None, data: Mapping[str, object] = NO_DATA) -> Verdict:
    """All points."""
    return Verdict("pass", message, credit=1.0, line=line, data=data)


def failed(
    message: Message,
    hint: Message | None,
    line: int | None = None,
    credit: float = 0.0,
    data: Mapping[str, object] = NO_DATA,
) -> Verdict:
    """The submission's fault; `credit` of the points is earned all the same."""
    return Verdict("fail", message, credit=credit, hint=hint, line=line or None, data=data)


def errored(message: Message, line: int | None = None) -> Verdict:
    """The grader's or the lab's fault: points stay pending."""
    return Verdict("error", message, line=line or None)


def not_measured(message: Message, hint: Message | None = None) -> Verdict:
    """This machine cannot tell: points stay pending; hint: what would make it possible, where that is known."""
    return Verdict("skip", message, hint=hint, skip_reason="not_measured")


def not_applicable(message: Message) -> Verdict:
    """The check makes no sense for this kernel: its points are no part of what is possible."""
    return Verdict("skip", message, skip_reason="not_applicable")
