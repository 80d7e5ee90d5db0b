"""correct, ragged_sizes, memory_safety, races: what a run shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from grader.checks.host import judge_host_code
from grader.lab.checks import CorrectSettings, HostCodeSettings, RacesSettings
from grader.lab.compare import Difference
from grader.lab.records import CheckSpec
from grader.launching.trial import Run
from grader.message import Message, msg, verbatim
from grader.ptx.records import Hazard
from grader.result import CaseKind
from grader.running.evidence import HostCode, HostFault
from grader.submission.kernels.records import SeenRun
from grader.words import fault_title
from tests.checks.evidence_factory import check, evidence, hazard, run

SLIP = Difference(
    total=4096,
    mismatches=2048,
    max_abs_error=5.0,
    first=(0, 32),
    expected=17.0,
    got=5.5,
    found_at=("in", (0, 32)),
    belongs_at=("in", (32, 0)),
    name="out",
)


def test_correct_counts_the_sizes() -> None:
    row = check(evidence(), "correct")
    assert (row.status, row.message, row.data) == ("pass", "Every element is right at 2 tested sizes.", {"sizes": 2})


def test_correct_names_the_first_element_and_its_values() -> None:
    row = check(evidence(runs=(run("correct", SLIP), run("observe", SLIP))), "correct")
    assert row.status == "fail"
    assert row.message == (
        "2048 of 4096 elements are wrong. The first: out[0][32] should be 17 (in[32][0]), got 5.5 (in[0][32]). "
        "Seen at rows = 64, cols = 64."
    )
    assert "by hand" in row.hint
    assert row.line == 6
    assert row.data["first"] == [0, 32]


@pytest.mark.parametrize(
    ("wrong", "unwritten", "message", "hint"),
    [
        (4, 4, "wrote nothing to out", "which thread should write it"),
        (2, 2, "but no thread wrote it", "which thread should write it"),
        (4, 1, "Every element is wrong", "by hand"),
        (2, 1, "2 of 4 elements", "by hand"),
    ],
)
def test_every_extent_has_words_and_a_hint(wrong: int, unwritten: int, message: str, hint: str) -> None:
    found = Difference(4, wrong, unwritten=unwritten, first=(0, 1), expected=1.0, got=-2.5e-16, name="out")
    assert found.extent
    row = check(evidence(runs=(run("correct", found),)), "correct")
    assert message in row.message
    assert hint in row.hint


@pytest.mark.parametrize(
    ("outcome", "words", "hint"),
    [
        ({"status": "fault", "reason": "deadlock", "line": 10}, "never ends: threads wait in line 10", "barrier"),
        ({"status": "fault", "reason": "time", "line": 9}, "stopped in line 9", "all threads of the launch"),
        ({"status": "fault", "reason": "instructions", "line": 9}, "stopped in line 9", "all threads of the launch"),
        ({"status": "fault", "reason": "trap", "line": 9}, "stopped itself", "cudaGetLastError"),
        ({"status": "impossible", "reason": "65536 bytes"}, "launch is impossible: 65536 bytes", "cudaGetLastError"),
    ],
)
def test_a_launch_that_stops_is_a_wrong_result(outcome: dict[str, Any], words: str, hint: str) -> None:
    row = check(evidence(runs=(run("correct", None, **outcome),), counters=None), "correct")
    assert row.status == "fail"
    assert words in row.message
    assert hint in row.hint
    assert row.line == (outcome.get("line") or 6)


def test_an_input_that_was_written_to_is_a_fault() -> None:
    from dataclasses import replace

    changed = replace(run("correct"), changed_inputs=("in",))
    row = check(evidence(runs=(changed,)), "correct")
    assert row.status == "fail"
    assert "The kernel writes to its input in." in row.message


def test_what_is_right_by_the_order_of_threads_alone_is_not_correct() -> None:
    fault = hazard("race", "read_write", 9, space="global", array="out", other_line=7, other_block=(1, 0, 0))
    given = evidence("naive", runs=(run("correct", hazards=(fault,)),))
    assert all(spec.check != "races" for spec in given.variant.checks)
    row = check(given, "correct")
    assert (row.status, row.line, row.earned) == ("fail", 9, 0)
    assert row.message.startswith("The result depends on the order in which the threads run. Thread (1, 0, 0)")
    assert "an array that nobody writes" in row.hint
    # No data passes through one variable that all threads count in.
    counter = replace(fault, array="finished", array_bytes=4)
    assert check(evidence("naive", runs=(run("correct", hazards=(counter,)),)), "correct").status == "pass"
    # One value written twice cannot show, a check that is asked judges by itself, and cut tiles have a check of theirs.
    same = hazard("race", "write_write_same_value", op="store")
    assert check(evidence("naive", runs=(run("correct", hazards=(same,)),)), "correct").status == "pass"
    assert check(evidence("padded", runs=(run("correct", hazards=(fault,)),)), "correct").status == "pass"
    cut = evidence("naive", runs=(run("correct"), run("ragged", hazards=(fault,))))
    assert (check(cut, "correct").status, check(cut, "ragged_sizes").status) == ("pass", "fail")
    # Nothing is said of what was not looked at.
    blind = replace(given, unmeasured={"hazards": verbatim("no emulator here")})
    assert check(blind, "correct").status == "pass"


def test_ragged_sizes() -> None:
    row = check(evidence(), "ragged_sizes")
    assert (row.status, row.message) == ("pass", "Right at 1 size not divisible by the tile.")


def test_ragged_sizes_without_a_guard() -> None:
    outside = hazard(
        "out_of_bounds", "after", 11, space="global", array="in", offset_bytes=4096, op="load", array_bytes=4092
    )
    row = check(evidence(runs=(run("correct"), run("ragged", SLIP, (outside,)))), "ragged_sizes")
    assert (row.status, row.line) == ("fail", 11)
    assert row.message == (
        "Thread (1, 0, 0) of block (2, 0, 0) reads element 1024 of in, which has elements 0 to 1022 (4 bytes each). "
        "Seen at rows = 33, cols = 31."
    )
    assert "no access of theirs may leave its array" in row.hint
    # The slip is paid for here alone.
    assert check(evidence(runs=(run("correct"), run("ragged", SLIP, (outside,)))), "memory_safety").status == "pass"


def test_what_every_size_shows_is_not_paid_for_twice() -> None:
    outside = hazard("out_of_bounds", "after", 11, op="store")
    given = evidence(runs=(run("correct", hazards=(outside,)), run("ragged", hazards=(outside,))))
    assert check(given, "memory_safety").status == "fail"
    assert check(given, "ragged_sizes").status == "pass"


def test_ragged_sizes_wrong_result() -> None:
    row = check(evidence(runs=(run("correct"), run("ragged", SLIP))), "ragged_sizes")
    assert row.status == "fail"
    assert row.message.startswith("2048 of 4096")
    # Nothing was seen that a guard could mend.
    assert "by hand" in row.hint and "guard" not in row.hint
    # What exact sizes show too comes first, where this run shows it.
    outside = hazard("out_of_bounds", "after", 11, op="store")
    seen = run("correct", hazards=(outside,))
    assert "access first" in check(evidence(runs=(seen, run("ragged", SLIP, (outside,)))), "ragged_sizes").hint
    assert "by hand" in check(evidence(runs=(seen, run("ragged", SLIP))), "ragged_sizes").hint


@pytest.mark.parametrize(
    ("fault", "words", "hint"),
    [
        (
            hazard("barrier_divergence", "bypassed", 10),
            "waits at a barrier that other threads",
            "every thread of the block has to reach it",
        ),
        (hazard("race", "read_write", 9, other_line=12), "reads the element", "Nothing orders these two accesses"),
    ],
)
def test_a_barrier_or_a_race_that_cut_tiles_alone_show(fault: Hazard, words: str, hint: str) -> None:
    given = evidence(runs=(run("correct"), run("ragged", hazards=(fault,))))
    row = check(given, "ragged_sizes")
    assert (row.status, row.line) == ("fail", fault.line)
    assert row.message.endswith(" Seen at rows = 33, cols = 31.")
    assert words in row.message
    assert hint in row.hint
    # It is paid for once: here where exact sizes do not show it, else in `races`.
    assert check(given, "races").status == "pass"
    both = evidence(runs=(run("correct", hazards=(fault,)), run("ragged", hazards=(fault,))))
    assert (check(both, "races").status, check(both, "ragged_sizes").status) == ("fail", "pass")
    same = hazard("race", "write_write_same_value", op="store")
    assert check(evidence(runs=(run("correct"), run("ragged", hazards=(same,)))), "ragged_sizes").status == "pass"


@pytest.mark.parametrize(
    ("exact", "wrong", "title"),
    [
        ("correct", 101, "wrong at large sizes"),
        ("correct", 3, "wrong at small sizes"),
        ("observe", 101, "fault at sizes not divisible by the tile"),
    ],
)
def test_ragged_sizes_wrong_by_size_alone(exact: CaseKind, wrong: int, title: str) -> None:
    one_is_wrong = replace(run("ragged", SLIP), sizes={"rows": wrong, "cols": wrong})
    row = check(evidence(runs=(run(exact), run("ragged"), one_is_wrong)), "ragged_sizes")
    assert fault_title(row.check, row.message_said) == title


def test_ragged_sizes_that_the_lab_does_not_have() -> None:
    assert check(evidence(runs=(run("correct"),)), "ragged_sizes").skip_reason == "not_applicable"


@pytest.mark.parametrize(
    ("fault", "words", "hint"),
    [
        (
            hazard("out_of_bounds", "before", offset_bytes=-4),
            "reads element -1 of t, which has elements 0 to 1023",
            "must not be below 0",
        ),
        (hazard("out_of_bounds", "after", offset_bytes=4096), "reads element 1024 of t, which has", "declared size"),
        (hazard("out_of_bounds", "after", offset_bytes=4094), "reads 2 bytes past the end of t", "declared size"),
        (hazard("out_of_bounds", "after", op="store", offset_bytes=4096), "writes element 1024 of t", "declared size"),
        (hazard("out_of_bounds", "unmapped", space="global", array=""), "belongs to no array", "this index by hand"),
        (hazard("out_of_bounds", "misaligned", width_bytes=16), "not a multiple of 16 bytes", "float4"),
        (hazard("uninitialized", ""), "reads element 32 of t, which was never written", "previous block left"),
        (hazard("uninitialized", "", space="global", array="in"), "reads element 32 of in,", "copied by the host"),
        (
            hazard("uninitialized", "", space="global", array="in", offset_bytes=132, width_bytes=16),
            "reads element 33 of in,",
            "copied by the host",
        ),
    ],
)
def test_memory_safety(fault: Hazard, words: str, hint: str) -> None:
    row = check(evidence(runs=(run("correct", hazards=(fault,)),)), "memory_safety")
    assert (row.status, row.line) == ("fail", 12)
    assert words in row.message
    assert "Thread (1, 0, 0) of block (2, 0, 0)" in row.message
    assert hint in row.hint


@pytest.mark.parametrize(
    ("race", "words"),
    [
        (("read_write", "t"), "with a barrier between the two"),
        # A barrier is missing for another array, or for nobody who reads.
        (("read_write", "u"), "which elements the lines above store"),
        (("write_write", "t"), "which elements the lines above store"),
        (None, "which elements the lines above store"),
    ],
)
def test_a_barrier_is_advised_where_one_is_missing(race: tuple[str, str] | None, words: str) -> None:
    races = (hazard("race", race[0], array=race[1]),) if race is not None else ()
    given = evidence(runs=(run("correct", hazards=(hazard("uninitialized", ""), *races)),))
    assert words in check(given, "memory_safety").hint


def test_memory_safety_counts_other_lines() -> None:
    faults = (hazard("uninitialized", "", 12), hazard("uninitialized", "", 9), hazard("uninitialized", "", 12))
    row = check(evidence(runs=(run("correct", hazards=faults),)), "memory_safety")
    assert row.line == 9
    assert row.message.endswith("(1 more line does the same.)")


@pytest.mark.parametrize(
    ("fault", "words", "hint"),
    [
        (
            hazard("race", "read_write", other_line=9, other_thread=(0, 1, 0)),
            "reads the element of t that thread (0, 1, 0) of block (2, 0, 0) writes (line 9), with no barrier",
            "Nothing orders these two accesses, and the warps",
        ),
        (
            hazard("race", "read_write", op="store", other_line=9, other_thread=(0, 1, 0)),
            "writes the element of t that thread (0, 1, 0) of block (2, 0, 0) reads (line 9)",
            "Nothing orders these two accesses, and the warps",
        ),
        (
            hazard("race", "read_write", within_warp=True, other_line=9, other_thread=(2, 0, 0)),
            "reads the element",
            "not even the threads of one warp run in step",
        ),
        (
            hazard("race", "write_write", op="store", other_line=12, other_thread=(2, 0, 0)),
            "writes too (line 12)",
            "Both writes stand in line 12: work out by hand to which element it leads for thread (1, 0, 0)",
        ),
        (
            hazard("race", "write_write", op="store", other_line=9, other_thread=(2, 0, 0)),
            "writes too (line 9)",
            "Two threads write the same element",
        ),
        (
            hazard(
                "race", "write_write", op="store", space="global", array="out", other_line=12, other_block=(0, 1, 0)
            ),
            "that thread (0, 0, 0) of block (0, 1, 0) writes too",
            "different blocks",
        ),
        (
            hazard("barrier_divergence", "different_barriers", 10, other_line=14),
            "others of its block wait at the one in line 14",
            "undefined behaviour",
        ),
        (hazard("barrier_divergence", "bypassed", 10), "waits at a barrier that other threads", "undefined behaviour"),
        (hazard("warp_sync", "missing_lanes", 10), "warp mask", "exactly the lanes"),
        (
            hazard("race", "scope", space="global", array="out", op="atomic", other_line=9, other_block=(0, 1, 0)),
            "",
            "atomicAdd",
        ),
    ],
)
def test_races(fault: Hazard, words: str, hint: str) -> None:
    row = check(evidence(runs=(run("correct", hazards=(fault,)),)), "races")
    assert (row.status, row.line) == ("fail", fault.line)
    assert words in row.message
    assert hint in row.hint


def test_a_divergent_barrier_comes_before_the_races_that_it_causes() -> None:
    faults = (hazard("race", "read_write", 9, other_line=12), hazard("barrier_divergence", "bypassed", 10))
    row = check(evidence(runs=(run("correct", hazards=faults),)), "races")
    assert row.line == 10
    assert row.data["lines"] == [9, 10]


def test_two_writes_of_one_value_cost_nothing() -> None:
    fault = hazard("race", "write_write_same_value", op="store")
    assert check(evidence(runs=(run("correct", hazards=(fault,)),)), "races").status == "pass"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a;\nif (x) {\n__syncthreads();\n}", "The barrier in line 4 stands inside the if of line 3"),
        ("a;\nif (x) return;\n__syncthreads();", "3 threads have ended before the barrier in line 4"),
    ],
)
def test_a_barrier_that_all_threads_have_to_come_to(text: str, words: str) -> None:
    """Where the task asks for that: a device goes on without those that have ended."""
    given = evidence(runs=(run("correct"), run("observe"), run("ragged", remarks=(("exited_before_barrier", 4, 3),))))
    given = replace(given, source={given.bound.kernel.file: f"__global__ void k(int x, int a) {{\n{text}\n}}"})
    assert check(given, "races").status == "pass"
    spec = CheckSpec("races", 8.0, RacesSettings(all_reach=True))
    checks = tuple(spec if s.check == "races" else s for s in given.variant.checks)
    row = check(replace(given, variant=replace(given.variant, checks=checks)), "races")
    assert (row.status, row.line, row.earned) == ("fail", 4, 4.0)
    assert words in row.message


@pytest.mark.parametrize("name", ["memory_safety", "races"])
def test_without_hazards_measured_points_wait(name: str) -> None:
    row = check(evidence(unmeasured={"hazards": verbatim("the GPU tells no hazards")}), name)
    assert (row.skip_reason, row.pending, row.message) == ("not_measured", row.possible, "the GPU tells no hazards")


@pytest.mark.parametrize(
    ("runs", "words", "earned"),
    [
        (
            (run("correct"), replace(run("correct", SLIP), sizes={"rows": 128, "cols": 64})),
            "It is right at squares, wrong at rectangles (rows = 128, cols = 64).",
            1.12,
        ),
        (
            (run("correct"), run("correct"), run("observe", SLIP)),
            "Of the 3 sizes of this check it is right at 2, for instance at rows = 64, cols = 64.",
            1.5,
        ),
        ((run("correct", SLIP), run("observe", SLIP)), "", 0.0),
        ((run("correct"), run("correct", None, status="fault", reason="repeat_wrong")), "", 0.0),
    ],
)
def test_a_kernel_that_is_right_at_some_sizes_keeps_what_the_lab_grants(
    runs: tuple[Run, ...], words: str, earned: float
) -> None:
    given = evidence(runs=runs)
    nothing = check(given, "correct")
    assert words in nothing.message and ("is right at" in nothing.message) == bool(words)
    assert (nothing.status, nothing.earned) == ("fail", 0.0)
    spec = CheckSpec("correct", 9.0, CorrectSettings(partial=0.25))
    granting = tuple(spec if s.check == "correct" else s for s in given.variant.checks)
    kept = check(replace(given, variant=replace(given.variant, checks=granting)), "correct")
    assert (kept.status, kept.earned, kept.message) == ("fail", earned, nothing.message)


def test_without_a_run_nothing_is_right() -> None:
    row = check(evidence(runs=()), "correct")
    assert (row.status, row.skip_reason, row.pending) == ("skip", "not_measured", row.possible)


@pytest.mark.parametrize("name", ["correct", "ragged_sizes"])
def test_what_the_emulator_lacks_is_nobody_s_mistake(name: str) -> None:
    kind: Any = {"correct": "correct", "ragged_sizes": "ragged"}[name]
    lacking = run(kind, None, status="unsupported", reason="emulator")
    row = check(evidence(runs=(run("correct"), lacking) if kind == "ragged" else (lacking,)), name)
    assert (row.status, row.pending, row.hint) == ("error", row.possible, "")


def test_what_had_left_an_array_before_it_was_given_up_is_wrong() -> None:
    left = hazard("out_of_bounds", "after", 9, space="global", array="in")
    given_up = run("correct", None, (left,), status="unsupported", reason="steps", line=11)
    row = check(evidence(runs=(given_up,), counters=None), "correct")
    assert (row.status, row.line, row.pending) == ("fail", 9, 0)
    assert row.message.startswith("Thread (1, 0, 0) of block (2, 0, 0) reads element 32 of in")
    # A race up to then says nothing of whether it would come to an end.
    racing = run("correct", None, (hazard("race", "read_write", 9),), status="unsupported", reason="steps", line=11)
    assert check(evidence(runs=(racing,), counters=None), "correct").status == "error"


@pytest.mark.parametrize(
    ("name", "faults", "remarks"),
    [
        ("memory_safety", (hazard("out_of_bounds", "after"),), ()),
        ("memory_safety", (hazard("uninitialized", ""),), ()),
        ("races", (), (("exited_before_barrier", 9, 64),)),
    ],
)
def test_what_only_sizes_off_the_tile_show_is_not_denied(
    name: str, faults: tuple[Hazard, ...], remarks: tuple[tuple[str, int, int], ...]
) -> None:
    wrong = Difference(total=1023, mismatches=9, name="out")
    cut = (run("correct"), run("ragged", wrong, faults, remarks=remarks))
    row = check(evidence(runs=cut), name)
    assert (row.status, row.data["elsewhere"]) == ("pass", {"rows": 33, "cols": 31})
    assert "that does not hold" in row.message
    # Threads that have ended, and values that nobody uses, are no fault where all comes out right.
    if not any(fault.kind == "out_of_bounds" for fault in faults):
        sound = (run("correct"), run("ragged", hazards=faults, remarks=remarks))
        assert "elsewhere" not in check(evidence(runs=sound), name).data


SET_PAST = msg("programs.set_past", bytes=1024, array="d", size=256)
TOO_SHORT = msg("programs.symbol_too_short", bytes=16, size=20, array="weights", kernel="tiled", kernel_line=9)


def host(message: Message) -> HostCode:
    return HostCode(is_there=True, is_observed=True, faults=(HostFault("copy", "transpose.cu", 61, message),))


def test_what_is_set_past_an_array_is_no_copy() -> None:
    row = check(evidence(host=host(SET_PAST)), "host_code")
    assert (row.status, row.line, row.message) == ("fail", 61, "1024 bytes of d are set here; it has 256.")
    assert row.hint.startswith("Compare the number of bytes with what was allocated")


def test_errors_of_one_sign_cost_half_of_what_no_check_costs() -> None:
    faults = [
        HostFault("half_blind", "transpose.cu", 64, msg(f"checks.host_code.{way}_smaller"))
        for way in ("signed", "not_noticed")
    ]
    faults.append(HostFault("not_compared", "transpose.cu", 64, msg("checks.host_code.not_compared")))
    hosts = [HostCode(is_there=True, is_observed=True, faults=(fault,)) for fault in faults]
    verdicts = [judge_host_code(evidence(host=host), HostCodeSettings()) for host in hosts]
    assert [(v.status, v.credit, v.hint is None) for v in verdicts] == [
        ("fail", 0.75, True),
        ("fail", 0.75, True),
        ("fail", 0.5, False),
    ]
    # Where the data alone count, it is a remark.
    assert {judge_host_code(evidence(host=host), HostCodeSettings(of="data")).status for host in hosts} == {"pass"}


def test_of_host_code_no_more_is_said_than_was_seen() -> None:
    whole = HostCode(is_there=True, is_observed=True)
    leak = HostFault("copy", "transpose.cu", 70, msg("programs.leak", array="d"))
    stopped = SeenRun(("transpose.cu",), cause_file="transpose.cu", cause_line=61)
    rows = [check(evidence(host=x), "host_code") for x in (whole, replace(whole, untidy=(leak,)))]
    rows.append(check(evidence(host=replace(whole, partly=stopped)), "host_code"))
    assert [row.status for row in rows] == ["pass"] * 3
    assert ["freed" in row.message for row in rows] == [True, False, False]
    assert rows[2].message.startswith("The program was stopped before its end (line 61)")
    assert rows[2].message.endswith("In what was run, what its kernels work on is copied and filled correctly.")


def test_a_constant_filled_in_part_counts_where_results_are_wrong() -> None:
    wrong = (run("correct", Difference(total=4096, mismatches=9, name="out")),)
    other_pitch = host(msg("programs.copy_other_pitch", array="d", pitch=512, given=64))
    assert [check(evidence(host=other_pitch, runs=r), "host_code").status for r in ((), wrong)] == ["pass", "fail"]
    assert check(evidence(host=host(TOO_SHORT)), "host_code").status == "pass"
    row = check(evidence(host=host(TOO_SHORT), runs=wrong), "host_code")
    assert (row.status, row.hint) == ("fail", "To copy the whole of weights, copy sizeof(weights) bytes.")
    hint = check(evidence(host=host(TOO_SHORT), runs=wrong), "correct").hint
    assert hint == "The kernel was run with weights as the host fills it: correct line 61 first."
