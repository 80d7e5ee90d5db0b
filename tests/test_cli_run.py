"""`grade run` on the command line: output, report, JSON, exit codes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli.main import INTERRUPTED, run
from grader.cli.run import split

PROGRAMS = Path(__file__).parent / "programs"


@pytest.fixture(autouse=True)
def nothing_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", None)


def test_words_after_two_dashes_are_the_programs() -> None:
    assert split(["a.cu", "--json", "--", "-n", "--", "5"]) == (["a.cu", "--json"], ["-n", "--", "5"])
    assert split(["a.cu"]) == (["a.cu"], [])


def test_a_program_prints_then_the_report_follows(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    folder = PROGRAMS / "several_files"
    code = run(["run", str(folder / "main.cu"), str(folder / "launch.cu"), "--lang", "en", "--", "100"])
    out = capfdbinary.readouterr().out.decode()
    assert code == 0
    assert out.startswith("0\n625\n2500\n5625\n")
    assert "launch.cu:15  kernel <<<4, 32>>>, 128 bytes of dynamic shared memory" in out
    assert "x = d, n = 100" in out


def test_who_has_read_enough_is_told_nothing_more(tmp_path: Path) -> None:
    printing = 'for (int i = 0; i < 200000; ++i) printf("line %d\\n", i);'
    text = f"#include <cstdio>\n__global__ void k() {{}}\nint main() {{ k<<<1, 1>>>(); {printing} return 0; }}\n"
    (tmp_path / "main.cu").write_text(text, "utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", "run", "main.cu"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROGRAMS.parent.parent)},
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == b"line 0\n"
    process.stdout.close()
    with process.stderr as told:
        assert told.read() == b""
    assert process.wait() == INTERRUPTED
    assert [path.name for path in tmp_path.iterdir()] == ["main.cu"]


def test_json_is_one_record_with_what_is_documented(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(PROGRAMS / "struct_by_value" / "main.cu"), "--json", "--lang", "ru"]) == 7
    record = json.loads(capfd.readouterr().out)
    assert record["exit"] == 7
    assert record["stdout"].startswith("16 8\n")
    launch = record["launches"][0]
    assert (launch["kernel"], launch["grid"], launch["block"]) == ("lab::transpose", [3, 2, 1], [16, 16, 1])
    assert launch["status"] == "ran" and launch["hazards"] == [] and launch["shared_bytes"] == 0
    assert [a["type"] for a in launch["arguments"]] == ["Matrix", "Matrix"]
    kinds = {(f["kind"], f["line"]) for f in record["findings"]}
    assert ("copy_size", 36) in kinds
    assert "Копирование читает" in str(record["findings"])


@pytest.mark.parametrize(
    "words", [["run", "nowhere.cu"], ["run", "README.md"], ["run"], ["run", "a.cu", "--device", "x"]]
)
def test_a_wrong_command_line_is_one_line_and_code_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_files_with_one_name_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        shutil.copy(PROGRAMS / "uses_threads" / "main.cu", tmp_path / name)
    assert run(["run", str(tmp_path / "a" / "main.cu"), str(tmp_path / "b" / "main.cu")]) == 2
    assert "main.cu" in capsys.readouterr().err


def test_a_program_that_cannot_run_says_why_and_fails(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["run", str(PROGRAMS / "uses_threads" / "main.cu"), "--lang", "en"]) == 1
    assert "main.cu:1: The program cannot run here: it uses threads (condition_variable)." in capfd.readouterr().out
