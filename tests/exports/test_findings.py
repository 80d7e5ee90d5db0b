"""What a submission's findings look like to editors and services, on a real bank conflict and a real compile error."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec import structs

from grader import i18n
from grader.exports.finding_formats import FORMATS, write
from grader.exports.findings import Whereabouts, repository_of
from grader.grading.options import GradeOptions
from grader.grading.session import graded_result
from grader.result import Result
from tests.exports.sarif_subset import SUBSET

SAMPLES = Path(__file__).parents[2] / "submissions"
RACE = SAMPLES.parent / "tests/kernels/transpose/bad/missing_barrier.cu"
OPTIONS = GradeOptions(lab="transpose", backend="emulator", sweeps=False)


@pytest.fixture(scope="module")
def conflict() -> Result:
    """Petrova's tile is read by columns: a 32-way conflict in line 44."""
    return graded_result(SAMPLES / "petrova", OPTIONS)[0]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose file, in a folder with a space, does not compile in two lines."""
    root = tmp_path_factory.mktemp("repository")
    (root / ".git").mkdir()
    (root / "my lab").mkdir()
    text = (SAMPLES / "petrova" / "transpose.cu").read_text("utf-8").split("\n")
    text[43] = text[43].replace(";", "")
    text[9] = "  int unused = nothing_of_this_name;"
    (root / "my lab" / "transpose.cu").write_text("\n".join(text), "utf-8")
    return root


def printed(name: str, result: Result, source: Path = SAMPLES / "petrova", **more: Any) -> str:
    return write(name, result, source, "en", **more)


def test_gcc_is_what_a_problem_matcher_takes(conflict: Result) -> None:
    lines = printed("gcc", conflict).splitlines()
    # The expression of VS Code's own $gcc matcher.
    matcher = re.compile(r"^(.*?):(\d+):(\d*):?\s+(?:fatal\s+)?(warning|error):\s+(.*)$")
    found = [match for match in map(matcher.match, lines) if match]
    assert [(m[1], m[2], m[3], m[4]) for m in found] == [
        ((SAMPLES / "petrova" / "transpose.cu").as_posix(), "44", "5", "error")
    ]
    assert found[0][5].startswith("32-way bank conflict in line 44 ")
    assert found[0][5].endswith("[bank_conflicts]")
    # The hint, which is not empty.
    assert re.search(r":44:5: note: \S.*", lines[1])


def test_a_fault_of_the_program_is_told_once_at_its_file(conflict: Result) -> None:
    notes = [line for line in printed("gcc", conflict).splitlines() if line.endswith("[remark]")]
    where = (SAMPLES / "petrova" / "transpose.cu").as_posix()
    assert notes == [f"{where}:66:5: note: The program never compares its results with anything. [remark]"]
    assert "transpose.cu, line 66: The program never compares its results with anything." in conflict.remarks


def test_what_concerns_no_line_has_a_place_too(conflict: Result) -> None:
    """An editor passes over lines without one: a kernel that is not there would show as nothing to be mended."""
    lost = [structs.replace(check, line=None) if check.status == "fail" else check for check in conflict.checks]
    lines = printed("gcc", structs.replace(conflict, checks=lost)).splitlines()
    where = (SAMPLES / "petrova" / "transpose.cu").as_posix()
    assert lines[0].startswith(f"{where}:1:1: error: 32-way bank conflict")
    assert lines[1].startswith(f"{where}:1:1: note: ")


def test_a_remark_has_a_title_in_the_readers_language(conflict: Result) -> None:
    source = SAMPLES / "petrova"
    i18n.use("ru")
    try:
        told = {name: write(name, conflict, source, "ru") for name in ("github", "sarif", "vpl", "markdown")}
    finally:
        i18n.use("en")
    assert ",title=полезно знать::" in told["github"]
    rules = json.loads(told["sarif"])["runs"][0]["tool"]["driver"]["rules"]
    assert {rule["id"]: rule["shortDescription"]["text"] for rule in rules}["remark"] == "полезно знать"
    assert "Comment :=>>- полезно знать\n" in told["vpl"]
    # There the title stands above.
    assert re.search(r"^- 💡 `\S+transpose.cu:66`  $", told["markdown"], re.M)


@pytest.fixture(scope="module")
def race() -> Result:
    """A kernel with a race, and no other: two variants are not there."""
    return graded_result(RACE, OPTIONS)[0]


HELD = " (68 more points depend on it)"


@pytest.mark.parametrize(
    ("name", "titles", "told"),
    [
        ("github", r"^::error .*title=(.*?)::", ["kernel not found · naive%2C padded", "data race · shared"]),
        ("vpl", r"^Comment :=>>- (\w.*)$", [f"kernel not found · naive, padded{HELD}", "data race · shared (−7)"]),
        (
            "markdown",
            r"^- ❌ \*\*(.*?)\*\*(.*?) `",
            [f"kernel not found · naive, padded{HELD}", "data race · shared (−7)"],
        ),
    ],
)
def test_what_most_points_hang_on_is_told_first_and_called_by_what_is_wrong(
    race: Result, name: str, titles: str, told: list[str]
) -> None:
    """GitHub shows ten annotations of a step, and "kernel found" is no title for one that is not."""
    text = write(name, race, RACE, "en")
    assert ["".join(match.groups()) for match in re.finditer(titles, text, re.M)] == told


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_says_what_mends_a_race_and_none_shows_the_change_itself(race: Result, name: str) -> None:
    """The lab keeps that from students."""
    text = write(name, race, RACE, "en")
    if name == "classroom":
        text = base64.b64decode(text).decode()
    assert "A barrier is missing after line 7." in text.replace("\\.", ".")
    assert "+    __syncthreads();" not in text and "@@" not in text


def test_the_rules_of_sarif_are_called_by_what_is_wrong(race: Result) -> None:
    rules = json.loads(write("sarif", race, RACE, "en"))["runs"][0]["tool"]["driver"]["rules"]
    told = {rule["id"]: rule["shortDescription"]["text"] for rule in rules}
    assert told == {"present": "kernel not found", "races": "data race"}


@pytest.mark.parametrize("name", FORMATS)
def test_names_of_any_length_leave_room_for_what_services_take(conflict: Result, name: str) -> None:
    """The summary of a job is at most 1 MiB, and Classroom's reporter is handed a variable of at most 128 KiB."""
    words = "имя" * 100_000
    checks = [structs.replace(check, message=words, hint=words, message_said=None) for check in conflict.checks]
    source = structs.replace(conflict.sources[0], text=conflict.sources[0].text.replace("buf", "b" + "f" * 300_000))
    told = printed(name, structs.replace(conflict, checks=checks, sources=[source]))
    # Gradescope's file has no such limit, and quotes the lines besides.
    assert len(told.encode()) < (400_000 if name in ("gradescope", "junit") else 120_000)


def test_a_name_of_two_lines_is_one_line_to_an_editor(conflict: Result) -> None:
    source = structs.replace(conflict.sources[0], file="a\nb.cu")
    variants = {name: structs.replace(one, file="a\nb.cu") for name, one in conflict.variants.items()}
    told = write("gcc", structs.replace(conflict, sources=[source], variants=variants), Path("a\nb.cu"), "en")
    assert told.startswith("a␊b.cu:44:5: error: ")
    assert "\nb.cu" not in told


@pytest.mark.parametrize("name", ["gitlab", "sarif"])
def test_a_fault_is_known_again_whatever_else_was_found_and_wherever_it_stands(name: str, conflict: Result) -> None:
    def known(result: Result) -> dict[str, list[str]]:
        told = json.loads(printed(name, result))
        found = told if name == "gitlab" else told["runs"][0]["results"]
        by_check: dict[str, list[str]] = {}
        for item in found:
            check = item["check_name"] if name == "gitlab" else item["ruleId"]
            by_check.setdefault(check, []).append(
                item["fingerprint"] if name == "gitlab" else item["partialFingerprints"]["fault/v1"]
            )
        return by_check

    first = known(conflict)
    worse = [
        structs.replace(check, status="fail", line=check.line and check.line + 5) if check.check == "launch" else check
        for check in conflict.checks
    ]
    again = known(structs.replace(conflict, checks=worse))
    assert first.keys() == {"bank_conflicts", "remark"} == again.keys() - {"launch"}
    assert [again[check] for check in first] == list(first.values())
    every = [identity for identities in again.values() for identity in identities]
    assert len(set(every)) == len(every)


def test_the_same_fault_of_several_launches_is_one_remark(tmp_path: Path) -> None:
    text = (SAMPLES / "petrova" / "transpose.cu").read_text("utf-8")
    lines = [line for line in text.split("\n") if "cudaGetLastError" not in line]
    again = next(number for number, line in enumerate(lines) if "transp_simple<<<" in line)
    lines.insert(again, lines[again])
    (tmp_path / "transpose.cu").write_text("\n".join(lines), "utf-8")
    result = graded_result(tmp_path / "transpose.cu", structs.replace(OPTIONS, repairs=False))[0]
    told = [
        f"transpose.cu, lines {again + 1}, {again + 2}: The program never checks whether the launch of transp_simple"
    ]
    assert [remark for remark in result.remarks if "transp_simple" in remark] == [f"{told[0]} failed."]


def test_markdown_tells_what_waits_from_what_does_not_apply(conflict: Result) -> None:
    rows = {line.split(" | ")[0]: line for line in printed("markdown", conflict).splitlines() if line.startswith("| ")}
    assert rows["| speedup"] == "| speedup |  |  | … 5 pending |"
    assert rows["| bank conflicts"] == "| bank conflicts |  |  | ✗ 0 of 10 |"
    assert rows["| sizes not divisible by the tile"].split(" | ")[1:] == ["·", "·", "· |"]


def test_every_compiler_error_has_its_line(repository: Path) -> None:
    result = graded_result(repository / "my lab" / "transpose.cu", OPTIONS)[0]
    lines = printed("gcc", result, repository / "my lab" / "transpose.cu").splitlines()
    at = {
        int(m[1]) for m in (re.search(r"transpose\.cu:(\d+):\d+: error: .*\[compiles\]", line) for line in lines) if m
    }
    assert {10, 45} <= at or {10, 44} <= at
    assert all("nothing_of_this_name" not in line or ":10:" in line for line in lines)


def test_github_names_file_and_line_of_the_repository(conflict: Result) -> None:
    (command,) = [line for line in printed("github", conflict).splitlines() if line.startswith("::error ")]
    head, _colons, message = command.removeprefix("::").partition("::")
    name, _space, properties = head.partition(" ")
    assert name == "error"
    told = dict(pair.split("=", 1) for pair in properties.split(","))
    assert (told["file"], told["line"]) == ("submissions/petrova/transpose.cu", "44")
    assert told["title"] == "bank conflicts · padded"
    assert "6.06 %25.%0A" in message
    assert "\n" not in message


def test_no_text_of_a_student_is_a_command_of_its_own(conflict: Result) -> None:
    evil = "x\r\n::set-env name=PATH::/tmp\n##[error]"
    checks = [structs.replace(c, message=evil, hint=evil) if c.status == "fail" else c for c in conflict.checks]
    result = structs.replace(conflict, checks=checks, remarks=[evil], remarks_said=[])
    for name in ("github", "vpl", "gcc"):
        for line in printed(name, result).splitlines():
            assert line.startswith(("::error ", "::notice ", "Comment :=>>", "Grade :=>> 76", "/", "submissions/")), (
                line
            )


def test_sarif_is_valid_and_names_the_line(conflict: Result) -> None:
    log = json.loads(printed("sarif", conflict))
    jsonschema.validate(log, SUBSET, jsonschema.Draft7Validator)
    (result,) = [one for one in log["runs"][0]["results"] if one["level"] == "error"]
    assert log["runs"][0]["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "bank_conflicts"
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "submissions/petrova/transpose.cu"
    assert place["region"] == {"startLine": 44, "startColumn": 5, "endColumn": 50}


def test_sarif_escapes_paths(repository: Path) -> None:
    result = graded_result(repository / "my lab" / "transpose.cu", OPTIONS)[0]
    log = json.loads(printed("sarif", result, repository / "my lab" / "transpose.cu"))
    jsonschema.validate(log, SUBSET, jsonschema.Draft7Validator)
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in log["runs"][0]["results"]}
    assert uris == {"my%20lab/transpose.cu"}


def test_gitlab_tells_a_severity_and_a_line(conflict: Result) -> None:
    records = json.loads(printed("gitlab", conflict))
    (record,) = [record for record in records if record["severity"] == "major"]
    assert len({record["fingerprint"] for record in records}) == len(records)
    assert set(record) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert record["location"] == {"path": "submissions/petrova/transpose.cu", "lines": {"begin": 44}}
    assert record["severity"] in {"info", "minor", "major", "critical", "blocker"}


def test_classroom_adds_up_to_the_mark(conflict: Result) -> None:
    record = json.loads(base64.b64decode(printed("classroom", conflict), validate=False))
    assert record["status"] == "fail"
    assert record["max_score"] == 91
    assert sum(test["score"] for test in record["tests"]) == 76
    failed = [test for test in record["tests"] if test["status"] == "fail"]
    assert [(test["filename"], test["line_no"]) for test in failed] == [("transpose.cu", 44)]


def test_a_service_s_own_scale(conflict: Result) -> None:
    assert printed("vpl", conflict, out_of=10).splitlines()[-1] == "Grade :=>> 8.35"
    assert printed("vpl", conflict).splitlines()[-1] == "Grade :=>> 76.00"
    record = json.loads(base64.b64decode(printed("classroom", conflict, out_of=10)))
    assert sum(test["score"] for test in record["tests"]) == pytest.approx(10 * 76 / 91, abs=0.01)


def test_vpl_gives_no_grade_where_the_grader_failed(conflict: Result) -> None:
    assert "Grade" not in printed("vpl", structs.replace(conflict, status="error"))


def test_gradescope_has_a_test_for_each_check_with_points(conflict: Result) -> None:
    record = json.loads(printed("gradescope", conflict, seconds=1.5))
    assert record["score"] == sum(test["score"] for test in record["tests"]) == 76
    assert sum(test["max_score"] for test in record["tests"]) == 91
    assert record["execution_time"] == 1.5
    allowed = {"score", "max_score", "status", "name", "name_format", "number", "output", "output_format", "tags"}
    for test in record["tests"]:
        assert set(test) <= allowed | {"visibility", "extra_data"}
        assert test.get("status", "passed") in {"passed", "failed"}
    (failed,) = [test for test in record["tests"] if test.get("status") == "failed"]
    assert "<code>transpose.cu:44</code>" in failed["output"]
    assert "<pre>b[x + y * n] = buf[threadIdx.x][threadIdx.y];</pre>" in failed["output"]
    board = {row["name"]: row for row in record["leaderboard"]}
    assert board["Points"]["value"] == 76
    # Counted by hand: 65 536 elements; 8 per sector both ways, once in 32 lanes' worth for the naive kernel's stores.
    assert board["Sectors of global memory"]["order"] == "asc"
    assert board["Wavefronts of shared memory"]["value"] == sum(
        row.wavefronts
        for variant in conflict.variants.values()
        if variant.counters
        for row in variant.counters.by_line
        if row.space == "shared"
    )


def test_gradescope_s_board_leaves_out_wrong_kernels(conflict: Result) -> None:
    checks = [structs.replace(c, status="fail") if c.id == "naive.correct" else c for c in conflict.checks]
    record = json.loads(printed("gradescope", structs.replace(conflict, checks=checks)))
    assert [row["name"] for row in record["leaderboard"]] == ["Points"]


def test_markup_of_a_student_is_text(conflict: Result) -> None:
    evil = "<img src=x onerror=alert(1)> [click](javascript:x) `code`"
    checks = [structs.replace(c, message=evil) if c.status == "fail" else c for c in conflict.checks]
    result = structs.replace(conflict, checks=checks)
    assert "<img" not in printed("gradescope", result)
    shown = printed("markdown", result)
    assert "\\<img" in shown
    assert "\\[click\\]" in shown


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_speaks_russian(conflict: Result, name: str) -> None:
    i18n.use("ru")
    text = write(name, conflict, SAMPLES / "petrova", "ru")
    assert text


def test_paths_are_told_from_the_root_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "a" / "b").mkdir()
    file = tmp_path / "a" / "b" / "lab.cu"
    file.write_text("x", "utf-8")
    assert repository_of(file) == (tmp_path / "a").resolve()
    assert Whereabouts(file, "lab", tmp_path / "a").path("lab.cu") == "b/lab.cu"
    assert Whereabouts(tmp_path / "a" / "b", "lab", tmp_path / "a").path("lab.cu") == "b/lab.cu"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    assert repository_of(file) == tmp_path
    monkeypatch.setenv("GITHUB_WORKSPACE", "/elsewhere")
    assert repository_of(file) == (tmp_path / "a").resolve()


def test_a_file_is_found_in_a_folder_of_its_own_and_among_others_of_its_name(tmp_path: Path) -> None:
    """As repositories have them: `src`, or an old version beside the one that was graded."""
    for name, text in (("old", "old"), ("src", "new"), (".hidden", "new"), ("lab/part", "part")):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / ("part.cu" if name == "lab/part" else "lab.cu")).write_text(text, "utf-8")
    digests = {"lab.cu": hashlib.sha256(b"new").hexdigest()}
    assert Whereabouts(tmp_path, "lab", tmp_path, digests).path("lab.cu") == "src/lab.cu"
    assert Whereabouts(tmp_path, "lab", tmp_path).path("part.cu") == "lab/part/part.cu"
    # A file that has changed since is still one of that name; one that is gone would lie at the top.
    digests = {"lab.cu": hashlib.sha256(b"newer").hexdigest()}
    assert Whereabouts(tmp_path, "lab", tmp_path, digests).path("lab.cu") == "old/lab.cu"
    assert Whereabouts(tmp_path, "lab", tmp_path).path("gone.cu") == "gone.cu"


def test_gcc_s_lines_are_read_by_a_compiler_s_user(conflict: Result) -> None:
    """`grep -n` agrees that the line which is named holds what the report shows."""
    file, line = printed("gcc", conflict).split(":")[:2]
    shown = subprocess.run(["sed", "-n", f"{line}p", file], capture_output=True, text=True, check=True).stdout
    assert "buf[threadIdx.x][threadIdx.y]" in shown
