"""What a check is: a name, its settings in the lab file, what it depends on, and a pure function of the evidence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import msgspec

from grader.message import Message
from grader.result import CheckStatus, Diagnosis, SkipReason
from grader.running.evidence import Evidence


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of a check in the lab file; the base has none."""


NO_DATA: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check says.

    share: the part of the check's points that is earned, 0 to 1 (a failed check may still earn a part).
    message: what was found.  hint: why it matters and how to mend it.  line: of the student's file.
    data: JSON values that the message is made of.
    diagnosis: why the output is wrong, where that is what was found.
    """

    status: CheckStatus
    message: Message
    share: float = 0.0
    hint: Message | None = None
    line: int | None = None
    skip_reason: SkipReason = ""
    data: Mapping[str, object] = field(default_factory=dict)
    diagnosis: Diagnosis | None = None


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A check that lab files can ask for.

    place: where it stands among the checks; those that it needs come before it.
    implied: whether every variant has it, with no points where the lab file gives none.
    needs: checks that must not have failed, or this one is not run and its points wait.
    credit_needs: checks that must not have failed for a pass to count; a fault is reported all the same.
    """

    name: str
    judge: Callable[[Evidence, Any], Verdict]
    place: int
    settings: type[Settings] = Settings
    needs: tuple[str, ...] = ()
    credit_needs: tuple[str, ...] = ()
    implied: bool = False


def passed(message: Message, line: int | None = None, data: Mapping[str, object] = NO_DATA) -> Verdict:
    """All points."""
    return Verdict("pass", message, share=1.0, line=line, data=data)


def failed(
    message: Message,
    hint: Message | None,
    line: int | None = None,
    share: float = 0.0,
    data: Mapping[str, object] = NO_DATA,
) -> Verdict:
    """The submission's fault; `share` of the points is earned all the same."""
    return Verdict("fail", message, share=share, hint=hint, line=line or None, data=data)


def errored(message: Message, line: int | None = None, data: Mapping[str, object] = NO_DATA) -> Verdict:
    """The grader's or the lab's fault: points stay pending."""
    return Verdict("error", message, line=line or None, data=data)


def not_measured(message: Message, data: Mapping[str, object] = NO_DATA) -> Verdict:
    """This machine cannot tell: points stay pending."""
    return Verdict("skip", message, skip_reason="not_measured", data=data)


def not_applicable(message: Message, data: Mapping[str, object] = NO_DATA) -> Verdict:
    """The check makes no sense for this kernel: its points are no part of what is possible."""
    return Verdict("skip", message, skip_reason="not_applicable", data=data)
