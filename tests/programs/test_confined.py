"""One command with what it is given and nothing else: started from the beginning, or forked from what has started."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.processes import fork_server
from grader.processes.limits import EXECUTE, READ, WRITE
from grader.programs.toolchain import zig
from grader.programs.toolchain.zig import Done, run_confined

pytestmark = [pytest.mark.started, pytest.mark.skipif(sys.platform != "linux", reason="programs run on Linux")]
SYSTEM = {name: READ | EXECUTE for name in ("/bin", "/usr", "/lib", "/lib64") if Path(name).exists()}
SHELL = str(Path("/bin/sh").resolve())


@pytest.fixture(params=["started", "forked"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    with fork_server.kept() if request.param == "forked" else contextlib.nullcontext():
        yield request.param


def shell(text: str, folder: Path, rights: dict[str, int] | None = None, cpu_seconds: int = 20) -> Done:
    given = {**SYSTEM, "/dev/null": READ | WRITE, **(rights or {})}
    return run_confined([SHELL, "-c", text], given, folder, cpu_seconds=cpu_seconds)


@pytest.mark.usefixtures("way")
def test_what_it_says_and_how_it_ends_is_told(tmp_path: Path) -> None:
    done = shell("echo to nobody; echo first >&2; pwd >&2; exit 3", tmp_path)
    assert (done.code, done.errors.split("\n")[:2], done.ended_by) == (3, ["first", str(tmp_path.resolve())], "")
    assert shell("exit 0", tmp_path) == Done(0, "")
    # It reads nothing, and has no descriptor but the first three.
    assert shell("read line; echo $?$line >&2", tmp_path).errors.strip() == "1"
    assert shell("for n in 3 4 5 6 7 8 9; do (: >&$n) 2>/dev/null && echo $n >&2; done; :", tmp_path) == Done(0, "")


@pytest.mark.usefixtures("way")
def test_it_has_no_file_but_those_that_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "secret").write_text("hidden words")
    given = {str(tmp_path / "given"): READ | WRITE}
    done = shell("echo made > given/file; read line < secret; echo $line >&2", tmp_path, given)
    assert "hidden" not in done.errors
    assert (tmp_path / "given" / "file").read_text() == "made\n"
    assert shell("echo $HOME$PATH$LANG$USER >&2", tmp_path).errors.strip() in ("", "/usr/bin:/bin")


@pytest.mark.usefixtures("way")
def test_what_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shell("while :; do :; done", tmp_path, cpu_seconds=1) == Done(None, "", "time")
    monkeypatch.setattr(zig, "WALL_SECONDS", 0.2)
    assert shell("exec 3<>/dev/null; while read line; do :; done; kill -STOP $$", tmp_path) == Done(None, "", "hang")


@pytest.mark.usefixtures("way")
def test_what_crashes_is_told_from_what_took_too_long(tmp_path: Path) -> None:
    assert shell("kill -SEGV $$", tmp_path) == Done(None, "")


def test_a_long_list_of_errors_is_kept(tmp_path: Path, way: str) -> None:
    lines = "for a in 1 2 3 4 5 6 7 8 9 0; do for b in 1 2 3 4 5 6 7 8 9 0; do for c in 1 2 3 4 5 6 7 8 9 0; do "
    done = shell(f"{lines} echo a line of some length, and another number $a$b$c >&2; done; done; done", tmp_path)
    assert (done.code, done.errors.strip().count("\n")) == (0, 999), way
