"""Runs a variant's kernel on the emulator: the interpretation of it that fits, every size that it is graded by, and
all other stages that run it, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod

import msgspec
import numpy as np
from msgspec import structs

from grader.lab.records import Sizes
from grader.launching.backend import GAVE_UP
from grader.launching.kernel import BoundKernel, shape_at
from grader.launching.trial import Run, Trials
from grader.measured import Counters, LineCounters
from grader.message import msg
from grader.ptx.records import Counters as Raw
from grader.ptx.records import LineCounter
from grader.running import reordered
from grader.running.cases import choose, is_made_impossible, with_drawn_cases
from grader.running.evidence import Evidence, work_of_kernel
from grader.running.explain import explain, with_staging
from grader.running.margins import halo_of, haloed, with_margin
from grader.running.own_program import with_overrun, with_own_check, with_own_launches, with_wrong_check
from grader.submission.records import Interpretation

WAVEFRONT_BYTES = 128
"""32 banks of 4 bytes: what shared memory can deliver in one wavefront."""

WATCHED_INSTRUCTIONS = 4_000_000
"""Thread-instructions of the one block that is watched at a large size."""


def counters_of(raw: Raw, sizes: Sizes, thread_instructions: int | None) -> Counters:
    """`raw`, counted at `sizes`, as a record of the result.

    shared_efficiency_pct = 100 · distinct bytes / (128 · wavefronts): nvprof's `shared_efficiency`, Nsight Compute's
    smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct.
    """
    wavefronts = raw.total("wavefronts", "shared")
    ideal = raw.total("ideal", "shared")
    shared = [c for c in raw.by_line if c.space == "shared"]
    return Counters(
        size=dict(sizes),
        shared_requests=raw.total("requests", "shared"),
        shared_wavefronts=wavefronts,
        shared_ideal=ideal,
        shared_excess=wavefronts - ideal,
        worst_conflict_ways=max((c.ways for c in shared), default=1),
        shared_efficiency_pct=round(100 * raw.total("unique_bytes", "shared") / (WAVEFRONT_BYTES * wavefronts), 2)
        if wavefronts
        else None,
        global_load_requests=raw.total("requests", "global", "load"),
        global_load_sectors_per_request=_per_request(raw, "sectors", "load"),
        global_load_ideal_per_request=_per_request(raw, "ideal", "load"),
        global_store_requests=raw.total("requests", "global", "store"),
        global_store_sectors_per_request=_per_request(raw, "sectors", "store"),
        global_store_ideal_per_request=_per_request(raw, "ideal", "store"),
        by_line=[_line(c) for c in raw.by_line],
        thread_instructions=thread_instructions,
        sampled_blocks=raw.sampled_blocks,
        total_blocks=raw.total_blocks,
    )


def _per_request(raw: Raw, field: str, op: str) -> float | None:
    requests = raw.total("requests", "global", op)
    return round(raw.total(field, "global", op) / requests, 4) if requests else None


def _line(c: LineCounter) -> LineCounters:
    record = msgspec.convert(c, LineCounters, from_attributes=True)
    return structs.replace(record, lane_words=[None if word < 0 else word for word in c.worst_words])


def run_variant(
    trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool
) -> tuple[Evidence, BoundKernel]:
    """`evidence` with the runs of a kernel and its counters; the kernel as it was read for them.

    explained: whether it is found out why an output is wrong; where not, no size is run after one that is wrong.
    """
    lab = trials.lab
    cases = lab.cases["emulator"]

    def attempt(interpretation: Interpretation, sizes: Sizes) -> Run:
        return trials.run(kernel.read_as(interpretation), "correct", sizes)

    choice = choose(lab, cases, kernel.binding, evidence.source, attempt)
    kernel = kernel.read_as(choice.interpretation)
    runs: list[Run] = []
    for kind, sizes in choice.cases:
        run = trials.run(kernel, kind, sizes, observe=True)
        if is_made_impossible(kernel.interpretation, run, attempt):
            continue
        runs.append(run)
        # A launch that was stopped after seconds, or that is impossible, is so at every size.
        if run.outcome.status != "ok" or not (explained or run.is_right):
            break
    if choice.hard_coded is None:
        runs += _more(trials, evidence, kernel, runs)
    profiled = next((r for r in runs if r.kind == "observe" and r.outcome.counters is not None), None)
    evidence = replace(
        evidence,
        interpretation=kernel.interpretation,
        runs=tuple(runs),
        unmeasured={"time": msg("runs.not_timed")},
        diagnoses=explain(trials, kernel, runs) if explained else {},
        hard_coded_sizes=choice.hard_coded,
    )
    if profiled is None or profiled.outcome.counters is None:
        return evidence, kernel
    evidence = replace(
        evidence,
        counters=counters_of(profiled.outcome.counters, profiled.sizes, profiled.outcome.thread_instructions),
        array_bytes=_array_bytes(kernel, profiled.sizes),
        work=work_of_kernel(kernel, runs),
    )
    return evidence, kernel


def _more(trials: Trials, evidence: Evidence, kernel: BoundKernel, runs: Sequence[Run]) -> Iterator[Run]:
    """Runs at the variant's own sizes, of a kernel that is right at the lab's exact ones.

    They are larger than what its cost was judged by: one that takes too long there is not blamed for it.
    """
    if any(run.outcome.status != "ok" or (run.kind != "ragged" and not run.output_is_right) for run in runs):
        return
    for sizes in kernel.sizes.planned_more(evidence.variant):
        run = trials.run(kernel, "correct", sizes)
        if is_made_impossible(kernel.interpretation, run, lambda c, s: trials.run(kernel.read_as(c), "correct", s)):
            continue
        if run.outcome.status != "unsupported" and run.outcome.reason not in GAVE_UP:
            yield _with_hazards_of_block(trials, kernel, run)


def _with_hazards_of_block(trials: Trials, kernel: BoundKernel, run: Run) -> Run:
    """A run that was not watched, with what goes wrong among the threads of its first block: beyond one of their
    number they have unequal work, and come to a barrier as often only by luck."""
    if run.outcome.status != "ok" or not run.is_right or run.outcome.hazards:
        return run
    block = trials.of_first_block(kernel, run.sizes, WATCHED_INSTRUCTIONS)
    hazards = [h for h in block.outcome.hazards if h.kind == "barrier_divergence" or h.kind == "race"]
    own = tuple(h for h in hazards if h.kind != "race" or h.space == "shared")
    return replace(run, outcome=replace(run.outcome, hazards=own)) if block.outcome.status == "ok" else run


def _with_tests(trials: Trials, evidence: Evidence, kernel: BoundKernel) -> Evidence:
    tests = {}
    for name, test in evidence.variant.tests.items():
        rules, sizes = kernel.sizes, dict(test.sizes)
        is_exact = kernel.binding.takes_sizes or rules.rounded(sizes) == sizes
        is_fixed = any(sizes[name] != value for name, value in rules.interpretation.pinned)
        if is_exact and not is_fixed and rules.fits(sizes) and not test.is_secret(trials.lab.view):
            at = replace(trials, oracle=trials.oracle.of_test(test))
            tests[f"{evidence.variant.name}.{name}"] = at.run(kernel, "correct", test.sizes)
    return replace(evidence, tests=tests)


def _array_bytes(kernel: BoundKernel, sizes: Sizes) -> dict[str, int]:
    dtypes = kernel.dtypes
    return {
        # An input that is handed in twice is two arrays to the kernel.
        p.name: max(1, kernel.interpretation.roles.count(p.name))
        * prod(shape_at(kernel.lab, p.name, sizes))
        * np.dtype(dtypes.get(p.name, p.dtype)).itemsize
        for p in kernel.lab.parameters
        if p.is_array
    }


def run_kernel(
    trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool = True
) -> Evidence:
    """`evidence` after a kernel that compiles was run at the lab's sizes and at the drawn case.

    drawn_trials: of a lab whose seed is the drawn one.
    explained: whether it is also found out why an output is wrong.
    """

    def found_out(kernel: BoundKernel) -> Evidence:
        return _of_target(trials, drawn_trials, evidence, kernel, explained)

    return reordered.with_newer_devices(trials, found_out(kernel), kernel, found_out)


def _of_target(
    trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool
) -> Evidence:
    """Run a kernel compiled for one target, with the halo that its program gives to its input where it needs that."""

    def staged(trials: Trials, drawn_trials: Trials, explained: bool) -> Evidence:
        return _staged(trials, drawn_trials, evidence, kernel, explained)

    plain = staged(trials, drawn_trials, explained)
    halo = halo_of(plain, kernel)
    if halo is None:
        return plain
    # Where the kernel counts from behind the halo, elements are called otherwise than it calls them: then none is told.
    is_told = explained and not halo.is_before
    return halo.of(staged(haloed(trials, halo), haloed(drawn_trials, halo), is_told))


def _staged(trials: Trials, drawn_trials: Trials, evidence: Evidence, kernel: BoundKernel, explained: bool) -> Evidence:
    evidence, kernel = run_variant(trials, evidence, kernel, explained)
    evidence = reordered.with_smaller_block(trials, evidence, kernel)
    evidence = with_staging(trials, evidence, kernel)
    evidence = reordered.with_occupancy_of_kernel(trials, evidence, kernel)
    evidence = reordered.with_reordered(trials, evidence, kernel)
    evidence = with_drawn_cases(drawn_trials, evidence, kernel, explained)
    evidence = reordered.with_later_launch(trials, evidence, kernel, drawn_trials.oracle)
    evidence = with_own_check(trials, evidence, kernel)
    evidence = with_wrong_check(with_own_launches(evidence, kernel), kernel)
    evidence = _with_tests(trials, evidence, kernel)
    return with_overrun(trials, with_margin(trials, evidence, kernel), kernel)
