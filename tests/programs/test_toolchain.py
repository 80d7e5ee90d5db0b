"""What is built once for every program."""

from __future__ import annotations

import errno
import fcntl
import multiprocessing
import os
import tarfile
import tempfile
import time
from pathlib import Path

import pytest

from grader.programs.toolchain import advance, zig
from grader.programs.toolchain.advance import MAX_KEPT_BYTES, precompiled
from grader.programs.toolchain.zig import Library, build

pytestmark = pytest.mark.started


def _made(library: Library, number: int) -> tuple[str, int]:
    with precompiled(("cuda_runtime.h",), library) as path:
        return path.name, path.stat().st_ino


def _kept(folder: Path, name: str, used_at: int) -> Path:
    """Headers of another version, which take all the room there is."""
    path = folder / f"headers-{name}.pch"
    path.with_suffix(".h").touch()
    with path.open("wb") as file:
        file.truncate(MAX_KEPT_BYTES)
    os.utime(path, (used_at, used_at))
    return path


def test_a_header_is_read_in_advance_once_however_many_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = zig.cache_folder()
    held, old = _kept(folder, "held", 1), _kept(folder, "old", 2)
    (folder / ".building-ended").mkdir()
    with held.open("rb") as user, multiprocessing.get_context("spawn").Pool(3) as pool:
        fcntl.flock(user, fcntl.LOCK_SH)
        made = pool.starmap(_made, [(library, number) for number in range(3)])
    # A right to read belongs to the file, not to its name: another file in its place could not be read.
    assert len(set(made)) == 1
    # Of the others what nobody uses is gone.
    names = {path.name for path in folder.iterdir()}
    assert {held.name, made[0][0]} <= names
    assert not names & {old.name, old.with_suffix(".h").name, ".building-ended"}
    assert len([name for name in names if name.endswith(".pch")]) == 3


def test_what_most_programs_need_is_made_beside_whoever_begins_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert zig.find() is None
    advance.begin()
    try:
        deadline = time.monotonic() + 60
        while not (zig.find() and any(zig.cache_folder().glob("headers-*.h"))) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert zig.find() and len(list(zig.cache_folder().glob("headers-*.h"))) == 2
    finally:
        assert advance._beginning is not None
        advance._beginning.end()


def test_a_home_that_is_full_is_left_for_the_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    usual = home / "cuda-lab-grader" / "programs"
    assert zig.cache_folder() == usual

    def refuse(*_arguments: object) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    assert zig.cache_folder().parent.parent == elsewhere
    # What was built there before the disk was full is used.
    (usual / f"{zig.VERSION}-0").mkdir()
    assert zig.cache_folder() == usual


def test_the_library_is_unpacked_by_a_python_3_11_as_it_first_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of Debian 12 is 3.11.2, in which a `TarFile` knows nothing of filters; 3.11.4 brought them."""
    extractall = tarfile.TarFile.extractall

    def older(archive: tarfile.TarFile, path: str = ".", members: None = None, *, numeric_owner: bool = False) -> None:
        extractall(archive, path, members, numeric_owner=numeric_owner)

    monkeypatch.setattr(tarfile.TarFile, "extractall", older)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library = build()
    assert all(Path(path).is_file() for path in library.link_inputs)


def test_a_build_of_ours_that_fails_tells_its_first_error() -> None:
    stderr = (
        "In file included from a.h:4:\nIn file included from b.h:9:\nc.h:7:10: fatal error: 'd.h' not found\n1 error\n"
    )
    assert zig.cannot_build(stderr).message.data == {"reason": "c.h:7:10: fatal error: 'd.h' not found"}
    assert zig.cannot_build("killed\n").message.data == {"reason": "killed"}
