"""Timed sweeps come back as they were, in the language that is spoken then."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader import i18n
from grader.result import Estimate, SweepPoint, SweepRecord
from grader.sweeps import kept


def record() -> SweepRecord:
    threads = i18n.say("{threads} threads a block, at most {limit} are possible", threads=4096, limit=1024)
    memory = i18n.say(
        "{needed:.1f} GiB of the GPU's memory are needed, {most:.1f} GiB can be had", needed=16.5, most=14.4
    )
    points = [
        SweepPoint(variant="a", of="submission", x=8, values={"time": Estimate(value=1.5, low=1.0, high=2.0)}),
        SweepPoint(variant="a", of="submission", x=64, status="impossible", reason=threads),
        SweepPoint(variant="a", of="submission", x=99, status="impossible", reason=memory),
        SweepPoint(variant="a", of="reference", x=64, status="failed", reason="CUDA_ERROR_MISALIGNED_ADDRESS"),
    ]
    return SweepRecord(
        id="block",
        backend="gpu",
        x="S",
        lines="",
        metrics=["time"],
        points=points,
        left_out={"b": "its results are wrong"},
    )


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    kept.keep(tmp_path / "k.json", [record()])
    found = kept.find(tmp_path / "k.json", {"b": "its results are wrong"})
    assert found is not None
    assert found == kept.spoken([record()])
    assert [point.reason for point in found[0].points] == [
        "",
        "4096 threads a block, at most 1024 are possible",
        "16.5 GiB of the GPU's memory are needed, 14.4 GiB can be had",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
    ]


def test_reasons_are_said_in_the_language_of_the_day(tmp_path: Path) -> None:
    kept.keep(tmp_path / "k.json", [record()])
    i18n.use("ru")
    found = kept.find(tmp_path / "k.json", {"b": "его результаты неверны"})
    assert found is not None
    assert [point.reason for point in found[0].points] == [
        "",
        "потоков на блок 4096, возможно не больше 1024",
        "нужно 16,5 ГиБ памяти GPU, доступно 14,4 ГиБ",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
    ]
    assert found[0].left_out == {"b": "его результаты неверны"}
    assert found[0].points[0].values == record().points[0].values


def test_spoken_records_can_be_written() -> None:
    spoken = kept.spoken([record()])
    assert msgspec.json.decode(msgspec.json.encode(spoken), type=list[SweepRecord]) == spoken


def test_nothing_and_rubbish_are_not_found(tmp_path: Path) -> None:
    assert kept.find(tmp_path / "none.json", {}) is None
    (tmp_path / "old.json").write_text("[]")
    assert kept.find(tmp_path / "old.json", {}) is None


def test_a_folder_that_cannot_be_made_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kept.keep(tmp_path / "file" / "k.json", [record()])
    assert (tmp_path / "file").read_text() == ""
