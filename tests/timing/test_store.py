"""Stored measurements: found again under the same key, under no other, and never in the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from grader.timing import CpuTime, HostTimes, Measurement, Problem, SizeTimes
from grader.timing.summary import Store, folder, key_of

MEASUREMENT = Measurement(
    device="GPU",
    driver="580.1",
    nvrtc="13.0",
    l2="cold",
    copy_gb_s=4000.0,
    fp32_gflop_s=60000.0,
    sizes=[
        SizeTimes(
            size={"rows": 4},
            times_us={"student:a": [1.5, None, 2.25]},
            batch={"student:a": 3},
            empty_us=1.25,
            rounds=4,
            dropped=1,
            valid=True,
            sm_mhz=1980.0,
            wrong=[Problem(name="student:b", kind="wrong", count=1, total=2)],
            undecided=["student:a"],
        )
    ],
    cpu=[CpuTime(size={"rows": 4}, best_us=7.0, threads=2)],
    host_memory={"a": [HostTimes(mode="pinned", copy_in_us=1, kernel_us=2, copy_out_us=3, total_us=6, cpu_read_us=4)]},
    failure={"student:b": "wrong"},
)
PARTS: dict[str, Any] = {
    "sources": {"a.cu": "text", "b.cuh": "more"},
    "launches": "[32]",
    "lab": {"lab.yaml": b"x", "naive.cu": b"y"},
    "nvrtc": "13.0",
    "device": "GPU",
    "driver": "580.1",
}


def test_what_was_put_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "folder")
    assert store.get("k") is None
    assert store.put("k", MEASUREMENT)
    assert store.get("k") == MEASUREMENT


@pytest.mark.parametrize(
    "change",
    [
        {"sources": {"a.cu": "text ", "b.cuh": "more"}},
        {"sources": {"a.cu": "textb.cuh", "": "more"}},
        {"sources": {"a.cu": "text"}},
        {"launches": "[16]"},
        {"lab": {"lab.yaml": b"x", "naive.cu": b"z"}},
        {"nvrtc": "13.1"},
        {"device": "GPU 2"},
        {"driver": "581"},
        {"sources": {}, "lab": {"a.cu": b"text", "b.cuh": b"more", "lab.yaml": b"x", "naive.cu": b"y"}},
    ],
)
def test_every_part_counts(change: dict[str, Any]) -> None:
    assert key_of(**PARTS) != key_of(**{**PARTS, **change})


def test_the_order_of_files_does_not() -> None:
    turned = {**PARTS, "sources": dict(reversed(PARTS["sources"].items()))}
    assert key_of(**PARTS) == key_of(**turned)
    assert len(key_of(**PARTS)) == 64


@pytest.mark.parametrize("content", [b"", b"{", b'{"device": 3}', b"\xff\xfe"])
def test_a_broken_file_is_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "k.json").write_bytes(content)
    assert Store(tmp_path).get("k") is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert Store(tmp_path / "file" / "below").put("k", MEASUREMENT) is False


def test_where_it_is() -> None:
    assert folder({"CUDA_LAB_GRADER_STORE": "/a"}) == Path("/a")
    assert folder({"XDG_DATA_HOME": "/b", "HOME": "/c"}) == Path("/b/cuda-lab-grader/measurements")
    assert folder({"HOME": "/c"}) == Path("/c/.local/share/cuda-lab-grader/measurements")
