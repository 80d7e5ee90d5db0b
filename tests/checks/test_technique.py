"""technique: unrolled loops, reads as a formula of the sizes."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from grader.checks import judge
from grader.lab.checks import TechniqueSettings
from grader.lab.parameters import KINDS
from grader.lab.records import CheckSpec
from grader.message import msg, sizes_msg
from grader.result import Check
from grader.running.evidence import Evidence, Staging
from grader.submission.kernels.records import Loop
from grader.words import told
from tests.checks.evidence_factory import evidence, kernel
from tests.sample_results import SIZE, counters


def with_settings(given: Evidence, settings: dict[str, object]) -> Evidence:
    made = msgspec.convert(settings, TechniqueSettings)
    specs = (CheckSpec(s.check, s.points, made) if s.check == "technique" else s for s in given.variant.checks)
    return replace(given, variant=replace(given.variant, checks=tuple(specs)))


def technique(settings: dict[str, object], unroll: int = 1, shared: bool = True) -> Check:
    given = evidence(kernel=replace(kernel(), unroll=unroll), counters=counters(shared=shared))
    given = with_settings(given, settings)
    return told(next(c for c in judge(given) if c.check == "technique"))


def test_a_loop_that_does_one_step_at_a_time_is_not_unrolled() -> None:
    row = technique({"shared_memory": "any", "unrolled": 2}, unroll=1)
    assert (row.status, row.line, row.earned) == ("fail", 6, 0)
    assert "#pragma unroll 4" in row.hint


def test_an_unrolled_loop_passes_with_and_without_shared_memory() -> None:
    for shared in (True, False):
        row = technique({"shared_memory": "any", "unrolled": 4}, unroll=4, shared=shared)
        assert row.status == "pass"
    assert technique({"shared_memory": "staged", "unrolled": 4}, unroll=4, shared=False).status == "fail"
    assert technique({"shared_memory": "any", "unrolled": 8}, unroll=4).status == "fail"


def test_reads_may_be_asked_for_by_a_formula_of_the_sizes() -> None:
    name = next(iter(SIZE))
    assert technique({"shared_memory": "staged", "max_reads": f"{name} / {SIZE[name]}"}).status == "pass"
    row = technique({"shared_memory": "staged", "max_reads": f"0.5 * {name} / {SIZE[name]}"})
    assert (row.status, row.line) == ("fail", 9)
    assert "0.5 would be enough" in row.message


def test_settings_are_checked_by_their_types() -> None:
    for wrong in ({"shared_memory": "some"}, {"shared_memory": "any", "unrolled": "yes"}):
        given: dict[str, object] = dict(wrong)
        try:
            technique(given, unroll=4)
        except msgspec.ValidationError:
            continue
        raise AssertionError(wrong)


def flowing(staging: Staging | None, **settings: object) -> Check:
    given = evidence(counters=counters(), staging=staging)
    given = with_settings(given, {"shared_memory": "staged", **settings})
    return next(c for c in judge(given) if c.check == "technique")


def test_what_shared_memory_holds_has_to_reach_the_output_by_way_of_other_threads() -> None:
    for staging in (None, Staging(12, 12, 12), Staging(12, 8, 8), Staging(0, 0, 0)):
        assert flowing(staging).status == "pass"
    unused = flowing(Staging(12, 7, 7))
    assert (unused.status, unused.line) == ("fail", 12)
    assert unused.message_said == msg("checks.technique.unused", sampled=12, through=7)
    own = flowing(Staging(12, 12, 7))
    assert (own.status, own.line) == ("fail", 12)
    assert own.message_said == msg("checks.technique.own")
    large = flowing(Staging(12, 12, 12, {"rows": 256, "cols": 256}))
    assert large.message_said == msg("checks.technique.unused_at", sizes=sizes_msg({"rows": 256, "cols": 256}))


def test_the_line_of_too_many_reads_is_that_of_a_load_from_global_memory() -> None:
    given = with_settings(evidence(), {"shared_memory": "staged", "max_reads": 0.5})
    assert given.counters is not None
    turned = msgspec.structs.replace(given.counters, by_line=given.counters.by_line[::-1])
    row = told(next(c for c in judge(replace(given, counters=turned)) if c.check == "technique"))
    assert (row.status, row.line) == ("fail", 9)


def reads(side: int, each: int) -> Check:
    """Of two matrices of 256 × 256 that are multiplied in tiles of `side` × `side`: each element is read so often."""
    full = counters()
    load = next(c for c in full.by_line if (c.space, c.op) == ("global", "load"))
    rows = [
        msgspec.structs.replace(c, lanes=2 * c.lanes * (each if c is load else 1))
        if c.op != "store" or c.space == "shared"
        else c
        for c in full.by_line
    ]
    given = with_settings(evidence(), {"shared_memory": "staged", "max_reads": 4})
    assert given.interpretation is not None
    two = tuple(replace(p, kind=KINDS["input"]) if p.name == "in" else p for p in given.lab.parameters)
    second = replace(two[0], name="b")
    plan = replace(given.interpretation.launch, tile=(side, side))
    given = replace(
        given,
        lab=replace(given.lab, parameters=(*two, second)),
        array_bytes={**given.array_bytes, "b": given.array_bytes["in"]},
        interpretation=replace(given.interpretation, launch=plan),
        counters=msgspec.structs.replace(full, by_line=rows),
    )
    return told(next(c for c in judge(given) if c.check == "technique"))


def test_small_tiles_are_told_from_elements_that_are_read_again() -> None:
    # A tile of 16 × 16 is read 256 / 16 times, and not once more.
    assert "16×16" in reads(16, 16).hint
    assert "16×16" not in reads(16, 17).hint
    assert reads(16, 4).status == "pass"
    assert reads(16, 5).status == "fail"


@pytest.mark.parametrize(("lines", "status"), [(((9, 9), (12, 12)), "pass"), (((12, 12), (9, 9)), "fail")])
def test_the_loop_that_loads_most_is_the_one_to_unroll(lines: tuple[tuple[int, int], ...], status: str) -> None:
    unrolled, plain = lines
    loops = (Loop(*unrolled, factor=4, work=1), Loop(*plain, factor=1, work=1))
    full = counters()
    rows = [msgspec.structs.replace(c, lanes=2 * c.lanes) if c.line == 9 else c for c in full.by_line]
    given = evidence(kernel=replace(kernel(), loops=loops), counters=msgspec.structs.replace(full, by_line=rows))
    given = with_settings(given, {"shared_memory": "any", "unrolled": 4})
    assert next(c for c in judge(given) if c.check == "technique").status == status
