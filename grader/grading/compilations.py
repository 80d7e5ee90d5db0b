"""What the compiler says of each variant's kernel: the evidence that a grading begins with."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.lab.records import Lab
from grader.running.evidence import Compilation, Diagnostic, Evidence
from grader.running.host_code import host_code
from grader.submission.kernels.records import Kernel
from grader.submission.kernels.unset import unset_variables
from grader.submission.lexical import without_comments
from grader.submission.records import Missing, Submission, VariantBinding

if TYPE_CHECKING:
    from grader.compiler.result import CompileResult
    from grader.launching.programs import ProgramStore


def compiled(lab: Lab, submission: Submission, programs: ProgramStore) -> dict[str, Evidence]:
    """The evidence of each variant after every file that holds a bound kernel was compiled."""
    from grader.launching.programs import handed_in

    built = {file: programs.get(program).result for file, program in handed_in(submission).items()}
    found = {}
    for variant in lab.variants:
        binding = submission.bindings[variant.name]
        unobserved = submission.observed.failed
        evidence = Evidence(lab, variant, binding, source=submission.device_source, unobserved=unobserved)
        found[variant.name] = evidence
        if isinstance(binding, Missing):
            found[variant.name] = replace(evidence, compilation=_unread(submission, binding, programs))
        else:
            compilation = _compilation(submission, binding, built[binding.kernel.file])
            host = host_code(submission, binding.kernel)
            found[variant.name] = replace(evidence, compilation=compilation, host=host)
    return found


def _unread(submission: Submission, missing: Missing, programs: ProgramStore) -> Compilation:
    """What the compiler says of a kernel that could not be read, from its first line to its last."""
    from grader.compiler.causes import closing_line

    file, line = missing.data.get("file"), missing.data.get("line")
    source = next((s for s in submission.sources if s.file == file), None)
    if missing.reason != "inactive" or source is None or not isinstance(line, int):
        return Compilation()
    # The host's headers are not there; the kernel is judged without them.
    text = re.sub(r"(?m)^[ \t]*#[ \t]*include\b[^\n]*", "", source.text)
    last = closing_line(source.text, line)
    errors = tuple(e for e in _errors(programs.get_text({str(file): text}, []).result) if line <= e.line <= last)
    return Compilation("errors", errors) if errors else Compilation()


def _errors(result: CompileResult) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(d.file, d.line, d.message, d.hint, d.cause) for d in result.diagnostics if d.severity == "error"
    )


def _unset(submission: Submission, kernel: Kernel) -> tuple[tuple[str, int], ...]:
    """Variables of a kernel that compiles which have no value where they are used first, and the lines of that."""
    text = next((source.text for source in submission.sources if source.file == kernel.file), "")
    return tuple(unset_variables(kernel, without_comments(text)))


def _compilation(submission: Submission, binding: VariantBinding, result: CompileResult) -> Compilation:
    if binding.expression in result.entries:
        return Compilation(unset=_unset(submission, binding.kernel))
    failure = {"forbidden_include": "errors", "": "missing_entry"}.get(result.reason, result.reason)
    unit = submission.units.get(binding.kernel.file, binding.kernel.file)
    included = submission.included.get(unit, {})
    errors = tuple(replace(error, file=included.get(error.file, error.file)) for error in _errors(result))
    missing = [
        (name, file, line) for file, name, line in submission.missing_headers if file in (unit, binding.kernel.file)
    ]
    return Compilation(failure, errors, tuple(missing))
