"""Grades one submission for one lab: find, read, bind, compile, run, judge, and say all of it in a `Result`.

Nothing that a submission can do raises here; what is raised says that the command line, the layout, the lab or the
grader is at fault (`grader.errors`).
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from grader import __version__
from grader.errors import UsageError
from grader.grading.options import BACKENDS
from grader.grading.recording import observation_remarks, remark_msg, variant_record
from grader.grading.secret import secret as course_secret
from grader.lab.records import Lab
from grader.message import Message, msg
from grader.result import Check, Environment, Result, Source, Student, TitlePage, score_of, status_of
from grader.running.evidence import Evidence
from grader.submission.files.source import SourceText
from grader.submission.records import Missing, Submission
from grader.words import told

if TYPE_CHECKING:
    from grader.gpu.measurement.part import Gpu
    from grader.grading.warm import Warm
    from grader.launching.trial import Trials
    from grader.submission.files.folder import FoundSubmission


ARCHITECTURE = "compute_75"
"""The oldest target that NVRTC still compiles for; what the emulator runs."""


def grade(
    path: Path,
    lab: Lab,
    backend: str = "auto",
    command: str = "",
    remeasure: bool = False,
    profilers: Sequence[str] = (),
    judged: Callable[[Result], None] | None = None,
    warm: Warm | None = None,
    checked: Callable[[list[Check]], None] | None = None,
    repairs: bool = True,
    answers: bool = False,
) -> Result:
    """Grade the work at `path` (a student's folder or one `.cu` file).

    Parameters
    ----------
    backend : "auto", "gpu" or "emulator".
    command : the command line that repeats this grading, kept in the result.
    remeasure : time anew what was timed before.
    profilers : other tools to be asked on a GPU, "ncu" and "compute-sanitizer"; no mark depends on them.
    judged : called with the result as soon as every check is judged; what no mark depends on follows.
    checked : called with the checks of a variant as soon as its kernels have run on the emulator.
    warm : what earlier gradings of this student's files have left; None: all is done anew.
    repairs : whether the smallest changes that make wrong kernels right are looked for, where the lab wants that.
    answers : whether the result shows these changes though the lab keeps them from students.

    Raises
    ------
    UsageError : no such file, no text, empty; settings or lab files that are wrong; a backend that is not there.
    InternalError : the compiler cannot be run at all.
    """
    _check_backend(backend)
    from grader.compiler.process import CompilerProcess

    secret = course_secret()

    # The processes warm up while this one imports the parser and reads the submission.
    with ExitStack() as stack:
        gpu = _start_gpu(stack, backend)
        compiler = warm.compiler if warm is not None else stack.enter_context(CompilerProcess())
        found_files, submission = _read(path, lab, warm)
        from grader.backends.emulator import Emulator
        from grader.grading.alternatives import with_best
        from grader.grading.compilations import compiled
        from grader.launching.programs import ProgramStore
        from grader.launching.trial import Trials
        from grader.oracle.expected import Oracle
        from grader.running.drawn import draw

        # Compile: what does not is evidence already.
        programs = ProgramStore(compiler, ARCHITECTURE)
        found = compiled(lab, submission, programs)
        environment = _environment(lab, compiler.nvrtc_version(), command)
        # Run on the emulator, at the lab's sizes and at a case that is drawn.
        oracle = Oracle(lab)
        drawn = draw(lab, {s.file: s.text for s in submission.sources}, secret)
        drawn_lab = replace(lab, seed=drawn.seed)
        trials = Trials(lab, oracle, programs, Emulator(warm.launches if warm is not None else None))
        drawn_trials = replace(trials, lab=drawn_lab, oracle=Oracle(drawn_lab))
        found = _run(trials, drawn_trials, submission, found, checked)
        submission, found = with_best(
            submission, found, lambda one: _run(trials, drawn_trials, one, compiled(lab, one, programs))
        )
        emulated = found
        environment = structs.replace(environment, drawn_seed=drawn.seed, drawn_by=drawn.by)
        # Run and time on the GPU, where there is one.
        gpu = _opened(gpu, backend)
        if gpu is not None:
            found = gpu.grade(lab, submission, found, compiler, remeasure, profilers)
            environment = gpu.environment(environment)
        # Judge, and record.
        result = _result(lab, submission, found, environment)
        if judged is not None:
            judged(result)
        from grader.launching.kernel import bound_kernels
        from grader.launching.warp_steps import with_warp_steps

        graded = {
            name: kernel.read_as(interpretation)
            for name, kernel in bound_kernels(lab, submission).items()
            if (interpretation := emulated[name].interpretation) is not None
        }
        result = with_warp_steps(result, trials, graded)
        # Another way through the stages, for every changed program.
        from grader.sweeps.run import original_of

        original = original_of(lab, found_files, submission)
        if repairs and lab.repairs != "off" and result.status != "passed":
            from grader.repair.in_result import with_repairs, without_answers
            from grader.repair.search import search

            result = with_repairs(result, *search(original, trials, drawn_trials, emulated, result.checks))
            if lab.repairs != "student" and not answers:
                result = without_answers(result)
        if not lab.sweeps:
            return told(result)
        from grader.sweeps.run import sweep

        sweeps = sweep(lab, original, found, oracle, compiler, ARCHITECTURE, gpu, remeasure)
        return told(structs.replace(result, sweeps=sweeps))


def _result(lab: Lab, submission: Submission, found: Mapping[str, Evidence], environment: Environment) -> Result:
    from grader.checks import judge

    checks = [check for evidence in found.values() for check in judge(evidence)]
    result = Result(
        student=Student(
            id=submission.student,
            name=submission.name,
            group=submission.group,
            title_page=TitlePage(**submission.title_page),
        ),
        lab=lab.id,
        status=status_of(checks),
        score=score_of(checks),
        environment=environment,
        variants={name: variant_record(evidence) for name, evidence in found.items()},
        checks=checks,
        sources=[_source(source) for source in submission.sources],
        remarks_said=[
            *observation_remarks(submission.observed),
            *(remark_msg(kind, line) for kind, line in submission.remarks),
            *_host_remarks(found),
        ],
    )
    return told(result)


def _host_remarks(found: Mapping[str, Evidence]) -> list[Message]:
    """What is untidy in the host code; and what is wrong in it, where no check of the lab asks for it."""
    told = []
    for evidence in found.values():
        is_judged = any(spec.check == "host_code" for spec in evidence.variant.checks)
        told += [*evidence.host.untidy, *(() if is_judged else evidence.host.faults)]
    places: dict[tuple[str, Message], list[int]] = {}
    for fault in told:
        lines = places.setdefault((fault.file, fault.message), [])
        # That nothing is compared is a fault of the program, wherever its kernels are launched.
        if fault.line not in lines and not (lines and fault.kind == "not_compared"):
            lines.append(fault.line)
    return [_host_remark(file, sorted(lines), message) for (file, message), lines in places.items()]


def _host_remark(file: str, lines: Sequence[int], fault: Message) -> Message:
    several = {"lines": ", ".join(map(str, lines))} if len(lines) > 1 else {}
    return msg("remarks.host_code", file=file, line=lines[0], fault=fault, **several)


def _check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise UsageError(msg("session.unknown_backend", backend=repr(backend), allowed=", ".join(BACKENDS)))


def _start_gpu(stack: ExitStack, backend: str) -> Gpu | None:
    """The GPU, on its way to being open; None where none is asked for or none can be there.

    Raises
    ------
    UsageError : one was asked for by name.
    """
    if backend == "emulator":
        return None
    from grader.gpu.host.process import has_driver

    if not has_driver():
        if backend == "gpu":
            raise UsageError(msg("session.no_driver"))
        return None
    from grader.gpu.measurement.part import Gpu

    return stack.enter_context(Gpu())


def _opened(gpu: Gpu | None, backend: str) -> Gpu | None:
    """`gpu` if it has a device after all."""
    if gpu is None:
        return None
    reason = gpu.refusal()
    if reason and backend == "gpu":
        raise UsageError(msg("session.no_gpu", reason=reason))
    return None if reason else gpu


def _read(path: Path, lab: Lab, warm: Warm | None) -> tuple[FoundSubmission, Submission]:
    from grader.observation.commented import with_comments_run
    from grader.observation.probing import probed
    from grader.observation.programs import USUAL_BLOCK
    from grader.observation.stage import observed
    from grader.observation.stored import Stored, default_folder
    from grader.submission.binding.bind import bind
    from grader.submission.cpp.parse import parsed_once
    from grader.submission.files.folder import find_sources, read_sources

    found = find_sources(path, lab.id, _known_labs(lab), lab.variants)
    sources = read_sources(found)
    sizes = [int(size) for size in lab.cases["emulator"].observe.values()]
    threads = next((n for n in lab.launch.block if isinstance(n, int)), USUAL_BLOCK)
    store = Stored(default_folder(), warm.programs if warm is not None else None)
    with parsed_once():
        seen = observed(sources, store, sizes, threads)
        sources, seen = with_comments_run(sources, seen, lambda changed: observed(changed, store, sizes, threads))
        submission = bind(found, sources, lab, observed=seen)
        if any(not isinstance(b, Missing) and b.interpretations[0].unsure for b in submission.bindings.values()):
            submission = bind(found, sources, lab, observed=probed(sources, seen, store))
    return found, submission


def _known_labs(lab: Lab) -> set[str]:
    """Names of the labs that there are: built in, in this folder, and beside the one that is graded."""
    from grader.lab.labs import folders

    return set(folders([lab.path.parent.parent]))


def _run(
    trials: Trials,
    drawn_trials: Trials,
    submission: Submission,
    found: Mapping[str, Evidence],
    checked: Callable[[list[Check]], None] | None = None,
) -> dict[str, Evidence]:
    """The evidence after every kernel that compiles was run on the emulator; `drawn_trials` at the drawn case."""
    from grader.checks import judge
    from grader.launching.kernel import bound_kernels
    from grader.running.kernel_runs import run_kernel

    kernels = bound_kernels(trials.lab, submission)
    graded = dict(found)
    sources = [_source(source) for source in submission.sources]
    for name, kernel in kernels.items():
        if not found[name].compilation.failure:
            graded[name] = run_kernel(trials, drawn_trials, found[name], kernel)
        if checked is not None:
            checked([told(check, sources, kernel.binding.kernel.file) for check in judge(graded[name])])
    return graded


def _environment(lab: Lab, nvrtc: str, command: str) -> Environment:
    return Environment(
        backend="emulator",
        grader=__version__,
        seed=lab.seed,
        nvrtc=nvrtc,
        architecture=ARCHITECTURE,
        python=platform.python_version(),
        numpy=np.__version__,
        command=command,
    )


def _source(source: SourceText) -> Source:
    return Source(
        file=source.file,
        text=source.text if source.written is None else source.written,
        encoding=source.encoding,
        sha256=source.sha256,
        notebook=source.notebook,
        cells=list(source.cells),
    )
