"""Others may write into the folder of outputs: nothing there is believed unless it is signed, and nothing hangs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from grader.course.rules import SECRET, _own_key, signature
from grader.errors import UsageError
from grader.files import read_kept
from grader.grading import cache
from grader.grading.cache import STAMP_NAME, Stamp, read_stamp
from grader.grading.paths import RESULT_NAME, find_stored
from grader.result import decode, encode
from tests import sample_results


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(SECRET, raising=False)
    _own_key.cache_clear()


def stamped(folder: Path, **changes: object) -> Stamp:
    """A stamp as a run writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = msgspec.structs.replace(Stamp(follows_from="a" * 64, result="b" * 64, backend="emulator"), **changes)
    cache._write(folder, stamp)
    return stamp


def test_what_a_run_has_kept_is_its_own(tmp_path: Path) -> None:
    stamp = stamped(tmp_path / "out")
    found = read_stamp(tmp_path / "out")
    assert found is not None
    assert msgspec.structs.replace(found, signature="") == stamp
    key = tmp_path / "cache" / "cuda-lab-grader" / "key"
    assert key.stat().st_mode & 0o777 == 0o600 and len(key.read_bytes()) == 32


@pytest.mark.parametrize(
    "forged",
    [
        lambda stamp: msgspec.structs.replace(stamp, result="c" * 64),
        lambda stamp: msgspec.structs.replace(stamp, follows_from="d" * 64),
        lambda stamp: msgspec.structs.replace(stamp, name="Somebody else"),
        lambda stamp: msgspec.structs.replace(stamp, signature=""),
        lambda stamp: msgspec.structs.replace(stamp, signature="ё" * 64),
    ],
)
def test_what_is_forged_is_as_nothing(tmp_path: Path, forged: Callable[[Stamp], Stamp]) -> None:
    stamped(tmp_path)
    real = read_stamp(tmp_path)
    assert real is not None
    (tmp_path / STAMP_NAME).write_bytes(msgspec.json.encode(forged(real)))
    assert read_stamp(tmp_path) is None


def test_another_key_or_secret_signs_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamped(tmp_path / "out")
    monkeypatch.setenv(SECRET, "a secret of sixteen letters")
    assert read_stamp(tmp_path / "out") is None
    with_secret = signature(b"data")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert signature(b"data") == with_secret
    monkeypatch.delenv(SECRET)
    assert read_stamp(tmp_path / "out") is None


@pytest.mark.parametrize("name", [STAMP_NAME, RESULT_NAME])
@pytest.mark.parametrize("kind", ["fifo", "zero", "folder", "truncated", "nested", "loop"])
def test_what_is_no_file_neither_hangs_nor_fills_memory(tmp_path: Path, name: str, kind: str) -> None:
    student = tmp_path / "ivanov" / "transpose"
    other = tmp_path / "petrova" / "transpose"
    for folder, result in ((student, sample_results.passed()), (other, sample_results.failed())):
        stamped(folder)
        person = replace_student(encode(result), folder.parent.name)
        (folder / RESULT_NAME).write_bytes(person)
    spoilt = student / name
    whole = spoilt.read_bytes()
    spoilt.unlink()
    make: dict[str, Callable[[], object]] = {
        "fifo": lambda: os.mkfifo(spoilt),
        "zero": lambda: spoilt.symlink_to("/dev/zero"),
        "folder": lambda: spoilt.mkdir(),
        "truncated": lambda: spoilt.write_bytes(whole[: len(whole) // 2]),
        "nested": lambda: spoilt.write_bytes(b'{"a":' * 100_000),
        "loop": lambda: spoilt.symlink_to(name),
    }
    make[kind]()
    if name == STAMP_NAME:
        assert read_stamp(student) is None
        return
    entries = {entry.student: entry for run in find_stored(tmp_path) for entry in run.entries}
    assert entries["petrova"].result is not None
    if kind not in ("folder", "loop"):
        assert entries["ivanov"].result is None and entries["ivanov"].reason
        with pytest.raises(UsageError):
            find_stored(student)
    with pytest.raises((OSError, UsageError)):
        decode(read_kept(student / RESULT_NAME))


def replace_student(data: bytes, name: str) -> bytes:
    """A result as one of a student of that name."""
    raw = msgspec.json.decode(data)
    raw["student"]["id"] = name
    return msgspec.json.encode(raw)
