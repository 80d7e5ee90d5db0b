"""A lab's own tests: points for each, and what is told of one that is shown by name only, or not yet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.errors import FileError
from grader.exports.systems import gradescope_results
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab.checks import View
from grader.lab.file import load
from grader.lab.records import Lab
from grader.report.html import document
from grader.report.job import make_job
from grader.result import Result, encode
from tests.grading.function_labs import FUNCTION, KERNEL, SCAN_ORACLE, lab_of

ORACLE = """
import numpy as np
def inputs(sizes, rng):
    return {"in": rng.integers(1, 100, sizes["n"]).astype(np.float32)}
def sevens(sizes, rng):
    return {"in": np.full(sizes["n"], 7, np.float32)}
def expected(inputs, sizes):
    return {"out": 2 * inputs["in"]}
"""
TESTS = """
      few: {points: 5, sizes: {n: 5}}
      sevens: {points: 5, sizes: {n: 512}, inputs: sevens, seed: 3}
      named: {points: 10, sizes: {n: 777}, shown: name, about: {en: The last block counts., ru: Важен последний блок.}}
      secret: {points: 20, sizes: {n: 3001}, shown: after 2999-12-01}
      past: {points: 20, sizes: {n: 1025}, shown: after 2020-12-01 18:00 Europe/Moscow}
"""
KERNEL_TEXT = """__global__ void solve(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = 2 * in[i];
}
"""
DOUBLE = KERNEL_TEXT.replace("solve", "twice") + (
    "void solve(const float *in, float *out, int n) { twice<<<(n + 255) / 256, 256>>>(in, out, n); }\n"
)
CUT_SHORT = DOUBLE.replace("(n + 255) / 256, 256", "n < 256 ? 1 : n / 256, 256")


def lab_with_tests(folder: Path, template: str = FUNCTION, tests: str = TESTS) -> Lab:
    lab = lab_of(folder, {"correct": 100}, ORACLE, template)
    text = lab.path.read_text("utf-8").replace('"correct": 100', '"correct": 40')
    old = "variants: {solve: {" if template is FUNCTION else "    checks: "
    assert text.count(old) == 1
    flow = "{" + ", ".join(line.strip() for line in tests.strip().splitlines()) + "}"
    new = f"variants: {{solve: {{tests: {flow}, " if template is FUNCTION else f"    tests: {flow}\n    checks: "
    lab.path.write_text(text.replace(old, new), "utf-8")
    return load(lab.path.parent)


def graded(folder: Path, lab: Lab, text: str, view: View = "students") -> Result:
    path = folder / "numbers.cu"
    path.write_text(text, "utf-8")
    return pipeline.grade(path, lab, GradeOptions(backend="emulator", repairs=False, view=view))


def statuses(result: Result) -> dict[str, tuple[str, float]]:
    return {c.check: (c.status, c.earned) for c in result.checks if c.check.startswith("tests.")}


def test_each_gives_its_points_and_says_as_much_as_may_be_known(tmp_path: Path) -> None:
    lab = lab_with_tests(tmp_path)
    result = graded(tmp_path, lab, CUT_SHORT)
    assert statuses(result) == {
        "tests.few": ("pass", 5),
        "tests.sevens": ("pass", 5),
        "tests.named": ("fail", 0),
        "tests.secret": ("skip", 0),
        "tests.past": ("fail", 0),
    }
    # What is wrong with the sizes of tests alone costs nothing elsewhere, nor is it told there.
    assert (result.score.earned, result.score.pending, result.status) == (50, 20, "failed")
    told = {c.check: f"{c.message} {c.hint}" for c in result.checks}
    assert "n = 1025" in told["tests.past"] and "1 of 1025" in told["tests.past"]
    assert "The last block counts." in told["tests.named"]
    secret = next(c for c in result.checks if c.check == "tests.secret")
    assert (secret.skip_reason, secret.pending) == ("later", 20)
    assert "2999-12-02" in secret.message


def test_nothing_that_students_read_tells_what_sealed_tests_are_made_of(tmp_path: Path) -> None:
    lab = lab_with_tests(tmp_path)
    result = graded(tmp_path, lab, CUT_SHORT)
    pages = [
        encode(result).decode(),
        str(document(make_job(result, lab, "en"))),
        gradescope_results(result, "en").decode(),
    ]
    for page in pages:
        assert not any(number in page for number in ("777", "3001", "2816", "768")), page


def test_the_teacher_is_told_all(tmp_path: Path) -> None:
    result = graded(tmp_path, lab_with_tests(tmp_path), CUT_SHORT, view="teacher")
    assert statuses(result)["tests.secret"] == ("fail", 0)
    told = {c.check: c.message for c in result.checks}
    assert "n = 3001" in told["tests.secret"] and "n = 777" in told["tests.named"]
    assert graded(tmp_path, lab_with_tests(tmp_path), DOUBLE, view="teacher").score.earned == 100


def test_gradescope_hides_what_is_to_be_seen_later(tmp_path: Path) -> None:
    record = json.loads(gradescope_results(graded(tmp_path, lab_with_tests(tmp_path), CUT_SHORT, "service"), "en"))
    tests = {test["tags"][0]: test for test in record["tests"]}
    assert {name: test["visibility"] for name, test in tests.items() if name.startswith("tests.")} == {
        "tests.few": "visible",
        "tests.sevens": "visible",
        "tests.named": "visible",
        "tests.secret": "hidden",
        "tests.past": "visible",
    }
    assert (tests["tests.secret"]["status"], record["score"]) == ("failed", 50)
    # The verdict above the tests, and the board, count what is shown alone.
    assert "50 of 80" in record["output"] and "777" not in json.dumps(record) and "3001" not in json.dumps(record)
    assert record["leaderboard"][0]["value"] == 50


def test_a_kernel_is_run_at_the_sizes_of_tests_too(tmp_path: Path) -> None:
    lab = lab_with_tests(tmp_path, KERNEL)
    assert graded(tmp_path, lab, KERNEL_TEXT, "teacher").score.earned == 100
    unguarded = graded(tmp_path, lab, KERNEL_TEXT.replace("i < n", "i % 256 < n % 256 || n % 256 == 0"), "teacher")
    assert statuses(unguarded)["tests.past"] == ("fail", 0)
    takes_none = KERNEL_TEXT.replace(", int n", "").replace("    if (i < n)\n    ", "")
    result = graded(tmp_path, lab, takes_none, "teacher")
    assert {c.check: c.skip_reason for c in result.checks if c.check in ("tests.few", "tests.sevens")} == {
        "tests.few": "not_applicable",
        "tests.sevens": "",
    }


@pytest.mark.parametrize(
    ("test", "at", "words"),
    [
        ("few: {points: 60, sizes: {n: 5}, shown: tomorrow}", "tests.few.shown", ["'tomorrow'", "after 2026-12-01"]),
        ("few: {points: 60, sizes: {n: 5}, shown: after 2026-13-01}", "tests.few.shown", ["2026-13-01"]),
        ("few: {points: 60, sizes: {n: 5}, shown: after 2026-12-01 Mars/Sea}", "tests.few.shown", ["Mars/Sea"]),
        ("few: {points: 60, sizes: {m: 5}}", "tests.few.sizes.m", ["'m'", "n"]),
        ("few: {points: 160, sizes: {n: 5}}", "tests.few.points", ["100", "160"]),
        ("few: {points: 60, sizes: {n: 5}, values: {a: 1}}", "tests.few.values.a", ["'a'"]),
        ("few: {points: 60, size: {n: 5}}", "tests.few", ["sizes"]),
        ("Few: {points: 60, sizes: {n: 5}}", "tests.Few", ["lower-case"]),
        ("few: {points: 50, sizes: {n: 5}}", "variants", ["90"]),
    ],
)
def test_what_is_wrong_with_a_test_is_refused_with_its_place(
    tmp_path: Path, test: str, at: str, words: list[str]
) -> None:
    with pytest.raises(FileError) as caught:
        lab_with_tests(tmp_path, tests=test)
    assert at in str(caught.value) and all(word in str(caught.value) for word in words), str(caught.value)


def test_a_repository_of_students_is_not_given_sealed_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = lab_with_tests(tmp_path)
    options = ["--lab", lab.id, "--labs", str(tmp_path), "--out", str(tmp_path / "there")]
    assert cli.run(["autograder", "github", *options]) == 2
    assert "tests.named, tests.secret, tests.past" in capsys.readouterr().err
    assert cli.run(["autograder", "moodle", *options]) == 0


def test_an_oracle_without_a_test_s_function_is_named(tmp_path: Path) -> None:
    lab = lab_with_tests(tmp_path, tests="few: {points: 60, sizes: {n: 5}, inputs: sorted}")
    (lab.path.parent / "oracle.py").write_text(SCAN_ORACLE, "utf-8")
    with pytest.raises(FileError, match="sorted"):
        graded(tmp_path, lab, DOUBLE)
