"""The packages of `grade autograder`, their scripts run as each service would run them."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from lxml import etree

from grader.autograders import SERVICES, Order, constraints, template
from grader.cli import main as cli
from grader.lab import labs
from tests.autograders import service
from tests.pace import slowness

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "submissions"
SITE = sysconfig.get_path("purelib")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "cuda-lab-grader"
LABS = ["batch-square", "box-blur", "matmul", "transpose"]


def environment(**more: str) -> dict[str, str]:
    """A bare one, in which pip finds no index: all that the wheel asks for has to be there already."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "PIP_OPTIONS": "--no-index", "PYTHON": sys.executable, **more}


def furnish(venv: Path) -> None:
    """Put what the grader stands on where the virtual environment will be, so that no test downloads 900 MB.

    The grader itself is not among it: that comes from the wheel.
    """
    site = venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    site.mkdir(parents=True)
    own = ("cuda_lab_grader", "__editable__", "pip", "setuptools", "_distutils_hack", "distutils-precedence", "__py")
    for entry in Path(SITE).iterdir():
        if not entry.name.startswith(own):
            (site / entry.name).symlink_to(entry)


def order(lab: str = "transpose", **more: Any) -> Order:
    return Order(lab=labs.find(lab), language="en", built_in=True, **more)


def share_cache(folder: Path) -> None:
    """What takes a minute to build is taken from this user's cache; what was found out about programs is not."""
    for place in ("cuda-lab-grader/nvrtc", "cuda-lab-grader/programs"):
        (CACHE.parent / place).mkdir(parents=True, exist_ok=True)
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).symlink_to(CACHE.parent / place)


def test_the_wheel_is_one_that_pip_and_the_standard_know() -> None:
    files = {file.name: file.data for file in SERVICES["gradescope"](order())}
    (name,) = [name for name in files if name.endswith(".whl")]
    archive = zipfile.ZipFile(io.BytesIO(files[name]))
    assert archive.testzip() is None
    names = set(archive.namelist())
    assert {"grader/cli/main.py", "grader/data/assignments/transpose/lab.yaml"} <= names
    assert "grader/data/reference/transpose/oracle.py" in names
    assert "grader/locale/ru/LC_MESSAGES/grader.mo" in names
    record = archive.read("cuda_lab_grader-0.1.0.dist-info/RECORD").decode().splitlines()
    assert {row.split(",")[0] for row in record} == names
    about = archive.read("cuda_lab_grader-0.1.0.dist-info/METADATA").decode()
    needs = {
        line.removeprefix("Requires-Dist: ").split(">")[0].split("=")[0]
        for line in about.splitlines()
        if line.startswith("Requires-Dist: ")
    }
    assert {"numpy", "wasmtime", "ziglang", "nvidia-cuda-nvrtc"} <= needs
    # What of others is in it goes on with its licences.
    assert "License-File: THIRD_PARTY.md" in about
    listed = (ROOT / "THIRD_PARTY.md").read_bytes()
    assert archive.read("cuda_lab_grader-0.1.0.dist-info/licenses/THIRD_PARTY.md") == listed
    assert any(name.startswith("grader/programs/toolchain/built/LICENSE-llvm") for name in names)
    pinned = {line.split("==")[0] for line in files["constraints.txt"].decode().splitlines()}
    assert {need for need in needs if need.islower()} <= pinned
    # The same twice, byte for byte.
    assert files == {file.name: file.data for file in SERVICES["gradescope"](order())}


def test_a_teacher_s_newer_python_pins_nothing_that_a_service_s_cannot_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy 2.5 needs Python 3.12; the image that a service builds may have 3.11."""
    known = metadata.metadata

    def newer(name: str) -> Any:
        about: Any = known(name)
        if name == "numpy":
            about["Requires-Python"] = ">=3.12"
        return about

    monkeypatch.setattr(metadata, "metadata", newer)
    pinned = {line.split("==")[0] for line in constraints().data.decode().splitlines()}
    assert "numpy" not in pinned
    assert {"wasmtime", "ziglang", "msgspec"} <= pinned


def test_the_secret_goes_to_the_service_that_students_cannot_read() -> None:
    for name, files in ((name, make(order(secret="x" * 20))) for name, make in SERVICES.items()):
        has = any(b"x" * 20 in file.data for file in files)
        assert has == (name == "gradescope"), name


def test_a_lab_of_the_teacher_s_own_travels_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["new-lab", "row-sums"]) == 0
    assert cli.run(["autograder", "gradescope", "--lab", "row-sums"]) == 0
    with zipfile.ZipFile("gradescope-row-sums.zip") as archive:
        names = archive.namelist()
    assert "labs/row-sums/lab.yaml" in names
    assert {"setup.sh", "run_autograder"} <= set(names)
    assert cli.run(["autograder", "github", "--lab", "transpose", "--grader", 'x"; rm -rf /']) == 2
    assert cli.run(["autograder", "gitlab", "--lab", "none-such"]) == 2


@pytest.mark.parametrize("requirement", ["", "cuda-lab-grader[x] >=0.1,<2"])
def test_scripts_are_sound_shell_and_ask_nothing_that_is_known(requirement: str) -> None:
    for service_name, make in SERVICES.items():
        scripts = {file.name: file.data for file in make(order(requirement=requirement)) if not _is_ours(file.name)}
        for name, data in scripts.items():
            if data.startswith(b"#!/bin/bash"):
                subprocess.run(["bash", "-n"], input=data, check=True)
            assert not re.search(rb"@[A-Z]+@", data), name
        text = b"\n".join(scripts.values()).decode()
        installs = re.findall(r"pip\S*(?: --\S+)* install .*", text)
        assert len(installs) == 1, service_name
        assert installs[0].endswith(f' "{requirement}"' if requirement else "/*.whl")
        assert '-n ""' not in text and "REQUIREMENT" not in text.upper()


def _is_ours(name: str) -> bool:
    return name.endswith((".whl", "constraints.txt"))


# Gradescope


@pytest.fixture(scope="module")
def autograder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """/autograder after `setup.sh`, for every shipped lab in turn: its name is put into `run_autograder` below."""
    root = tmp_path_factory.mktemp("autograder")
    (root / "source").mkdir()
    for file in SERVICES["gradescope"](order()):
        target = root / "source" / file.name
        target.write_bytes(file.data)
        target.chmod(0o755 if file.executable else 0o644)
    share_cache(root / "cache")
    furnish(root / "venv")
    subprocess.run([root / "source" / "setup.sh"], env=environment(AUTOGRADER_ROOT=str(root)), check=True, timeout=3000)
    return root


def hand_in(root: Path, lab: str, *files: Path) -> None:
    """What the service does before each submission."""
    script = next(f for f in SERVICES["gradescope"](order(lab)) if f.name == "run_autograder")
    (root / "run_autograder").write_bytes(script.data)
    (root / "run_autograder").chmod(0o755)
    for name in ("submission", "results"):
        shutil.rmtree(root / name, ignore_errors=True)
        (root / name).mkdir()
    for file in files:
        shutil.copy(file, root / "submission")


def gradescope(root: Path, *, is_watched: bool = False) -> tuple[service.Run, dict[str, Any] | None]:
    told = environment(AUTOGRADER_ROOT=str(root))
    run = service.run([str(root / "run_autograder")], told, root, is_watched=is_watched)
    results = root / "results" / "results.json"
    return run, json.loads(results.read_bytes()) if results.exists() else None


@pytest.mark.slow
@pytest.mark.parametrize("lab", LABS)
def test_gradescope_grades_every_lab_in_a_small_container(autograder: Path, lab: str) -> None:
    hand_in(autograder, lab, SAMPLES / "ivanov" / f"{lab}.cu")
    slow = slowness()
    run, results = gradescope(autograder, is_watched=True)
    slow = max(slow, slowness())
    assert run.code == 0, run.output
    assert results is not None
    assert results["score"] >= 90
    print(f"{lab}: {run.peak_bytes >> 20} MB, {run.seconds:.1f} s, {run.cpu_seconds:.1f} s of processor time")
    # Nothing of the program is known beforehand.  The clock on the wall is also that of whoever else works here.
    assert run.peak_bytes <= 512 << 20
    # Half a core gives 5 s of it in the 10 s that a student waits for a verdict; beside other work, which shares caches
    # and the core itself, the same work counts as up to half as much again.
    assert run.cpu_seconds <= 8 * slow


@pytest.mark.slow
def test_gradescope_tells_faults_and_what_is_no_submission(autograder: Path) -> None:
    hand_in(autograder, "transpose", SAMPLES / "petrova" / "transpose.cu")
    run, results = gradescope(autograder)
    assert run.code == 0
    assert results is not None
    (failed,) = [test for test in results["tests"] if test.get("status") == "failed"]
    assert "transpose.cu:44" in failed["output"]
    # Nothing handed in that could be graded: told, with no points.
    hand_in(autograder, "transpose")
    run, results = gradescope(autograder)
    assert run.code == 0
    assert results is not None
    assert results["score"] == 0
    # By a name that the student knows: nobody has seen the folder it lies in.
    assert results["output"].startswith("submission: no .cu file; looked for transpose.cu")


@pytest.mark.slow
def test_gradescope_gets_no_results_where_the_grader_fails(autograder: Path) -> None:
    hand_in(autograder, "transpose", SAMPLES / "petrova" / "transpose.cu")
    (site,) = (autograder / "venv" / "lib").glob("python*/site-packages")
    # Its compiler is gone.
    target = (site / "nvidia").readlink()
    (site / "nvidia").unlink()
    try:
        run, results = gradescope(autograder)
    finally:
        (site / "nvidia").symlink_to(target)
    assert run.code == 1
    assert results is None
    assert "The grader failed" in run.output


# GitHub


def steps(folder: Path) -> list[dict[str, Any]]:
    action = yaml.safe_load((folder / "action.yml").read_text("utf-8"))
    return [step for step in action["runs"]["steps"] if "run" in step]


def test_the_repository_s_action_is_the_one_that_is_written() -> None:
    # It installs the checkout that it lies in.
    assert (ROOT / "action.yml").read_bytes() == template("github/action.yml", order(requirement="$GITHUB_ACTION_PATH"))
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert action["runs"]["using"] == "composite"
    assert all(step.get("shell") == "bash" for step in steps(ROOT))
    files = {file.name: file.data for file in SERVICES["github"](order())}
    workflow = yaml.safe_load(files[".github/workflows/classroom.yml"])
    (job,) = workflow["jobs"].values()
    given = next(step for step in job["steps"] if step.get("uses") == "./.github/grader")["with"]
    assert set(given) <= set(action["inputs"])
    assert given["lab"] == "transpose"


@pytest.mark.slow
def test_github_s_workflow_annotates_the_line_and_counts_the_points(tmp_path: Path) -> None:
    workspace, temp = tmp_path / "work", tmp_path / "temp"
    temp.mkdir()
    workspace.mkdir()
    assert cli.run(["autograder", "github", "--lab", "transpose", "--out", str(workspace)]) == 0
    shutil.copy(SAMPLES / "petrova" / "transpose.cu", workspace / "transpose.cu")
    share_cache(tmp_path / "cache")
    furnish(temp / "grader")
    action = workspace / ".github" / "grader"
    told = environment(
        GITHUB_WORKSPACE=str(workspace),
        GITHUB_ACTION_PATH=str(action),
        RUNNER_TEMP=str(temp),
        GITHUB_OUTPUT=str(tmp_path / "output"),
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary"),
        GRADE_LAB="transpose",
        GRADE_PATH=".",
        GRADE_LANGUAGE="en",
        GRADE_OUT_OF="",
        GRADE_FAIL="false",
        HOME=str(tmp_path),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        CUDA_LAB_GRADER_SECRET="",
    )
    told["PATH"] = f"{Path(sys.executable).parent}:{told['PATH']}"
    output = ""
    for step in steps(action):
        script = tmp_path / "step.sh"
        script.write_text(step["run"], "utf-8")
        # As the runner starts it.
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        run = service.run(command, told, workspace, cores=2, memory_bytes=7 << 30)
        assert run.code == 0, run.output
        output += run.output
    (annotation,) = [line for line in output.splitlines() if line.startswith("::error ")]
    assert "file=transpose.cu,line=44," in annotation
    before, _token, _after = output.partition("::stop-commands::")[2].partition("\n")
    assert f"\n::{before}::\n" in output
    summary = (tmp_path / "summary").read_text("utf-8")
    assert "76 of 91 points" in summary
    assert "`transpose.cu:44`" in summary
    outputs = dict(line.split("=", 1) for line in (tmp_path / "output").read_text().splitlines())
    points = json.loads(base64.b64decode(outputs["result"]))
    assert sum(test["score"] for test in points["tests"]) == 76
    log = json.loads((Path(outputs["reports"]) / "findings.sarif").read_bytes())
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("transpose.cu", 44)
    assert list(Path(outputs["reports"]).glob("*/transpose/report.html"))


@pytest.mark.parametrize("said", ["", "grade: the disk is full, 100 %"])
def test_a_grader_that_ends_without_a_verdict_is_an_error_with_a_reason(tmp_path: Path, said: str) -> None:
    """Killed for want of memory it says nothing; the job is not to end in silence."""
    grade = tmp_path / "grader" / "bin" / "grade"
    grade.parent.mkdir(parents=True)
    grade.write_text(f"#!/bin/sh\necho '{said}' >&2\nkill -9 $$\n", "utf-8")
    grade.chmod(0o755)
    names = ("GRADE_LAB", "GRADE_PATH", "GRADE_LANGUAGE", "GRADE_OUT_OF", "GRADE_FAIL", "GITHUB_ACTION_PATH")
    told = {**os.environ, **dict.fromkeys(names, "x"), "GITHUB_WORKSPACE": str(tmp_path), "RUNNER_TEMP": str(tmp_path)}
    (text,) = [step["run"] for step in steps(ROOT) if step["name"] == "Grade"]
    run = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text], env=told, capture_output=True, text=True
    )
    reason = said.replace("%", "%25") or "exit code 137"
    assert (run.returncode, run.stdout.splitlines()[-1]) == (137, f"::error title=grade::{reason}")


# GitLab


def test_gitlab_s_job_ends_as_the_grading_where_there_is_nothing_to_grade(tmp_path: Path) -> None:
    (file,) = [file for file in SERVICES["gitlab"](order()) if file.name == ".gitlab-ci.yml"]
    script = "\n".join(yaml.safe_load(file.data)["grade"]["script"])
    script = script.replace("/tmp/grader/bin/grade", f"{sys.executable} -m grader")
    # As GitLab's runner starts it.
    command = ["bash", "-c", f"set -eo pipefail\n{script}"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert run.stderr.startswith("grade: ")


def test_gitlab_s_job_installs_a_grader_once(tmp_path: Path) -> None:
    """Kept between jobs, whether these fail or not; another grader is installed anew and the old one not kept."""
    project, bin = tmp_path / "project", tmp_path / "bin"
    assert cli.run(["autograder", "gitlab", "--lab", "transpose", "--out", str(project)]) == 0
    job = yaml.safe_load((project / ".gitlab-ci.yml").read_text("utf-8"))["grade"]
    assert job["cache"] == {"key": "grader", "paths": [".grader-cache"], "when": "always"}
    bin.mkdir()
    # A Python whose environments install nothing but a sign that they did.
    made = tmp_path / "made" / "bin"
    made.mkdir(parents=True)
    (made / "pip").write_text(f"#!/bin/sh\necho >> {tmp_path}/installed\nprintf '#!/bin/sh\\n' > ${{0%pip}}grade\n")
    (made / "grade").write_text("#!/bin/sh\nexit 1\n")
    (bin / "python").write_text(
        f"#!/bin/sh\n[ $1 = --version ] && {{ echo Python 3.12.1; exit; }}\ncp -r {tmp_path}/made $3\n"
    )
    for program in made.iterdir():
        program.chmod(0o755)
    (bin / "python").chmod(0o755)
    told = {**os.environ, "PATH": f"{bin}:{os.environ['PATH']}"}
    installed = []
    for change in ("", "", "another", ""):
        if change:
            (project / ".grader" / "constraints.txt").write_text(change)
        for part in ("before_script", "after_script"):
            text = "\n".join(job[part]).replace("/tmp/", f"{tmp_path}/")
            subprocess.run(["bash", "-eo", "pipefail", "-c", text], cwd=project, env=told, check=True)
            is_graded = part == "before_script"
            assert (project / ".grader-cache").exists() != is_graded
        installed.append((tmp_path / "installed").read_text().count("\n"))
        # The next job begins on a machine that has the project and what was kept, nothing else.
        for folder in ("grader", "kept"):
            shutil.rmtree(tmp_path / folder)
        assert len(list((project / ".grader-cache").iterdir())) == 1
    assert installed == [1, 1, 2, 2]


@pytest.mark.slow
def test_gitlab_s_job_leaves_reports_and_the_verdict(tmp_path: Path) -> None:
    project = tmp_path / "project"
    assert cli.run(["autograder", "gitlab", "--lab", "transpose", "--lang", "ru", "--out", str(project)]) == 0
    shutil.copy(SAMPLES / "petrova" / "transpose.cu", project / "transpose.cu")
    job = yaml.safe_load((project / ".gitlab-ci.yml").read_text("utf-8"))["grade"]
    lines = [*job["before_script"], *job["script"]]
    text = "\n".join(lines).replace("/tmp/", f"{tmp_path}/")
    share_cache(tmp_path / "cache")
    furnish(tmp_path / "grader")
    told = environment(CI_PROJECT_DIR=str(project), XDG_CACHE_HOME=str(tmp_path / "cache"), LC_ALL="C.UTF-8")
    told["PATH"] = f"{Path(sys.executable).parent}:{told['PATH']}"
    run = service.run(["bash", "-e", "-c", text], told, project, cores=2, memory_bytes=4 << 30)
    assert run.code == 1, run.output
    assert "76 из 91" in run.output
    records = json.loads((project / "reports" / "findings.gitlab").read_bytes())
    (record,) = [record for record in records if record["severity"] == "major"]
    assert record["location"] == {"path": "transpose.cu", "lines": {"begin": 44}}
    assert (project / job["artifacts"]["reports"]["codequality"]).is_file()
    schema = etree.XMLSchema(etree.parse(ROOT / "tests" / "exports" / "junit.xsd"))
    tests = etree.parse(project / job["artifacts"]["reports"]["junit"])
    schema.assertValid(tests)
    (failure,) = tests.iter("failure")
    assert str(failure.text).startswith("transpose.cu:44\nКонфликт банков 32-го порядка")


# Moodle


@pytest.mark.slow
def test_moodle_s_scripts_make_an_evaluation(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    home, server, work = tmp_path / "opt", tmp_path / "server", tmp_path / "work"
    for file in SERVICES["moodle"](order()):
        target = (server if file.name.startswith("server/") else work) / Path(file.name).name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(file.data)
        target.chmod(0o755 if file.executable else 0o644)
    share_cache(home / "cache")
    furnish(home / "venv")
    subprocess.run([server / "install.sh"], env=environment(GRADER_HOME=str(home)), check=True, timeout=3000)
    shutil.copy(SAMPLES / "petrova" / "transpose.cu", work)
    (work / "vpl_environment.sh").write_text("export VPL_LANG=ru_utf8\nexport VPL_GRADEMAX=10\n")
    told = environment(GRADER_HOME=str(home), HOME=str(work))
    for script in ("./vpl_evaluate.sh", "./vpl_execution"):
        run = service.run([script], told, work, cores=1, memory_bytes=1 << 30)
        assert run.code == 0, run.output
    lines = run.output.splitlines()
    assert lines[-1] == "Grade :=>> 8.35"
    assert all(line.startswith(("Comment :=>>", "Grade :=>>")) for line in lines)
    # As the student calls it, so that VPL makes a link of it.
    assert "Comment :=>>>transpose.cu:44" in lines
    (work / "transpose.cu").unlink()
    shutil.rmtree(work / ".submission")
    run = service.run(["./vpl_execution"], told, work)
    told_of, grade = run.output.splitlines()
    assert told_of.startswith("Comment :=>>- нет файла .cu; искали transpose.cu")
    assert grade == "Grade :=>> 0"
    for script in ("./vpl_run.sh", "./vpl_execution"):
        run = service.run([script], told, work)
    assert run.output.startswith("grade: нет файла .cu; искали transpose.cu")
    assert "✓" not in run.output
