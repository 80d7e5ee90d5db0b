"""Results of an earlier run that hold still, and the hash by which they are known."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.files import PACKAGE, data_root
from grader.grading.cache import code_below, code_hash
from tests.marks_only import put_marks_only


def hash_of(checkout: Path) -> str:
    """What the grader in `checkout` says of itself."""
    said = subprocess.run(
        [sys.executable, "-c", "from grader.grading import cache; print(cache.code_hash().hex())"],
        env={**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE, tmp_path / "grader", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(data_root() / "templates", tmp_path / "templates")
    return tmp_path


def test_the_same_code_elsewhere_is_the_same_and_changed_anywhere_another(checkout: Path) -> None:
    assert hash_of(checkout) == code_hash().hex() == code_below(checkout / "grader", checkout / "templates").hex()
    hashes = {code_hash()}
    for changed in (
        "grader/__init__.py",
        "grader/checks/memory_accesses.py",
        "grader/exports/pages.py",
        "grader/locale/ru/LC_MESSAGES/grader.mo",
        "grader/programs/toolchain/include/thread",
        "grader/ptx/native/runtime.wat",
        "templates/report.html.j2",
    ):
        with (checkout / changed).open("ab") as file:
            file.write(b"\n")
        before = len(hashes)
        hashes.add(code_below(checkout / "grader", checkout / "templates"))
        assert len(hashes) == before + 1, changed


ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "submissions"
LAB = "transpose"
TABLES = (f"{LAB}.csv", f"{LAB}.json", f"{LAB}.html")


@pytest.fixture
def group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put_marks_only(tmp_path)
    for name in ("ivanov", "petrova"):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / name)
    (tmp_path / "group" / "nobody").mkdir()
    return tmp_path


def grade(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Grade the group; returns who was graded."""
    cli.run(["group", "--lab", LAB, "--backend", "emulator", "--no-pdf", *arguments])
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = [
        line.split()[2].rstrip(":") for line in captured.out.splitlines() if line[:1].isdigit() and "/" in line[:4]
    ]
    return sorted(lines)


def times(folder: Path) -> dict[str, int]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.glob("*/*/*") if p.is_file()}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_only_what_is_new_or_changed_is_graded(group: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports, everybody = group / "reports", ["ivanov", "nobody", "petrova"]
    assert grade(capsys) == everybody
    first = times(reports)
    tables = [(reports / name).read_bytes() for name in TABLES]
    # Who has handed in nothing is asked each time.
    assert grade(capsys) == ["nobody"]
    assert times(reports) == first
    assert [(reports / name).read_bytes() for name in TABLES] == tables
    # A header counts, wherever it lies; another lab's file does not.  A report that is gone is rendered, and no more.
    (group / "group" / "ivanov" / "matmul.cu").write_text("int other;")
    (group / "group" / "petrova" / "common").mkdir()
    (group / "group" / "petrova" / "common" / "tile.h").write_text("#define T 32\n")
    (reports / "ivanov" / LAB / "report.html").unlink()
    assert grade(capsys) == ["nobody", "petrova"]
    second = times(reports)
    changed = {name for name, time_ns in second.items() if first[name] != time_ns and name.startswith("ivanov")}
    assert changed == {f"ivanov/{LAB}/report.html", f"ivanov/{LAB}/.kept.json"}
    assert [(reports / name).read_bytes() for name in TABLES] == tables


@pytest.mark.slow
def test_all_again_when_asked(group: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grade(capsys)
    assert grade(capsys, "--force") == ["ivanov", "nobody", "petrova"]


@pytest.mark.slow
def test_another_secret_or_lab_grades_again(
    group: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.rmtree(group / "group" / "nobody")
    shutil.rmtree(group / "group" / "petrova")
    (group / "assignments").rename(group / "labs")
    lab = group / "labs" / LAB / "lab.yaml"
    assert grade(capsys, "--labs", "labs") == ["ivanov"]
    assert grade(capsys, "--labs", "labs") == []
    lab.write_text(lab.read_text() + "\n# another word\n")
    assert grade(capsys, "--labs", "labs") == ["ivanov"]
    monkeypatch.setenv("CUDA_LAB_GRADER_SECRET", "a secret of the course")
    assert grade(capsys, "--labs", "labs") == ["ivanov"]
    monkeypatch.setenv("CUDA_LAB_GRADER_SECRET", "another secret of the course")
    assert grade(capsys, "--labs", "labs") == ["ivanov"]
    # In another language the same is said, nothing is graded.
    assert grade(capsys, "--labs", "labs", "--lang", "ru") == []
    assert "Студент" in (group / "reports" / f"{LAB}.csv").read_text("utf-8-sig")


@pytest.mark.slow
def test_a_half_written_file_is_noticed(group: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(group / "group" / "petrova")
    grade(capsys)
    whole = contents(group / "reports")
    for name in ("result.json", ".kept.json", "report.html"):
        file = group / "reports" / "ivanov" / LAB / name
        data = file.read_bytes()
        for left in (data[: len(data) // 2], b"", bytes(len(data) - 1)):
            file.write_bytes(left)
            assert grade(capsys) == (["nobody"] if name == "report.html" else ["ivanov", "nobody"])
            assert contents(group / "reports") == whole


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "grader", "group", "--lab", LAB, "--backend", "emulator", "--lang", "en", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@pytest.mark.slow
def test_killed_at_six_moments_and_started_again(tmp_path: Path) -> None:
    put_marks_only(tmp_path)
    for name in ("ivanov", "orlova", "petrova"):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / name)
    (tmp_path / "group" / "nobody").mkdir()
    began = time.monotonic()
    assert start(tmp_path, "--out", "undisturbed", "--no-pdf").wait(2400) == 2
    whole_s = time.monotonic() - began
    chance = random.Random(14)
    for _kill in range(6):
        process = start(tmp_path, "--no-pdf")
        time.sleep(chance.uniform(0.1, 0.5 * whole_s))
        # Every process of the session at once, as a machine that loses its power.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        page = tmp_path / "reports" / f"{LAB}.html"
        if page.exists():
            links = [part.split('"')[0] for part in page.read_text().split('href="')[1:]]
            assert all((tmp_path / "reports" / link.partition("#")[0]).is_file() for link in links)
    assert start(tmp_path, "--no-pdf").wait(2400) == 2
    assert contents(tmp_path / "reports") == contents(tmp_path / "undisturbed")
    graded = times(tmp_path / "reports")
    assert start(tmp_path, "--no-pdf").wait(2400) == 2
    assert times(tmp_path / "reports") == graded


KILLED_WHILE_WRITING = """
import os, pathlib, signal, stat, sys
import openpyxl, grader.grading.group, grader.grading.session
from grader import files
from grader.cli.main import main

really, write = os.fsync, files._write
killed = pathlib.Path("killed")
killed.touch()

def noted(path, data):
    global writing
    writing = f"{path} {path.exists()}\\n"
    write(path, data)

def fsync(descriptor):
    # A write syncs its file, then its folder.
    if stat.S_ISREG(os.fstat(descriptor).st_mode) and writing not in killed.read_text():
        with killed.open("a") as log:
            log.write(writing)
        os.kill(os.getpid(), signal.SIGKILL)
    really(descriptor)

files._write, os.fsync = noted, fsync
places = set()
for _kill in range(50):
    if not (child := os.fork()):
        os._exit(main())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    places |= {path.parent.relative_to("reports") for path in pathlib.Path("reports").rglob("*.partial")}
    if status != -signal.SIGKILL:
        break
print(status, *sorted(map(str, places)), file=sys.stderr)
"""
"""Killed while it writes any file for the first time, and any in the place of another."""


@pytest.mark.slow
def test_killed_in_the_middle_of_a_write(tmp_path: Path) -> None:
    """What is half written has no name yet, and does not stay: not a result, nor a table, nor what only is kept."""
    # Of those who have a change to be made, the one whose change is soonest found.
    put_marks_only(tmp_path, with_repairs=True)
    shutil.copytree(SAMPLES / "sidorov", tmp_path / "group" / "sidorov")
    (tmp_path / "group" / "nobody").mkdir()
    assert start(tmp_path, "--out", "undisturbed", "--no-pdf").wait(2400) == 2
    command = ["group", "--lab", LAB, "--backend", "emulator", "--lang", "en", "--no-pdf"]
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_WHILE_WRITING, *command],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
        text=True,
    )
    status, *left = killed.stderr.splitlines()[-1].split()
    assert int(status) == 2, "it was killed each time"
    assert set(left) >= {".", "transpose.repairs", f"sidorov/{LAB}"}
    assert contents(tmp_path / "reports") == contents(tmp_path / "undisturbed")


@pytest.mark.slow
def test_a_full_disk_costs_nothing(tmp_path: Path) -> None:
    import resource

    put_marks_only(tmp_path)
    for name in ("ivanov", "orlova"):
        shutil.copytree(SAMPLES / name, tmp_path / "group" / name)
    start(tmp_path, "--out", "undisturbed", "--no-pdf").wait(2400)
    files = tmp_path / "undisturbed" / "ivanov" / LAB
    sizes = [(files / name).stat().st_size for name in ("result.json", "report.html")]
    for limit in (1_000, sizes[0] - 1_000, sizes[1] - 1_000):
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "grader",
                "group",
                "--lab",
                LAB,
                "--backend",
                "emulator",
                "--lang",
                "en",
                "--no-pdf",
            ],
            cwd=tmp_path,
            # Python would leave modules cut off that it compiles, in the checkout.
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL,
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (limit, limit)),
        )
        assert process.wait(2400) == 2
    start(tmp_path, "--no-pdf").wait(2400)
    assert contents(tmp_path / "reports") == contents(tmp_path / "undisturbed")
