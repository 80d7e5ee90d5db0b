"""Grades one submission for one lab: find, read, bind, compile, run, judge, and say all of it in a `Result`.

Nothing that a submission can do raises here; what is raised says that the command line, the layout, the lab or the
grader is at fault (`grader.errors`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import structs

from grader.course.rules import secret as course_secret
from grader.errors import UsageError
from grader.grading import recording
from grader.grading.options import BACKENDS, DEFAULTS, GradeOptions, Warm
from grader.lab.records import Lab
from grader.launching.backend import ARCHITECTURE
from grader.measured import PredictedTime
from grader.message import Message, msg
from grader.processes.limits import MANY
from grader.result import Check, Environment, Result, Student, TitlePage, score_of, status_of
from grader.running.evidence import Evidence
from grader.submission.records import Missing, Submission
from grader.words import told

if TYPE_CHECKING:
    from grader.compiler.several import Compilers
    from grader.gpu.functions import FunctionGpu
    from grader.gpu.part import Gpu, GpuWork
    from grader.grading.reading import Reading, Seen
    from grader.lab.expected import Oracle
    from grader.launching.kernel import BoundKernel
    from grader.launching.programs import ProgramStore, RememberedLaunches
    from grader.launching.trial import Trials
    from grader.running.cases import Draw
    from grader.running.function_runs import Called
    from grader.timing.instructions import Processor
    from grader.timing.model import Prediction as ModelTime
    from grader.timing.prediction import FollowedLaunch


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told of a grading while it goes on; None: nobody.

    judged: called with the result as soon as every check is judged; what no mark depends on follows.
    swept: called with the result when it has all that figures are drawn of: changes of kernels are looked for next.
    checked: called with the checks of a variant as soon as its kernels have run on the emulator.
    """

    judged: Callable[[Result], None] | None = None
    swept: Callable[[Result], None] | None = None
    checked: Callable[[list[Check]], None] | None = None


NOBODY = Listeners()


def grade(
    path: Path,
    lab: Lab,
    options: GradeOptions = DEFAULTS,
    *,
    command: str = "",
    listeners: Listeners = NOBODY,
    warm: Warm | None = None,
    processes: int = 1,
) -> Result:
    """Grade the work at `path` (a student's folder or one `.cu` file).

    options: how; the lab is `lab`, with the sweeps and the times that are wanted of it.
    command: the command line that repeats this grading, kept in the result.
    listeners: told of it while it goes on.
    warm: what earlier gradings of this student's files have left; None: all is done anew.
    processes: that may be at work at once beside this one: compilers, and what follows launches for predictions.
    Raises UsageError: no such file, no text, empty; settings or lab files that are wrong; a backend that is not there.
    Raises InternalError: the compiler cannot be run at all.
    """
    backend, remeasure = options.backend, options.remeasure
    if backend not in BACKENDS:
        raise UsageError(msg("session.unknown_backend", backend=repr(backend), allowed=", ".join(BACKENDS)))
    from grader.compiler.process import CompilerProcess
    from grader.compiler.several import Compilers

    secret, lab = course_secret(), replace(lab, view=options.view)
    # The processes warm up while this one imports the parser and reads the submission.
    with ExitStack() as stack:
        gpu = _start_gpu(stack, backend, lab, processes) if not lab.makes_launches else None
        process = warm.compiler if warm is not None else stack.enter_context(CompilerProcess())
        compiler = stack.enter_context(Compilers(process, 1))
        for_device = gpu.own_compiler or compiler if gpu is not None else compiler
        from grader.grading.reading import Reading, environment_record
        from grader.lab.expected import Oracle
        from grader.launching.programs import ProgramStore, RememberedLaunches

        functions = _function_gpu(backend, remeasure) if lab.makes_launches else None
        reading = Reading(path, lab, warm)
        is_ahead = processes >= MANY
        remembered = warm.launches if warm is not None else RememberedLaunches() if is_ahead else None
        programs = ProgramStore(compiler, ARCHITECTURE)
        grading = _Grading(
            lab, options, listeners, reading, Oracle(lab), compiler, programs, remembered, secret, processes
        )

        def gpu_work(submission: Submission, by_variant: Mapping[str, Evidence]) -> GpuWork:
            from grader.gpu.part import GpuWork

            return GpuWork(lab, for_device, remeasure, submission, by_variant)

        def launched(evidence: Evidence, submission: Submission, by_text: bool = False) -> None:
            if gpu is not None and is_ahead:
                gpu.launch_ahead(gpu_work(submission, {evidence.variant.name: evidence}), by_text)

        def on_emulator(seen: Seen) -> _Emulated:
            return _emulated(grading, reading.bound(seen), launched)

        def ahead(submission: Submission, is_over: Callable[[], bool]) -> None:
            def kernel_run(evidence: Evidence, submission: Submission) -> None:
                launched(evidence, submission, by_text=True)
                if is_over():
                    raise _Superseded

            once = _emulated_once(replace(grading, listeners=NOBODY), submission, kernel_run)
            if gpu is not None:
                gpu.time_ahead(gpu_work(submission, once.evidence))

        if not lab.makes_launches:
            # Run the programs; bind, compile, and run the kernels on the emulator, and behind that on the GPU.
            emulated = reading.with_programs_run(on_emulator, ahead if is_ahead else None)
            if warm is None and remembered is not None:
                # No changed program is launched twice.
                remembered.end()
        else:
            emulated = _called(grading, Path(stack.enter_context(TemporaryDirectory())), stack, functions)
        submission, by_variant = emulated.submission, emulated.evidence
        environment = environment_record(lab, compiler.nvrtc_version(), command)
        environment = structs.replace(environment, drawn_seed=emulated.draw.seed, drawn_by=emulated.draw.by)
        # Run and time on the GPU, where there is one.
        if gpu is not None:
            gpu.prepare(gpu_work(submission, by_variant))
        gpu = _opened(gpu, backend)
        if gpu is not None:
            by_variant = gpu.measure(gpu_work(submission, by_variant), options.profilers)
            environment = gpu.environment(environment)
        if functions is not None:
            environment = functions.environment(environment)
        from grader.grading.predictions import decides_marks, device_for, in_result

        processor = device_for(options.predict, lab, environment.device)
        predicted: dict[str, PredictedTime | Message] = {}
        if processor is not None and decides_marks(lab):
            predicted = _predict(lab, emulated, processor, compiler, processes)
            by_variant = {name: replace(one, predicted=predicted.get(name)) for name, one in by_variant.items()}
        # Judge, and record.
        result = _result(lab, submission, by_variant, environment)
        if listeners.judged is not None:
            listeners.judged(result)
        if options.repairs:
            with_own = recording.beside_own(lab, by_variant, result.checks, grade)
            if with_own is not None:
                by_variant = with_own
                result = structs.replace(result, checks=_result(lab, submission, by_variant, environment).checks)
        if lab.makes_launches:
            times = predicted or (_predict(lab, emulated, processor, compiler, processes) if processor else {})
            return told(_beyond_marks_of_calls(grading, in_result(result, times), emulated, by_variant, functions))
        return told(_beyond_marks(grading, result, emulated, by_variant, gpu, _Predictions(processor, predicted)))


def _beyond_marks_of_calls(
    grading: _Grading, result: Result, emulated: _Emulated, by_variant: Mapping[str, Evidence], gpu: FunctionGpu | None
) -> Result:
    """Add what no mark depends on to the result of a function or a program: sweeps, changes, answers to open tests."""
    lab, options = grading.lab, grading.options
    if lab.sweeps:
        from grader.grading.called import sweep_called

        texts = {source.file: source.text for source in emulated.submission.sources}
        result = structs.replace(result, sweeps=sweep_called(lab, emulated.called, by_variant, texts, gpu))
        grading.tell_swept(result)
    if options.repairs and lab.repairs != "off" and result.status != "passed":
        result = recording.with_function_changes(result, emulated.called, by_variant)
        result = recording.with_answers(result, lab, options)
    return result


def _beyond_marks(
    grading: _Grading,
    result: Result,
    emulated: _Emulated,
    by_variant: Mapping[str, Evidence],
    gpu: Gpu | None,
    predictions: _Predictions,
) -> Result:
    """Add what no mark depends on to the result of kernels: a warp's steps, predicted times, sweeps, changes."""
    from grader.compiler.several import at_once
    from grader.grading.counted_sweeps import targets_of
    from grader.grading.predictions import begin_followers, in_result, predict_launches, several_predicted, swept
    from grader.grading.sweeps import original_of, sweep
    from grader.launching.trial import with_warp_steps
    from grader.processes.pool import Beside

    lab, options, reading, compilers = grading.lab, grading.options, grading.reading, grading.compiler
    submission, processor, predicted = emulated.submission, predictions.processor, predictions.by_variant
    result = with_warp_steps(result, emulated.trials, _graded_kernels(lab, submission, emulated.evidence))
    # Another way through the stages, for every changed program.
    original = original_of(lab, reading.submitted, submission)
    # Without a device this thread has work enough itself.
    compilers.widen(at_once(grading.processes - (gpu is None)))
    compilers.predicted_for = processor.architecture if processor is not None else ""
    with closing(Beside()) as beside, closing(Beside()) as changing:
        # Predicted while sweeps run.
        predicting = None
        if processor is not None:
            beside.start(partial(begin_followers, grading.processes))
        if processor is not None and not predicted:
            predicting = beside.start(partial(_predict, lab, emulated, processor, compilers, grading.processes))
        marked, changed = result, None

        def predictions_by_variant() -> Mapping[str, PredictedTime | Message]:
            return predicting.result() if predicting is not None else predicted

        def with_all_changes(predict: Callable[[Sequence[FollowedLaunch]], Sequence[ModelTime | Message]]) -> Result:
            times = predictions_by_variant()
            trials, drawn_trials, evidence = emulated.trials, emulated.drawn_trials, emulated.evidence
            of = recording.Changing(original, trials, drawn_trials, evidence, reading.changed)
            device = marked.environment.device if gpu is not None else None
            prediction = recording.prediction_of(times, processor, emulated.trials, compilers, gpu, device, predict)
            with_all = recording.with_changes(in_result(marked, times), of, prediction)
            return recording.with_answers(with_all, lab, options)

        finds_changes = options.repairs and lab.repairs != "off"
        if finds_changes and lab.sweeps and grading.processes > 1:
            # Either waits most of the time: for the device, or for compilers.  Changes are timed once that is free.
            changing.start(partial(begin_followers, grading.processes))
            here = partial(predict_launches, processes=grading.processes)
            changed = changing.start(partial(with_all_changes, here))
        if lab.sweeps:
            run = partial(sweep, lab, original, by_variant, grading.oracle, compilers, gpu, options.remeasure)
            if processor is not None:
                kernels, _reasons = targets_of(lab, original, by_variant)
                sweeps = swept(run, lab, kernels, processor, compilers, beside, grading.processes)
            else:
                sweeps = run()
            result = structs.replace(result, sweeps=sweeps)
        if processor is not None:
            result = in_result(result, predictions_by_variant())
        if lab.sweeps:
            grading.tell_swept(gpu.with_cpu_times(result) if gpu is not None else result)
        if finds_changes:
            elsewhere = several_predicted(beside, grading.processes)
            after = changed.result() if changed is not None else with_all_changes(elsewhere)
            result = structs.replace(after, sweeps=result.sweeps)
    return gpu.with_cpu_times(result) if gpu is not None else result


def _graded_kernels(lab: Lab, submission: Submission, by_variant: Mapping[str, Evidence]) -> dict[str, BoundKernel]:
    from grader.launching.kernel import bound_kernels

    return {
        name: kernel.read_as(interpretation)
        for name, kernel in bound_kernels(lab, submission).items()
        if (interpretation := by_variant[name].interpretation) is not None and by_variant[name].halo is None
    }


def _predict(
    lab: Lab, emulated: _Emulated, processor: Processor, compiler: Compilers, processes: int
) -> dict[str, PredictedTime | Message]:
    if lab.makes_launches:
        from grader.grading import called

        return called.predict_called(lab, emulated.called, emulated.evidence, processor, processes)
    from grader.grading.predictions import predict_all

    kernels = _graded_kernels(lab, emulated.submission, emulated.evidence)
    return predict_all(lab, kernels, emulated.evidence, processor, emulated.trials.programs, compiler, processes)


@dataclass(frozen=True, slots=True)
class _Grading:
    """What the stages of one grading have in common.

    programs: compiled for the emulator.  remembered: launches on it that need not be made again.
    secret: the course's, which the drawn case follows from.  options, listeners, processes: see `grade`.
    """

    lab: Lab
    options: GradeOptions
    listeners: Listeners
    reading: Reading
    oracle: Oracle
    compiler: Compilers
    programs: ProgramStore
    remembered: RememberedLaunches | None
    secret: str
    processes: int

    def tell_swept(self, result: Result) -> None:
        """Tell who listens that the result has all that figures are drawn of."""
        if self.listeners.swept is not None:
            self.listeners.swept(told(result))


@dataclass(frozen=True, slots=True)
class _Predictions:
    """The device that times are predicted for, if for any, and those that marks go by."""

    processor: Processor | None
    by_variant: Mapping[str, PredictedTime | Message]


@dataclass(frozen=True, slots=True)
class _Emulated:
    """A submission, and the evidence after every kernel that compiles was run on the emulator; what ran them, or called
    a function."""

    submission: Submission
    evidence: Mapping[str, Evidence]
    draw: Draw
    trials: Trials
    drawn_trials: Trials
    called: Called | None = None


class _Superseded(Exception):
    """What was to be found out ahead need not be any more."""


KernelRun = Callable[[Evidence, Submission], None]
"""Called after a kernel has run on the emulator."""


def _emulated(grading: _Grading, submission: Submission, kernel_run: KernelRun) -> _Emulated:
    from grader.grading.reading import compiled, with_best

    once = _emulated_once(grading, submission, kernel_run)
    trials, drawn_trials = once.trials, once.drawn_trials
    submission, by_variant = with_best(
        submission,
        once.evidence,
        lambda one: _run(trials, drawn_trials, one, compiled(grading.lab, one, grading.programs)),
    )
    return replace(once, submission=submission, evidence=by_variant)


def _emulated_once(grading: _Grading, submission: Submission, kernel_run: KernelRun) -> _Emulated:
    """The likeliest kernel of each variant alone."""
    from grader.grading.reading import compiled

    # Compile: what does not is evidence already.
    by_variant = compiled(grading.lab, submission, grading.programs)
    drawn, trials, drawn_trials = _trials(grading, submission)
    # Run at the lab's sizes and at a case that is drawn.
    by_variant = _run(trials, drawn_trials, submission, by_variant, grading.listeners.checked, kernel_run)
    return _Emulated(submission, by_variant, drawn, trials, drawn_trials)


def _called(grading: _Grading, folder: Path, stack: ExitStack, gpu: FunctionGpu | None) -> _Emulated:
    """The same of a function or a program, which makes its launches itself, and on a GPU too where there is one.

    folder: an empty one to work in.  stack: closes what runs the program.
    """
    from grader.checks import judge
    from grader.grading.functions import read_function, run_function, staged
    from grader.grading.reading import source_record

    lab, reading, checked = grading.lab, grading.reading, grading.listeners.checked
    submission = read_function(reading.submitted, staged(reading.submitted, reading.sources, lab, folder), lab)
    drawn, trials, drawn_trials = _trials(grading, submission)
    by_variant, called = run_function(lab, submission, trials.oracle, drawn_trials, stack, gpu)
    sources = [source_record(source) for source in submission.sources]
    for evidence in by_variant.values():
        if checked is not None:
            file = "" if isinstance(evidence.binding, Missing) else evidence.bound.kernel.file
            checked([told(check, sources, file) for check in judge(evidence)])
    return _Emulated(submission, by_variant, drawn, trials, drawn_trials, called)


def _trials(grading: _Grading, submission: Submission) -> tuple[Draw, Trials, Trials]:
    from grader.lab.expected import Oracle
    from grader.launching.emulator import Emulator
    from grader.launching.trial import Trials
    from grader.running.cases import draw

    lab = grading.lab
    drawn = draw(lab, {s.file: s.text for s in submission.sources}, grading.secret)
    drawn_lab = replace(lab, seed=drawn.seed)
    trials = Trials(lab, grading.oracle, grading.programs, Emulator(grading.remembered))
    return drawn, trials, replace(trials, lab=drawn_lab, oracle=Oracle(drawn_lab))


def _result(lab: Lab, submission: Submission, by_variant: Mapping[str, Evidence], environment: Environment) -> Result:
    from grader.checks import judge
    from grader.grading.reading import source_record

    checks = [check for evidence in by_variant.values() for check in judge(evidence)]
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
        variants={name: recording.variant_record(evidence) for name, evidence in by_variant.items()},
        checks=checks,
        sources=[source_record(source) for source in submission.sources],
        remarks_said=[
            *recording.observation_remarks(submission.observed),
            *(recording.remark_msg(kind, line) for kind, line in submission.remarks),
            *recording.host_remarks(by_variant),
        ],
    )
    return told(result)


def _start_gpu(stack: ExitStack, backend: str, lab: Lab, processes: int) -> Gpu | None:
    """The GPU, on its way to being open; None where none is asked for or none can be there.

    Raises UsageError: one was asked for by name.
    """
    if not _may_use_gpu(backend):
        return None
    from grader.gpu.part import Gpu

    gpu = stack.enter_context(Gpu(processes))
    gpu.begin(lab)
    return gpu


def _function_gpu(backend: str, remeasure: bool) -> FunctionGpu | None:
    if not _may_use_gpu(backend):
        return None
    from grader.gpu.functions import FunctionGpu

    return FunctionGpu(is_wanted=backend == "gpu", remeasure=remeasure)


def _may_use_gpu(backend: str) -> bool:
    if backend == "emulator":
        return False
    from grader.gpu.process import has_driver

    if not has_driver():
        if backend == "gpu":
            raise UsageError(msg("session.no_driver"))
        return False
    return True


def _opened(gpu: Gpu | None, backend: str) -> Gpu | None:
    if gpu is None:
        return None
    reason = gpu.refusal()
    if reason and backend == "gpu":
        raise UsageError(msg("session.no_gpu", reason=reason))
    return None if reason else gpu


def _run(
    trials: Trials,
    drawn_trials: Trials,
    submission: Submission,
    by_variant: Mapping[str, Evidence],
    checked: Callable[[list[Check]], None] | None = None,
    kernel_run: KernelRun | None = None,
) -> dict[str, Evidence]:
    """Return the evidence after every kernel that compiles has run on the emulator, at the drawn case too."""
    from grader.checks import judge
    from grader.grading.reading import source_record
    from grader.launching.kernel import bound_kernels
    from grader.running.runs import run_kernel

    kernels = bound_kernels(trials.lab, submission)
    graded = dict(by_variant)
    sources = [source_record(source) for source in submission.sources]
    for name, kernel in kernels.items():
        if not by_variant[name].compilation.failure:
            graded[name] = run_kernel(trials, drawn_trials, by_variant[name], kernel)
        if checked is not None:
            checked([told(check, sources, kernel.binding.kernel.file) for check in judge(graded[name])])
        if kernel_run is not None:
            kernel_run(graded[name], submission)
    return graded
