"""docs/new_lab.md works as it is written: every file that it shows is typed, every command run, in its order."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.lab.file import load
from grader.result import Result, decode

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "new_lab.md"

STEP = re.compile(r"(?:^`(?P<file>[^`\n]+)`:\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """A file to write, or ("" for its name) a line to type."""

    file: str
    text: str


def steps() -> list[Step]:
    found = []
    for match in STEP.finditer(PAGE.read_text("utf-8")):
        if match["kind"] == "sh":
            found += [Step("", line) for line in match["text"].splitlines()]
        else:
            assert match["file"], f"nothing says where this goes: {match['text'][:60]}"
            found.append(Step(match["file"], match["text"]))
    return found


@dataclass
class Followed:
    """What came of following the page."""

    folder: Path
    outputs: list[tuple[str, int, str]]

    def result(self) -> Result:
        return decode((self.folder / "reports/ivanov/row-sums/result.json").read_bytes())


def follow(folder: Path) -> Followed:
    """The page followed in an empty folder.  PDFs are left out: others test those."""
    outputs = []
    for step in steps():
        if step.file:
            (folder / step.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / step.file).write_text(step.text, "utf-8")
            continue
        words = shlex.split(step.text)
        assert words[0] in ("grade", "rm"), f"the page asks for more than the grader: {step.text}"
        if words[0] == "grade":
            words = [sys.executable, "-m", "grader", *words[1:]]
            words += ["--no-pdf", "--backend", "emulator"] if "--lab" in words else []
            words += ["--lang", "en"]
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=1200, check=False)
        outputs.append((step.text, done.returncode, done.stdout + done.stderr))
    return Followed(folder, outputs)


def every_command_succeeds(followed: Followed) -> None:
    assert [(command, code) for command, code, _output in followed.outputs if code] == []
    assert [command for command, _code, _output in followed.outputs if command.startswith("grade")] == [
        "grade new-lab row-sums",
        "grade selftest row-sums",
        "grade selftest row-sums",
        "grade submissions/ivanov --lab row-sums",
        "grade new-lab scan --from solution.cu",
        "grade selftest scan --record",
        "grade new-lab file-sum --from sum.cu",
        "grade selftest file-sum",
    ]


def the_self_tests_tell_good_from_bad(followed: Followed) -> None:
    first, second, _scan, program = [output for command, _code, output in followed.outputs if "selftest" in command]
    assert "2 of 2 kernels got the expected verdict" in first
    assert "4 of 4 kernels got the expected verdict" in second
    assert "3 of 3 kernels got the expected verdict" in program


def nothing_of_the_skeleton_is_left(followed: Followed) -> None:
    lab = followed.folder / "assignments" / "row-sums"
    assert {path.name for path in lab.rglob("*.cu")} == {
        "starter.cu",
        "naive.cu",
        "tree.cu",
        "thread_a_row.cu",
        "shuffles.cu",
        "missing_barrier.cu",
        "neighbours_first.cu",
    }
    assert sorted(v.name for v in load(lab).variants) == ["naive", "tree"]


def a_scan_of_several_launches_is_proposed_and_grades_itself(followed: Followed) -> None:
    (said,) = [output for command, _code, output in followed.outputs if "scan --from" in command]
    assert "np.cumsum" in said and "recorded: good/solution.cu" in said
    (tested,) = [output for command, _code, output in followed.outputs if "--record" in command]
    assert "kernels got the expected verdict" in tested and "✗" not in tested
    lab = load(followed.folder / "assignments" / "scan")
    assert sum(spec.points for variant in lab.variants for spec in variant.checks) == 100


def a_program_is_told_by_running_it(followed: Followed) -> None:
    text = (followed.folder / "assignments/file-sum/lab.yaml").read_text("utf-8")
    assert "arguments: ['{n}', '{in}']" in text
    assert "in: {kind: input, dtype: int32, shape: [n], file: in.bin}" in text
    assert "total: {kind: output, dtype: int32, shape: [1], file: stdout, label: 'numbers:'}" in text


def the_student_gets_the_marks_that_the_page_promises(followed: Followed) -> None:
    result = followed.result()
    assert result.status == "passed"
    assert (result.score.earned, result.score.pending, result.score.possible) == (95.0, 5.0, 100.0)
    assert {name: v.kernel for name, v in result.variants.items()} == {"naive": "sumNaive", "tree": "sumShared"}


def the_report_has_the_graph_that_the_lab_file_declares(followed: Followed) -> None:
    page = (followed.folder / "reports/ivanov/row-sums/report.html").read_text("utf-8")
    assert "Threads per block: global-memory sectors per element" in page
    (sweep,) = followed.result().sweeps
    assert {(p.of, p.x) for p in sweep.points if p.of == "reference" and p.status == "ok"} == {
        ("reference", x) for x in (32, 64, 128, 256, 512, 1024)
    }


def test_the_page_works_as_it_is_written(tmp_path: Path) -> None:
    """One test: what comes of following it takes half a minute to make, and processes that test share nothing."""
    followed = follow(tmp_path)
    every_command_succeeds(followed)
    the_self_tests_tell_good_from_bad(followed)
    nothing_of_the_skeleton_is_left(followed)
    a_scan_of_several_launches_is_proposed_and_grades_itself(followed)
    a_program_is_told_by_running_it(followed)
    the_student_gets_the_marks_that_the_page_promises(followed)
    the_report_has_the_graph_that_the_lab_file_declares(followed)
