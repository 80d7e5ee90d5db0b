"""`compiles`: the student's file compiles, and the variant's kernel is really in what the compiler made."""

from __future__ import annotations

from grader.checks.base import CheckKind, Settings, Verdict, failed, passed
from grader.i18n import _, ngettext
from grader.running.evidence import Evidence


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Pass when there was no error; name the first error of the student's own file otherwise."""
    compilation = evidence.compilation
    kernel = evidence.bound.kernel
    match compilation.failure:
        case "":
            return passed(_("Compiled without errors."))
        case "timeout":
            return failed(_("Compiling was stopped: it took too long."), _endless(), kernel.line)
        case "crashed":
            return failed(_("Compiling was stopped: the compiler ran out of memory."), _endless(), kernel.line)
        case "missing_entry":
            return failed(
                _("The file compiles, but the kernel {kernel} is not in the result.").format(kernel=kernel.name),
                _("Look for an #if that removes it, or for a template that nothing instantiates."),
                line=kernel.line,
            )
    return _errors(evidence)


def _endless() -> str:
    return _("Look for a macro or a template that expands without end, or for a very large initialised array.")


def _errors(evidence: Evidence) -> Verdict:
    """The error inside this variant's kernel where there is one, else the first of the file."""
    kernel, diagnostics = evidence.bound.kernel, evidence.compilation.diagnostics
    inside = [d for d in diagnostics if d.file == kernel.file and kernel.line <= d.line <= kernel.end_line]
    first = next(iter(inside or diagnostics), None)
    data = {"errors": [{"file": d.file, "line": d.line, "message": d.message} for d in diagnostics[:20]]}
    if first is None:
        return failed(
            _("The compiler refused the file without saying why."), _("Compile it with nvcc to see."), data=data
        )
    own = first.file == kernel.file
    message = first.message
    if not own:
        message = _("{file}, line {line}: {message}").format(file=first.file, line=first.line, message=first.message)
    others = len(diagnostics) - 1
    if others:
        message += " " + ngettext("(and {n} more error)", "(and {n} more errors)", others).format(n=others)
    hint = first.hint + " " if first.hint else ""
    hint += _("A compiler error stops the whole program: none of its kernels can run. Mend the first one first.")
    if 'expected a ";"' in first.message:
        hint = (
            _("A missing semicolon is noticed at the next word only: look at the end of the line before.") + " " + hint
        )
    if evidence.compilation.missing_headers:
        hint = _("The file includes {headers}, which was not handed in: put it beside the file.").format(
            headers=", ".join(evidence.compilation.missing_headers)
        )
    if not inside:
        hint += " " + _("It lies outside this kernel, yet in the same program.")
    return failed(message, hint, line=first.line if own else None, data=data)


CHECK = CheckKind("compiles", judge, needs=("present",))
