"""`compiles`: the student's file compiles, and the variant's kernel is really in what the compiler made."""

from __future__ import annotations

import re

from grader.checks.base import Verdict, failed, passed
from grader.lab.checks import Settings
from grader.message import Message, as_message, joined, msg
from grader.running.evidence import Evidence

_UNDECLARED = re.compile(
    r"identifier \".*\" is undefined|is not a template|namespace name|incomplete type|not a type name|has no member"
    r"|name followed by \"::\"|is not a class"
)
"""The compiler's words for a name that a header may declare."""


def judge(evidence: Evidence, settings: Settings) -> Verdict:
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
        case "missing_entry":
            return failed(
                msg("checks.compiles.missing_entry", kernel=kernel.name),
                msg("checks.compiles.hint_missing_entry"),
                line=kernel.line,
            )
    return _errors(evidence)


def _errors(evidence: Evidence) -> Verdict:
    """The compiler's first error, for what comes later may come of it; and the first of this variant's kernel."""
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
    others = len(diagnostics) - 1
    if inside and inside[0] is not first:
        message = joined(message, msg("checks.compiles.inside", line=inside[0].line, message=inside[0].message))
        others -= 1
    if others:
        message = joined(message, msg("checks.compiles.more", n=others))
    missing = evidence.compilation.missing_headers
    if missing and first.hint is None and _UNDECLARED.search(str(first.message)):
        header, file, line = missing[0]
        reason = msg("checks.compiles.missing_header", header=header, file=file, n=line, message=message or "")
        advice = msg("checks.compiles.hint_missing_headers", headers=", ".join(name for name, _file, _line in missing))
        return failed(reason, advice, line=line if file == kernel.file else None, data=data)
    hint: Message | None = joined(first.hint, msg("checks.compiles.hint_first"))
    if missing and first.hint is None:
        # What has a cause of its own is not blamed on a header.
        hint = msg("checks.compiles.hint_missing_headers", headers=", ".join(name for name, _file, _line in missing))
    if first not in inside:
        hint = joined(hint, msg("checks.compiles.hint_elsewhere"))
    if own and first.cause:
        data["cause"] = first.cause
    return failed(message or as_message(first.message), hint, line=first.line if own else None, data=data)
