"""The command line, as a user meets it: the real thing, on the sample submissions."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader import i18n
from grader.cli import main as cli
from grader.grading import pipeline
from grader.lab import labs
from grader.result import decode
from tests.marks_only import put_marks_only

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "submissions"


@pytest.fixture(autouse=True)
def _english(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    i18n.use("en")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def quick(here: Path) -> Path:
    """An empty working folder but for a lab that has no sweeps and no repairs."""
    put_marks_only(here)
    return here


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.run([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def complaint(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """The one line with which a wrong command line is refused."""
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.startswith("grade: ")
    assert err.count("\n") == 1
    return err.removeprefix("grade: ").strip()


def test_a_good_submission_passes(quick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, SAMPLES / "ivanov", "--lab", "transpose", "--no-pdf")
    assert (code, err) == (0, "")
    assert "✓ passed: 95 of 100 points, 5 pending" in out
    assert "Report: reports/ivanov/transpose/report.html" in out
    assert files(quick / "reports") == {"ivanov/transpose/result.json", "ivanov/transpose/report.html"}
    result = decode((quick / "reports/ivanov/transpose/result.json").read_bytes())
    assert result.environment.command == f"grade {SAMPLES / 'ivanov'} --lab transpose"


def test_a_fault_is_told_with_its_line_and_fails(quick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, "--lab", "transpose", "--out", "o", "--no-pdf", SAMPLES / "petrova")
    assert code == 1
    assert "What to fix" in out
    assert "   transpose.cu:44  b[x + y * n] = buf[threadIdx.x][threadIdx.y];" in out
    assert (quick / "o/petrova/transpose/report.html").is_file()


def test_the_whole_process_writes_a_pdf_and_plain_text(quick: Path) -> None:
    command = [sys.executable, "-m", "grader", str(SAMPLES / "ivanov"), "--lab", "transpose"]
    environment = {k: v for k, v in os.environ.items() if k not in ("LC_ALL", "LC_MESSAGES", "COLUMNS")}
    environment |= {"LANG": "ru_RU.UTF-8", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "✓ пройдено: 95 из 100 баллов" in done.stdout
    assert "Отчёт: reports/ivanov/transpose/report.html" in done.stdout
    assert (quick / "reports/ivanov/transpose/report.pdf").read_bytes().startswith(b"%PDF-")


def test_a_machine_without_pango_still_gets_html(quick: Path) -> None:
    # As the real package behaves wquick the library is missing.
    (quick / "weasyprint.py").write_text("raise OSError(\"cannot load library 'libpango-1.0-0'\")")
    command = [sys.executable, "-m", "grader", str(SAMPLES / "ivanov"), "--lab", "transpose", "--lang", "en"]
    environment = {**os.environ, "PYTHONPATH": f"{quick}:{ROOT}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = [line for line in done.stdout.splitlines() if "PDF" in line]
    assert line.startswith("No PDF: Pango is missing; install it with: apt install libpango-1.0-0 ")
    assert files(quick / "reports") == {"ivanov/transpose/result.json", "ivanov/transpose/report.html"}


def test_a_group_is_graded_each_in_turn(quick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for student in ("ivanov", "fedorov"):
        shutil.copytree(SAMPLES / student, quick / "group" / student)
    (quick / "group" / "nobody").mkdir()
    code, out, _err = run(capsys, "group", "--lab", "transpose", "--no-pdf")
    assert code == 2
    rows = {line.split()[0]: line.split() for line in out[out.index("Worst fault") :].splitlines() if line.strip()}
    assert rows["ivanov"][1:4] == ["95", "of", "100"]
    assert rows["fedorov"][1:4] == ["0", "of", "100"]
    assert rows["nobody"][:6] == ["nobody", "–", "no", ".cu", "file;", "looked"]
    assert files(quick / "reports") == {
        *(
            f"{student}/transpose/{name}"
            for student in ("ivanov", "fedorov")
            for name in ("result.json", "report.html", ".kept.json")
        ),
        "transpose.csv",
        "transpose.json",
        "transpose.html",
        "transpose.similar.html",
        ".transpose.similar.json",
        "course.html",
        "gradebook.xlsx",
    }
    page = (quick / "reports/transpose.html").read_text("utf-8")
    links = re.findall(r'href="([^"]+)"', page)
    # Each in the table; then what cost most, that nothing compiles; and by each of the three checks that fedorov fails.
    assert links == [
        f"{student}/transpose/report.html{place}"
        for student, place in (("ivanov", ""), ("fedorov", ""), ("fedorov", "#faults"), *[("fedorov", "")] * 3)
    ]
    assert 'id="faults"' in (quick / "reports/fedorov/transpose/report.html").read_text("utf-8")
    assert all((quick / "reports" / link.partition("#")[0]).is_file() for link in links)
    assert "Фёдоров Артём" in page and "nobody" in page
    marks = (quick / "reports/transpose.csv").read_text("utf-8-sig").splitlines()
    assert marks[1].startswith(
        'fedorov,Фёдоров Артём,ИП-311,needs work,0,100,100,0,0,0,0,"does not compile (transpose.cu:37): '
    )
    assert marks[2].startswith("ivanov,") and marks[3].startswith("nobody,,,not graded,,,,")
    assert sorted(line.split()[0] for line in out.splitlines() if line[:2] in ("1/", "2/", "3/")) == [
        "1/3",
        "2/3",
        "3/3",
    ]


def test_two_submissions_of_one_name_do_not_overwrite_each_other(
    quick: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for group in ("a", "b"):
        shutil.copytree(SAMPLES / "ivanov", quick / group / "ivanov")
    code, out, _err = run(capsys, "a/ivanov", "b/ivanov", "--lab", "transpose", "--no-pdf", "--jobs", "1")
    assert code == 2
    assert "a/ivanov has the same name" in out


@pytest.mark.parametrize("deaths", [2, 3])
def test_a_crash_is_one_students_row(deaths: int, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab = put_marks_only(here, called="crash")
    shutil.copytree(ROOT / "reference" / "transpose", here / "oracle")
    lab.write_text(lab.read_text().replace(f"{ROOT}/reference/transpose", "../../oracle"))
    # Stands for whatever can kill a grading process: it ends the first that ask for inputs: those of both
    # students, who are graded once more, and where there are three the first of these as well.
    oracle = here / "oracle" / "oracle.py"
    oracle.write_text(
        oracle.read_text()
        + f"""
_inputs = inputs
DEATHS = {deaths}


def inputs(sizes, rng):
    import os
    from pathlib import Path

    for death in range(DEATHS):
        marker = Path(__file__).with_name(str(death))
        if not marker.exists():
            marker.touch()
            os._exit(7)
    return _inputs(sizes, rng)
"""
    )
    for student in ("first", "second"):
        shutil.copytree(SAMPLES / "ivanov", here / "group" / student)
        (here / "group" / student / "transpose.cu").rename(here / "group" / student / "crash.cu")
        (here / "group" / student / "submission.yaml").unlink()
    code, out, _err = run(capsys, "group", "--lab", "crash", "--no-pdf", "--jobs", "1")
    assert code == (3 if deaths == 3 else 0)
    rows = {line.split()[0]: line for line in out[out.index("Worst fault") :].splitlines() if line.strip()}
    if deaths == 2:
        assert "95 of 100" in rows["first"] and "95 of 100" in rows["second"]
        return
    assert "the grader failed; details are in" in rows["first"]
    assert "95 of 100" in rows["second"]
    assert "status 7" in (here / "reports" / "first" / "crash" / "grade-error.log").read_text()


def test_headers_that_cannot_be_had_are_told_in_the_students_row(
    quick: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for student in ("first", "second"):
        shutil.copytree(SAMPLES / "ivanov", quick / "group" / student)
        (quick / "group" / student / "submission.yaml").unlink()
    source = quick / "group" / "first" / "transpose.cu"
    source.write_text("#include <cooperative_groups.h>\n" + source.read_text("utf-8"), encoding="utf-8")
    # A folder in which nobody can make another.
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc")
    code, out, _err = run(capsys, "group", "--lab", "transpose", "--no-pdf", "--jobs", "1")
    assert code == 3
    lines = {line.split(":")[0].split()[-1]: line for line in out.splitlines() if line[:2] in ("1/", "2/")}
    assert "the grader failed (NVRTC's headers cannot be unpacked (" in lines["first"]
    assert "set XDG_CACHE_HOME to a writable folder); details are in" in lines["first"]
    assert "95 of 100" in out[out.index("Worst fault") :]


def test_a_folder_called_like_a_command_is_written_with_a_dot(quick: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(SAMPLES / "ivanov", quick / "labs")
    code, out, _err = run(capsys, "./labs", "--lab", "transpose", "--no-pdf")
    assert code == 0
    assert "reports/labs/transpose/report.html" in out


def test_labs_are_listed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, "labs")
    assert code == 0
    (row,) = [line.split() for line in out.splitlines() if line.strip().startswith("transpose")]
    assert row[-4:] == ["naive,", "shared,", "padded", "100"]


def test_labs_are_listed_in_the_order_of_a_course(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, position in (("zeta", "position: 1\n"), ("alpha", "")):
        code, _out, _err = run(capsys, "new-lab", name, "--into", "own")
        path = here / "own" / name / "lab.yaml"
        path.write_text(position + path.read_text("utf-8"), "utf-8")
        assert code == 0
    code, out, _err = run(capsys, "labs", "--labs", "own")
    names = [line.split()[0] for line in out.splitlines() if line.startswith(" ") and line.split()[-1:] == ["100"]]
    assert code == 0
    assert (names[0], names[-1]) == ("zeta", "alpha")
    assert names.index("saxpy") < names.index("transpose") < names.index("vector-sum")


def test_a_broken_lab_does_not_hide_the_others(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "labs" / "half").mkdir(parents=True)
    (here / "labs" / "half" / "lab.yaml").write_text("titel: {en: x}\n")
    code, out, err = run(capsys, "labs", "--labs", "labs")
    assert code == 2
    assert "transpose" in out
    (line,) = [line for line in err.splitlines() if "half" in line]
    assert line.startswith("grade: labs/half/lab.yaml:1: ")
    assert "titel" in line


def test_other_commands_speak_the_language_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, "doctor", "--lang", "ru")
    assert code == 0
    assert "Что установить" in out


def test_the_doctor_reports(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys, "doctor")
    assert code == 0
    assert "✓ NVRTC" in out
    assert "compute-sanitizer" in out


def test_no_arguments_is_a_request_for_help(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _err = run(capsys)
    assert code == 0
    assert out.startswith("Usage: grade ")
    for word in ("--lab", "--backend", "--out", "--lang", "--no-pdf", "--jobs", "grade doctor"):
        assert word in out


def test_wrong_command_lines_get_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    student = SAMPLES / "ivanov"
    assert complaint(capsys, "nowhere", "--lab", "transpose", "--out", "a/b") == "nowhere: no such file or folder"
    assert list(here.iterdir()) == []
    assert complaint(capsys, student) == "--lab is missing; see grade --help"
    assert complaint(capsys, student, "--lab", "transpose", "--no-pfd") == (
        "no such option: --no-pfd; did you mean --no-pdf?"
    )
    assert complaint(capsys, "chekc", student) == (
        "chekc: no such command, and no such file or folder; did you mean grade check?"
    )
    assert "did you mean `transpose`?" in complaint(capsys, student, "--lab", "transpos")
    assert "fast" in complaint(capsys, student, "--lab", "transpose", "--backend", "fast")
    for value in ("0", "x"):
        said = f"Invalid value for '--jobs': '{value}'; allowed: whole numbers from 1 on"
        assert complaint(capsys, student, "--lab", "transpose", "--jobs", value) == said
    known = ", ".join(sorted(labs.folders()))
    said = f"grade calibrate LAB: name a lab, or --device and a file; allowed: {known}"
    assert complaint(capsys, "calibrate") == said
    assert "PATH" in complaint(capsys, "--lab", "transpose")
    (here / "file").write_text("")
    assert "file" in complaint(capsys, student, "--lab", "transpose", "--out", "file")
    assert "file/below" in complaint(capsys, student, "--lab", "transpose", "--out", "file/below")
    # A folder that is there and takes no files, whoever asks.
    assert complaint(capsys, student, "--lab", "transpose", "--out", "/proc").startswith("--out /proc: ")
    assert complaint(capsys, student, "--lab", "transpose", "--labs", "none") == "--labs none: no such folder"
    assert files(here) == {"file"}


def test_bad_submissions_get_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "empty").mkdir()
    (here / "void").mkdir()
    (here / "void" / "transpose.cu").write_text("")
    (here / "binary").mkdir()
    (here / "binary" / "transpose.cu").write_bytes(b"\x7fELF\0\0\0")
    assert "empty: no .cu file" in complaint(capsys, "empty", "--lab", "transpose")
    assert "the file is empty" in complaint(capsys, "void", "--lab", "transpose")
    assert "NUL" in complaint(capsys, "binary", "--lab", "transpose")
    (here / "sum.cu").write_text("__global__ void sum(const float *a, float *b) { b[0] = a[0]; }")
    assert complaint(capsys, "predict", "sum.cu", "--lab", "batch-square", "--device", "H100") == (
        "nothing to predict: no kernel in sum.cu was found for a variant of the lab batch-square"
    )


def test_every_lab_that_is_named_is_graded(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "empty").mkdir()
    assert cli.run(["empty", "--lab", "transpose", "--lab", "matmul", "--lab", "transpose"]) == 2
    said = capsys.readouterr()
    assert re.findall(r"\(([a-z-]+)\)\n", said.out) == ["transpose", "matmul"]
    assert said.err.count("empty: no .cu file") == 2
    # One that there is not is told before anything is graded.
    assert "did you mean `matmul`?" in complaint(capsys, "empty", "--lab", "transpose", "--lab", "matmull")
    for command in (["check", "empty"], ["watch", "empty"], ["autograder", "github"]):
        said_once = complaint(capsys, *command, "--lab", "transpose", "--lab", "matmul")
        assert "transpose, matmul: one lab at a time" in said_once


def test_a_failure_of_the_grader_is_one_line_and_a_log(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object, **_options: object) -> None:
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(pipeline, "grade", broken)
    code, out, err = run(capsys, SAMPLES / "ivanov", "--lab", "transpose")
    assert (code, out) == (3, "")
    assert err == "grade: the grader failed (ZeroDivisionError); details are in reports/grade-error.log\n"
    log = (here / "reports" / "grade-error.log").read_text()
    assert "Traceback" in log
    assert "deep inside" in log


@pytest.mark.parametrize(
    ("arguments", "environment", "language"),
    [
        ([], {}, "en"),
        ([], {"LANG": "ru_RU.UTF-8"}, "ru"),
        ([], {"LC_ALL": "C", "LANG": "ru_RU.UTF-8"}, "en"),
        ([], {"LC_ALL": "", "LC_MESSAGES": "ru_RU", "LANG": "en_US"}, "ru"),
        ([], {"LANG": "de_DE.UTF-8"}, "en"),
        (["--lang", "en"], {"LANG": "ru_RU.UTF-8"}, "en"),
        (["x", "--lang=ru"], {}, "ru"),
        (["--lang"], {}, ""),
    ],
)
def test_the_language_is_the_one_asked_for_or_the_locales(
    arguments: list[str], environment: dict[str, str], language: str
) -> None:
    assert cli.language_of(arguments, environment) == language


def test_help_names_every_command_that_the_readme_does(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = (SAMPLES.parent / "README.md").read_text("utf-8").partition("## Commands")[2].partition("## Without")[0]
    _code, out, _err = run(capsys, "--lang", "en", "--help")
    commands = set(re.findall(r"grade ([a-z][\w-]*)", table))
    assert {"predict", "serve"} <= commands <= set(re.findall(r"^ +grade ([\w-]+)", out, re.MULTILINE))
    assert re.findall(r"^ +(\d)  ", out, re.MULTILINE) == ["0", "1", "2", "3", "4"]


def test_help_speaks_the_language(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _code, out, _err = run(capsys, "--lang", "ru", "--help")
    assert "Папка для результатов и отчётов." in out


@pytest.mark.slow
def test_an_interrupted_group_keeps_what_is_finished(quick: Path) -> None:
    for index in range(40):
        shutil.copytree(SAMPLES / "ivanov", quick / "group" / f"student{index:02}")
    command = [sys.executable, "-m", "grader", "group", "--lab", "transpose", "--jobs", "1", "--lang", "en"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("1/40 ")
    # As a terminal does it: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=600)
    assert process.returncode == cli.INTERRUPTED
    assert err == "grade: interrupted; finished results are kept, and the same command goes on from there\n"
    finished = sorted((quick / "reports").glob("*/transpose/result.json"))
    assert 1 <= len(finished) < 40
    told = out[out.index("Not graded: ") :].splitlines()[0]
    assert all(f"student{n:02}" in told for n in range(40) if not any(f"student{n:02}" in str(f) for f in finished))
    for path in finished:
        assert decode(path.read_bytes()).score.earned == 95.0
        assert path.parent.parent.name in out
    # Whoever could still write has ended with the command.
    # What later gradings start from is meant to lie there; a half-written file is not.
    kept = {".kept.json", ".transpose.similar.json"}
    assert {Path(path).name for path in files(quick / "reports") if Path(path).name.startswith(".")} <= kept


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["x", "--lab", "transpose", "--backend", "cpu"], "Недопустимое значение '--backend': 'cpu' — не одно из"),
        (
            ["x", "--lab", "transpose", "--jobs", "0"],
            "Недопустимое значение '--jobs': '0'; допустимо целое число не меньше 1",
        ),
        (["x", "--lab"], "У параметра '--lab' должно быть 1 значение."),
        (["x", "--lab", "transpose", "--no-pdf=1"], "У параметра '--no-pdf' не бывает значения."),
        (["x", "--lab", "nosuch"], "нет работы 'nosuch'; допустимо: "),
        (["labs", "--labs", "nosuch"], "--labs nosuch: нет такой папки"),
    ],
)
def test_complaints_of_the_command_line_speak_the_language(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str
) -> None:
    code, _out, err = (
        run(capsys, *arguments, "--lang", "ru") if arguments[-1] != "--lab" else run(capsys, "--lang", "ru", *arguments)
    )
    assert (code, err.startswith(f"grade: {complaint}")) == (2, True), err


def test_click_still_has_the_texts_that_are_translated_for_it() -> None:
    """A new click with other words would fall back to English without a sound."""
    import click

    from grader.cli import main

    source = "".join(path.read_text("utf-8") for path in Path(click.__file__).parent.glob("*.py"))
    for text in main.texts():
        assert text in source, text


def test_garbage_is_seldom_looked_for_where_the_process_is_the_command_s_own() -> None:
    lines = (
        "import atexit, gc",
        "atexit.register(lambda: print(gc.get_threshold()[0]))",
        "from grader.__main__ import main",
    )
    run = subprocess.run(
        [sys.executable, "-c", "\n".join([*lines, "main()"]), "--version"], capture_output=True, text=True, check=True
    )
    assert int(run.stdout.split()[-1]) >= 10_000
