"""A file is there whole, or as it was before; what lies in a file's place is told without waiting for it."""

from __future__ import annotations

import os
import pwd
import socket
from pathlib import Path

import pytest

from grader.files import (
    PARTIAL_SUFFIX,
    NotPlain,
    TooLarge,
    discard_partial,
    kind_of,
    read_plain,
    real,
    user_cache,
    write_atomically,
)
from grader.timing import summary

pytestmark = pytest.mark.started


def test_a_file_is_written_with_its_folder(tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "result.json"
    write_atomically(target, b"one")
    write_atomically(target, b"two")
    assert target.read_bytes() == b"two"
    assert [path.name for path in target.parent.iterdir()] == ["result.json"]


def test_a_file_is_for_whoever_may_read_what_is_made_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mask that says so is the whole process's: another thread must not find it taken off."""
    for mask, mode in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664)):
        before = os.umask(mask)
        try:
            with monkeypatch.context() as patch:
                patch.delattr(os, "umask")
                write_atomically(tmp_path / "result.json", b"one")
        finally:
            os.umask(before)
        assert (tmp_path / "result.json").stat().st_mode & 0o777 == mode


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


def test_a_name_may_be_as_long_as_names_can_be(tmp_path: Path) -> None:
    target = tmp_path / ("x" * 255)
    write_atomically(target, b"whole")
    assert target.read_bytes() == b"whole"


def test_what_was_half_written_before_does_not_stay(tmp_path: Path) -> None:
    for name, time_s in (("old", 1000), ("new", 2000)):
        path = tmp_path / f".{name}{PARTIAL_SUFFIX}"
        path.touch()
        os.utime(path, (time_s, time_s))
    (tmp_path / f"mine{PARTIAL_SUFFIX}").touch()
    (tmp_path / ".hidden").touch()
    discard_partial(tmp_path, before=1500)
    assert {path.name for path in tmp_path.iterdir()} == {f".new{PARTIAL_SUFFIX}", f"mine{PARTIAL_SUFFIX}", ".hidden"}
    discard_partial(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {f"mine{PARTIAL_SUFFIX}", ".hidden"}
    discard_partial(tmp_path / "nowhere")


def test_what_lies_at_a_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "itself").symlink_to("itself")
    (tmp_path / "there").symlink_to("back")
    (tmp_path / "back").symlink_to("there")
    (tmp_path / "nowhere").symlink_to("gone")
    os.mkfifo(tmp_path / "fifo")
    kinds = {name: kind_of(tmp_path / name) for name in ("file", "link", "itself", "there", "nowhere", "fifo", "gone")}
    assert kinds == {
        "file": "file",
        "link": "file",
        "itself": "",
        "there": "",
        "nowhere": "",
        "fifo": "other",
        "gone": "",
    }
    assert kind_of(tmp_path) == "folder"
    for name in ("x" * 300, "a\0b", "\ud800", "file/x", "x/" * 3000):
        assert kind_of(tmp_path / name) == ""
        with pytest.raises(OSError):
            read_plain(tmp_path / name, 10)
    with pytest.raises(OSError, match="symbolic links"):
        real(tmp_path / "itself")
    assert real(tmp_path / "link") == (tmp_path / "file").resolve()


def test_only_plain_files_are_read_and_no_more_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"abc")
    assert read_plain(file, 3) == b"abc"
    with pytest.raises(TooLarge) as error:
        read_plain(file, 2)
    assert error.value.size == 3
    # Files that say they are empty and hold more: what is read counts.
    with pytest.raises(TooLarge):
        read_plain(Path("/proc/self/status"), 10)
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        # By a short name: an address is 107 bytes at most, and a temporary folder may lie deep.
        monkeypatch.chdir(tmp_path)
        server.bind("socket")
        for name in ("fifo", "socket", "."):
            with pytest.raises(OSError) as refused:
                read_plain(tmp_path / name, 10)
            assert name == "socket" or isinstance(refused.value, NotPlain)


def test_whoever_has_no_home_has_what_docker_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that is run by a number that nobody has a name for."""

    def nobody(number: int) -> pwd.struct_passwd:
        raise KeyError(number)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CUDA_LAB_GRADER_STORE"):
        monkeypatch.delenv(name, raising=False)
    assert user_cache() == Path("/.cache/cuda-lab-grader")
    assert summary.folder() == Path("/.local/share/cuda-lab-grader/measurements")
    monkeypatch.setenv("HOME", "/home/ivanov")
    assert user_cache() == Path("/home/ivanov/.cache/cuda-lab-grader")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert user_cache() == Path("/cache/cuda-lab-grader")
