"""The self-test: its table of verdicts, what it calls wrong, and that every kernel of every lab gets its verdict."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.cli import main as cli
from grader.errors import FileError
from grader.grading.selftest import KINDS, NOT_OF_THE_KERNEL, Specimen, examine, problems, specimens
from grader.grading.workers import Failed, Graded, Outcome, Refused
from grader.lab import labs
from grader.lab.records import Lab
from grader.message import verbatim
from grader.result import Check, Environment, Result, Score, Student, Variant
from grader.words import text
from tests.every_lab import EVERY_LAB
from tests.grading.function_labs import AMONG_THE_QUICK

SPECIMEN = Specimen("transpose", "bad/x.cu", Path("x.cu"), frozenset({"shared"}), {"shared.races": 11})


def lab_with(tmp_path: Path, table: str, files: tuple[str, ...] = ("good/a.cu", "bad/b.cu")) -> Lab:
    for kind in KINDS:
        (tmp_path / kind).mkdir()
    for file in files:
        (tmp_path / file).write_text("__global__ void naive(const float *in, float *out, int n) {}\n")
    if table:
        (tmp_path / "verdicts.yaml").write_text(table)
    return replace(labs.find("transpose"), selftest=tmp_path)


GOOD = "good/a.cu: {variants: [naive]}\n"
BAD = "bad/b.cu: {variants: [naive], fails: {naive.correct: 7}}\n"


def test_the_table_is_read(tmp_path: Path) -> None:
    good, bad = specimens(lab_with(tmp_path, GOOD + BAD))
    assert (good.name, set(good.variants), dict(good.fails)) == ("good/a.cu", {"naive"}, {})
    assert (bad.name, bad.file, bad.fails) == ("bad/b.cu", tmp_path / "bad/b.cu", {"naive.correct": 7})


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (GOOD, "bad/b.cu is in the folder, but has no verdict here: `grade selftest transpose --record` writes"),
        ("", "no kernel has a verdict yet: `grade selftest transpose --record` grades them"),
        (GOOD + BAD + "bad/c.cu: {variants: [naive], fails: {naive.correct: 1}}\n", "no such kernel"),
        (GOOD + BAD.replace("[naive]", "[naiv]"), "unknown variant 'naiv'; did you mean `naive`?"),
        (GOOD + BAD.replace("naive.correct", "naive.races_"), "unknown check 'naive.races_'"),
        (GOOD + BAD.replace("naive.correct", "shared.correct"), "unknown check 'shared.correct'"),
        (GOOD + "bad/b.cu: {variants: [naive]}\n", "a bad kernel fails something, a good one nothing"),
        (GOOD.replace("]}", "], fails: {naive.correct: 1}}") + BAD, "a bad kernel fails something"),
        (GOOD + BAD.replace("fails", "failures"), "failures"),
    ],
)
def test_a_table_that_is_wrong_is_refused(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(FileError, match=r"verdicts\.yaml") as caught:
        specimens(lab_with(tmp_path, table))
    assert message in str(caught.value)


def test_a_folder_that_is_not_there_is_named_with_its_line(tmp_path: Path) -> None:
    lab = labs.find("transpose")
    with pytest.raises(FileError, match=r"lab\.yaml:\d+: selftest: no such folder: .*gone"):
        specimens(replace(lab, selftest=tmp_path / "gone"))


def graded(checks: list[Check], bound: tuple[str, ...] = ("shared",)) -> Graded:
    names = ("naive", "shared", "padded")
    return Graded(
        result=Result(
            student=Student(id="x", name="", group=""),
            lab="transpose",
            status="failed",
            score=Score(earned=0, possible=0, pending=0),
            environment=Environment(backend="emulator", grader="0", seed=1),
            variants={name: Variant(kernel="k" if name in bound else None) for name in names},
            checks=checks,
        )
    )


def check(name: str, status: str, line: int | None = None) -> Check:
    return Check(
        id=name,
        variant=name.partition(".")[0],
        check=name.partition(".")[2],
        status=status,  # type: ignore[arg-type]
        earned=0,
        possible=1,
        message="said so",
        line=line,
    )


RACE = check("shared.races", "fail", 11)


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (graded([RACE, check("shared.correct", "pass"), check("naive.present", "fail")]), []),
        (graded([RACE, check("shared.speedup", "fail")]), []),
        (graded([check("shared.races", "pass")]), ["shared.races does not fail"]),
        (graded([check("shared.races", "skip")]), ["shared.races does not fail"]),
        (graded([check("shared.races", "fail", 12)]), ["shared.races fails at line 12 instead of 11"]),
        (graded([RACE, check("shared.correct", "fail", 3)]), ["shared.correct fails: said so"]),
        (graded([RACE, check("shared.correct", "error")]), ["shared.correct: said so"]),
        (graded([RACE], ("shared", "naive")), ["found as naive, shared instead of shared"]),
        (graded([], ()), ["found as nothing instead of shared", "shared.races does not fail"]),
        (Refused(message=verbatim("x.cu: the file is empty")), ["x.cu: the file is empty"]),
        (Failed(details="Traceback\nKeyError: 'n'\n"), ["the grader failed: KeyError: 'n'"]),
    ],
)
def test_what_is_not_the_verdict_is_told(outcome: Outcome, expected: list[str]) -> None:
    assert [text(problem) for problem in problems(SPECIMEN, outcome)] == expected


def test_a_kernel_in_which_nothing_is_found_may_be_a_bad_one(tmp_path: Path) -> None:
    absent = "bad/b.cu: {variants: [], fails: {naive.present: 3}}\n"
    _good, specimen = specimens(lab_with(tmp_path, GOOD + absent))
    others = [check("naive.present", "fail", 3), check("shared.present", "fail")]
    assert problems(specimen, graded(others, ())) == []
    told = [text(problem) for problem in problems(specimen, graded([check("naive.present", "pass")], ("naive",)))]
    assert told == ["found as naive instead of nothing", "naive.present does not fail"]


@pytest.mark.slow
def test_what_a_wrong_function_fails_alone_is_recorded_and_the_lab_s_own_is_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = labs.create("doubled", tmp_path, signature="void twice(const float *x, float *y, int n)", memory="device")
    own = (folder / "reference/solution.cu").read_text()
    for kind in KINDS:
        for file in (folder / "kernels" / kind).glob("*.cu"):
            file.unlink()
    (folder / "kernels/verdicts.yaml").write_text("")
    (folder / "kernels/good/own.cu").write_text(own)
    (folder / "kernels/bad/other_name.cu").write_text(own.replace("void twice(", "void doubled("))
    begin = own.rindex("{") + 1
    copied = "\n    float *at;\n    cudaMalloc(&at, 4 * n);\n    cudaMemcpy(at, x, 4 * n, cudaMemcpyHostToDevice);"
    (folder / "kernels/bad/host_pointers.cu").write_text(own[:begin] + copied + own[begin:].replace("(x,", "(at,"))
    (folder / "reference/solution.cu").write_text(own.replace("y[i] = x[i]", "y[i] = -x[i]"))
    arguments = ["selftest", "doubled", "--record", "--labs", str(tmp_path), "--backend", "emulator", "--lang", "en"]
    assert cli.run(arguments) == 1
    shown = " ".join(capsys.readouterr().out.split())
    line = (own[:begin] + copied).count("\n") + 1
    assert (folder / "kernels/verdicts.yaml").read_text().split("\n")[1:-1] == [
        "good/own.cu: {variants: [function]}",
        f"bad/host_pointers.cu: {{variants: [function], fails: {{function.host_code: {line}}}}}",
        "bad/other_name.cu: {variants: [], fails: {function.present: null}}",
    ]
    assert "3 of 4 kernels" in shown and "reference/solution.cu nothing ✗ function.correct fails: Every" in shown


@pytest.mark.parametrize("lab", EVERY_LAB, ids=lambda lab: lab.id)
def test_every_lab_has_a_dozen_bad_kernels_and_several_good_ones(lab: Lab) -> None:
    found = specimens(lab)
    assert sum(s.name.startswith("bad/") for s in found) >= 12
    assert sum(s.name.startswith("good/") for s in found) >= 5
    graded_by = {check.partition(".")[2] for s in found for check in s.fails}
    worth = {c.check for v in lab.variants for c in v.checks if c.points and c.check not in ("launch", "speedup")}
    # `compiles` and `present` need no kernel of a lab's own to be seen failing.
    assert worth - set(NOT_OF_THE_KERNEL) <= graded_by | {"compiles", "present"}


def test_a_wrong_verdict_is_found_through_the_whole_pipeline() -> None:
    known = {s.name: s for s in specimens(labs.find("transpose"))}
    right, other = known["bad/missing_barrier.cu"], known["bad/copied.cu"]
    findings = examine([right, replace(other, fails={"naive.correct": 6})], backend="emulator")
    told = [[text(problem) for problem in f.problems] for f in findings]
    assert told == [[], ["naive.correct fails at line 7 instead of 6"]]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "transpose"
    source = labs.find("transpose").path.resolve().parent
    folder.mkdir()
    for file in source.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    lab_file = (folder / "lab.yaml").read_text()
    root = source.parent.parent
    lab_file = lab_file.replace("../../reference", str(root / "reference"))
    (folder / "lab.yaml").write_text(lab_file.replace("../../tests/kernels/transpose", str(tmp_path / "kernels")))
    for kind in KINDS:
        (tmp_path / "kernels" / kind).mkdir(parents=True)
    kernel = (root / "tests/kernels/transpose/good/xor_swizzle.cu").read_text()
    (tmp_path / "kernels/good/a.cu").write_text(kernel)
    (tmp_path / "kernels/bad/b.cu").write_text(kernel.replace("__syncthreads();", ""))
    table = "good/a.cu: {variants: [padded]}\nbad/b.cu: {variants: [padded], fails: {padded.races: LINE}}\n"
    arguments = ["selftest", "transpose", "--labs", str(tmp_path), "--backend", "emulator", "--lang", "en"]
    (tmp_path / "kernels/verdicts.yaml").write_text(table.replace("LINE", "13"))
    assert cli.run(arguments) == 0
    assert "2 of 2 kernels" in capsys.readouterr().out
    (tmp_path / "kernels/verdicts.yaml").write_text(table.replace("LINE", "9"))
    assert cli.run(arguments) == 1
    shown = capsys.readouterr().out
    assert "1 of 2 kernel" in shown and "instead of 9" in " ".join(shown.split())
    # A fault of the lab itself is told once, and of no kernel.
    shutil.copytree(root / "reference/transpose", tmp_path / "reference")
    oracle = tmp_path / "reference/oracle.py"
    oracle.write_text(oracle.read_text().replace("return {", "return {'other': 0} or {"))
    text = (folder / "lab.yaml").read_text()
    (folder / "lab.yaml").write_text(text.replace(str(root / "reference/transpose"), str(tmp_path / "reference")))
    assert cli.run(arguments) == 2
    said = capsys.readouterr()
    assert said.err.count("oracle.py") == 1 and "oracle.py" not in said.out


def test_a_lab_without_kernels_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["selftest", "no-such-lab", "--lang", "en"]) == 2
    assert "unknown lab" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("lab", EVERY_LAB, ids=lambda lab: lab.id)
def test_every_kernel_gets_its_verdict(lab: Lab) -> None:
    others = [s for s in specimens(lab) if s.name not in AMONG_THE_QUICK.get(lab.id, ())]
    findings = examine(others, backend="emulator")
    assert {f.specimen.name: f.problems for f in findings if f.problems} == {}
