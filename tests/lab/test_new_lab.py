"""`grade new-lab`: the skeleton is a sound lab; wrong names and folders that are taken are refused."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from grader import files
from grader.cli import main as cli
from grader.errors import UsageError
from grader.grading import selftest
from grader.grading.options import GradeOptions
from grader.grading.selftest import SpecimenOutcome, examine, specimens
from grader.grading.workers import GradeTask, grade_here
from grader.lab import labs
from grader.lab.expected import Oracle
from grader.lab.file import load


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_skeleton_is_a_lab_of_its_name(here: Path) -> None:
    folder = labs.create("row-sums", Path("assignments"))
    lab = load(folder)
    assert (lab.id, lab.title) == ("row-sums", {"en": "Row sums", "ru": "Row sums"})
    assert sum(check.points for variant in lab.variants for check in variant.checks) == 100
    assert labs.find("row-sums").path == folder / "lab.yaml"
    texts = {path.name: path.read_text("utf-8") for path in folder.rglob("*") if path.is_file()}
    left = [name for name, text in texts.items() if "@NAME@" in text or "@TITLE@" in text]
    assert left == [] and sorted(path.name for path in here.iterdir()) == ["assignments"]
    assert [path.name for path in Path("assignments").iterdir()] == ["row-sums"]


def test_its_kernels_get_their_verdicts() -> None:
    lab = load(labs.create("sums", Path("assignments")))
    findings = examine(specimens(lab), backend="emulator", jobs=1)
    assert [(f.specimen.name, f.problems) for f in findings] == [
        ("good/grid_stride.cu", ()),
        ("bad/missing_guard.cu", ()),
    ]


SIGNATURES = {
    "void solve(float a, const float *x, float *y, int n)": {
        "a": ("scalar", "float32", ()),
        "x": ("input", "float32", ("n",)),
        "y": ("output", "float32", ("n",)),
        "n": ("size", "int32", ()),
    },
    'extern "C" void mix(int ny, int nx, const unsigned char *data, const int *i, long long *result);': {
        "ny": ("size", "int32", ()),
        "nx": ("size", "int32", ()),
        "data": ("input", "uint8", ("ny", "nx")),
        "i": ("input", "int32", ("ny", "nx")),
        "result": ("output", "int64", ("ny", "nx")),
    },
    "void sort(float *keys, size_t key_count, int descending)": {
        "keys": ("in_out", "float32", ("key_count",)),
        "key_count": ("size", "uint64", ()),
        "descending": ("scalar", "int32", ()),
    },
    "void all(const double *p, double *q, double *r, unsigned x)": {
        "p": ("input", "float64", ("x",)),
        "q": ("output", "float64", ("x",)),
        "r": ("output", "float64", ("x",)),
        "x": ("size", "uint32", ()),
    },
}


SAXPY, _MIX, SORT, _ALL = SIGNATURES


@pytest.mark.parametrize("signature", SIGNATURES)
@pytest.mark.parametrize("memory", ["device", "host"])
def test_a_function_s_skeleton_says_of_its_signature_what_can_be_told(signature: str, memory: str) -> None:
    folder = labs.create("mine", Path("assignments"), signature=signature, memory=memory)
    lab = load(folder)
    assert lab.function is not None and lab.function.memory == memory
    assert {p.name: (p.kind.name, p.dtype, p.shape) for p in lab.parameters} == SIGNATURES[signature]
    oracle = Oracle(lab)
    for sizes in (*lab.cases["emulator"].correct, *lab.cases["emulator"].ragged):
        oracle.case(sizes, {p.name: p.dtype for p in lab.parameters if p.is_array})
    texts = [path.read_text("utf-8") for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert not [text for text in texts if re.search("@[A-Z]+@", text)]


@pytest.mark.parametrize(("signature", "memory"), [(SAXPY, "device"), (SORT, "host")], ids=["device", "host"])
def test_a_function_s_skeleton_grades_its_own(signature: str, memory: str) -> None:
    folder = labs.create("mine", Path("assignments"), signature=signature, memory=memory)
    findings = examine(specimens(load(folder)), backend="emulator", jobs=1)
    assert [(f.specimen.name, f.problems) for f in findings] == [
        ("good/grid_stride.cu", ()),
        ("bad/missing_guard.cu", ()),
    ]
    found = {}
    for name in ("starter.cu", "reference/solution.cu"):
        options = GradeOptions(lab="mine", backend="emulator", repairs=False)
        result = grade_here(GradeTask(path=bytes(folder / name), options=options))
        found[name] = {check.check for check in result.checks if check.status == "fail"}
    assert found == {"starter.cu": {"launch", "correct"}, "reference/solution.cu": set()}


def test_selftest_says_when_an_array_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As all kernels are judged that do not use the array either.
    monkeypatch.setattr(selftest, "examine", lambda found, *_: [SpecimenOutcome(one, ()) for one in found])
    folder = labs.create("mine", Path("assignments"), signature=SAXPY)
    (lab := folder / "lab.yaml").write_text(lab.read_text().replace("y: {kind: output,", "y: {kind: in_out,"))
    oracle = folder / "reference/oracle.py"
    drawn = oracle.read_text().replace('"x": rng.random(shape)', '"x": rng.random(shape), "y": rng.random(shape)')
    oracle.write_text(drawn)
    command = ["selftest", "mine", "--backend", "emulator", "--lang", "en"]
    assert cli.run(command) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "3 of 3 kernels got the expected verdict" in said
    assert "oracle.py:" in said and "`expected` gives the same whatever stands in `y` (in_out)" in said
    oracle.write_text(drawn.replace('"y": result', '"y": result + inputs["y"]'))
    assert Oracle(load(folder)).without_effect() is None
    # Nothing is said of an array that is drawn alike each time.
    oracle.write_text(drawn.replace('"y": rng.random(shape)', '"y": np.zeros(shape)'))
    assert Oracle(load(folder)).without_effect() is None


@pytest.mark.parametrize(
    "signature",
    [
        "solve",
        "int solve(const float *x, float *y, int n)",
        "void solve(const float *x, int n)",
        "void solve(const float *x, float *y)",
        "void solve(const float *x, float *y, float n)",
        "void solve(const float **x, float *y, int n)",
        "void solve(const float *x, pixel *y, int n)",
        "void solve(const float *x, float *x, int n)",
        "void solve(const float *, float *, int)",
    ],
)
def test_signatures_that_make_no_lab(here: Path, signature: str) -> None:
    with pytest.raises(UsageError, match=r"no lab can be made of this signature .* allowed: a void function"):
        labs.create("mine", Path("assignments"), signature=signature)
    assert list(here.iterdir()) == []


def test_options_of_a_function(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["new-lab", "plain", "--interface", "function", "--lang", "en"]) == 0
    capsys.readouterr()
    plain = load(here / "assignments/plain").function
    assert plain is not None and plain.signature.spelled == "void solve(const float *in, float *out, int n)"
    assert cli.run(["new-lab", "other", "--interface", "kernel", "--memory", "host", "--lang", "en"]) == 2
    assert capsys.readouterr().err == "grade: --memory is for --interface function only\n"
    assert cli.run(["new-lab", "other", "--signature", "void f()", "--lang", "en"]) == 2
    assert "got 'void f()'" in capsys.readouterr().err


def test_its_starter_is_told_to_be_empty() -> None:
    folder = labs.create("sums", Path("assignments"))
    task = GradeTask(path=bytes(folder / "starter.cu"), options=GradeOptions(lab="sums", backend="emulator"))
    result = grade_here(task)
    failed = [check for check in result.checks if check.status == "fail"]
    assert [check.id for check in failed] == ["plain.present"] and result.score.earned == 0


@pytest.mark.parametrize(
    "name", ["", "Sums", "row_sums", "-sums", "sums-", "a--b", "../sums", "a/b", "сумма", "1st", "a" * 41, "a b", "."]
)
def test_names_that_are_none(here: Path, name: str) -> None:
    with pytest.raises(UsageError, match="lower-case letters and digits"):
        labs.create(name, Path("assignments"))
    assert list(here.iterdir()) == []


def test_a_folder_that_is_there_stays_as_it_is(here: Path) -> None:
    (here / "assignments/sums").mkdir(parents=True)
    with pytest.raises(UsageError, match="assignments/sums"):
        labs.create("sums", Path("assignments"))
    assert list((here / "assignments/sums").iterdir()) == []


def test_a_shipped_lab_s_name_is_taken() -> None:
    with pytest.raises(UsageError, match="a lab or a folder of that name"):
        labs.create("transpose", Path("assignments"))


def test_a_folder_that_cannot_be_written(here: Path) -> None:
    (here / "file").write_text("")
    with pytest.raises(UsageError, match="file"):
        labs.create("sums", Path("file"))


def test_the_command_says_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["new-lab", "row-sums", "--lang", "en"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "The lab is in assignments/row-sums; it is ready to be graded:",
        "  grade selftest row-sums",
        "  grade assignments/row-sums/kernels/good/grid_stride.cu --lab row-sums",
    ]
    assert cli.run(["new-lab", "sums", "--into", "other labs", "--lang", "en"]) == 0
    assert "  grade selftest sums --labs 'other labs'" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["new-lab"], ["new-lab", "A"], ["new-lab", "matmul"], ["new-lab", "a", "b"]])
def test_wrong_commands_are_one_line_and_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([*arguments, "--lang", "en"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and len(captured.err.splitlines()) == 1
    assert captured.err.startswith("grade: ")


def test_a_missing_name_is_called_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(["new-lab", "--lang", "en"])
    assert capsys.readouterr().err == "grade: NAME is missing; see grade new-lab --help\n"


@pytest.mark.parametrize("stray", ["reference/__pycache__/oracle.cpython-311.pyc", "kernels/good/.x.cu.swp", "a.bin"])
def test_what_an_installation_leaves_in_the_skeleton_does_no_harm(
    here: Path, monkeypatch: pytest.MonkeyPatch, stray: str
) -> None:
    root = here / "root"
    shutil.copytree(files.data_root() / "templates", root / "templates")
    shutil.copytree(files.data_root() / "assignments", root / "assignments")
    file = root / "templates" / "new_lab" / stray
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"\xa7\r\r\n\x00@NAME@\xff")
    monkeypatch.setattr(labs, "data_root", lambda: root)
    folder = labs.create("sums", Path("labs"))
    assert load(folder).id == "sums"
    kept = [path.name for path in folder.rglob("*") if path.name == file.name]
    assert kept == (["a.bin"] if stray == "a.bin" else [])
