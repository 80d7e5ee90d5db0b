"""What the emulator tells of a program that a GPU ran: of the same launches, and of nothing else."""

from __future__ import annotations

import msgspec

from grader.message import Message, msg
from grader.programs.card_times import checked, same_model
from grader.programs.records import Observation, ProgramFinding
from grader.submission.kernels.records import LineCount, SeenHazard, SeenLaunch

HAZARD = SeenHazard("race", 3, msg("programs.trap", kernel="k"))
COUNT = LineCount(3, "shared", "load", 32, 64, 0, 32, 2)
RACE = ProgramFinding("race", "error", msg("programs.trap", kernel="k"), 3, "a.cu")
LEAK = ProgramFinding("leak", "remark", msg("programs.leak", array="d", bytes=4), 9, "a.cu")
FAILED = ProgramFinding("api_error", "warning", msg("programs.call_failed", call="cudaMalloc", error="e"), 5, "a.cu")


def launch(blocks: int, status: str = "ran", microseconds: float | None = None) -> SeenLaunch:
    sizes = (blocks, 1, 1), (32, 1, 1), 0
    return SeenLaunch("k", (), "a.cu", 7, *sizes, (), status, display="k", symbol="_Z1kv", microseconds=microseconds)


def emulated(*launches: SeenLaunch, cause: Message | None = None) -> Observation:
    for made in launches:
        made.hazards, made.counters, made.thread_instructions = [HAZARD], [COUNT], 99
    return Observation(None if cause else 0, list(launches), [RACE, LEAK, FAILED], cause)


def on_card(*launches: SeenLaunch) -> Observation:
    return Observation(0, list(launches), [LEAK], device="NVIDIA H100 80GB HBM3")


def test_counters_and_hazards_stand_beside_times_and_each_finding_once() -> None:
    real = on_card(launch(4, microseconds=5.5), launch(8, microseconds=6.5))
    got = checked(real, emulated(launch(4), launch(8)))
    assert [one.microseconds for one in got.launches] == [5.5, 6.5]
    assert all((one.hazards, one.counters, one.thread_instructions) == ([HAZARD], [COUNT], 99) for one in got.launches)
    # What failed on the emulator did not fail on the GPU.
    assert got.findings == [LEAK, RACE]
    assert (got.exit, got.device, got.checked, got.check_ended) == (0, real.device, 2, None)


def test_what_follows_a_launch_that_does_not_fit_has_not_been_seen() -> None:
    cause = msg("programs.launch_limit", kernel="k", limit="20")
    got = checked(on_card(launch(4), launch(8), launch(4)), emulated(launch(4), launch(8, "traced"), cause=cause))
    assert [bool(one.counters) for one in got.launches] == [True, False, False]
    assert (got.checked, got.check_ended) == (1, msg("programs.check_limit"))
    other = msg("programs.kernel_not_emulated", kernel="k", reason="r")
    got = checked(on_card(launch(4)), emulated(launch(4, "traced"), cause=other))
    assert (got.checked, got.check_ended) == (0, msg("programs.check_ended", why=other))


def test_another_launch_than_the_gpus_tells_nothing_of_it() -> None:
    got = checked(on_card(launch(4), launch(16)), emulated(launch(4), launch(8)))
    assert [bool(one.counters) for one in got.launches] == [True, False]
    assert got.check_ended == msg("programs.check_differs", kernel="k", line=7)
    # One that the GPU ran and the emulator refuses is none of the same.
    failed = msgspec.structs.replace(launch(4), status="failed")
    assert checked(on_card(launch(4)), emulated(failed)).checked == 0
    assert checked(on_card(msgspec.structs.replace(failed)), emulated(failed)).checked == 1


def test_the_emulator_is_told_the_gpu_that_there_is() -> None:
    assert same_model("NVIDIA H100 80GB HBM3", "t4") == "h100"
    assert same_model("NVIDIA RTX of tomorrow", "t4") == "t4"
