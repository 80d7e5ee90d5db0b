"""Files of devices: written and read again, refused where they lack something; what is taken from where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.errors import UsageError
from grader.gpu import calibrate
from grader.gpu.calibrate import measure_device, write_device
from grader.gpu.messages import Ready, WarmedUp
from grader.launching.backend import LaunchOutcome, LaunchRequest, ScalarArgument
from grader.timing.instructions import read_device
from grader.timing.sampling import Plan, Sample, Samples, sample


def test_a_written_file_is_read_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    device = replace(read_device("h200"), name="Mine", is_checked=False)
    write_device(device, file)
    assert read_device(str(file)) == device


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("double: 8", "triple: 8"), "latency.double is missing"),
        (("multiprocessors: 132", "multiprocessors: many"), "multiprocessors"),
        (("name: H200", "name: [H200"), "mine.yaml"),
    ],
)
def test_a_file_that_lacks_something_is_refused(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    file = tmp_path / "mine.yaml"
    write_device(read_device("h200"), file)
    text = file.read_text("utf-8")
    assert change[0] in text
    file.write_text(text.replace(*change), "utf-8")
    with pytest.raises(UsageError, match=said):
        read_device(str(file))
    with pytest.raises(UsageError, match="cannot be read"):
        read_device(str(tmp_path / "none.yaml"))


class Card:
    """Stands for a session with a GPU: a step of every chain takes so many cycles, a launch so many µs."""

    device = Ready("NVIDIA X1", "u", "sm_90", "580", 100, 1 << 36, 1 << 25, 2000.0, 227 << 10)

    def warm_up(self, _busy_ms: float) -> WarmedUp:
        return WarmedUp(0.0, 0.0, 0.0)

    def run(self, _module: str, request: LaunchRequest) -> LaunchOutcome:
        numbers = [a.value for a in request.arguments if isinstance(a, ScalarArgument)]
        steps = numbers[-1] if request.entry.startswith("chase") else numbers[-1] * 64
        # Of a barrier each further warp costs two cycles.
        each = 20 + 2 * (request.block[0] // 32) if request.entry == "chain_barrier" else 7
        cycles = numbers[-1] * 16 * 8 * 32 / 2 if request.entry.startswith("rate") else steps * each
        return LaunchOutcome("ok", outputs={"out": np.array([cycles], np.uint64)})


def test_figures_follow_from_cycles_and_times(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"nothing": 2.0, "copy_wide": 200.0, "copy_narrow": 163.84, "read_again": 100.0}

    def rounds(_self: object, _requests: object) -> tuple[Samples, float]:
        found = sample(lambda order: Sample({n: times[n] for n in order}), list(times), [], Plan((31,)))
        return found, 2000.0

    monkeypatch.setattr(calibrate._Measuring, "_rounds", rounds)
    made = calibrate._Measuring(Card(), read_device("h100")).processor()  # type: ignore[arg-type]
    assert (made.name, made.multiprocessors, made.l2_bytes, made.clock_ghz) == ("X1", 100, 1 << 25, 2.0)
    assert not made.is_checked
    assert {made.latency[name] for name in ("alu", "fma", "l1", "l2", "dram", "shared", "divide")} == {7}
    assert made.latency["convert"] == 3.5
    assert (made.rates["barrier"], made.latency["barrier"]) == (0.5, 20)
    assert made.rates["fma"] == made.rates["memory"] == 2
    assert made.dram_bytes_per_second == pytest.approx(2 * 2**28 / 200e-6, rel=1e-3)
    assert (made.launch_us, made.block_cycles) == (2.0, 160)
    # What cannot be measured is the other device's, and said to be.
    assert made.rates["issue"] == read_device("h100").rates["issue"]
    assert any("H100" in source for source in made.sources.values())


def test_without_a_gpu_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "has_driver", lambda: False)
    with pytest.raises(UsageError, match="needs an NVIDIA GPU"):
        measure_device()
