"""Timed sweeps come back as they were, to be said in the language that is spoken then."""

from __future__ import annotations

from pathlib import Path

from grader import i18n
from grader.message import msg, verbatim
from grader.result import Estimate, SweepPoint, SweepRecord
from grader.sweeps import run
from grader.words import told

WRONG = {"b": msg("sweeps.results_wrong")}


def record() -> SweepRecord:
    threads = msg("launches.threads", threads=4096, limit=1024)
    memory = msg("sweeps.gpu_memory", needed=16.5, most=14.4)
    error = verbatim("CUDA_ERROR_MISALIGNED_ADDRESS")
    points = [
        SweepPoint(variant="a", of="submission", x=8, values={"time": Estimate(value=1.5, low=1.0, high=2.0)}),
        SweepPoint(variant="a", of="submission", x=64, status="impossible", reason_said=threads),
        SweepPoint(variant="a", of="submission", x=99, status="impossible", reason_said=memory),
        SweepPoint(variant="a", of="reference", x=64, status="failed", reason_said=error),
    ]
    return SweepRecord(id="block", backend="gpu", x="S", lines="", metrics=["time"], points=points, left_out_said=WRONG)


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    run.keep(tmp_path / "k.json", [record()])
    found = run.find(tmp_path / "k.json", WRONG)
    assert found == [record()]
    assert [point.reason for point in told(found[0]).points] == [
        "",
        "4096 threads per block, at most 1024 are allowed",
        "16.5 GiB of GPU memory are needed, 14.4 GiB are available",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
    ]


def test_reasons_are_said_in_the_language_of_the_day(tmp_path: Path) -> None:
    run.keep(tmp_path / "k.json", [told(record())])
    i18n.use("ru")
    found = run.find(tmp_path / "k.json", WRONG)
    assert found is not None
    russian = told(found[0])
    assert [point.reason for point in russian.points] == [
        "",
        "потоков в блоке — 4096, допустимо не больше 1024",
        "нужно 16,5 ГиБ памяти GPU, доступно 14,4 ГиБ",
        "CUDA_ERROR_MISALIGNED_ADDRESS",
    ]
    assert russian.left_out == {"b": "результаты неверны"}
    assert russian.points[0].values == record().points[0].values


def test_why_variants_are_left_out_is_this_run_s(tmp_path: Path) -> None:
    run.keep(tmp_path / "k.json", [record()])
    found = run.find(tmp_path / "k.json", {"b": msg("sweeps.no_kernel")})
    assert found is not None
    assert found[0].left_out_said == {"b": msg("sweeps.no_kernel")}


def test_nothing_and_rubbish_are_not_found(tmp_path: Path) -> None:
    assert run.find(tmp_path / "none.json", {}) is None
    (tmp_path / "old.json").write_text('{"records": [], "reasons": {}}')
    assert run.find(tmp_path / "old.json", {}) is None


def test_a_folder_that_cannot_be_made_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    run.keep(tmp_path / "file" / "k.json", [record()])
    assert (tmp_path / "file").read_text() == ""
