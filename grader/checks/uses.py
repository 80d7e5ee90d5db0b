"""`uses`: what a solution has to use is used in some run, and what it must not use in none.

Decided by what was executed and launched: what stands in the text and is never reached is not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab.checks import Use, UsesSettings
from grader.message import Message, joined, msg
from grader.programs.records import LIBRARY
from grader.running.evidence import Evidence, Work

EXECUTED: dict[Use, str] = {
    "shared_memory": "shared",
    "constant_memory": "constant",
    "textures": "textures",
    "shuffles": "shuffles",
    "votes": "votes",
    "atomics": "atomics",
    "float_atomics": "float_atomics",
    "tensor_cores": "tensor_cores",
}
"""What instructions use, by its name in `LineWork.uses`."""


@dataclass(frozen=True, slots=True)
class _Place:
    file: str
    line: int


def judge(evidence: Evidence, settings: UsesSettings) -> Verdict:
    """Look for what is asked for, and for what is forbidden, in all runs that came to their end."""
    if not evidence.work:
        return not_measured(msg("checks.not_counted"))
    used = {name: _first(evidence, name) for name in (*settings.must, *settings.must_not)}
    lacking = [name for name in settings.must if used[name] is None]
    forbidden = [(name, place) for name in settings.must_not if (place := used[name]) is not None]
    data = {"used": [name for name, place in used.items() if place is not None]}
    if not lacking and not forbidden:
        return passed(msg("checks.uses.passed"), data=data)
    sentences = [msg("checks.uses.lacks", what=_name(name)) for name in lacking]
    sentences += [
        msg("checks.uses.forbidden", what=_name(name), line=place.line)
        if place.line
        else msg("checks.uses.forbidden_somewhere", what=_name(name))
        for name, place in forbidden
    ]
    hint = msg("checks.uses.hint_lacks") if lacking else msg("checks.uses.hint_forbidden")
    verdict = failed(joined(*sentences) or sentences[0], hint, data=data)
    at = next((place for _name_of, place in forbidden if place.line), None)
    return verdict if at is None else replace(verdict, line=at.line, file=evidence.file_of(at.file))


def _name(name: Use) -> Message:
    return msg(f"checks.uses.{name}")


def _first(evidence: Evidence, name: Use) -> _Place | None:
    """The place of its first use, in the first run that uses it; line 0 if no line of the source stands for it."""
    for work in evidence.work:
        if name in EXECUTED:
            used = EXECUTED[name]
            place = next((_Place(file, row.line) for file, row in work.by_line() if row.uses.get(used)), None)
        else:
            place = _asked(work, name)
        if place is not None and place.file == LIBRARY:
            # What a library launches by itself was asked for in a line that no run shows.
            return _Place(*(evidence.library_at or ("", 0)))
        if place is not None:
            return place
    return None


def _asked(work: Work, name: Use) -> _Place | None:
    """The same of what the host asks for."""
    asked = work.asked or ()
    match name:
        case "library":
            called = next((call for call in asked if call.is_of_library), None)
        case "streams":
            called = next((call for call in asked if call.stream > 1), None)
        case _:
            launches = [call for call in asked if call.kind == "kernel"]
            called = launches[1] if len(launches) > 1 else None
    return _Place(called.file, called.line) if called is not None else None
