"""Each sample submission has one typical fault; its whole verdict is asserted, check by check, through the pipeline."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.result import Check, Result, encode, json_schema
from tests.marks_only import marks_only

SUBMISSIONS = Path(__file__).parents[2] / "submissions"

LAB = replace(labs.find("transpose"), sweeps=())
POINTS = {(v.name, c.check): c.points for v in LAB.variants for c in v.checks}
PENDING = "pending"
AWAITS = "awaits a check that failed"
VOID = "does not apply"


@dataclass(frozen=True)
class Verdict:
    """What a sample must get: checks that do not simply pass with all their points.

    fails: (points earned, line) by check id.  others: PENDING (not measurable here), AWAITS or VOID by check id.
    """

    earned: float
    possible: float
    fails: dict[str, tuple[float, int]]
    others: dict[str, str]
    status: str = "failed"


def ids(variant: str, *checks: str) -> list[str]:
    return [f"{variant}.{check}" for check in checks]


RESTING_ON_CORRECT = ("ragged_sizes", "memory_safety", "races", "technique", "coalescing", "bank_conflicts", "speedup")
NAIVE = ("compiles", "launch", "correct", "ragged_sizes", "memory_safety", "technique", "coalescing", "host_code")
CLOCK = {"padded.speedup": PENDING}
# Of a snippet that copies nothing there is no host code to judge.
NO_HOST_CODE = dict.fromkeys([f"{v}.host_code" for v in ("naive", "shared", "padded")], VOID)

VERDICTS = {
    "ivanov": Verdict(95, 100, {}, CLOCK, status="passed"),
    "petrova": Verdict(
        76,
        91,
        {"padded.bank_conflicts": (0, 44)},
        CLOCK | dict.fromkeys([f"{v}.ragged_sizes" for v in ("naive", "shared", "padded")], VOID),
    ),
    "sidorov": Verdict(88, 100, {"shared.races": (0, 27)}, CLOCK),
    # Her program and Morozov's divide the grid rounding down: at a size off the tile its last blocks are missing.
    "kuznetsova": Verdict(
        55,
        100,
        {"naive.ragged_sizes": (0, 52), "shared.ragged_sizes": (0, 53), "padded.correct": (0, 39)},
        dict.fromkeys(ids("padded", *RESTING_ON_CORRECT), AWAITS),
    ),
    "smirnov": Verdict(
        24,
        100,
        {"naive.launch": (0, 57), "shared.launch": (0, 64), "padded.launch": (0, 71)},
        # What is wrong with a block that the grader has chosen costs nothing beyond the launch.
        dict.fromkeys(
            [
                "naive.ragged_sizes",
                *ids("shared", "correct", "ragged_sizes", "memory_safety", "races", "technique", "coalescing"),
                *ids("padded", "correct", *RESTING_ON_CORRECT),
            ],
            AWAITS,
        ),
    ),
    "volkova": Verdict(90, 100, {"padded.bank_conflicts": (5, 38)}, CLOCK),
    "fedorov": Verdict(
        0,
        100,
        {f"{v}.compiles": (0, 37) for v in ("naive", "shared", "padded")},
        {
            check_id: AWAITS
            for check_id in (f"{v}.{c}" for v, c in POINTS)
            if not check_id.endswith((".present", ".compiles"))
        },
    ),
    "morozov": Verdict(
        78,
        94,
        {
            "naive.ragged_sizes": (0, 56),
            "shared.ragged_sizes": (0, 57),
            "padded.ragged_sizes": (0, 58),
            "padded.memory_safety": (0, 39),
        },
        CLOCK | NO_HOST_CODE,
    ),
    "orlova": Verdict(
        66, 96, {"naive.present": (0, 5)}, CLOCK | NO_HOST_CODE | dict.fromkeys(ids("naive", *NAIVE), AWAITS)
    ),
}


REPAIRED = ("petrova", "sidorov", "kuznetsova", "volkova", "morozov")
"""Of whom it is tested what their hints say of the change that was tried."""


@cache
def result(student: str) -> Result:
    return pipeline.grade(SUBMISSIONS / student, LAB, GradeOptions(repairs=student in REPAIRED))


def checks(student: str) -> dict[str, Check]:
    return {c.id: c for c in result(student).checks}


def test_every_sample_has_a_verdict() -> None:
    assert {p.name for p in SUBMISSIONS.iterdir() if p.is_dir()} == set(VERDICTS)


@pytest.mark.parametrize("student", VERDICTS)
def test_verdict(student: str) -> None:
    expected = VERDICTS[student]
    got = checks(student)
    assert set(got) == {f"{v}.{c}" for v, c in POINTS}
    for check_id, row in got.items():
        points = POINTS[row.variant, row.check]
        shown = (row.status, row.skip_reason, row.earned, row.possible, row.pending)
        if check_id in expected.fails:
            earned, line = expected.fails[check_id]
            assert (*shown, row.line) == ("fail", "", earned, points, 0, line), row
            assert row.hint
        elif expected.others.get(check_id) == PENDING:
            assert shown == ("skip", "not_measured", 0, points, points), row
        elif expected.others.get(check_id) == AWAITS:
            assert shown == ("skip", "prerequisite", 0, points, points), row
        elif expected.others.get(check_id) == VOID:
            assert shown == ("skip", "not_applicable", 0, 0, 0), row
        else:
            assert shown == ("pass", "", points, points, 0), row
    score = result(student).score
    assert (score.earned, score.possible) == (expected.earned, expected.possible)
    waiting = {id_ for id_, why in expected.others.items() if why in (PENDING, AWAITS)}
    assert score.pending == sum(got[id_].possible for id_ in waiting)
    assert result(student).status == expected.status


@pytest.mark.parametrize("student", VERDICTS)
def test_result_keeps_to_the_schema(student: str) -> None:
    jsonschema.validate(json.loads(encode(result(student))), json_schema(), cls=jsonschema.Draft202012Validator)


def test_the_lecture_s_figures() -> None:
    """32×32 threads on 256×256: 6.06 % without padding and 100 % with it; 31 excess wavefronts a load request."""
    variants = result("ivanov").variants
    shared, padded = variants["shared"].counters, variants["padded"].counters
    assert shared and padded
    assert (shared.shared_efficiency_pct, padded.shared_efficiency_pct) == (6.06, 100.0)
    loads = next(c for c in shared.by_line if c.space == "shared" and c.op == "load")
    assert (loads.requests, loads.wavefronts, (loads.wavefronts - loads.ideal) / loads.requests) == (2048, 65536, 31)
    assert padded.shared_excess == 0
    naive = variants["naive"].counters
    assert naive and naive.shared_efficiency_pct is None
    assert (naive.global_load_sectors_per_request, naive.global_store_sectors_per_request) == (4.0, 32.0)


def test_ivanov_says_who_and_with_what() -> None:
    graded = result("ivanov")
    assert (graded.student.id, graded.student.name, graded.student.group) == ("ivanov", "Иванов Пётр", "ИП-312")
    assert graded.environment.backend == "emulator"
    assert graded.environment.nvrtc and graded.environment.architecture == "compute_75"
    assert [s.file for s in graded.sources] == ["transpose.cu"]
    assert {v.launch.origin for v in graded.variants.values() if v.launch} == {"submission"}
    assert {(c.kind, c.status) for v in graded.variants.values() for c in v.cases} == {
        ("correct", "pass"),
        ("observe", "pass"),
        ("ragged", "pass"),
    }


def test_petrova_s_hint_names_the_declaration_to_change() -> None:
    row = checks("petrova")["padded.bank_conflicts"]
    assert "32-way bank conflict in line 44" in row.message
    # The lab keeps changes from students: where one was tried is named, and what was counted.
    assert row.hint == (
        "The row length of the shared array declared in line 34 is wrong. One change there makes the kernel pass "
        "every check; it was compiled and run. Lanes 0 and 1 of a warp access words 0 and 32 of shared memory; both "
        "are in bank 0 (word mod 32), which serves one word at a time. In total 32 different words of that bank are "
        "accessed at once."
    )
    assert row.repair is not None and (row.repair.kind, row.repair.line, row.repair.diff) == ("padding", 34, [])
    assert row.data["excess"] == 63488


def test_sidorov_s_hint_says_where_the_barrier_belongs() -> None:
    row = checks("sidorov")["shared.races"]
    assert row.data["other_line"] == 22
    assert row.hint == (
        "A barrier is missing after line 22. One change there makes the kernel pass every check; it was compiled "
        "and run."
    )


def test_kuznetsova_s_message_tells_the_pattern() -> None:
    row = checks("kuznetsova")["padded.correct"]
    assert "2048 of 4096 elements are wrong" in row.message
    assert "should be" in row.message and "thread (0, 0) of block (1, 0) wrote in[0][32] = 87098.5" in row.message
    assert "blocks off the main diagonal" in row.message
    # No single change of hers makes it right, so no cause is named.
    assert row.repair is None
    assert row.hint == (
        "Follow one element by hand: which thread reads it, where it stores it, and which thread writes the result. "
        "The value you got instead shows where it was taken from."
    )


def test_smirnov_is_told_that_no_kernel_ever_ran() -> None:
    rows = checks("smirnov")
    for variant in ("naive", "shared", "padded"):
        row = rows[f"{variant}.launch"]
        assert "128×128 = 16384 threads" in row.message and "1024" in row.message
        assert "never runs" in row.message and "time of a failed launch" in row.message
        assert result("smirnov").variants[variant].launch.requested == (128, 128, 1)  # type: ignore[union-attr]
    assert "All elements of a column are the same" in rows["shared.correct"].message
    # The values are those of one row, and indices leave the array; both may come of another block than it counts on.
    for check_id in ("naive.ragged_sizes", "shared.correct", "shared.memory_safety"):
        assert rows[check_id].message.endswith(
            "It was run with blocks of 32×32 threads, since 128×128 are impossible: if the kernel counts on 128×128, "
            "it may be wrong for that reason alone. Fix the launch first."
        )
        assert (rows[check_id].hint, rows[check_id].data["blocked_by"]) == ("", "launch")


def test_volkova_s_hint_names_the_constant_to_change() -> None:
    row = checks("volkova")["padded.bank_conflicts"]
    assert "2-way" in row.message and "also in line 43" in row.message
    assert row.hint.startswith(
        "The constant set in line 5 has the wrong value. One change there makes the kernel pass every check; it was "
        "compiled and run. Lanes "
    )
    source = result("volkova").sources[0]
    assert source.encoding == "cp1251"
    assert "\r" not in source.text
    assert "// Плитка с дополнительным столбцом" in source.text


def test_fedorov_s_error_is_quoted_at_its_line() -> None:
    row = checks("fedorov")["padded.compiles"]
    assert row.message.startswith("expected a")


def test_a_grid_that_is_rounded_down_is_told_with_its_numbers() -> None:
    for student, lines in (("kuznetsova", (52, 53)), ("morozov", (56, 57, 58))):
        rows = checks(student)
        for variant, line in zip(("naive", "shared", "padded"), lines, strict=False):
            row = rows[f"{variant}.ragged_sizes"]
            assert row.message == (
                f"Line {line} launches a grid of 1×1 blocks at rows = 33, cols = 33: along x it covers 32 of 33 "
                "elements, and the rest are not computed."
            )
            # What was tried stands alone; of Morozov's third kernel nothing was found that mends all of it.
            if (student, variant) == ("morozov", "padded"):
                assert row.repair is None
                assert row.hint.startswith("Round the number of blocks up: (n + 32 - 1) / 32. ")
                continue
            at, who = (55, "naive, shared") if student == "morozov" else (line, "the kernel")
            assert row.hint == (
                f"Line {at} rounds the number of blocks down: elements that do not fill a whole block are left out. "
                f"One change there makes {who} pass every check; it was compiled and run."
            )


def test_morozov_s_message_names_array_and_thread() -> None:
    row = checks("morozov")["padded.memory_safety"]
    assert "writes element 1056 of tile, which has elements 0 to 1055 (4 bytes each)" in row.message
    assert [h.kind for h in result("morozov").variants["padded"].hazards] == ["out_of_bounds"]


def test_messages_are_in_the_language_in_use() -> None:
    from grader import i18n

    english = {c.id: c.message for c in result("petrova").checks}
    i18n.use("ru")
    try:
        russian = {c.id: c.message for c in pipeline.grade(SUBMISSIONS / "petrova", marks_only("transpose")).checks}
    finally:
        i18n.use("en")
    assert english.keys() == russian.keys()
    assert all(any("а" <= letter <= "я" for letter in text) for text in russian.values()), russian
