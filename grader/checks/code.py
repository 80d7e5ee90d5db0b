"""What stands in the code: `present`, a kernel for the variant; `compiles`; `uses`, what must be used and must not be.

`uses` is decided by what was executed and launched: what stands in the text and is never reached is not used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from grader.checks.base import Verdict, failed, not_measured, passed
from grader.lab.checks import Settings, Use, UsesSettings
from grader.message import Message, as_message, joined, msg
from grader.programs.records import LIBRARY
from grader.running.evidence import Evidence, Work
from grader.submission.records import Missing


def judge_present(evidence: Evidence, settings: Settings) -> Verdict:
    """Pass when the variant is bound to a kernel; else say why not and how to name one."""
    binding = evidence.binding
    if not isinstance(binding, Missing):
        kernel = binding.kernel
        if evidence.lab.makes_launches:
            return passed(
                msg("checks.present.function_found", name=kernel.name), kernel.line, data={"kernel": kernel.name}
            )
        return passed(msg("checks.present.found", kernel=kernel.name), kernel.line, data={"kernel": kernel.name})
    data = binding.data
    line = data.get("line")
    if evidence.compilation.diagnostics:
        return _unreadable(evidence, data)
    verdict = {"unbindable": _unbindable, "empty": _empty}.get(binding.reason)
    if verdict is None:
        verdict = _absent if binding.reason != "no_candidate" else _no_candidate
    message, hint = verdict(evidence, data)
    return failed(message, hint, line if isinstance(line, int) else None, data={"reason": binding.reason} | dict(data))


def _unreadable(evidence: Evidence, data: Mapping[str, object]) -> Verdict:
    """Fail with the file's first error, which keeps its kernels from being read."""
    first = evidence.compilation.diagnostics[0]
    shown: dict[str, object] = {"reason": "unreadable", **data}
    if first.cause:
        shown["cause"] = first.cause
    message = msg("checks.present.unreadable", start=str(data.get("line")), line=first.line, message=first.message)
    hint = joined(first.hint, msg("checks.present.hint_unreadable"))
    return failed(message, hint, first.line, data=shown)


def _no_candidate(evidence: Evidence, data: Mapping[str, object]) -> tuple[Message, Message]:
    kernels = data.get("kernels")
    names = ", ".join(str(k) for k in kernels) if isinstance(kernels, list) else ""
    message = msg("checks.present.no_candidate")
    if names:
        message = joined(message, msg("checks.present.kernels_are", kernels=names)) or message
    if "launched" in data:
        twice = msg("checks.present.launched_twice", kernel=_text(data, "launched"), lines=_text(data, "lines"))
        message = joined(message, twice) or message
    hint = msg("checks.present.hint_name", lab=evidence.lab.id, variant=evidence.variant.name)
    if "launched" in data:
        hint = msg("checks.present.hint_launched_twice", lab=evidence.lab.id, variant=evidence.variant.name)
    return message, hint


def _absent(evidence: Evidence, data: Mapping[str, object]) -> tuple[Message, Message]:
    binding = evidence.binding
    reason = binding.reason if isinstance(binding, Missing) else ""
    shown = {name: value for name, value in data.items() if isinstance(value, str | int)}
    return msg(f"checks.present.{reason}", **shown), msg(f"checks.present.hint_{reason}", **shown)


def _unbindable(evidence: Evidence, data: Mapping[str, object]) -> tuple[Message, Message]:
    detail = data.get("detail")
    named = {name: _text(data, name) for name in ("kernel", "type", "parameter")}
    if detail == "handle":
        return msg("checks.present.handle", **named), msg("checks.present.hint_handle")
    if detail == "two_inputs":
        two = {name: _text(data, name) for name in ("kernel", "first", "second")}
        return msg("checks.present.two_inputs", **two), msg("checks.present.hint_two_inputs", **two)
    if detail == "rows":
        return msg("checks.present.rows", **named), msg("checks.present.hint_rows")
    if detail == "parameter":
        message = msg("checks.present.unknown_parameter", **named)
    elif detail == "in_place":
        return msg(
            "checks.present.in_place", kernel=_text(data, "kernel"), own=_text(data, "own"), arrays=_arrays(evidence)
        ), msg("checks.present.hint_in_place")
    elif detail == "pointers":
        return msg(
            "checks.present.arrays",
            kernel=_text(data, "kernel"),
            got=int(str(data.get("got"))),
            own=_text(data, "own"),
            expected=int(str(data.get("expected"))),
            arrays=_arrays(evidence),
        ), msg("checks.present.hint_arrays", parameters=_parameters(evidence))
    else:
        message = msg("checks.present.parameters", kernel=_text(data, "kernel"))
    hint = msg("checks.present.hint_parameters", parameters=_parameters(evidence))
    return message, hint


def _arrays(evidence: Evidence) -> str:
    return ", ".join(p.name for p in evidence.lab.parameters if p.is_array)


def _parameters(evidence: Evidence) -> str:
    return ", ".join(p.name for p in evidence.lab.parameters)


def _empty(evidence: Evidence, data: Mapping[str, object]) -> tuple[Message, Message]:
    return (msg("checks.present.empty", kernel=_text(data, "kernel")), msg("checks.present.hint_empty"))


def _text(data: Mapping[str, object], name: str) -> str:
    return str(data.get(name))


_UNDECLARED = re.compile(
    r"identifier \".*\" is undefined|is not a template|namespace name|incomplete type|not a type name|has no member"
    r"|name followed by \"::\"|is not a class"
)
"""The compiler's words for a name that a header may declare."""


def judge_compiles(evidence: Evidence, settings: Settings) -> Verdict:
    """Pass when there was no error; name the first error of the student's own file otherwise."""
    compilation = evidence.compilation
    kernel = evidence.bound.kernel
    match compilation.failure:
        case "":
            return passed(msg("checks.compiles.passed"))
        case "timeout":
            return failed(msg("checks.compiles.timeout"), msg("checks.compiles.hint_endless"), kernel.line)
        case "crashed":
            return failed(msg("checks.compiles.crashed"), msg("checks.compiles.hint_endless"), kernel.line)
        case "missing_entry" if compilation.missing_headers:
            header, file, line = compilation.missing_headers[0]
            headers = ", ".join(name for name, _file, _line in compilation.missing_headers)
            return failed(
                msg("checks.compiles.needs_header", kernel=kernel.name, header=header, file=file, n=line),
                msg("checks.compiles.hint_missing_headers", headers=headers),
                line=line if file == kernel.file else kernel.line,
            )
        case "missing_entry":
            return failed(
                msg("checks.compiles.missing_entry", kernel=kernel.name),
                msg("checks.compiles.hint_missing_entry"),
                line=kernel.line,
            )
    return _errors(evidence)


# Up to the line of the error; what compilers and CUDA's headers define, and guards of headers, nobody gives.
_ASKED_FOR = re.compile(
    r"^[ \t]*#[ \t]*(?:ifndef|if[ \t]+!defined)\b[ \t(]*(?!_|CUDA|\w+_(?:H|HPP|CUH)_*\b)(\w+)[^\n]*\n"
    r"[ \t]*#[ \t]*error\b[^\n]*\Z",
    re.M,
)


def _errors(evidence: Evidence) -> Verdict:
    kernel, diagnostics = evidence.bound.kernel, evidence.compilation.diagnostics
    data: dict[str, object] = {
        "errors": [
            {"file": d.file, "line": d.line, "message": d.message if isinstance(d.message, str) else d.message.id}
            for d in diagnostics[:20]
        ]
    }
    if not diagnostics:
        return failed(msg("checks.compiles.refused"), msg("checks.compiles.hint_refused"), data=data)
    first = diagnostics[0]
    inside = [d for d in diagnostics if d.file == kernel.file and kernel.line <= d.line <= kernel.end_line]
    own = first.file == kernel.file
    message: Message | None = as_message(first.message)
    if not own:
        message = msg("checks.compiles.elsewhere", file=first.file, line=first.line, message=first.message)
    remaining = len(diagnostics) - 1
    if inside and inside[0] is not first:
        message = joined(message, msg("checks.compiles.inside", line=inside[0].line, message=inside[0].message))
        remaining -= 1
    if remaining:
        message = joined(message, msg("checks.compiles.more", n=remaining))
    missing = evidence.compilation.missing_headers
    if missing and first.hint is None and _UNDECLARED.search(str(first.message)):
        header, file, line = missing[0]
        reason = msg("checks.compiles.missing_header", header=header, file=file, n=line, message=message or "")
        advice = msg("checks.compiles.hint_missing_headers", headers=", ".join(name for name, _file, _line in missing))
        return failed(reason, advice, line=line if file == kernel.file else None, data=data)
    hint: Message | None = joined(first.hint, msg("checks.compiles.hint_first"))
    asked_for = _ASKED_FOR.search("\n".join(evidence.source.get(first.file, "").split("\n")[: first.line]))
    if asked_for is not None:
        hint = msg("checks.compiles.hint_command_line", name=asked_for[1])
    if missing and first.hint is None:
        # What has a cause of its own is not blamed on a header.
        hint = msg("checks.compiles.hint_missing_headers", headers=", ".join(name for name, _file, _line in missing))
    if first not in inside:
        hint = joined(hint, msg("checks.compiles.hint_elsewhere"))
    if own and first.cause:
        data["cause"] = first.cause
    return failed(message or as_message(first.message), hint, line=first.line if own else None, data=data)


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


def judge_uses(evidence: Evidence, settings: UsesSettings) -> Verdict:
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
    """Return the place of the first use, in the first run that has one; line 0 where no source line stands for it."""
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
    calls = work.asked or ()
    match name:
        case "library":
            called = next((call for call in calls if call.is_of_library), None)
        case "streams":
            called = next((call for call in calls if call.stream > 1), None)
        case _:
            launches = [call for call in calls if call.kind == "kernel"]
            called = launches[1] if len(launches) > 1 else None
    return _Place(called.file, called.line) if called is not None else None
