"""Which sizes the oracle is timed at on the CPU, and that it is timed once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.gpu.unmarked import cpu_times_of
from grader.lab import labs
from grader.lab.expected import Oracle
from grader.lab.records import Sizes
from grader.timing import CpuTime, sampling
from grader.timing.summary import Store

LAB = labs.find("transpose")


def sizes(*edges: int) -> list[Sizes]:
    return [{"rows": edge, "cols": edge} for edge in edges]


@pytest.fixture
def steady(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that takes 10 ns for each element of a transposition."""

    def time_cpu(work: Callable[[], object], size: dict[str, int]) -> CpuTime:
        work()
        return CpuTime(size=size, best_us=0.01 * size["rows"] * size["cols"], threads=1)

    monkeypatch.setattr(sampling, "time_cpu", time_cpu)


@pytest.mark.usefixtures("steady")
def test_sizes_that_take_too_long_are_left_out(tmp_path: Path) -> None:
    # 2³⁶ elements would take minutes (and 512 GiB); the others take milliseconds, in whatever order they are asked for.
    times = cpu_times_of(LAB, Oracle(LAB), sizes(1024, 1 << 18, 64), Store(tmp_path))
    assert [time.size for time in times] == sizes(64, 1024)
    assert all(time.best_us > 0 and time.threads >= 1 for time in times)


@pytest.mark.usefixtures("steady")
def test_what_was_measured_tells_how_far_to_go(tmp_path: Path) -> None:
    # By the guess alone (20 million elements a second) 25 million elements would be left out.
    times = cpu_times_of(LAB, Oracle(LAB), sizes(512, 3536), Store(tmp_path))
    assert [time.size for time in times] == sizes(512, 3536)


def test_an_oracle_is_timed_once(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = cpu_times_of(LAB, Oracle(LAB), sizes(64, 128), store)
    assert cpu_times_of(LAB, Oracle(LAB), sizes(128, 64), store) == first
    assert len(list(tmp_path.iterdir())) == 1


def test_other_sizes_are_timed_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    cpu_times_of(LAB, Oracle(LAB), sizes(64), store)
    cpu_times_of(LAB, Oracle(LAB), sizes(128), store)
    assert len(list(tmp_path.iterdir())) == 2


TIME = """
import sys
import os
import subprocess
import sys
from pathlib import Path
from grader.gpu.unmarked import cpu_times_of
from grader.lab import labs
from grader.lab.expected import Oracle
from grader.timing.summary import Store
lab = labs.find("transpose")
print("ready", flush=True)
sys.stdin.readline()
print(cpu_times_of(lab, Oracle(lab), [{"rows": 2048, "cols": 2048}], Store(Path(sys.argv[1]))))
"""


def test_of_gradings_side_by_side_one_measures(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    command = [sys.executable, "-c", TIME, str(tmp_path / "store")]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "locks")}
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(3)
    ]
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    told = [process.communicate(timeout=600)[0] for process in started]
    assert told[0].startswith("[CpuTime(") and set(told) == {told[0]}
