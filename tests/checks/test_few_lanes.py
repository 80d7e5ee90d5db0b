"""Requests of a few lanes: which count as such, and that no good kernel is one at any block size of the sweeps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from grader.checks.base import few_lanes
from grader.compiler.process import CompilerProcess
from grader.files import data_root
from grader.grading.counted_sweeps import EmulatorSweeps
from grader.grading.sweep_plan import PreparedPoint, Target, reference_target
from grader.grading.sweeps import original_of
from grader.lab.expected import Oracle
from grader.lab.records import Lab
from grader.launching.kernel import BoundKernel, shape_at
from grader.launching.trial import Run, Trials
from grader.ptx.observers.traffic import _few
from grader.running.runs import counters_of
from grader.submission.binding.bind import bind
from grader.submission.folder import find_sources
from grader.submission.records import VariantBinding
from grader.submission.source import decode
from tests.checks.evidence_factory import check, evidence
from tests.every_lab import EVERY_LAB
from tests.sample_results import counters

KERNELS = data_root() / "tests" / "kernels"


def few(space: str, op: str, share: float) -> object:
    """Counters of a right kernel, of which `share` of an array goes through requests of one lane."""
    given = counters()
    lanes = int(share * 65536)
    rows = [
        structs.replace(c, few_requests=lanes, few_lanes=lanes) if (c.space, c.op) == (space, op) else c
        for c in given.by_line
    ]
    return structs.replace(given, by_line=rows)


@pytest.mark.parametrize(
    ("space", "op", "names"),
    [
        ("global", "load", {"coalescing"}),
        ("global", "store", {"coalescing"}),
        ("shared", "load", {"technique"}),
        ("shared", "store", {"technique"}),
    ],
)
def test_half_an_array_by_a_few_lanes_is_a_crawl(space: str, op: str, names: set[str]) -> None:
    for share, failing in ((0.5, names), (0.49, set())):
        given = evidence(counters=few(space, op, share))
        failed = {name for name in ("coalescing", "technique", "bank_conflicts") if check(given, name).status == "fail"}
        assert failed == failing
    row = check(evidence(counters=few(space, op, 1.0)), next(iter(names)))
    assert row.message.endswith("65536 requests, where full warps need 2048.")
    assert row.data == {"requests": 65536, "needed_requests": 2048}
    assert "take turns" in row.hint
    alone = check(evidence(counters=few(space, op, 1.0), block=(1, 1, 1)), next(iter(names)))
    assert "A block of 1×1 threads" in alone.hint


def test_bank_conflicts_judges_for_itself_where_technique_is_not_asked_for() -> None:
    given = evidence(counters=few("shared", "load", 1.0))
    checks = tuple(spec for spec in given.variant.checks if spec.check != "technique")
    given = replace(given, variant=replace(given.variant, checks=checks))
    row = check(given, "bank_conflicts")
    assert (row.status, row.earned, row.line) == ("fail", 0, 12)


@pytest.mark.parametrize(
    ("lanes", "width", "is_few"),
    [(8, 4, True), (9, 4, False), (2, 16, True), (3, 16, False), (8, 1, True), (16, 1, False)],
)
def test_few_is_what_fits_into_a_sector(lanes: int, width: int, is_few: bool) -> None:
    active = np.zeros((3, 32), np.bool_)
    active[:2, :lanes] = True
    active[2] = True
    assert _few(active, width) == ((2, 2 * lanes) if is_few else (0, 0))


@pytest.mark.parametrize(("share", "status"), [(0.69, "pass"), (0.71, "fail")])
def test_a_block_s_last_warp_may_have_few_lanes(share: float, status: str) -> None:
    # Of 40 threads 8 are in the second warp: a fifth of what is moved, and of an array half is what counts.
    given = evidence(counters=few("global", "store", share), block=(40, 1, 1))
    assert given.counters is not None
    assert {c.few_lanes > 0 for c in given.counters.by_line if c.op == "store" and c.space == "global"} == {True}
    assert check(given, "coalescing").status == status


class Watched(EmulatorSweeps):
    """Sweeps whose runs are kept."""

    def __init__(self, lab: Lab, process: CompilerProcess) -> None:
        super().__init__(lab, Oracle(lab), process)
        self.seen: list[tuple[PreparedPoint, Run]] = []

    def _run(self, point: PreparedPoint, trials: Trials) -> Run:
        run = super()._run(point, trials)
        self.seen.append((point, run))
        return run


@pytest.fixture(scope="module")
def process() -> Iterator[CompilerProcess]:
    with CompilerProcess() as made:
        yield made


def targets_of(lab: Lab, file: Path) -> list[Target]:
    found = find_sources(file, lab.id)
    submission = bind(found, [decode(f) for f in found.files], lab)
    program = original_of(lab, found, submission)
    bound = [(name, b) for name, b in submission.bindings.items() if isinstance(b, VariantBinding)]
    return [
        Target(name, "submission", program, BoundKernel(lab, submission, b, b.interpretations[0])) for name, b in bound
    ]


def assert_no_crawl(lab: Lab, targets: list[Target], process: CompilerProcess) -> int:
    watched = Watched(lab, process)
    watched.run(targets, {})
    right = 0
    for point, run in watched.seen:
        outcome, sizes = run.outcome, point.place.sizes
        if outcome.counters is None or not run.output_is_right or prod(point.block) < 16:
            continue
        right += 1
        array_bytes = {
            p.name: prod(shape_at(lab, p.name, sizes)) * np.dtype(p.dtype).itemsize
            for p in lab.parameters
            if p.is_array
        }
        counted = counters_of(outcome.counters, sizes, outcome.thread_instructions)
        given = evidence(lab=lab, array_bytes=array_bytes)
        for space in ("global", "shared"):
            found = few_lanes(given, counted, space)
            assert found is None, (point.target.variant, point.target.of, point.block, sizes, space, found)
    return right


@pytest.mark.slow
@pytest.mark.parametrize("lab", [lab for lab in EVERY_LAB if not lab.makes_launches], ids=lambda lab: lab.id)
def test_no_good_kernel_crawls_at_any_block_size(lab: Lab, process: CompilerProcess) -> None:
    lab = replace(lab, sweeps=tuple(sweep for sweep in lab.sweeps if sweep.x.constants))
    right = assert_no_crawl(lab, [reference_target(lab, variant) for variant in lab.variants], process)
    for file in sorted((KERNELS / lab.id / "good").glob("*.cu")):
        right += assert_no_crawl(lab, targets_of(lab, file), process)
    assert right > 50


def test_the_last_warp_of_a_block_is_not_held_against_a_kernel() -> None:
    """Of 100 threads four are in the fourth warp, and do a 25th of the work, whatever the kernel says."""
    given = counters()

    def few_of(share: float) -> object:
        rows = [structs.replace(c, few_requests=c.requests // 4, few_lanes=int(share * c.lanes)) for c in given.by_line]
        return structs.replace(given, by_line=[structs.replace(c, lanes=20 * c.lanes) for c in rows])

    for share, block, status in (
        # 0.8 is a 25th of 20 times as many accesses as there are elements.
        (0.8, (10, 10, 1), "pass"),
        (1.4, (10, 10, 1), "fail"),
        (0.8, (16, 16, 1), "fail"),
        (0.8, (4, 1, 1), "fail"),
    ):
        given_evidence = evidence(counters=few_of(share), block=block)
        assert (block, share, check(given_evidence, "coalescing").status) == (block, share, status)
