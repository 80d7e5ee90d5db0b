"""A file is there whole, or as it was before."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.files import write_atomically


def test_a_file_is_written_with_its_folder(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "result.json"
    write_atomically(target, b"one")
    write_atomically(target, b"two")
    assert target.read_bytes() == b"two"
    assert [path.name for path in target.parent.iterdir()] == ["result.json"]


def test_what_cannot_take_its_place_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.mkdir()
    with pytest.raises(OSError, match="directory"):
        write_atomically(target, b"half")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_write_that_fails_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_bytes(b"old")
    with pytest.raises(TypeError):
        write_atomically(target, "no bytes")  # type: ignore[arg-type]
    assert target.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
