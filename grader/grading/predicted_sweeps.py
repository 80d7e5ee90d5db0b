"""Predicted times of a lab's sweeps, at the values that a GPU is asked for: beside counted work, or measured times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from msgspec import structs

from grader.gpu.bench import metric_of
from grader.grading.counted_sweeps import compiled_together, targets_of
from grader.grading.sweep_plan import PreparedPoint, Target, places, prepare
from grader.lab.records import Lab, Sizes, Sweep
from grader.launching.backend import ARCHITECTURE
from grader.launching.programs import ProgramStore
from grader.message import Message
from grader.prediction.instructions import Processor
from grader.prediction.model import predict_kernel
from grader.prediction.record import figures
from grader.result import Estimate, SweepPoint, SweepRecord
from grader.running.evidence import Evidence
from grader.submission.changes import Original

if TYPE_CHECKING:
    from grader.compiler.process import CompilerProcess

MOST_STEPS = 8_000
"""PTX instructions of a point's block that is followed: there are many points."""


def with_predictions(
    records: Sequence[SweepRecord],
    lab: Lab,
    original: Original,
    evidence: Mapping[str, Evidence],
    processor: Processor,
    compiler: CompilerProcess,
) -> list[SweepRecord]:
    """Sweeps that were run, with predicted times of the student's kernels; over kinds of host memory there are none.

    evidence: by variant, tells which kernels are right.
    """
    targets = [target for target in targets_of(lab, original, evidence)[0] if target.of == "submission"]
    sweeps = {sweep.id: sweep for sweep in lab.sweeps if not sweep.host_memory}
    with ThreadPoolExecutor(1) as thread:
        stores = (
            ProgramStore(compiler, ARCHITECTURE, thread),
            ProgramStore(compiler, processor.architecture, thread),
        )
        planned = {name: _planned(lab, sweep, targets, stores) for name, sweep in sweeps.items()}
        points = {
            name: [_point(lab, sweeps[name], p, processor, stores) if isinstance(p, PreparedPoint) else p for p in plan]
            for name, plan in planned.items()
        }
    return [
        structs.replace(record, predicted=points[record.id], predicted_device=processor.name)
        if points.get(record.id)
        else record
        for record in records
    ]


def _planned(
    lab: Lab, sweep: Sweep, targets: Sequence[Target], stores: Sequence[ProgramStore]
) -> list[PreparedPoint | SweepPoint]:
    """Every point of a sweep, with its programs on their way through the compiler."""
    prepared: list[PreparedPoint | SweepPoint] = []
    for target in targets:
        for place in places(sweep, "gpu") if target.variant in sweep.variants else ():
            point = prepare(lab, sweep, target, place)
            if isinstance(point, PreparedPoint):
                point = compiled_together(point, targets)
                for store in stores:
                    store.order(point.kernel.program(place.sizes))
            prepared.append(point)
    return prepared


def _point(
    lab: Lab, sweep: Sweep, point: PreparedPoint, processor: Processor, stores: tuple[ProgramStore, ProgramStore]
) -> SweepPoint:
    sizes = point.place.sizes
    made = predict_kernel(point.kernel, sizes, processor, stores, MOST_STEPS)
    if isinstance(made, Message):
        return point.infeasible("failed", made)
    low, high = made.interval_us
    time = Estimate(value=made.time_us, low=low, high=high)
    metrics = dict.fromkeys(("time", *sweep.metrics["gpu"]))
    values = {f"predicted_{metric}": _value(lab, metric, sizes, time) for metric in metrics}
    return structs.replace(point.point(), values=values)


def _value(lab: Lab, metric: str, sizes: Sizes, time: Estimate) -> Estimate:
    exact = metric_of(lab, metric, sizes, time)
    assert exact.low is not None
    assert exact.high is not None
    return Estimate(value=figures(exact.value), low=figures(exact.low), high=figures(exact.high))
