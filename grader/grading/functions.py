"""A submission that makes its launches itself, a function or a program: read, compiled, run; its variants' evidence.

A whole program is a process a case, its arguments and files made by the grader, its outputs read after.  What it prints
of its own results counts for nothing; what counts stands in the files that it leaves, among the numbers that it prints,
or in what it copied back from the device.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from grader.compiler.diagnostics import Diagnostic
from grader.compiler.result import symbol_in
from grader.errors import FileError, InternalError
from grader.grading.reading import built_as_nvcc
from grader.lab.compare import Difference, compare, first_wrong
from grader.lab.expected import Array, Oracle
from grader.lab.file_formats import from_file, longest, numbers_text, to_file
from grader.lab.interfaces import filled_in
from grader.lab.parameters import Signature
from grader.lab.records import COPIED, STDOUT, Lab, Parameter, ProgramRule, Sizes
from grader.launching.backend import LaunchOutcome
from grader.launching.kernel import shape_at
from grader.launching.trial import Run
from grader.message import Message, msg
from grader.processes.limits import IS_LINUX
from grader.programs.execution import CompiledProgram
from grader.programs.records import CallLaunch, FunctionCall, Observation, Start
from grader.programs.sources import Program, read_program, with_harness, with_own_harness
from grader.programs.toolchain.compile import uses_thrust
from grader.running.calls import hazards_of, stopped_launch
from grader.running.evidence import Compilation, Evidence
from grader.running.function_runs import Called, Case, FunctionRuns
from grader.running.reordered import with_occupancy
from grader.submission import lexical
from grader.submission.cpp.parse import parse
from grader.submission.device_code import read_files
from grader.submission.folder import FoundSubmission
from grader.submission.kernels.kernel import kernels_in
from grader.submission.records import FoundFunction, Submission, binding_of, find_function, find_main, without_main
from grader.submission.source import SourceText, decode

if TYPE_CHECKING:
    from grader.compiler.result import CompileResult, Resources
    from grader.gpu.functions import FunctionGpu
    from grader.launching.trial import Trials


CODE_SUFFIXES = (".cu", ".cpp", ".cc", ".c")
"""The lab's own files with these suffixes are compiled; others are included, or opened."""
_INCLUDED = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)', re.M)


def staged(submitted: FoundSubmission, sources: Sequence[SourceText], lab: Lab, folder: Path) -> list[SourceText]:
    """`sources` as files in an empty `folder`, with the lab's own files beside them and in place of those so called.

    What the student's files include goes with them.  A notebook's cells become files.

    Raises UsageError: a header that the student's files include is no text; the files take too much work to read.
    """
    own = [source for source in sources if source.file not in lab.files]
    if not lab.files and not any(source.notebook for source in own):
        return own
    with lexical.limited(sources[0].path if sources else submitted.folder):
        included = read_files(own, submitted.folder, decode).header_sources
    placed = []
    for source in (*own, *included):
        path = folder / source.file
        if not path.resolve().is_relative_to(folder.resolve()):
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.notebook:
            path.write_text(source.text, "utf-8")
        else:
            path.write_bytes(source.path.read_bytes())
        placed += [replace(source, path=path, name=source.file)] if source in own else []
    for name, file in lab.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(file.read_bytes())
    return placed


def _entry(sources: Sequence[SourceText], lab: Lab) -> FoundFunction | tuple[str, dict[str, object]]:
    """Return what the student's files have to define: the lab's function, or a program's `main`."""
    signature = _signature(lab)
    if signature is None:
        return find_main(sources)
    more = lab.function.more if lab.function is not None else ()
    functions = [find_function(sources, one) for one in (signature, *more)]
    return next((one for one in functions if not isinstance(one, FoundFunction)), functions[0])


def _signature(lab: Lab) -> Signature | None:
    """Return the signature of the first function asked for, None where a program's `main` is."""
    return lab.function.signature if lab.function is not None else lab.program.signature if lab.program else None


def read_function(submitted: FoundSubmission, sources: Sequence[SourceText], lab: Lab) -> Submission:
    """The submission in `sources`, with the function, or the program, that `lab` asks for as what its variants are
    bound to.

    Raises UsageError: a local header is no text; the files take too much work to read.
    """
    with lexical.limited(sources[0].path if sources else submitted.folder):
        read = read_files(sources, sources[0].root if sources else submitted.folder, decode)
        entry = _entry(sources, lab)
        home = next((s for s in sources if isinstance(entry, FoundFunction) and s.file == entry.file), None)
        bindings = {v.name: binding_of(v.name, _signature(lab), entry, home) for v in lab.variants}
        headers = [header for header in read.header_sources if header.file not in lab.files]
        return Submission(
            student=submitted.student,
            name=submitted.name,
            group=submitted.group,
            title_page=submitted.title_page,
            sources=(*sources, *headers),
            device_source=read.texts,
            kernels=tuple(kernel for parsed in read.with_kernels for kernel in kernels_in(parsed)),
            launches=(),
            bindings=bindings,
            remarks=(
                *(("unknown_lab", line) for line in submitted.unknown_labs),
                *(remark for source in sources for remark in source.remarks),
            ),
            missing_headers=tuple(
                (parsed.file, name, line)
                for parsed, code in zip(read.main_files, read.codes, strict=True)
                for name, line in code.missing_headers
            ),
            units=read.units,
            included=read.included,
            header_sources=len(headers),
        )


def run_function(
    lab: Lab,
    submission: Submission,
    oracle: Oracle,
    drawn_trials: Trials,
    stack: ExitStack,
    gpu: FunctionGpu | None = None,
) -> tuple[dict[str, Evidence], Called | None]:
    """The evidence of each variant after the function was called, or the program run, at the lab's cases and at drawn
    ones, and on a GPU; and how it was run there, None where it was not.

    drawn_trials: the programs, and the lab with the seed that is drawn, with its oracle.
    stack: closes what runs the program, when nothing more is asked of it.

    Raises FileError: the oracle cannot say what has to come out, or the lab's own files are wrong.
    """
    sources = submission.sources[: len(submission.sources) - submission.header_sources]
    by_variant = {
        v.name: Evidence(lab, v, submission.bindings[v.name], source=submission.device_source) for v in lab.variants
    }
    if not sources:
        return by_variant, None
    with lexical.limited(sources[0].path):
        entry = _entry(sources, lab)
    if not isinstance(entry, FoundFunction):
        return by_variant, None
    if not IS_LINUX:
        return _each(by_variant, unobserved=msg("programs.not_on_this_system")), None
    from grader.launching.programs import DeviceProgram

    programs = drawn_trials.programs
    built = built_as_nvcc(programs, DeviceProgram(submission, entry.file, ()))
    runs = runs_of(lab, oracle, drawn_trials.lab, drawn_trials.oracle)
    home = next(s for s in sources if s.file == entry.file)
    others = [source for source in sources if source.file != home.file]
    first = next(iter(by_variant.values()))
    try:
        for read in ([home], [home, *others]) if others else ([home],):
            program = _program(lab, read, entry)
            if built.reason == "errors" and not uses_thrust(program.whole):
                return _each(by_variant, compilation=Compilation("errors", built.errors)), None
            compiled = stack.enter_context(closing(CompiledProgram(program)))
            ran = runs.of(program, first, compiled)
            cause = runs.observations[0].cause
            if cause is None or cause.id != "programs.undefined":
                # Else the rest of it may stand in the other files.
                break
    except InternalError as error:
        return _each(by_variant, unobserved=error.message), None
    compilation = _of_host(runs.observations[0], entry)
    if compilation is not None:
        _blame_lab(lab, submission, compilation.diagnostics)
        return _each(by_variant, compilation=compilation), None

    def built_for(architecture: str, kernel: str) -> CompileResult:
        names = [kernel] if "<" in kernel else []
        return programs.get_text(submission.program(entry.file), names, architecture).result

    def resources_of(architecture: str, launch: CallLaunch) -> Resources | None:
        resources = built_for(architecture, launch.kernel).resources
        return resources.get(symbol_in(resources, launch.kernel, launch.symbol) or "")

    # Where the host has data of its own to copy, or several launches to make, what is wrong may be that.
    is_alone = runs.is_on_device and runs.is_one_launch
    own = [k for k in submission.kernels if is_alone and k.name.rpartition("::")[2] in runs.suspects]
    if len(own) == 1:
        ran = replace(ran, suspect=(own[0].file, own[0].line))

    def of_each(ran: Evidence) -> dict[str, Evidence]:
        return {
            name: with_occupancy(replace(ran, variant=e.variant, binding=e.binding), resources_of)
            for name, e in by_variant.items()
        }

    def changed(file: str, text: str) -> Program:
        return _program(lab, [replace(s, text=text) if s.file == file else s for s in read], entry)

    def graded(other: Program) -> dict[str, Evidence]:
        anew = runs_of(lab, oracle, drawn_trials.lab, drawn_trials.oracle)
        return of_each(anew.of(other, first))

    called = Called(runs, program, compiled, built_for, [parse(source) for source in read], changed, graded)
    if gpu is None:
        return of_each(ran), called
    texts = {source.file: source.text for source in submission.sources}
    return gpu.measure(runs, program, partial(reference_program, lab), of_each(ran), texts), called


def runs_of(lab: Lab, oracle: Oracle, drawn_lab: Lab | None = None, drawn_oracle: Oracle | None = None) -> FunctionRuns:
    """What runs the lab's function, or its program; without a drawn lab nothing is drawn."""
    kind = FunctionRuns if lab.function is not None else ProgramRuns
    return kind(lab, oracle, drawn_lab or lab, drawn_oracle or oracle)


def reference_program(lab: Lab, variant: str) -> Program:
    """The lab's own function, or program, of a variant.

    Raises FileError: its file does not define what the lab asks for.
    """
    source = decode(next(v for v in lab.variants if v.name == variant).reference.file)
    entry = _entry([source], lab)
    if not isinstance(entry, FoundFunction):
        raise FileError(msg("labs.own_file", what=msg("checks.compiles.refused")), source.path)
    return _program(lab, [source], entry)


def _program(lab: Lab, files: Sequence[SourceText], entry: FoundFunction) -> Program:
    """Return the student's files with the code that calls the function, where a function is asked for."""
    root = files[0].root
    of_lab = [root / name for name in lab.files if Path(name).suffix in CODE_SUFFIXES]
    texts = [*(source.text for source in files), *(path.read_text("utf-8", "replace") for path in of_lab)]
    included = {Path(match[1]).name for text in texts for match in _INCLUDED.finditer(text)}
    # What another file includes is compiled there; compiled by itself too, all in it would be there twice.
    paths = [path for path in (*(source.path for source in files), *of_lab) if path.name not in included]
    paths = paths or [source.path for source in files]
    signature = _signature(lab)
    if signature is None:
        return read_program(paths, (), {source.file: source.text for source in files}, root)
    replaced = {source.file: without_main(source) for source in files}
    if lab.function is None:
        return read_program(paths, (), replaced, root)
    if lab.function.harness:
        return with_own_harness(paths, root, replaced, lab.function.harness)
    types = [argument.spelled for argument in signature.arguments]
    return with_harness(paths, root, replaced, signature.name, types, entry.is_of_c)


def _blame_lab(lab: Lab, submission: Submission, diagnostics: Sequence[Diagnostic]) -> None:
    """Whatever no compiler takes in a source of the lab's own is no fault of a student's.

    Where that includes what was handed in, the mistake may be there all the same.

    Raises FileError: such a source is at fault.
    """
    handed_in = {Path(source.file).name for source in submission.sources if source.file not in lab.files}
    for diagnostic in diagnostics:
        path = lab.files.get(diagnostic.file)
        if path is None or path.suffix not in CODE_SUFFIXES:
            continue
        included = {Path(name).name for name in _INCLUDED.findall(path.read_text("utf-8", "replace"))}
        if not included & handed_in:
            raise FileError(msg("labs.own_file", what=diagnostic.message), path, diagnostic.line or None)


def _each(evidence_of: Mapping[str, Evidence], **fields: object) -> dict[str, Evidence]:
    return {name: replace(evidence, **fields) for name, evidence in evidence_of.items()}  # type: ignore[arg-type]  # its fields


def _of_host(observation: Observation, function: FoundFunction) -> Compilation | None:
    """Return why a program was not run at all, None where it was."""
    fault = next((finding for finding in observation.findings if finding.kind == "not_run"), None)
    cause = observation.cause
    if fault is None and (cause is None or cause.id != "programs.device_code"):
        return None
    file, line = (fault.file, fault.line) if fault is not None and fault.line else (function.file, function.line)
    message: str | Message = cause if cause is not None else msg("checks.compiles.refused")
    if cause is not None and cause.id == "programs.host_error":
        message = str(cause.data.get("text", ""))
    return Compilation("errors", (Diagnostic(file, line, "error", message),), is_host_broken=True)


TEXTS = (".cu", ".cuh", ".cpp", ".cc", ".c", ".h", ".hpp")
"""Endings of those of the lab's own files that are compiled and not opened."""


@dataclass
class ProgramRuns(FunctionRuns):
    """The runs of a program, for a lab's cases and, where it is right at all of these, for drawn ones."""

    calls: ClassVar[int] = 1

    def _outputs(self) -> list[Parameter]:
        return [p for p in self.lab.parameters if p.is_output]

    def _rule(self) -> ProgramRule:
        assert self.lab.program is not None
        return self.lab.program

    def _start(self, case: Case) -> Start:
        ((inputs, _expected),) = case.data
        values = {p.name: self._word(p, case.sizes, inputs) for p in self.lab.parameters}
        files = {
            p.file.name: to_file(p, inputs[p.name], case.sizes)
            for p in self.lab.parameters
            if p.file is not None and p.is_input
        }
        files |= {name: path.read_bytes() for name, path in self.lab.files.items() if path.suffix not in TEXTS}
        sized = [(p, p.file, shape_at(self.lab, p.name, case.sizes)) for p in self._outputs() if p.file is not None]
        return Start(
            arguments=[filled_in(word, values) for word in self._rule().arguments],
            stdin=filled_in(self._rule().stdin, values).encode(),
            calls=[
                FunctionCall(
                    [],
                    on_device=False,
                    is_whole=True,
                    is_timed=case.is_timed,
                    copied_bytes=[_bytes(p, shape) for p, rule, shape in sized if rule.name == COPIED],
                )
            ],
            files=files,
            wanted={
                rule.name: longest(rule, prod(shape), np.dtype(p.dtype).itemsize) + 1
                for p, rule, shape in sized
                if rule.name not in (STDOUT, COPIED)
            },
        )

    def _word(self, parameter: Parameter, sizes: Sizes, inputs: Mapping[str, Array]) -> str:
        """Return what stands for a parameter in a command line or in standard input."""
        if parameter.is_size:
            return str(sizes[parameter.name])
        if parameter.file is not None:
            return parameter.file.name
        return numbers_text(inputs[parameter.name]).rstrip("\n") if parameter.name in inputs else ""

    def outputs(self, case: Case, observation: Observation) -> dict[str, Array] | None:
        """Return the program's outputs; None where it did not come to its end, or an output cannot be read."""
        if stopped_launch(observation) is not None or _ended(observation) is not None:
            return None
        shapes = {p.name: shape_at(self.lab, p.name, case.sizes) for p in self._outputs()}
        outputs = {p.name: _output(p, shapes[p.name], case.sizes, observation) for p in self._outputs()}
        arrays = {name: one for name, one in outputs.items() if not isinstance(one, Message)}
        return arrays if len(arrays) == len(outputs) else None

    # -- what came of a case ------------------------------------------------------------------

    def judged(self, case: Case, observation: Observation) -> Run | None:
        ((inputs, expected),) = case.data
        if case.undone:
            differences = self._compared(case.sizes, observation, inputs, expected)
            return None if isinstance(differences, Message) else self._undone(case, differences, observation)
        outcome = stopped_launch(observation) or _ended(observation)
        difference: Difference | None = None
        if outcome is None:
            differences = self._compared(case.sizes, observation, inputs, expected)
            if isinstance(differences, Message):
                outcome = LaunchOutcome("fault", reason="no_output", said=differences)
            else:
                outcome, difference = LaunchOutcome("ok"), first_wrong(differences)
        return Run(
            case.kind, case.sizes, replace(outcome, hazards=hazards_of(observation)), difference, drawn=case.drawn
        )

    def _compared(
        self, sizes: Sizes, observation: Observation, inputs: Mapping[str, Array], expected: Mapping[str, Array]
    ) -> list[Difference] | Message:
        arrays = {name: array for name, array in inputs.items() if array.ndim}
        differences = []
        for parameter in self._outputs():
            got = _output(parameter, shape_at(self.lab, parameter.name, sizes), sizes, observation)
            if isinstance(got, Message):
                return got
            tolerance = self.lab.tolerance.at(sizes, parameter.dtype)
            differences.append(
                compare(parameter.name, got, expected[parameter.name], tolerance, arrays, is_marked=False)
            )
        return differences


def _bytes(parameter: Parameter, shape: tuple[int, ...]) -> int:
    return prod(shape) * np.dtype(parameter.dtype).itemsize


def _output(parameter: Parameter, shape: tuple[int, ...], sizes: Sizes, observation: Observation) -> Array | Message:
    rule = parameter.file
    assert rule is not None
    if rule.name == STDOUT:
        return from_file(parameter, observation.stdout, shape, sizes)
    if rule.name == COPIED:
        wanted = _bytes(parameter, shape)
        copied = {name: d for call in observation.calls for name, d in call.copied.items() if len(d) == wanted}
        ranked = sorted((rank, name) for name in copied if (rank := parameter.rank_of(name.lstrip("*"))) is not None)
        names = [name for _rank, name in ranked] or (list(copied) if len(copied) == 1 else [])
        if not names:
            return msg("outputs.not_copied", name=parameter.name, bytes=wanted)
        return np.frombuffer(copied[names[0]], parameter.dtype).reshape(shape)
    data = observation.files.get(rule.name)
    if data is not None:
        return from_file(parameter, data, shape, sizes)
    if observation.exit:
        return msg("outputs.no_file_left", file=rule.name, code=observation.exit)
    return msg("outputs.no_file", file=rule.name)


def _ended(observation: Observation) -> LaunchOutcome | None:
    """Return why the program did not come to its own end; None where it did."""
    cause = observation.cause
    if cause is None:
        return None
    place = next((f for f in reversed(observation.findings) if f.message == cause), None)
    said = msg("launches.program_ended", what=cause)
    line, file = (place.line, place.file) if place is not None else (0, "")
    return LaunchOutcome("fault", reason="program_ended", said=said, line=line, file=file)
