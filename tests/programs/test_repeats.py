"""Launches that find memory as at an earlier one of theirs are not executed, and leave what that left."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from grader.cli.run_report import text_of
from grader.programs.device import Outcome
from grader.programs.device_memory import Allocation, DeviceMemory
from grader.programs.emulated import TRIES, Repeats
from grader.programs.execution import Setting, run_program
from grader.programs.records import RunLimits
from grader.programs.sandbox.guest import Meter
from grader.programs.sources import Sources


class Scenario:
    """An array of the device, and a launch that adds what it is given to its second half's first byte."""

    def __init__(self, instructions: int = 10_000) -> None:
        self.memory = DeviceMemory(Meter())
        self.array = self.memory.allocate("a", 64, "cudaMalloc", 1, "a.cu")
        self.repeats = Repeats(self.memory, Meter())
        self.executed = 0
        self.instructions = instructions

    def launch(self, added: int, *, is_sum: bool = False, status: str = "ran") -> Outcome:
        """out = in + added, or out += added."""

        def execute() -> Outcome:
            self.executed += 1
            data = self.array.array.data
            data[32] = (data[32] if is_sum else data[0]) + added
            self.array.array.valid[32] = 1
            self.array.array.digest = None
            return Outcome(status, thread_instructions=self.instructions, charged=self.instructions)

        return self.repeats.run((added, is_sum), execute)

    @property
    def out(self) -> int:
        """What launches write."""
        return int(self.array.array.data[32])


def test_the_third_launch_from_the_same_memory_is_not_executed() -> None:
    one = Scenario()
    for _ in range(9):
        outcome = one.launch(5)
        assert (one.out, outcome.status, outcome.thread_instructions) == (5, "ran", 10_000)
    assert one.executed == 2


def test_what_a_launch_left_is_put_there_again_with_what_counts_as_written() -> None:
    one = Scenario()
    for _ in range(6):
        one.array.view()[32] = 0
        one.array.array.valid[:] = 0
        one.launch(5)
        assert one.out == 5
        assert list(np.flatnonzero(one.array.array.valid)) == [32]
    # Known from the first one on, which began with the same.
    assert one.executed == 1


def test_another_input_is_executed() -> None:
    one = Scenario()
    for value in (1, 2, 3, 1, 2, 3, 9):
        one.array.view()[0] = value
        one.launch(5)
        assert one.out == value + 5


def test_a_sum_is_executed_each_time_and_soon_not_looked_at() -> None:
    one = Scenario()
    for times in range(1, 3 * TRIES):
        one.launch(1, is_sum=True)
        assert (one.out, one.executed) == (times, times)


def test_other_arguments_are_another_launch() -> None:
    one = Scenario()
    for added in (1, 2) * 5:
        one.launch(added)
        assert one.out == added


def test_short_launches_and_failed_ones_are_executed() -> None:
    short, failed = Scenario(instructions=5), Scenario()
    for _ in range(7):
        short.launch(5)
        failed.launch(5, status="trap")
    assert (short.executed, failed.executed) == (7, 7)


def test_launches_shorter_than_a_look_at_memory_are_known_once_all_of_them_took_as_long() -> None:
    one, looks = Scenario(instructions=10), []
    for _ in range(40):
        one.launch(5)
        assert one.out == 5
    # 64 bytes are worth a look after 32 instructions; that launch is the last to be executed.
    assert one.executed == 5
    other = Scenario(instructions=10)
    for times in range(1, 40):
        other.launch(1, is_sum=True)
        # After a launch that was looked at it is known what memory holds.
        if other.array.array.digest is not None:
            looks.append(times)
        assert (other.out, other.executed) == (times, times)
    assert looks == [5, 18]


def test_an_array_that_comes_to_lie_elsewhere_is_another() -> None:
    one = Scenario()
    for _ in range(5):
        one.launch(5)
    old: Allocation = one.array
    one.memory.free(old)
    one.array = one.memory.allocate("a", 64, "cudaMalloc", 1, "a.cu")
    one.launch(5)
    assert one.out == 5


def _moving(content: int = 0, printed: str = "", left: int = 5) -> int:
    """How many launches are executed of ten that are each handed an output of their own, and begin with `content`."""
    memory = DeviceMemory(Meter())
    repeats, executed = Repeats(memory, Meter()), 0
    memory.allocate("in", 64, "device", 1, "a.cu").array.data.view(np.uint64)[3] = content
    for _ in range(10):
        out = memory.allocate("out", 64, "device", 2, "a.cu")

        def execute(out: Allocation = out) -> Outcome:
            nonlocal executed
            executed += 1
            out.array.data.view(np.uint64)[1] = left
            out.array.digest = None
            return Outcome("ran", charged=10_000, printf=printed)

        outcome = repeats.run(("kernel", (1, 1, 1), out.base.to_bytes(8, "little")), execute)
        assert (outcome.printf, out.array.data.view(np.uint64)[1]) == (printed, left)
        memory.free(out)
    return executed


def test_an_output_that_each_repetition_allocates_is_known_by_what_it_is() -> None:
    assert _moving() == 1


def test_where_addresses_show_what_lies_elsewhere_is_another() -> None:
    memory = DeviceMemory(Meter())
    address = memory.allocate("in", 64, "device", 1, "a.cu").base
    assert _moving(content=address) == 10
    assert _moving(left=address) == 10
    assert _moving(printed="0x7f") == 10


def test_what_an_array_holds_is_looked_at_again_only_where_it_may_have_changed() -> None:
    one = Scenario()
    charged: list[int] = []
    one.repeats = Repeats(one.memory, Meter(charged.append))
    for _ in range(4):
        one.launch(5)
    looked = len(charged)
    one.launch(5)
    assert len(charged) == looked
    one.array.seen()
    one.launch(5)
    assert len(charged) == looked
    one.array.view()
    one.launch(5)
    assert len(charged) > looked
    assert (one.out, one.executed) == (5, 2)


def test_memory_of_both_sides_is_looked_at_each_time() -> None:
    one = Scenario()
    lent = np.zeros(64, np.uint8)
    shared = one.memory.share("h", 64, "managed", 1, "a.cu", 4096)
    for value in (0, 0, 0, 7, 7, 7, 7):
        lent[0] = value
        one.memory.refresh(shared, lent)
        one.launch(5)
    assert one.executed == 3


def test_once_enough_was_watched_a_few_blocks_of_a_launch_are(tmp_path: Path, host_cache: Path) -> None:
    file = tmp_path / "main.cu"
    file.write_text(
        "__global__ void put(int *a, int v) { a[blockIdx.x * blockDim.x + threadIdx.x] = v; }\n"
        "int main() { int *a; cudaMalloc(&a, 4 << 17); put<<<512, 256>>>(a, 1);\n"
        "put<<<512, 256>>>(a, 2); cudaFree(a); }\n"
    )

    report = ""

    def requests(watched: int) -> list[int]:
        nonlocal report
        got = run_program(
            Sources([file]),
            setting=Setting(host_cache=host_cache),
            limits=RunLimits(wall_seconds=60, watched_instructions=watched),
        )
        report = text_of(got)
        return [sum(counter.requests for counter in launch.counters) for launch in got.launches]

    # Batches of 16,384 threads with 512 requests each: of the later launch the first and the last.
    assert requests(800_000) == [2048, 1024]
    assert "256 of 512 blocks" in report and "128 of 512 blocks" in report
    assert requests(1000) == [1024, 1024]
    assert requests(1 << 30) == [4096, 4096]
    assert "of 512 blocks" not in report
