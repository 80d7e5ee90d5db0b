"""What is built once for every program."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from grader.programs.toolchain.compile import precompiled
from grader.programs.toolchain.library import Library, build


def _made(library: Library, number: int) -> tuple[str, int]:
    path = precompiled(("cuda_runtime.h",), library)
    return path.name, path.stat().st_ino


def test_a_header_is_read_in_advance_once_however_many_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        made = pool.starmap(_made, [(library, number) for number in range(3)])
    # A right to read belongs to the file, not to its name: another file in its place could not be read.
    assert len(set(made)) == 1
