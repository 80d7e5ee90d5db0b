"""A group, whatever one student's files are and whatever happens to a process, from the command line."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

import pytest

from grader.result import decode
from tests.marks_only import put_marks_only

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "submissions"
LAB = "transpose"
T = TypeVar("T")
HONEST = ("ivanov", "petrova", "volkova")


class Bench:
    """A folder with a group, and the command in processes of its own that can be told from all others."""

    def __init__(self, folder: Path, caches: Path) -> None:
        self.folder = folder
        self.caches = caches
        self.group = folder / "group"
        self.mark = uuid.uuid4().hex
        for name in ("group", "tmp", "home"):
            (folder / name).mkdir()
        put_marks_only(folder)

    def add(self, *students: str, sample: str = "ivanov") -> None:
        for student in students:
            shutil.copytree(SAMPLES / sample, self.group / student)
            (self.group / student / "submission.yaml").unlink(missing_ok=True)

    def start(self, *arguments: str, before: Callable[[], None] | None = None) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LC_")}
        environment |= {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.folder / "tmp"), "LANG": "C.UTF-8"}
        # Where files may not grow, Python leaves modules cut off that it compiles, in the checkout.
        environment |= {"HOME": str(self.folder / "home"), "PYTHONDONTWRITEBYTECODE": "1"}
        environment |= {"XDG_CACHE_HOME": str(self.caches), "GRADER_TEST": self.mark}
        return subprocess.Popen(
            [sys.executable, "-m", "grader", *arguments, "--lab", LAB, "--lang", "en", "--backend", "emulator"],
            cwd=self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=before,
        )

    def run(self, *arguments: str, before: Callable[[], None] | None = None) -> tuple[int, str, str]:
        process = self.start(*arguments, before=before)
        out, err = process.communicate(timeout=2400)
        return process.returncode, out, err

    def processes(self, word: str = "") -> list[int]:
        """Processes of this bench that run, those whose command line has `word` in it."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                is_ours = entry.name.isdigit() and (
                    self.mark.encode() in (entry / "environ").read_bytes()
                    or bytes(self.folder) in (entry / "cmdline").read_bytes()
                )
                if is_ours and word.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def results(self, out: str = "reports") -> dict[str, bytes]:
        return {path.parent.parent.name: path.read_bytes() for path in (self.folder / out).glob("*/*/result.json")}

    def links(self) -> list[str]:
        found = re.findall(r'href="([^"]+)"', (self.folder / "reports" / f"{LAB}.html").read_text("utf-8"))
        assert all((self.folder / "reports" / unquote(link.partition("#")[0])).is_file() for link in found)
        return [link for link in found if link.endswith("report.html")]

    def is_clean(self) -> bool:
        """Whether no process runs on, and nothing is left in the temporary folder or half written."""
        deadline = time.monotonic() + 120
        while self.processes():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        known = (".kept.json", f".{LAB}.similar.json")
        half = [path for path in self.folder.glob("reports/**/.*") if path.name not in known]
        return not half and not list((self.folder / "tmp").iterdir())


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Code compiled by one test is there for the next."""
    return tmp_path_factory.mktemp("caches")


@pytest.fixture
def bench(tmp_path: Path, caches: Path) -> Iterator[Bench]:
    made = Bench(tmp_path, caches)
    yield made
    for pid in made.processes():
        os.kill(pid, signal.SIGKILL)


def awaited(condition: Callable[[], T], seconds: float = 600) -> T:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found


def raw(name: str, encoding: str) -> str:
    return os.fsdecode(name.encode(encoding))


@pytest.mark.slow
def test_hostile_submissions_change_no_honest_result(bench: Bench) -> None:
    kernel = (SAMPLES / "ivanov" / "transpose.cu").read_text("utf-8")
    for student in HONEST:
        shutil.copytree(SAMPLES / student, bench.group / student)
    alone: dict[str, bytes] = {}
    for student in HONEST:
        bench.run(f"group/{student}", "--out", f"alone/{student}", "--no-pdf")
        alone |= bench.results(f"alone/{student}")
    hostile = {
        raw("Сидоров", "cp866"): kernel,
        "\x1b[2Jescape\n1of9 forged": kernel,
        "\u202egnp.exe": kernel,
        "endless": kernel.replace("{", "{ while (clock64() >= 0) { }", 1),
        "hog": "__device__ char x[1ULL << 33];\n" + kernel,
        "locals": kernel.replace("{", "{ char many[400000]; for (int i = 0; i < 400000; i += 64) many[i] = i;", 1),
        "blank": "\n" * 150_000 + kernel,
        "wide": kernel + "//" + "x" * 900_000,
        "nested": "#if 0\n" * 60_000,
        f"{LAB}.csv": kernel,
        LAB: kernel,
        "Ivanov": kernel,
    }
    for name, text in hostile.items():
        (bench.group / name).mkdir()
        (bench.group / name / "transpose.cu").write_text(text, "utf-8")
    (bench.group / "fifo").mkdir()
    os.mkfifo(bench.group / "fifo" / "transpose.cu")
    (bench.group / "device").mkdir()
    (bench.group / "device" / "transpose.cu").symlink_to("/dev/zero")
    (bench.group / "loop").mkdir()
    (bench.group / "loop" / "transpose.cu").symlink_to("transpose.cu")
    (bench.group / "aaa").symlink_to("ivanov")
    (bench.group / "starter.cu").write_text(kernel, "utf-8")
    code, out, err = bench.run("group", "--no-pdf")
    assert (code in (2, 3), err) == (True, "")
    together = bench.results()
    assert {student: together[student] for student in HONEST} == alone
    assert all((bench.folder / "reports" / student / LAB / "report.html").is_file() for student in HONEST)
    rows = (bench.folder / "reports" / f"{LAB}.csv").read_text("utf-8-sig").splitlines()
    assert len(rows) == 1 + len(HONEST) + len(hostile) + 4
    assert sum(row.startswith("Сидоров") for row in rows) == 1
    assert "starter.cu: not graded" in out
    assert not any(sign in out for sign in ("\x1b", "\u202e", "\n1of9 forged"))
    assert all((bench.folder / "reports" / link).is_file() for link in map(_unquoted, bench.links()))
    assert bench.is_clean()


def _unquoted(link: str) -> str:
    from urllib.parse import unquote

    return unquote(link)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_ended_group_keeps_what_is_finished_and_links_nothing_else(bench: Bench, number: int) -> None:
    # So many that it is not done before the signal comes.
    bench.add(*(f"student{n:02}" for n in range(40)))
    process = bench.start("group", "--jobs", "1")
    assert process.stdout is not None
    for _line in range(2):
        process.stdout.readline()
    process.send_signal(number)
    out, err = process.communicate(timeout=600)
    assert process.returncode == 128 + number
    assert err == "grade: interrupted; finished results are kept, and the same command goes on from there\n"
    kept = bench.results()
    assert 2 <= len(kept) < 40
    assert all((bench.folder / "reports" / link).is_file() for link in bench.links())
    assert all(student in out for student in kept)
    assert bench.is_clean()


@pytest.mark.slow
def test_a_killed_group_leaves_no_process(bench: Bench) -> None:
    # So many that they are at it whenever somebody looks.
    bench.add(*(f"student{n:02}" for n in range(20)))
    process = bench.start("group", "--jobs", "2")
    awaited(lambda: len(bench.processes("processes.limits")) >= 3 and bench.processes("grader.compiler"))
    process.kill()
    process.communicate()
    awaited(lambda: not bench.processes())


@pytest.mark.slow
@pytest.mark.parametrize("module", ["grader.report.rendering", "grader.grading.workers"])
def test_a_worker_killed_from_outside_costs_nothing(bench: Bench, module: str) -> None:
    bench.add("a", "b", "c")
    process = bench.start("group", "--jobs", "1", "--no-pdf")
    # The same one from the beginning of a group to its end.
    victim = awaited(lambda: bench.processes(module))[0]
    os.kill(victim, signal.SIGKILL)
    out, err = process.communicate(timeout=1200)
    assert (process.returncode, err) == (0, ""), out
    assert sorted(bench.results()) == ["a", "b", "c"]
    assert len(bench.links()) == 3
    assert bench.is_clean()


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_stops_nothing(bench: Bench) -> None:
    bench.add("a", "b")
    for arguments, reports in ((["group"], ["a", "b"]), (["group/a", "--out", "single"], ["a"])):
        process = bench.start(*arguments, "--no-pdf")
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert (process.wait(timeout=1200), process.stderr.read()) == (0, "")
        process.stderr.close()
        out = bench.folder / ("single" if "--out" in arguments else "reports")
        assert sorted(path.parent.parent.name for path in out.glob("*/*/report.html")) == reports


@pytest.mark.slow
def test_outputs_that_cannot_be_written_are_told_with_path_and_reason(bench: Bench) -> None:
    bench.add("a", "b")

    def small_files() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))

    # What programs are run by is unpacked into the caches, larger files than that.
    bench.run("group", "--no-pdf", "--out", str(bench.folder.parent / "before"))
    code, out, err = bench.run("group", "--no-pdf", before=small_files)
    assert (code, err) == (2, "")
    for student in ("a", "b"):
        line = f"{student}: the report could not be written: reports/{student}/{LAB}/report.html: File too large"
        assert line in out
    assert bench.links() == []
    assert sorted(bench.results()) == ["a", "b"]
    assert bench.is_clean()


@pytest.mark.slow
def test_a_result_that_cannot_be_written_is_one_row(bench: Bench) -> None:
    bench.add("a", "b")
    (bench.folder / "reports").mkdir()
    (bench.folder / "reports" / "a").write_text("in the way")
    code, out, _err = bench.run("group", "--no-pdf")
    assert code == 2
    assert f"a: graded, but the result could not be written: reports/a/{LAB}/" in out
    assert list(bench.results()) == ["b"]


@pytest.mark.slow
def test_every_failure_has_a_log_of_its_own(bench: Bench) -> None:
    shutil.copytree(ROOT / "assignments" / LAB, bench.folder / "labs" / LAB)
    shutil.copytree(ROOT / "reference" / LAB, bench.folder / "oracle")
    lab = bench.folder / "labs" / LAB / "lab.yaml"
    lab.write_text(lab.read_text("utf-8").replace(f"../../reference/{LAB}", "../../oracle"), "utf-8")
    oracle = bench.folder / "oracle" / "oracle.py"
    # What a lab's author can do wrong without the lab's being refused.
    oracle.write_text(
        oracle.read_text("utf-8") + "\n\ndef inputs(sizes, rng):\n    import os\n    os._exit(len(sizes))\n"
    )
    bench.add("a", "b", "c")
    code, _out, _err = bench.run("group", "--no-pdf", "--labs", "labs")
    assert code == 3
    for student in ("a", "b", "c"):
        log = bench.folder / "reports" / student / LAB / "grade-error.log"
        assert f"group/{student}: the grading process ended with status" in log.read_text()
    # It goes with the failure.
    shutil.rmtree(bench.folder / "labs")
    assert bench.run("group", "--no-pdf")[0] == 0
    assert not list((bench.folder / "reports").glob("**/*.log"))


def test_an_empty_path_is_no_folder(bench: Bench) -> None:
    bench.add("a")
    for arguments in (["", "group"], ["group/a", "--out", ""], ["group/a", "--labs", ""]):
        code, out, err = bench.run(*arguments)
        assert (code, out) == (2, "")
        assert "an empty path; write . for the current folder" in err and err.count("\n") == 1
    assert not (bench.folder / "reports").exists()


@pytest.mark.slow
def test_too_few_descriptors_or_too_little_memory_are_named(bench: Bench) -> None:
    bench.add("a", "b")

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (7, 7))

    code, out, err = bench.run("group", "--no-pdf", before=few)
    assert code in (2, 3)
    assert "ulimit -n 7" in out + err
    assert "Traceback" not in out + err


@pytest.mark.slow
def test_results_can_be_decoded_after_names_in_old_encodings(bench: Bench) -> None:
    name = raw("Щербаков", "cp1251")
    bench.add(name)
    code, out, err = bench.run("group", "--no-pdf")
    assert (code, err) == (0, "") and "Щербаков: 95 of 100" in out
    (result,) = bench.results().values()
    found = decode(result)
    assert found.student.id == "Щербаков"
    command = found.environment.command.replace("grade ", f"{sys.executable} -m grader ", 1)
    again = subprocess.run(
        ["bash", "-c", f"{command} --backend emulator --no-pdf --out again"],
        cwd=bench.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
