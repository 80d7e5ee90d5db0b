"""`present`: a kernel for the variant was found in the submission."""

from __future__ import annotations

from collections.abc import Mapping

from grader.checks.base import Verdict, failed, passed
from grader.lab.checks import Settings
from grader.message import Message, joined, msg
from grader.running.evidence import Evidence
from grader.submission.records import Missing


def judge(evidence: Evidence, settings: Settings) -> Verdict:
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
    """The file's first error, where that keeps its kernels from being read."""
    first = evidence.compilation.diagnostics[0]
    said: dict[str, object] = {"reason": "unreadable", **data}
    if first.cause:
        said["cause"] = first.cause
    message = msg("checks.present.unreadable", start=str(data.get("line")), line=first.line, message=first.message)
    hint = joined(first.hint, msg("checks.present.hint_unreadable"))
    return failed(message, hint, first.line, data=said)


def _no_candidate(evidence: Evidence, data: Mapping[str, object]) -> tuple[Message, Message]:
    kernels = data.get("kernels")
    names = ", ".join(str(k) for k in kernels) if isinstance(kernels, list) else ""
    message = msg("checks.present.no_candidate")
    if names:
        message = joined(message, msg("checks.present.kernels_are", kernels=names)) or message
    if "launched" in data:
        twice = msg("checks.present.launched_twice", kernel=_text(data, "launched"), lines=_text(data, "lines"))
        message = joined(message, twice) or message
    return message, msg("checks.present.hint_name", lab=evidence.lab.id, variant=evidence.variant.name)


def _absent(evidence: Evidence, data: Mapping[str, object]) -> tuple[Message, Message]:
    """There is something else wrong with the file than the name of a kernel."""
    binding = evidence.binding
    reason = binding.reason if isinstance(binding, Missing) else ""
    said = {name: value for name, value in data.items() if isinstance(value, str | int)}
    return msg(f"checks.present.{reason}", **said), msg(f"checks.present.hint_{reason}", **said)


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
    elif detail == "pointers":
        got = int(str(data.get("got")))
        message = msg(
            "checks.present.arrays", kernel=_text(data, "kernel"), got=got, expected=int(str(data.get("expected")))
        )
    else:
        message = msg("checks.present.parameters", kernel=_text(data, "kernel"))
    hint = msg("checks.present.hint_parameters", parameters=", ".join(p.name for p in evidence.lab.parameters))
    return message, hint


def _empty(evidence: Evidence, data: Mapping[str, object]) -> tuple[Message, Message]:
    return (
        msg("checks.present.empty", kernel=_text(data, "kernel")),
        msg("checks.present.hint_empty"),
    )


def _text(data: Mapping[str, object], name: str) -> str:
    return str(data.get(name))
