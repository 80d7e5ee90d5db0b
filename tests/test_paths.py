"""Where the grader keeps things for whom."""

from __future__ import annotations

import pwd
from pathlib import Path

import pytest

from grader.paths import user_cache
from grader.timing import summary


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
