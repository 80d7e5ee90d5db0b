"""Which runs a program is given beside those that leave its kernels out: with its kernels, at sizes at which these take
a small part of a grading; as if no call failed, where it ends at its first error; and with results that are not the
kernels', which a check of its own has to notice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from grader.programs.own_check import Said, said
from grader.programs.records import CRASHES, Observation, RunLimits, Start
from grader.ptx.limits import STEPS_AFTER_FAULT, STEPS_PER_LAUNCH
from grader.submission.kernels.records import Unnoticed

TRACED = RunLimits(
    executes=False,
    host_instructions=3_000_000_000,
    host_bytes=1 << 30,
    device_bytes=1 << 30,
    kernel_instructions=0,
    marks_times="long",
)
FORGIVING = msgspec.structs.replace(TRACED, forgives=True)
WITH_RESULTS = RunLimits(
    executes=True,
    host_instructions=1_000_000_000,
    host_bytes=512 << 20,
    device_bytes=128 << 20,
    steps_after_fault=STEPS_AFTER_FAULT,
    kernel_instructions=60_000_000,
    kernel_steps=STEPS_PER_LAUNCH,
    marks_times="short",
)
"""Limits of a run whose results count: at such sizes kernels take a small part of a grading."""
FEWEST_PER_THREAD = 20
"""Instructions: no kernel that makes an element takes fewer."""
MAX_WITH_RESULTS = 3
MOST_APART = 3
"""Runs in which kernels' results are falsified apart."""
FAULTS_OF: Mapping[Literal["copy", "launch", "lifetime", "time"], frozenset[str]] = {
    "copy": frozenset(
        {"copy_direction", "copy_size", "bad_symbol", "never_read", "overwritten", "alloc_size", "not_waited"}
        | {"stream_race", "host_changed"}
    ),
    "launch": frozenset({"host_pointer", "launch_refused"}),
    "lifetime": frozenset({"use_after_free", "double_free", "wrong_free", "host_memory"}),
    "time": frozenset(
        {"clock_before_end", "event_not_recorded", "event_not_reached", "event_order", "event_of_nothing"}
        | {"event_not_renewed", "time_of_failed_launch", "gave_up"}
    ),
}
"""Kinds of findings of the runtime's, by the kind of fault of host code that they are."""
HOST_FAULTS = frozenset({"leak"}).union(*FAULTS_OF.values())
"""Findings of a run that are the host code's doing."""
GIVES_UP = frozenset({"programs.uncaught", "programs.aborted"})
CUT_SHORT = frozenset(f"programs.{what}" for what in ("launch_limit", "launch_steps", "too_long", "host_limit"))
"""What ends a run that is beyond its limits, counted: what was printed before is of whole launches."""


Way = Literal["half", "up", "down", "some", "nan"]
Trial = tuple[Way, tuple[str, ...]]
"""See `grader.programs.records.RunLimits`: `falsifies` and `falsified_kernels`."""


class Results:
    """Runs of a program with its kernels: as it is where that is small enough, else as it was given sizes.

    ways: what it is started with first, in that order.
    forgiven: of a program that a call's error ends, a run in which no call fails.
    """

    def __init__(self, ways: Sequence[Start]) -> None:
        self._ways = ways
        self._asked: list[Start] | None = None
        self._traced = 0
        self._stopped: Start | None = None
        self._falsifies: Trial | None = None
        self._falsified: Falsified | None = None
        self.whole: tuple[Start, Observation] | None = None
        self.forgiven: tuple[Start, Observation] | None = None

    def then(self, observations: Sequence[Observation]) -> tuple[Start, RunLimits] | None:
        """Return what to run next, after `observations`; see `grader.programs.execution.Then`."""
        if self._asked is None:
            self._traced, self._asked = len(observations), []
            pairs = zip(self._ways, observations, strict=False)
            self._stopped = next((way for way, one in pairs if _is_stopped_by_error(one)), None)
            if self._stopped is not None:
                return self._stopped, FORGIVING
        elif self._stopped is not None and self.forgiven is None:
            self.forgiven = self._stopped, observations[-1]
        elif self._falsified is not None and self._falsifies is not None:
            self._falsified.add(self._falsifies, observations[-1])
        elif (
            has_results(one := without_cut(observations[-1]))
            and all(_kernels(one) >= _kernels(other) for other in observations[: self._traced])
            # One that was cut before it said anything says it at a smaller size.
            and (not _is_cut(one) or said(one))
        ):
            self.whole, self._falsified = (self._asked[-1], one), Falsified(one)
        if self.whole is not None and self._falsified is not None:
            self._falsifies = self._falsified.next_trial()
            return (self.whole[0], falsifying(self._falsifies)) if self._falsifies is not None else None
        observed = [*zip(self._ways, observations[: self._traced], strict=False)]
        most = max((len(_kernels(one)) for _way, one in observed), default=0)
        # One that goes through its sizes, small ones first, may have ended at a limit.
        with_end = [(way, one) for way, one in observed if _has_ended(one) or _is_cut(one)]
        left = [way for way, one in with_end if len(_kernels(one)) == most and _is_small(one)]
        # It was seen as it is, and need not have been given sizes.
        left += [way for way in self._ways[self._traced :] if way.arguments]
        left = [way for way in left if way not in self._asked]
        if not most or not left or len(self._asked) == MAX_WITH_RESULTS:
            return None
        self._asked.append(left[0])
        return left[0], WITH_RESULTS

    def unnoticed(self) -> Iterator[tuple[str, Unnoticed]]:
        """See `Falsified.unnoticed`."""
        return self._falsified.unnoticed() if self._falsified is not None else iter(())

    @property
    def are_noticed(self) -> bool:
        """See `Falsified.are_noticed`."""
        return self._falsified is not None and self._falsified.are_noticed


class Falsified:
    """Runs of a program that are given results which are not the kernels'; whole: what it does with those of theirs."""

    def __init__(self, whole: Observation) -> None:
        self._whole = whole
        self._words = said(whole)
        self._runs: dict[Trial, Observation] = {}

    def next_trial(self) -> Trial | None:
        """Return how results are falsified next, and of which kernels, () all: in other ways where the program does not
        notice the first of them; where it speaks of several kernels together, not those of all at a time."""
        whole, words = self._whole, self._words
        is_right = (
            (whole.exit == 0 or _is_cut(whole))
            and any(word.kernels for word in words)
            and all(word.is_right for word in words)
        )
        if not is_right or not any(copy.way == "out" for copy in whole.copies):
            return None
        if not self._runs:
            return "half", ()
        apart = self._apart()
        wanted: list[Trial] = [*(apart or [("up", ())])]
        if all(trial in self._runs for trial in wanted):
            if any(map(self._not_noticed, apart)):
                wanted.append(("up", ()))
            of_all: list[Trial] = [("half", ()), ("up", ())]
            wanted += [("down", ())] if any(map(self._not_noticed, of_all)) else []
            wanted += [] if any(map(self._not_noticed, [*apart, *of_all])) else [("some", ()), ("nan", ())]
        return next((trial for trial in wanted if trial not in self._runs), None)

    def add(self, trial: Trial, observation: Observation) -> None:
        """Take what came of results that were falsified this way."""
        self._runs[trial] = without_cut(observation)

    def _apart(self) -> list[Trial]:
        """Return the trials in which those kernels that the program speaks of together are falsified in turns: no two
        neighbours at once, for it is the line before that is copied."""
        together = {name for word in self._words if len(word.launched) > 1 for name in word.launched}
        names = list(dict.fromkeys(name for name in self._runs["half", ()].falsified if name in together))
        return [("up", tuple(names[at::MOST_APART])) for at in range(min(len(names), MOST_APART))] if names[1:] else []

    def _not_noticed(self, trial: Trial) -> set[str]:
        """Return the kernels whose falsified results the program calls right."""
        changed = self._runs.get(trial)
        if changed is None:
            return set()
        words = said(changed)
        wrong = {word.kernel for word in words if not word.is_right}
        # Where a kernel's results are left as they are, it is others that they are held against.
        if changed.exit != self._whole.exit or "" in wrong or (trial[1] and not wrong <= {*changed.falsified}):
            return set()
        before, after = _calls_right(self._words), _calls_right(words)
        names = {*changed.falsified} - wrong
        if trial[1]:
            # An error that is told in another way, as a number beside others, is told.
            texts = {word.text for word in self._words}
            names -= {name for word in words if word.text not in texts for name in word.kernels}
        return {name for name in names if before[name] and before[name] == after[name]}

    def unnoticed(self) -> Iterator[tuple[str, Unnoticed]]:
        """Yield kernels of whose wrong results the program does not notice some, and which."""
        half, up, down, some, nan = (self._not_noticed((way, ())) for way in ("half", "up", "down", "some", "nan"))
        alone = {name for trial in self._runs if trial[1] for name in self._not_noticed(trial)} - up
        for kernel in sorted(half | up | alone):
            if kernel in alone:
                yield kernel, "alone"
            elif kernel in up:
                yield kernel, "all" if kernel in down else "larger"
            else:
                yield kernel, "smaller" if kernel in down else "half"
        for kernel in sorted((some | nan) - half - up - alone):
            yield kernel, "some" if kernel in some else "nan"

    @property
    def are_noticed(self) -> bool:
        """Whether the program called results wrong because they were made so."""
        return any(not word.is_right for run in self._runs.values() for word in said(run))


def _calls_right(words: Sequence[Said]) -> Counter[str]:
    """Return how often results of each kernel are called right."""
    return Counter(name for word in words if word.is_right for name in word.kernels)


def falsifying(trial: Trial) -> RunLimits:
    return msgspec.structs.replace(WITH_RESULTS, falsifies=trial[0], falsified_kernels=trial[1])


def _is_stopped_by_error(observation: Observation) -> bool:
    """Whether a program ended, by itself or by an exception, after a call that failed for a fault of the host's."""
    is_out = bool(observation.exit) or (observation.cause is not None and observation.cause.id in GIVES_UP)
    return is_out and any(f.severity == "error" and f.kind in HOST_FAULTS for f in observation.findings)


def _kernels(observation: Observation) -> set[str]:
    return {launch.display for launch in observation.launches}


def _is_small(observation: Observation) -> bool:
    """Whether all kernels may come to be launched within the limits: at larger sizes than that the run is cut short."""
    left, threads = _kernels(observation), 0
    for launch in observation.launches:
        if left:
            left.discard(launch.display)
            threads += math.prod(launch.grid) * math.prod(launch.block)
    return threads * FEWEST_PER_THREAD <= WITH_RESULTS.kernel_instructions


def _has_ended(observation: Observation) -> bool:
    """Whether a program came to its end, or crashed on its way there."""
    return observation.exit is not None or (observation.cause is not None and observation.cause.id in CRASHES)


def _is_cut(observation: Observation) -> bool:
    return observation.cause is not None and observation.cause.id in CUT_SHORT


def without_cut(observation: Observation) -> Observation:
    """Return a run without the launch at which a limit ended it: a program goes through its sizes, small ones first."""
    if not _is_cut(observation):
        return observation
    whole = [launch for launch in observation.launches if launch.status != "traced"]
    return msgspec.structs.replace(observation, launches=whole)


def has_results(observation: Observation) -> bool:
    """Whether every launch of a run was executed, so that its results count."""
    whole = all(launch.status != "traced" for launch in observation.launches)
    return (_has_ended(observation) or _is_cut(observation)) and bool(observation.launches) and whole
