"""`grade check` and `grade watch`, as an editor runs them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from grader import i18n
from grader.cli import editors as watching
from grader.cli import main as cli
from tests.marks_only import put_marks_only
from tests.pace import slowness

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "submissions"
PETROVA = "✗ needs work: 76 of 91 points, 5 pending"


def vscode_tasks() -> list[dict[str, Any]]:
    """Of docs/vscode/tasks.json, which has a comment on top as VS Code allows."""
    lines = (ROOT / "docs" / "vscode" / "tasks.json").read_text("utf-8").splitlines()
    return list(json.loads("\n".join(line for line in lines if not line.strip().startswith("//")))["tasks"])


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_check_prints_findings_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path, with_repairs=True)
    shutil.copy(SAMPLES / "petrova" / "transpose.cu", tmp_path / "prog.cu")
    code, out, err = run(capsys, "check", "prog.cu", "--lab", "transpose")
    assert (code, err) == (1, f"prog.cu: {PETROVA}\n")
    assert out.startswith("prog.cu:44:5: error: 32-way bank conflict")
    assert {path.name for path in tmp_path.iterdir()} == {"assignments", "prog.cu"}
    # The Problems panel of VS Code shows every line, hints too.
    for task in vscode_tasks():
        rule = task["problemMatcher"]["pattern"]
        matched = [re.match(rule["regexp"], line) for line in out.splitlines()]
        assert all(matched)
        (fault, hint, *_more) = [found.groups() for found in matched if found]
        place = ("prog.cu", "44", "5")
        assert (*fault[:4], fault[rule["code"] - 1]) == (*place, "error", "bank_conflicts")
        assert (*hint[:4], hint[rule["code"] - 1]) == (*place, "note", None)
        assert hint[rule["message"] - 1].startswith("The row length of the shared array declared in line 34 ")
    code, out, _err = run(capsys, "check", SAMPLES / "ivanov", "--lab", "transpose", "--format", "json")
    assert code == 0
    assert [finding for finding in json.loads(out)["findings"] if finding["level"] != "note"] == []


def test_check_says_what_mends_a_race(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = SAMPLES.parent / "tests/kernels/transpose/bad/missing_barrier.cu"
    code, out, _err = run(capsys, "check", str(kernel), "--lab", "transpose", "--lang", "en")
    assert code == 1
    assert "missing_barrier.cu:11:9: note: A barrier is missing after line 7." in out
    assert "__syncthreads();" not in out


def test_watch_says_nothing_that_a_search_may_overrule_or_the_lab_withholds(capsys: pytest.CaptureFixture[str]) -> None:
    """A tile 16 wide: the block is not what mends it.  How to pad one is for the teacher to tell."""
    from grader.grading.options import GradeOptions, Warm

    i18n.use("en")
    options = GradeOptions(lab="transpose", backend="emulator", language="en", sweeps=False, repairs=False)
    for student in ("volkova", "petrova"):
        with Warm() as warm:
            watching._grade(SAMPLES / student / "transpose.cu", options, warm)
        told = capsys.readouterr().out
        assert "which serves one word at a time." in told
        assert "+ 1]" not in told and "32 threads wide" not in told


def test_check_tells_a_stored_result_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    run(capsys, SAMPLES / "petrova", "--lab", "transpose", "--no-pdf")
    code, out, _err = run(capsys, "check", "reports", "--source", SAMPLES / "petrova", "--lang", "ru")
    assert code == 1
    assert out.startswith(f"{SAMPLES}/petrova/transpose.cu:44:5: error: Конфликт банков 32-го порядка")


def test_check_says_what_it_cannot_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", SAMPLES, "--lab", "transpose")[::2] == (
        2,
        f"grade: {SAMPLES}: a folder of several students; name one student's folder or file\n",
    )
    assert "which lab is this?" in run(capsys, "check", SAMPLES / "ivanov")[2]
    many = run(capsys, "check", SAMPLES / "ivanov", SAMPLES / "petrova", "--lab", "transpose", "--format", "sarif")
    assert (many[0], many[2].startswith("grade: Several PATHs")) == (2, True)
    assert run(capsys, "check", tmp_path, "--source", tmp_path)[0] == 2
    assert run(capsys, "watch", tmp_path / "none.cu", "--lab", "transpose")[0] == 2
    # What is not there is told before what it might be.
    for command in ("watch", "check"):
        assert run(capsys, command, "none.cu")[::2] == (2, "grade: none.cu: no such file or folder\n")


def test_folders_within_a_submission_make_no_group_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A zip of a folder, a repository: one student's, whatever the folders in it are called."""
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    tmp_path = tmp_path / "handed in"
    tmp_path.mkdir()
    (tmp_path / "my work").mkdir()
    shutil.copy(SAMPLES / "petrova" / "transpose.cu", tmp_path / "my work" / "transpose.cu")
    for name in ("__MACOSX", "pictures", ".git"):
        (tmp_path / name).mkdir()
    code, out, err = run(capsys, "check", tmp_path, "--lab", "transpose")
    assert (code, err) == (1, f"{tmp_path}: {PETROVA}\n")
    assert out.startswith(f"{tmp_path}/my work/transpose.cu:44:5: error: 32-way bank conflict")
    code, out, _err = run(capsys, "check", tmp_path, "--lab", "transpose", "--format", "github")
    assert out.startswith("::error file=my work/transpose.cu,line=44,")
    (tmp_path / "my work" / "transpose.cu").unlink()
    assert run(capsys, "check", tmp_path, "--lab", "transpose")[::2] == (
        2,
        f"grade: {tmp_path}: no .cu file; looked for transpose.cu and transpose/*.cu; "
        "there lies: .git/, __MACOSX/, my work/, pictures/\n",
    )


def test_a_service_has_one_student_s_work_graded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    (tmp_path / "repository" / "my work").mkdir(parents=True)
    (tmp_path / "repository" / "pictures").mkdir()
    shutil.copy(SAMPLES / "petrova" / "transpose.cu", tmp_path / "repository" / "my work" / "transpose.cu")
    command = ["repository", "--lab", "transpose", "--no-pdf", "--backend", "emulator"]
    assert run(capsys, *command, "--single")[0] == 1
    found = [path.relative_to(tmp_path).as_posix() for path in tmp_path.glob("reports/*/*/result.json")]
    assert found == ["reports/repository/transpose/result.json"]
    assert not list(tmp_path.glob("reports/*.csv"))


def test_a_file_that_is_named_after_a_lab_needs_no_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pre-commit calls it: the files that changed, nothing else."""
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    shutil.copytree(SAMPLES / "petrova", tmp_path / "petrova")
    code, out, err = run(capsys, "check", SAMPLES / "ivanov" / "transpose.cu", tmp_path / "petrova" / "transpose.cu")
    ivanov = "✓ passed: 95 of 100 points, 5 pending"
    assert (code, err) == (1, f"{SAMPLES}/ivanov/transpose.cu: {ivanov}\n{tmp_path}/petrova/transpose.cu: {PETROVA}\n")
    assert out.startswith(f"{tmp_path}/petrova/transpose.cu:44:5: error: ")
    code, out, err = run(capsys, "check", tmp_path / "petrova")
    assert (code, err) == (1, f"{tmp_path}/petrova: {PETROVA}\n")
    # A file that is no lab's is told, and the others are looked at all the same.
    (tmp_path / "util.cu").write_text("int unused;\n", "utf-8")
    code, out, err = run(capsys, "check", tmp_path / "util.cu", tmp_path / "petrova" / "transpose.cu")
    assert (code, err.count("\n")) == (2, 2)
    assert err.startswith(f"grade: {tmp_path}/util.cu: which lab is this?")
    assert out.startswith(f"{tmp_path}/petrova/transpose.cu:44:5: error: ")


def tree_cpu_s(pid: int) -> float:
    """Processor time of a process and of all that it started, those that have ended included."""
    used = 0.0
    todo = [pid]
    while todo:
        folder = Path("/proc") / str(todo.pop())
        with contextlib.suppress(OSError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            used += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            todo += [int(child) for thread in (folder / "task").iterdir() for child in _children(thread)]
    return used


def _children(thread: Path) -> list[str]:
    return (thread / "children").read_text().split()


class Watch:
    """A running `grade watch`."""

    def __init__(self, path: Path) -> None:
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
        command = [sys.executable, "-m", "grader", "watch", str(path), "--lab", "transpose"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=path.parent,
            start_new_session=True,
        )

    def round(self, within_s: float = 600.0) -> list[str]:
        """The lines of the next round, the one that begins with ■ last."""
        assert self.process.stdout is not None
        lines: list[str] = []
        text = b""
        deadline = time.monotonic() + within_s
        while not (lines and lines[-1].startswith("■")):
            ready, _w, _x = select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))
            assert ready, f"nothing came; so far: {text!r}"
            text += os.read(self.process.stdout.fileno(), 65536)
            lines = text.decode().splitlines() if text.endswith(b"\n") else lines
        return lines


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[tuple[Watch, Path]]:
    file = tmp_path / "transpose.cu"
    shutil.copy(SAMPLES / "petrova" / "transpose.cu", file)
    watch = Watch(file)
    yield watch, file
    watch.process.kill()
    watch.process.wait()
    for stream in (watch.process.stdout, watch.process.stderr):
        if stream is not None:
            stream.close()


def test_a_save_in_pieces_is_taken_when_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an editor saves: emptied, then written bit by bit; what lies there meanwhile is not what was saved."""
    file = tmp_path / "transpose.cu"
    file.write_text("before", "utf-8")
    left = ["", "what is", "what is saved", "what is saved in the end"]

    def written_meanwhile(_seconds: float) -> None:
        if left:
            file.write_text(left.pop(0), "utf-8")

    monkeypatch.setattr("grader.cli.editors.time.sleep", written_meanwhile)
    saves = watching._saves(file)
    assert [next(saves), next(saves)] == [{file: b"before"}, {file: b"what is saved in the end"}]


def test_a_file_that_is_emptied_is_waited_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may let an editor wait between the two; what stays empty was saved so."""
    file = tmp_path / "transpose.cu"
    file.write_text("before", "utf-8")
    left: list[str | None] = ["", *[None] * 9, "what is saved", "what is saved", *[None] * 9, ""]

    def written_meanwhile(_seconds: float) -> None:
        if left and (text := left.pop(0)) is not None:
            file.write_text(text, "utf-8")

    monkeypatch.setattr("grader.cli.editors.time.sleep", written_meanwhile)
    saves = watching._saves(file)
    found = [next(saves) for _save in range(3)]
    assert found == [{file: b"before"}, {file: b"what is saved"}, {file: b""}]
    # Taken away and made anew, as other editors save.
    file.unlink()
    assert next(saves) == {}
    left += [None, "", *[None] * 9, "what came back"]
    assert next(saves) == {file: b"what came back"}


Step = Callable[[], object]


@pytest.fixture
def between_looks(monkeypatch: pytest.MonkeyPatch) -> list[Step | None]:
    """What happens between two looks at the files, in turn."""
    left: list[Step | None] = []

    def step(_seconds: float) -> None:
        if left and (one := left.pop(0)) is not None:
            one()

    monkeypatch.setattr("grader.cli.editors.time.sleep", step)
    return left


def test_every_editors_way_to_save_is_one_save(tmp_path: Path, between_looks: list[Step | None]) -> None:
    """The old file renamed first and the new one late, with a backup and a lock beside it; in place; over a link."""
    file = tmp_path / "transpose.cu"
    file.write_text("0", "utf-8")
    saves = watching._saves(file)
    assert next(saves) == {file: b"0"}
    # Vim with a backup, Emacs with its lock, JetBrains with its two names.
    for number, (old, new) in enumerate([("~", "4913"), (".bak", ".tmp"), ("___jb_old___", "___jb_tmp___")], start=1):
        (tmp_path / ".#transpose.cu").symlink_to("somebody@host.1234")
        backup, fresh = tmp_path / f"transpose.cu{old}", tmp_path / f"transpose.cu{new}"
        between_looks += [partial(file.rename, backup), *[None] * 9]
        between_looks += [partial(fresh.write_text, str(number), "utf-8"), partial(fresh.rename, file)]
        assert next(saves) == {file: str(number).encode()}
        (tmp_path / ".#transpose.cu").unlink()
    # Another file of the same size and the same time, put in its place.
    other = tmp_path / "other"
    other.write_text("9", "utf-8")
    told = file.stat()
    os.utime(other, ns=(told.st_atime_ns, told.st_mtime_ns))
    other.rename(file)
    assert next(saves) == {file: b"9"}
    # A link's target.
    target = tmp_path / "elsewhere" / "mine.cu"
    target.parent.mkdir()
    file.rename(target)
    file.symlink_to(target)
    between_looks += [None, lambda: target.write_text("in place", "utf-8")]
    assert next(saves) == {file: b"in place"}


def test_a_folder_made_anew_is_watched_as_before(tmp_path: Path, between_looks: list[Step | None]) -> None:
    folder = tmp_path / "ivanov"
    folder.mkdir()
    first, second = folder / "naive.cu", folder / "shared.cu"
    first.write_text("1", "utf-8")
    second.write_text("1", "utf-8")
    saves = watching._saves(folder)
    assert next(saves) == {first: b"1", second: b"1"}
    shutil.rmtree(folder)
    assert next(saves) == {}
    between_looks += [folder.mkdir, lambda: first.write_text("2", "utf-8"), lambda: second.write_text("2", "utf-8")]
    assert next(saves) == {first: b"2", second: b"2"}


def test_what_a_file_includes_is_watched_wherever_it_lies(tmp_path: Path, between_looks: list[Step | None]) -> None:
    file, near, far = tmp_path / "transpose.cu", tmp_path / "common" / "tile.inl", tmp_path / "common" / "a" / "size.h"
    far.parent.mkdir(parents=True)
    file.write_text('#include "tile.inl"\n  #  include "missing.h"\n', "utf-8")
    near.write_text('#include "a/size.h"\n', "utf-8")
    far.write_text("1", "utf-8")
    saves = watching._saves(file)
    first = next(saves)
    assert first == {file: file.read_bytes(), near: near.read_bytes(), far: b"1"}
    between_looks += [None, lambda: far.write_text("2", "utf-8")]
    assert next(saves) == {**first, far: b"2"}
    # One that was missing comes; one that is not included any more is nobody's business.
    missing = tmp_path / "missing.h"
    between_looks += [None, lambda: missing.write_text("", "utf-8")]
    assert missing in next(saves)
    between_looks += [None, lambda: file.write_text("none", "utf-8")]
    assert next(saves) == {file: b"none", missing: b""}
    between_looks += [None, lambda: far.write_text("3", "utf-8"), *[None] * 9, lambda: missing.write_text("4", "utf-8")]
    assert next(saves) == {file: b"none", missing: b"4"}


@pytest.mark.slow
def test_watch_grades_again_soon_after_a_save(watched: tuple[Watch, Path]) -> None:
    watch, file = watched
    first = watch.round()
    rounds = vscode_tasks()[1]["problemMatcher"]["background"]
    assert re.match(rounds["beginsPattern"], first[0])
    assert re.match(rounds["endsPattern"], first[-1])
    assert "transpose.cu:44:5: error: 32-way bank conflict" in first[1]
    text = file.read_text("utf-8")
    took = []
    used = []
    for number in range(5):
        # Mended and broken in turn, moved down by a line each time.
        text = "// a line more\n" + text
        mended = number % 2 == 0
        saved = text.replace("float buf[BLOCK][BLOCK];", "float buf[BLOCK][BLOCK + 1];") if mended else text
        began, used_before = time.monotonic(), tree_cpu_s(watch.process.pid)
        file.write_text(saved, "utf-8")
        lines = watch.round()
        took.append(time.monotonic() - began)
        used.append(tree_cpu_s(watch.process.pid) - used_before)
        expected = f"transpose.cu:{45 + number}:5: error: 32-way bank conflict"
        assert any(expected in line for line in lines) != mended, lines
    # Of processor time: others may be using the machine.  A line more moves the host code, so the program is run again.
    # Half of it is usual.
    assert min(used) < 1.5 * slowness(), (used, took)
    used = []
    for pad in (3, 5, 7):
        used_before = tree_cpu_s(watch.process.pid)
        file.write_text(saved := re.sub(r"buf\[BLOCK\]\[BLOCK \+ \d\]", f"buf[BLOCK][BLOCK + {pad}]", saved), "utf-8")
        assert watch.round()[-1].startswith("■ ✓ ")
        used.append(tree_cpu_s(watch.process.pid) - used_before)
    assert min(used) < 1.2 * slowness(), used
    # The same content saved again is nothing new.
    file.write_text(saved, "utf-8")
    assert watch.process.stdout is not None
    ready, _w, _x = select.select([watch.process.stdout], [], [], 1.0)
    assert not ready
    # A file that goes and comes back is graded again.
    file.unlink()
    assert watch.round()[-1].startswith("■ ! ")
    file.write_text(text, "utf-8")
    assert "32-way bank conflict" in "".join(watch.round())
    watch.process.send_signal(signal.SIGINT)
    assert watch.process.wait(300) == 130
    # It left no results, so none are spoken of.
    assert watch.process.stderr is not None
    assert watch.process.stderr.read() == b"grade: interrupted\n"
