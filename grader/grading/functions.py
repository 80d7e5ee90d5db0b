"""A submission for a lab that asks for a function: read, compiled with a harness, run; the evidence of its variants."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from grader.errors import InternalError
from grader.grading.reading import errors_of
from grader.lab.records import Lab
from grader.launching.programs import ProgramStore
from grader.message import Message, msg
from grader.oracle.expected import Oracle
from grader.processes.system import IS_LINUX
from grader.programs.harness import with_harness
from grader.programs.records import Observation
from grader.programs.toolchain.compile import uses_thrust
from grader.running.evidence import Compilation, Diagnostic, Evidence
from grader.running.function_runs import FunctionRuns
from grader.submission import effort
from grader.submission.files.folder import FoundSubmission
from grader.submission.files.source import SourceText, decode
from grader.submission.functions import FoundFunction, binding_of, find_function, without_main
from grader.submission.kernels.kernel import kernels_in
from grader.submission.records import Submission
from grader.submission.rewriting.translation_units import read_files


def read_function(found: FoundSubmission, sources: Sequence[SourceText], lab: Lab) -> Submission:
    """The submission in `sources`, with the function that `lab` asks for as what its variants are bound to.

    Raises
    ------
    UsageError : a local header is no text; the files take too much work to read.
    """
    assert lab.function is not None
    with effort.limited(sources[0].path if sources else found.folder):
        read = read_files(sources, found.folder, decode)
        function = find_function(sources, lab.function.signature)
        home = next((s for s in sources if isinstance(function, FoundFunction) and s.file == function.file), None)
        bindings = {v.name: binding_of(v.name, lab.function.signature, function, home) for v in lab.variants}
        return Submission(
            student=found.student,
            name=found.name,
            group=found.group,
            title_page=found.title_page,
            sources=(*sources, *read.header_sources),
            device_source=read.texts,
            kernels=tuple(kernel for parsed in read.with_kernels for kernel in kernels_in(parsed)),
            launches=(),
            bindings=bindings,
            remarks=(
                *(("unknown_lab", line) for line in found.unknown_labs),
                *(remark for source in sources for remark in source.remarks),
            ),
            missing_headers=tuple(
                (parsed.file, name, line)
                for parsed, code in zip(read.main_files, read.codes, strict=True)
                for name, line in code.missing_headers
            ),
            units=read.units,
            included=read.included,
            header_sources=len(read.header_sources),
        )


def run_function(
    lab: Lab, submission: Submission, programs: ProgramStore, oracle: Oracle, drawn_lab: Lab, drawn_oracle: Oracle
) -> dict[str, Evidence]:
    """The evidence of each variant after the function was called at the lab's cases and at drawn ones.

    Raises
    ------
    FileError : the oracle cannot say what has to come out.
    """
    assert lab.function is not None
    sources = submission.sources[: len(submission.sources) - submission.header_sources]
    with effort.limited(sources[0].path):
        function = find_function(sources, lab.function.signature)
    found = {
        v.name: Evidence(lab, v, submission.bindings[v.name], source=submission.device_source) for v in lab.variants
    }
    if not isinstance(function, FoundFunction):
        return found
    if not IS_LINUX:
        return _each(found, unobserved=msg("programs.not_on_this_system"))
    built = programs.get_text(submission.program(function.file), []).result
    runs = FunctionRuns(lab, oracle, drawn_lab, drawn_oracle)
    home = next(s for s in sources if s.file == function.file)
    others = [source for source in sources if source.file != home.file]
    with tempfile.TemporaryDirectory() as folder:
        # What cells of a notebook hold is no file yet.
        placed = [_placed(source, Path(folder)) for source in (home, *others)]
        first = next(iter(found.values()))
        types = [argument.spelled for argument in lab.function.signature.arguments]
        try:
            for files in ([placed[0]], placed) if others else (placed,):
                program = with_harness(
                    [source.path for source in files],
                    files[0].root,
                    {source.file: without_main(source) for source in files},
                    lab.function.signature.name,
                    types,
                    function.is_of_c,
                )
                if built.reason == "errors" and not uses_thrust(program.whole):
                    return _each(found, compilation=Compilation("errors", errors_of(built)))
                ran = runs.of(program, first)
                cause = runs.observations[0].cause
                if cause is None or cause.id != "programs.undefined":
                    # Else the rest of it may stand in the other files.
                    break
        except InternalError as error:
            return _each(found, unobserved=error.message)
    compilation = _of_host(runs.observations[0], function)
    if compilation is not None:
        return _each(found, compilation=compilation)
    return {name: replace(ran, variant=e.variant, binding=e.binding) for name, e in found.items()}


def _each(found: Mapping[str, Evidence], **known: object) -> dict[str, Evidence]:
    return {name: replace(evidence, **known) for name, evidence in found.items()}  # type: ignore[arg-type]  # its fields


def _placed(source: SourceText, folder: Path) -> SourceText:
    if not source.notebook:
        return source
    path = folder / source.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source.text, "utf-8")
    return replace(source, path=path)


def _of_host(observation: Observation, function: FoundFunction) -> Compilation | None:
    """Why a program was not run at all; None where it was."""
    told = next((finding for finding in observation.findings if finding.kind == "not_run"), None)
    cause = observation.cause
    if told is None and (cause is None or cause.id != "programs.device_code"):
        return None
    file, line = (told.file, told.line) if told is not None and told.line else (function.file, function.line)
    said: str | Message = cause if cause is not None else msg("checks.compiles.refused")
    if cause is not None and cause.id == "programs.host_error":
        said = str(cause.data.get("text", ""))
    return Compilation("errors", (Diagnostic(file, line, said),), is_host_broken=True)
