"""`compiles`: the student's file compiles, and the variant's kernel is really in what the compiler made."""

from __future__ import annotations

import re

from grader.checks.base import Verdict, failed, passed
from grader.lab.checks import Settings
from grader.message import Message, as_message, joined, msg
from grader.running.evidence import Diagnostic, Evidence

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
    """The error inside this variant's kernel where there is one, else the first of the file."""
    kernel, diagnostics = evidence.bound.kernel, evidence.compilation.diagnostics
    inside = [d for d in diagnostics if d.file == kernel.file and kernel.line <= d.line <= kernel.end_line]
    first = next(iter(inside or diagnostics), None)
    data = {
        "errors": [
            {"file": d.file, "line": d.line, "message": d.message if isinstance(d.message, str) else d.message.id}
            for d in diagnostics[:20]
        ]
    }
    if first is None:
        return failed(msg("checks.compiles.refused"), msg("checks.compiles.hint_refused"), data=data)
    own = first.file == kernel.file
    message: Message | None = as_message(first.message)
    if not own:
        message = msg("checks.compiles.elsewhere", file=first.file, line=first.line, message=first.message)
    others = len(diagnostics) - 1
    if others:
        message = joined(message, msg("checks.compiles.more", n=others))
    semicolon = msg("checks.compiles.hint_semicolon") if 'expected a ";"' in str(first.message) else None
    hint = joined(semicolon, first.hint, msg("checks.compiles.hint_first"))
    missing = evidence.compilation.missing_headers
    if missing and _UNDECLARED.search(str(first.message)):
        name, file, line = missing[0]
        message = msg("checks.compiles.missing_header", header=name, file=file, n=line, message=message)
        hint = msg("checks.compiles.hint_missing_headers", headers=", ".join(name for name, _file, _line in missing))
        return failed(message, hint, line=line if file == kernel.file else None, data=data)
    if not inside:
        hint = joined(hint, msg("checks.compiles.hint_elsewhere"))
    return failed(message or as_message(first.message), hint, line=first.line if own else None, data=data)


def _text(diagnostic: Diagnostic) -> str:
    """The compiler's own words; the id of ours where it has none."""
    return diagnostic.message if isinstance(diagnostic.message, str) else diagnostic.message.id
