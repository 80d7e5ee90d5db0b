"""Runs every program of a submission, within limits that are counted, and keeps what each was seen to do.

A program is first run with its kernels left out.  If it ends without having launched all that its text launches, it is
run again: with arguments, with a size of its own made smaller, or with its kernels (it may look at their results).
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from grader.errors import InternalError
from grader.message import msg
from grader.processes.limits import IS_LINUX
from grader.programs import own_check, starts
from grader.programs.execution import TOO_LARGE, Setting, run_each
from grader.programs.figures import wrong_figures
from grader.programs.records import MAX_COPIES, MAX_LAUNCHES, Observation, ProgramFinding, RunLimits, Start
from grader.programs.remembered import Stored
from grader.programs.runs_with_kernels import (
    HOST_FAULTS,
    MAX_WITH_RESULTS,
    TRACED,
    WITH_RESULTS,
    Falsified,
    Results,
    falsifying,
    has_results,
)
from grader.programs.runtime.devices import GRADING
from grader.programs.sources import Sources
from grader.ptx.limits import ISSUED_PER_LAUNCH, STEPS_AFTER_FAULT, STEPS_PER_LAUNCH
from grader.submission.cpp.scopes import with_launches_of_comments
from grader.submission.kernels.records import (
    ObservedRuns,
    SeenBlind,
    SeenChange,
    SeenFault,
    SeenHazard,
    SeenLaunch,
    SeenRun,
    SeenStep,
    SeenWord,
    Unnoticed,
    each_once,
)
from grader.submission.source import SourceText

EXECUTED = RunLimits(
    executes=True,
    passes_over=True,
    host_instructions=3_000_000_000,
    # Kernels come to no end within their limit on arrays that are larger.
    host_bytes=512 << 20,
    device_bytes=256 << 20,
    launch_instructions=200_000_000,
    launch_issued=ISSUED_PER_LAUNCH,
    steps_after_fault=STEPS_AFTER_FAULT,
    kernel_instructions=300_000_000,
    kernel_steps=STEPS_PER_LAUNCH,
)
MAX_SMALLER = 3
NO_FINDING = ProgramFinding("", "remark", msg("observation.no_main"))
HANGS = frozenset({"programs.hangs", "programs.process_died", "programs.compiler_hangs"})
"""What a clock or a machine has ended: it might come to another end elsewhere."""
NOT_KEPT = HANGS | {"programs.compiler_time"}
"""Beyond every bound that is counted, and far beyond what a program takes: it is read, but tried again."""


def observed(
    sources: Sequence[SourceText],
    store: Stored | None = None,
    sizes: Sequence[int] = (),
    threads: int = starts.USUAL_BLOCK,
) -> ObservedRuns:
    """Run the programs in `sources`; a failure of this machine's is part of what is returned, and raises nothing.

    store: where runs are kept.  sizes: handed to programs that want their sizes as arguments.  threads: of
    a block along x, for programs that want that.
    """
    if not IS_LINUX:
        return ObservedRuns((), absent=msg("programs.not_on_this_system"))
    if any(source.notebook for source in sources):
        with tempfile.TemporaryDirectory() as folder:
            return _observed([_as_file(source, Path(folder)) for source in sources], store, sizes, threads)
    return _observed(sources, store, sizes, threads)


def _as_file(source: SourceText, folder: Path) -> SourceText:
    """Write a program that cells of a notebook hold to a file of its own."""
    path = folder / source.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source.text, "utf-8")
    return dataclasses.replace(source, path=path)


def _observed(sources: Sequence[SourceText], store: Stored | None, sizes: Sequence[int], threads: int) -> ObservedRuns:
    setting = _setting(store)
    programs = starts.programs_of(sources)
    if not programs:
        return ObservedRuns((SeenRun(tuple(s.file for s in sources), cause=msg("observation.no_main")),))
    runs: list[SeenRun] = []
    for files in programs:
        try:
            ways = starts.ways_to_start(files, sizes, threads)
            words = [word for way in ways for word in way.arguments]
            program = sources_of(files).read(words)
            stored = store.get(program, ways) if store is not None else None
            choices = starts.ways_to_choose(files, sizes, threads)
            new_runs = _runs_and_results(files, ways, choices, setting) if stored is None else stored
            if len(files) > 1 and any(run.cause and run.cause.id == "programs.defined_twice" for run in new_runs):
                # What lies beside it is no part of it but another version, or several are of one part.
                parts = starts.without_versions(files)
                new_runs = [run for own in parts for run in _runs_and_results(own, ways, choices, setting)]
        except InternalError as error:
            return ObservedRuns(tuple(runs), failed=error.message)
        if store is not None and stored is None and not any(run.cause and run.cause.id in NOT_KEPT for run in new_runs):
            store.put(program, ways, new_runs)
        runs += new_runs
    hung = next((run.cause for run in runs if run.cause is not None and run.cause.id in HANGS), None)
    return ObservedRuns(tuple(sorted(runs, key=lambda run: run.change is not None)), failed=hung)


def _setting(store: Stored | None) -> Setting:
    return Setting(GRADING, remembered=store.programs if store is not None else None)


def _runs_and_results(
    files: Sequence[SourceText], ways: Sequence[Start], choices: Sequence[Start], setting: Setting
) -> list[SeenRun]:
    """Return the runs of one program that show something new, last one with its kernels executed."""
    results = Results(ways)
    runs, observations = _runs(files, ways, choices, setting, results)
    own = [one for one in observations if not one.falsified]
    figures = tuple(wrong_figures(own, {source.file: source.text for source in files}))
    runs[0] = dataclasses.replace(runs[0], faults=(*runs[0].faults, *figures))
    if results.forgiven is not None and results.forgiven[1].launches:
        start, observation = results.forgiven
        runs.append(dataclasses.replace(seen_run(files, observation, start), forgiven=True, faults=(), said=()))
    if results.whole is not None:
        start, observation = results.whole
        unnoticed = _blind(observation, results.unnoticed())
        whole = dataclasses.replace(
            seen_run(files, observation, start), results=True, unnoticed=unnoticed, notices=results.are_noticed
        )
        return [*runs, whole]
    smaller = _smaller_results(files, runs, setting)
    return [*runs, smaller] if smaller is not None else runs


def _blind(observation: Observation, unnoticed: Iterable[tuple[str, Unnoticed]]) -> tuple[SeenBlind, ...]:
    lines = {launch.display: launch for launch in reversed(observation.launches)}
    return tuple(SeenBlind(lines[name].kernel, lines[name].file, lines[name].line, what) for name, what in unnoticed)


def _smaller_results(files: Sequence[SourceText], runs: Sequence[SeenRun], setting: Setting) -> SeenRun | None:
    """Return a run with kernels executed at a size made smaller; None where none is small enough."""
    base = max((run for run in runs if not run.forgiven), key=lambda run: len(_launched([run])), default=None)
    if base is None or not base.launches:
        return None
    start = Start(base.arguments, base.stdin)
    # As small as for a program that computes for comparison what its kernels do.
    made = _made_smaller(files, start, "programs.too_long", MAX_WITH_RESULTS, WITH_RESULTS, setting)
    for run, observation, again in made:
        if has_results(observation) and _launched([run]) == _launched([base]):
            falsified = Falsified(observation)
            while (trial := falsified.next_trial()) is not None:
                falsified.add(trial, again(falsifying(trial)))
            unnoticed = _blind(observation, falsified.unnoticed())
            return dataclasses.replace(run, results=True, unnoticed=unnoticed, notices=falsified.are_noticed)
    return None


def _made_smaller(
    files: Sequence[SourceText], start: Start, cause: str, most: int, limits: RunLimits, setting: Setting
) -> Iterator[tuple[SeenRun, Observation, Callable[[RunLimits], Observation]]]:
    """Yield runs with one of the program's sizes made smaller, likeliest first, and what runs each again within other
    limits; cause: id of what ended it before."""
    texts = {source.file: source.text for source in files}
    for change in starts.changes(texts, start.arguments, cause)[:most]:
        replaced, arguments = starts.applied(change, texts, start.arguments)
        run = Start(arguments, start.stdin)
        sources = sources_of(files, replaced)

        def again(limits: RunLimits, sources: Sources = sources, run: Start = run) -> Observation:
            (observation,) = run_each(sources, [run], limits, setting)
            return observation

        observation = again(limits)
        yield seen_run(files, observation, run, change), observation, again


def _launched(runs: Iterable[SeenRun]) -> set[str]:
    return {launch.kernel for run in runs for launch in run.launches}


def _runs(
    files: Sequence[SourceText], ways: Sequence[Start], choices: Sequence[Start], setting: Setting, results: Results
) -> tuple[list[SeenRun], list[Observation]]:
    """All runs of one program that show something of its launches which those before did not, and what was observed
    first, in those for results as well.

    choices: what it is given besides, where some of its kernels were not launched.
    """
    sources = sources_of(files)
    wanted = starts.launched_in(files)
    kernels: set[str] = set()
    # One template may be several variants; only who chooses launches them in several runs.
    instances = starts.instances_in(files) if choices else {}
    seen_instances: set[tuple[str, tuple[str, ...]]] = set()
    started: list[Start] = []

    def has_all() -> bool:
        counts = Counter(name for name, _arguments in seen_instances)
        return wanted <= kernels and all(counts[name] >= count for name, count in instances.items())

    def is_enough(observation: Observation) -> bool:
        launched = [
            (launch.kernel, launch.template_arguments)
            for launch in observation.launches
            if _is_whole(launch) and not launch.error
        ]
        kernels.update(name for name, _arguments in launched)
        seen_instances.update(launched)
        # Without arguments it may have been told how to be called, and be larger than with them.
        started.append(ways[len(started)] if len(started) < len(ways) else Start())
        is_last_word = bool(started[-1].arguments) or not any(way.arguments for way in ways)
        return has_all() or (is_last_word and (observation.cause is not None and observation.cause.id in TOO_LARGE))

    every = run_each(sources, ways, TRACED, setting, is_enough, results.then)
    observations = every[: len(started) or 1]
    runs = [seen_run(files, observation, way) for observation, way in zip(observations, ways, strict=False)]
    # Those that come with sizes need not be as large as the program is by itself.
    with_sizes = bool(choices) and (len(choices[0].arguments) > 1 or bool(choices[0].stdin))
    is_runnable = any(run.ended or run.launches for run in runs)
    is_large = any(run.cause is not None and run.cause.id in TOO_LARGE for run in runs)
    if choices and not has_all() and (is_runnable or (is_large and with_sizes)):
        observations = run_each(sources, choices, TRACED, setting, is_enough)
        runs += [seen_run(files, observation, way) for observation, way in zip(observations, choices, strict=False)]
    # What is refused whatever it works upon is refused with kernels run, too.
    refused = {launch.kernel for run in runs if not run.arguments for launch in run.launches if launch.refused}
    if wanted <= kernels | refused or not any(run.ended or (run.cause and run.cause.id in TOO_LARGE) for run in runs):
        return _telling(runs), every
    further = _further(files, ways, runs[: len(ways)], wanted, kernels, setting)
    return _telling([*runs, *further]), every


def _further(
    files: Sequence[SourceText],
    ways: Sequence[Start],
    before: Sequence[SeenRun],
    wanted: set[str],
    kernels: set[str],
    setting: Setting,
) -> list[SeenRun]:
    """Run with kernels executed, and with a size made smaller, until all kernels that are wanted are launched."""
    launching = [way for run, way in zip(before, ways, strict=False) if run.launches]
    causes = [run.cause.id if run.cause is not None else "" for run in before]
    # One that is too large by itself has sizes of its own; what we hand in may be the side of a block to it.
    is_large = [way for way, cause in zip(ways, causes, strict=False) if cause in TOO_LARGE]
    start = launching[-1] if launching else (is_large or ways[len(before) - 1 :])[0]
    cause = causes[ways.index(start)]
    runs: list[SeenRun] = []
    if cause not in TOO_LARGE:
        (observation,) = run_each(sources_of(files), [start], EXECUTED, setting)
        runs.append(seen_run(files, observation, start))
        if wanted <= kernels | _launched(runs):
            return runs
    for limits in (TRACED, EXECUTED) if cause in TOO_LARGE else (EXECUTED,):
        for run, _observation, _again in _made_smaller(files, start, cause, MAX_SMALLER, limits, setting):
            runs.append(run)
            if wanted <= kernels | _launched(runs):
                return runs
            if run.ended:
                # Smaller still shows no more.
                break
    return runs


def sources_of(files: Sequence[SourceText], replaced: Mapping[str, str] | None = None) -> Sources:
    """Return a program's files, with texts that were made of them, or are `replaced`, by name."""
    rewritten = {source.file: source.text for source in files if source.written is not None}
    return Sources([source.path for source in files], rewritten | dict(replaced or {}), files[0].root)


def _telling(runs: Sequence[SeenRun]) -> list[SeenRun]:
    """Return the runs that launched something, the first with what others did beyond their own memory before they came
    to a launch; only the first run where none did."""
    telling = [run for run in runs if run.launches]
    if not telling:
        return list(runs[:1])
    early = [f for run in runs if not run.launches for f in run.faults if f.kind == "host_memory"]
    return [dataclasses.replace(telling[0], faults=(*telling[0].faults, *early)), *telling[1:]]


def _is_whole(launch: SeenLaunch) -> bool:
    """Whether a launch has a size and data: that of a program which lacks its arguments may have neither."""
    pointers = [argument for argument in launch.arguments if argument.is_pointer]
    return min(*launch.grid, *launch.block) > 0 and (not pointers or any(a.buffer_bytes for a in pointers))


def seen_run(
    files: Sequence[SourceText], observation: Observation, run: Start, change: starts.SizeChange | None = None
) -> SeenRun:
    """Return a run as binding takes it."""
    # What a device refuses because of numbers that we chose is nobody's fault.
    is_ours = bool(run.arguments or run.stdin)
    seen_change = None
    if change is not None:
        before, after = change.numbers
        seen_change = SeenChange(change.file, change.line, change.name, before, after, change.value)
    # What kernels do outside of arrays at numbers that were made others may come of these.
    is_own = change is None and not is_ours
    all_launches = [
        msgspec.structs.replace(x, change=seen_change, hazards=_outside(x) if is_own else [], counters=[])
        if _is_whole(x) and not (is_ours and x.status == "failed")
        else None
        for x in observation.launches
    ]
    launches = each_once(launch for launch in all_launches if launch is not None)
    is_whole = len(observation.launches) < MAX_LAUNCHES and len(observation.copies) < MAX_COPIES
    places = {launch.asked(): place for place, launch in enumerate(launches)}
    places_of_kernels = {x.display: (x.kernel, x.line) for x in reversed(observation.launches)}
    place = next((f for f in observation.findings if f.message == observation.cause), NO_FINDING)
    return SeenRun(
        files=tuple(source.file for source in files),
        launches=launches,
        ended=observation.exit is not None,
        cause=observation.cause or (None if observation.launches else msg("observation.no_launch")),
        cause_file=place.file,
        cause_line=place.line,
        arguments=tuple(run.arguments),
        stdin=run.stdin,
        change=seen_change,
        asked_for=tuple(dict.fromkeys(launch.kernel for launch in observation.launches)),
        faults=tuple(
            SeenFault(f.kind, f.file, f.line, f.message, f.severity == "remark")
            for f in observation.findings
            if f.kind in HOST_FAULTS and not (is_ours and f.kind == "launch_refused")
        ),
        said=tuple(
            SeenWord(said.text, said.is_right, *places_of_kernels.get(said.kernel, ("", 0)))
            for said in own_check.said(observation)
        )
        if has_results(observation)
        else (),
        exit=observation.exit,
        order=tuple(
            SeenStep(-1 if launch is None else places[launch.asked()], tuple(a.serial for a in x.arguments))
            for x, launch in zip(observation.launches, all_launches, strict=True)
        )
        if is_whole
        else (),
        copies=tuple(observation.copies) if is_whole else (),
    )


def _outside(launch: SeenLaunch) -> list[SeenHazard]:
    return [hazard for hazard in launch.hazards if hazard.kind == "out_of_bounds"]


def with_comments_run(
    sources: Sequence[SourceText], observed: ObservedRuns, observe: Callable[[Sequence[SourceText]], ObservedRuns]
) -> tuple[list[SourceText], ObservedRuns]:
    """The files with the launches that stand in comments, of kernels launched nowhere else, and what is observed then.

    observed: of the files as they are, which is what remains where a program runs as it is and does not run with these.
    """
    changed, uncommented = with_launches_of_comments(sources)
    if not uncommented or observed.failed is not None:
        return list(sources), observed
    again = observe(changed)
    launching = {run.files for run in observed.runs if run.launches}
    if again.failed is not None or not launching <= {run.files for run in again.runs if run.launches}:
        return list(sources), observed
    return changed, dataclasses.replace(again, uncommented=uncommented)


def probed(sources: Sequence[SourceText], observed: ObservedRuns, store: Stored | None) -> ObservedRuns:
    """`observed` with a run of each program in which the sizes that its kernels are handed are a little smaller.

    How it rounds its grids shows then.
    """
    probes: list[SeenRun] = []
    for files in starts.programs_of(sources):
        names = tuple(source.file for source in files)
        own = (run for run in observed.runs if run.files == names and not run.forgiven)
        first = next((run for run in own if run.launches and not run.change), None)
        if first is None:
            continue
        before = Start(first.arguments, first.stdin)
        values = (argument.value for launch in first.launches for argument in launch.arguments)
        texts, start = starts.made_ragged({source.file: source.text for source in files}, before, values)
        if not texts and start == before:
            continue
        try:
            changed = sources_of(files, texts)
            program = changed.read(start.arguments)
            runs = store.get(program, [start]) if store is not None else None
            if runs is None:
                (observation,) = run_each(changed, [start], TRACED, _setting(store))
                runs = [dataclasses.replace(seen_run(files, observation, start), probe=True, faults=())]
                if store is not None:
                    store.put(program, [start], runs)
        except InternalError:
            continue
        probes += runs
    return dataclasses.replace(observed, runs=(*observed.runs, *probes))
