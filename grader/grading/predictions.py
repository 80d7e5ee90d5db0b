"""Times of a submission's kernels, and of a lab's sweeps, on a GPU that is not there, as its result has them.

The largest size that is timed on a GPU is predicted, of kernels whose results are right; beside them the reference
kernels that the lab measures speed by.  Sweeps are predicted at the values that a GPU is asked for; their many launches
are followed in several processes at once, none of which waits for another (`main`).
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from grader.checks.execution import predicted_figures
from grader.devices import is_possible_block
from grader.gpu.bench import lab_files, metric_of
from grader.grading.sweep_plan import PreparedPoint, Target, planned, reference_target
from grader.lab.checks import SpeedupSettings
from grader.lab.records import Lab, Sizes, Sweep
from grader.launching.backend import ARCHITECTURE
from grader.launching.kernel import BoundKernel
from grader.launching.programs import Compiler, ProgramStore
from grader.measured import Estimate, PredictedTime, SweepPoint, SweepRecord
from grader.message import Message, msg
from grader.processes.channel import Channel, PeerGone
from grader.processes.child import ChildProgram, is_running, start_server
from grader.processes.limits import MANY, seldom_look_for_garbage
from grader.processes.pool import Answer, Beside, Pool, Waiting, wait
from grader.result import Check, Result
from grader.running.evidence import Evidence
from grader.submission.cpp.parse import parse
from grader.submission.kernels.launches import find_launches
from grader.submission.kernels.records import LaunchSite
from grader.timing.instructions import Processor, named_like, read_device
from grader.timing.model import Prediction
from grader.timing.prediction import (
    FollowedLaunch,
    figures,
    followed,
    predict_launch,
    record_of,
    with_ratios,
)
from grader.timing.summary import key_of

if TYPE_CHECKING:
    from grader.compiler.several import Compilers

OFF, AUTO = "off", "auto"
DEFAULT = "t4"
"""Where neither the command line nor the lab names a device, and none is there."""

_known: dict[str, PredictedTime | Message] = {}
"""Times of the reference kernels, which are the same for every student that this process grades."""


def device_for(asked: str, lab: Lab, at_hand: str | None) -> Processor | None:
    """The device that times are predicted for; None where none are wanted.

    asked: a device, `AUTO` for the lab's, else the one at hand (as its driver calls it), else `DEFAULT`; or `OFF`.

    Raises UsageError: there is no such device.
    """
    own = lab.timing.predict if lab.timing is not None else ""
    if asked == AUTO:
        asked = own or named_like(at_hand or "") or DEFAULT
    return None if asked == OFF else read_device(asked)


def decides_marks(lab: Lab) -> bool:
    """Whether a check of the lab goes by predicted times where none are measured."""
    return any(
        isinstance(spec.settings, SpeedupSettings) and spec.settings.predicted
        for variant in lab.variants
        for spec in variant.checks
    )


def predict_all(
    lab: Lab,
    kernels: Mapping[str, BoundKernel],
    evidence_of: Mapping[str, Evidence],
    processor: Processor,
    programs: ProgramStore,
    compiler: Compilers,
    processes: int = 1,
) -> dict[str, PredictedTime | Message]:
    """Predicted times by variant, or why there is none; variants whose results are wrong are left out.

    kernels: as they were graded.  programs: compiled to PTX.  processes: that may follow launches at once.
    """
    sizes = lab.timing.sizes[-1] if lab.timing is not None else lab.cases["emulator"].observe
    stores = stores_of(processor, programs, compiler)
    right = {name: kernel for name, kernel in kernels.items() if _is_right(evidence_of[name])}
    beside: dict[str, tuple[str, str]] = {}
    for variant in lab.variants:
        against = next((s.settings.against for s in variant.checks if isinstance(s.settings, SpeedupSettings)), "")
        if against and variant.name in right:
            what = f"{against} {sizes} {processor.architecture}"
            beside[variant.name] = (
                against,
                key_of({}, what, lab_files(lab), compiler.nvrtc_version(), processor.name, ""),
            )
    own = {v.name: v for v in lab.variants}
    unknown = {key: reference_target(lab, own[name]).kernel for name, key in beside.values() if key not in _known}
    at_sizes = {name: _as_launched_at_most(kernel, sizes) for name, kernel in right.items()} | unknown
    of_lab = stores_of(processor, ProgramStore(compiler.of_lab, ARCHITECTURE), compiler.of_lab)
    launches = {
        key: kernel
        if isinstance(kernel, Message)
        else followed(kernel, sizes, processor, of_lab if key in unknown else stores)
        for key, kernel in at_sizes.items()
    }
    outcomes = {
        key: time if isinstance(time, Message) else record_of(time, sizes, processor)
        for key, time in zip(launches, predict_launches(list(launches.values()), processes), strict=True)
    }
    _known.update({key: outcomes[key] for key in unknown})
    predictions = {name: outcomes[name] for name in right}
    measures = {
        name: (against, reference)
        for name, (against, key) in beside.items()
        if isinstance(reference := _known[key], PredictedTime)
    }
    predicted = {name: time for name, time in predictions.items() if isinstance(time, PredictedTime)}
    return predictions | with_ratios(predicted, lab.variants[0].name, measures, processor)


def stores_of(processor: Processor, programs: ProgramStore, compiler: Compiler) -> tuple[ProgramStore, ProgramStore]:
    """What compiles kernels that are predicted: to PTX (`programs`), and to the device's machine code."""
    return programs, ProgramStore(compiler, processor.architecture)


def in_result(result: Result, predicted: Mapping[str, PredictedTime | Message]) -> Result:
    """`result` with predicted times, or why there are none, by variant; a check of speed that waits for a measured time
    says what was predicted."""
    variants = {
        name: structs.replace(variant, predicted=predicted[name])
        if isinstance(predicted.get(name), PredictedTime)
        else structs.replace(variant, unpredicted_said=predicted.get(name))
        for name, variant in result.variants.items()
    }
    return structs.replace(
        result, variants=variants, checks=[_with_hint(c, predicted.get(c.variant)) for c in result.checks]
    )


def _with_hint(check: Check, predicted: PredictedTime | Message | None) -> Check:
    if check.check != "speedup" or check.skip_reason != "not_measured":
        return check
    if not isinstance(predicted, PredictedTime) or predicted.predicted_speedup is None:
        return check
    figures = predicted_figures(predicted, predicted.predicted_speedup)
    return structs.replace(check, hint_said=msg("checks.speedup.hint_predicted", figures=figures))


def _is_right(evidence: Evidence) -> bool:
    runs = evidence.runs_of("correct", "observe")
    return bool(runs) and all(run.output_is_right for run in runs) and evidence.halo is None


def _as_launched_at_most(kernel: BoundKernel, sizes: Sizes) -> BoundKernel | Message:
    """The kernel with the block that its program was seen to launch at these sizes but for what the grid covers, else
    launches at the largest of its own; why it is not predicted where more would have to be another there than was seen.

    It may have been graded with the block of a smaller size: `run<16>(64); run<512>(1 << 24);`, `n < 7 ? 256 : 96`.
    """
    plan = kernel.interpretation.launch
    source = next((s for s in kernel.submission.sources if s.file == kernel.binding.kernel.file), None)
    if source is None or plan.block_formula or kernel.interpretation.origins.block == "stated":
        return kernel
    at_sizes = _blocks_seen_at(kernel, sizes)
    if len(at_sizes) == 1:
        return _with_block(kernel, at_sizes.pop())
    blocks = [
        (work, site.block)
        for site in find_launches(parse(source))
        if site.kernel == kernel.binding.kernel.name and site.block is not None and is_possible_block(site.block)
        if (work := _work_of(kernel, site)) is not None
    ]
    most = max((work for work, _block in blocks), default=0)
    largest = [block for work, block in blocks if work == most]
    if not largest or plan.block in largest or all(work == most for work, _block in blocks):
        return kernel
    return _with_block(kernel, largest[0])


def _blocks_seen_at(kernel: BoundKernel, sizes: Sizes) -> set[tuple[int, int, int]]:
    """The blocks that the program was seen to launch where the sizes that no grid covers were these; none where the
    grid covers all sizes that the kernel is handed."""
    covered = {name for over in kernel.interpretation.launch.covers for name in over.split("*")}
    parameters = zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True)
    wanted = {p.name: sizes[role] for role, p in parameters if role in sizes and role not in covered}
    seen = [x for x in kernel.submission.observed.launches if x.kernel == kernel.binding.kernel.name and not x.refused]
    at_sizes = (x for x in seen if wanted and wanted.items() <= {a.name: a.value for a in x.arguments}.items())
    return {x.block for x in at_sizes if is_possible_block(x.block)}


def _with_block(kernel: BoundKernel, block: tuple[int, int, int]) -> BoundKernel | Message:
    """The kernel with another block, as far as nothing else of its launch has to be another with it."""
    plan = kernel.interpretation.launch
    if plan.block == block:
        return kernel
    if "<" in kernel.binding.expression or plan.grid_formula or (plan.shared_bytes and not plan.shared_formula):
        return msg("predict.other_block", threads=prod(block))
    axes = zip(plan.tile, plan.block, block, strict=False)
    tile = tuple(now if covered == then else covered for covered, then, now in axes)
    return kernel.read_as(replace(kernel.interpretation, launch=replace(plan, block=block, tile=tile)))


def _work_of(kernel: BoundKernel, site: LaunchSite) -> int | None:
    """The product of the sizes that a launch's text hands in; None where it does not tell one of them."""
    pairs = zip(kernel.interpretation.roles, kernel.binding.kernel.parameters, strict=True)
    own = [role for role, parameter in pairs if not parameter.is_global]
    if len(own) != len(site.values):
        return None
    values = [value for role, value in zip(own, site.values, strict=True) if role in kernel.lab.size_names]
    return prod(value for value in values if value is not None) if values and None not in values else None


MOST_STEPS = 8_000
"""PTX instructions of a point's block that is followed: there are many points."""


def swept(
    run: Callable[[], list[SweepRecord]],
    lab: Lab,
    kernels: Sequence[Target],
    processor: Processor,
    compilers: Compilers,
    beside: Beside,
    processes: int,
) -> list[SweepRecord]:
    """Sweeps that `run` runs, with predicted times of the student's kernels, which are made meanwhile; over kinds of
    host memory there are none.

    kernels: that are swept, the lab's own too.  processor: the device that is predicted for.
    processes: that may be at work at once.
    """
    targets = [target for target in kernels if target.of == "submission"]
    sweeps = {sweep.id: sweep for sweep in lab.sweeps if not sweep.host_memory}
    with ThreadPoolExecutor(compilers.at_once) as compiling:
        stores = (
            ProgramStore(compilers.bulk, ARCHITECTURE, compiling),
            ProgramStore(compilers.bulk, processor.architecture, compiling),
        )

        def order(point: PreparedPoint) -> None:
            # Machine code first: PTX of the same device is made on the way.
            for store in reversed(stores):
                store.order(point.kernel.program(point.place.sizes))

        def predict() -> dict[str, list[SweepPoint]]:
            plans = {
                name: [point for line in planned(lab, sweep, targets, "gpu", order).values() for point in line]
                for name, sweep in sweeps.items()
            }
            return _predicted_points(lab, sweeps, plans, processor, stores, processes)

        predicting = beside.start(predict)
        records = run()
        points = predicting.result()
    return [
        structs.replace(record, predicted=points[record.id], predicted_device=processor.name)
        if points.get(record.id)
        else record
        for record in records
    ]


def _predicted_points(
    lab: Lab,
    sweeps: Mapping[str, Sweep],
    plans: Mapping[str, Sequence[PreparedPoint | SweepPoint]],
    processor: Processor,
    stores: tuple[ProgramStore, ProgramStore],
    processes: int,
) -> dict[str, list[SweepPoint]]:
    launches = {
        (name, number): followed(point.kernel, point.place.sizes, processor, stores, MOST_STEPS)
        for name, plan in plans.items()
        for number, point in enumerate(plan)
        if isinstance(point, PreparedPoint)
    }
    predictions = dict(zip(launches, predict_launches(list(launches.values()), processes), strict=True))
    return {
        name: [
            _point(lab, sweeps[name], p, predictions[name, number]) if isinstance(p, PreparedPoint) else p
            for number, p in enumerate(plan)
        ]
        for name, plan in plans.items()
    }


def _point(lab: Lab, sweep: Sweep, point: PreparedPoint, predicted: Prediction | Message) -> SweepPoint:
    sizes = point.place.sizes
    if isinstance(predicted, Message):
        return point.infeasible("failed", predicted)
    low, high = predicted.interval_us
    time = Estimate(value=predicted.time_us, low=low, high=high)
    metrics = dict.fromkeys(("time", *sweep.metrics["gpu"]))
    values = {f"predicted_{metric}": _value(lab, metric, sizes, time) for metric in metrics}
    return structs.replace(point.point(), values=values)


def _value(lab: Lab, metric: str, sizes: Sizes, time: Estimate) -> Estimate:
    exact = metric_of(lab, metric, sizes, time)
    assert exact.low is not None
    assert exact.high is not None
    return Estimate(value=figures(exact.value), low=figures(exact.low), high=figures(exact.high))


FOLLOW_DEADLINE_S = 120.0
FOLLOWER_BYTES = 3 << 30
"""Memory of one process; arrays of a launch take room only where they are touched."""
ALONE_S, ALONE_FORKED_S = 0.4, 0.05
"""Processor time after which what is left of several launches is followed in processes, which take as long to start, or
to be forked where what forks them is there already."""
FOLLOWER = ChildProgram("grader.grading.predictions", (), FOLLOWER_BYTES, is_forkable=True)


class FollowTask(msgspec.Struct, frozen=True, tag="follow"):
    """A launch to be followed."""

    launch: FollowedLaunch


class Followed(msgspec.Struct, frozen=True, tag="followed"):
    """What comes of it: its time, or why it could not be followed to its end; neither by a slip of ours."""

    prediction: Prediction | None = None
    reason: Message | None = None


def prepare() -> None:
    """Nothing more: this module has loaded what any launch needs, before processes are forked."""


def main(connection: socket.socket) -> None:
    """Follow launches until the parent closes the channel."""
    channel = Channel(connection, msgspec.msgpack.Decoder(FollowTask))
    seldom_look_for_garbage()
    with contextlib.suppress(PeerGone):
        while True:
            task = channel.receive()
            try:
                outcome = predict_launch(task.launch)
                reply = Followed(reason=outcome) if isinstance(outcome, Message) else Followed(outcome)
            except Exception:
                # Whoever has asked follows it again, and is told what it is.
                reply = Followed()
            channel.send(reply)


def begin_followers(processes: int) -> None:
    """Have what forks the processes that follow launches import what they need while this one does other things; of
    this thread alone, within `fork_server.kept`."""
    if processes >= MANY:
        with contextlib.suppress(OSError):
            start_server(FOLLOWER)


def several_predicted(
    beside: Beside, processes: int
) -> Callable[[Sequence[FollowedLaunch]], Sequence[Prediction | Message]]:
    """What predicts launches as `predict_launches`, in processes that are forked beside this one."""
    return lambda launches: beside.start(partial(predict_launches, launches, processes)).result()


def predict_launches(launches: Sequence[FollowedLaunch | Message], processes: int) -> list[Prediction | Message]:
    """The predictions of `launches`, in order, or why there is none: what is given in place of a launch, or why one
    could not be followed to its end.

    processes: at most so many, where it takes longer than to start them.
    """
    following = [launch for launch in launches if not isinstance(launch, Message)]
    times = iter(_predicted(following, processes))
    return [launch if isinstance(launch, Message) else next(times) for launch in launches]


def _predicted(launches: Sequence[FollowedLaunch], processes: int) -> list[Prediction | Message]:
    began = time.thread_time()
    is_forked = is_running(FOLLOWER)
    alone_s = ALONE_FORKED_S if is_forked else ALONE_S
    done: list[Prediction | Message] = []
    while len(done) < len(launches) and (processes < 2 or time.thread_time() - began < alone_s):
        done.append(predict_launch(launches[len(done)]))
    rest = launches[len(done) :]
    if len(rest) < (2 if is_forked else 3):
        return [*done, *map(predict_launch, rest)]
    predictions: dict[int, Prediction | Message] = {}
    replies: msgspec.msgpack.Decoder[Followed | Waiting] = msgspec.msgpack.Decoder(Followed | Waiting)
    size = min(processes, len(rest) if is_forked else -(-len(rest) // 2))
    pool: Pool[int, Followed] = Pool(FOLLOWER, replies, lambda _reply: True, FOLLOW_DEADLINE_S, size)
    with pool:
        for number, launch in enumerate(rest):
            pool.submit(number, FollowTask(launch))
        while pool.unfinished:
            for event in pool.events():
                outcome = (event.reply.prediction or event.reply.reason) if isinstance(event, Answer) else None
                if outcome is not None:
                    predictions[event.task] = outcome
            if pool.unfinished:
                wait(pool)
    # What a process was lost with is followed here, where a fault of ours is told.
    return [*done, *(predictions[n] if n in predictions else predict_launch(one) for n, one in enumerate(rest))]
