"""result.json is a contract: it survives a round trip, its published schema is current, bad files are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import jsonschema
import msgspec
import pytest

from grader import i18n
from grader.errors import UsageError
from grader.result import (
    Check,
    Override,
    Result,
    Score,
    decode,
    encode,
    exit_code,
    gravest_code,
    json_schema,
    marked,
    score_of,
    status_of,
)
from grader.words import told
from tests import sample_results

OLD = Path(__file__).parent / "data" / "results"


def check(status: str, earned: float = 0.0, possible: float = 10.0, pending: float = 0.0) -> Check:
    return Check(
        id="v.c",
        variant="v",
        check="c",
        status=status,  # type: ignore[arg-type]
        earned=earned,
        possible=possible,
        pending=pending,
    )


@pytest.mark.parametrize(
    "make", [sample_results.passed, sample_results.failed, sample_results.errored, sample_results.unjudged]
)
def test_round_trip_and_schema(make: Callable[[], Result]) -> None:
    result = make()
    data = encode(result)
    assert decode(data) == result
    schema = json.loads(files("grader").joinpath("result.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(data), schema, cls=jsonschema.Draft202012Validator)


def test_published_schema_is_current() -> None:
    published = json.loads(files("grader").joinpath("result.schema.json").read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(json_schema()))


def test_json_uses_the_contract_names() -> None:
    tree = json.loads(encode(sample_results.failed()))
    assert tree["schema_version"] == 3
    assert tree["student"]["id"] == "petrova"
    assert tree["variants"]["shared"]["launch"]["from"] == "submission"
    assert tree["variants"]["shared"]["counters"]["shared_efficiency_pct"] == 6.06
    assert tree["variants"]["naive"]["kernel"] is None
    assert tree["score"] == {"earned": 25.0, "possible": 80.0, "pending": 0.0}


def test_schema_refuses_a_made_up_status() -> None:
    tree = json.loads(encode(sample_results.passed()))
    tree["checks"][0]["status"] = "ok"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(tree, json_schema(), cls=jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "truncated"),
        (b"\xff\xfe", "UTF-8|malformed"),
        (b'{"lab": "x"}', "missing required field"),
        (encode(sample_results.passed()).replace(b'"earned"', b'"erned"', 1), "erned"),
        (
            encode(sample_results.passed()).replace(b'"schema_version": 3', b'"schema_version": 4'),
            "of schema version 4",
        ),
    ],
)
def test_bad_files_are_refused_by_name(data: bytes, words: str) -> None:
    with pytest.raises(UsageError, match=rf"(?s)old/result\.json: .*({words})"):
        decode(data, "old/result.json")


def test_score_sums_and_rounds() -> None:
    checks = [check("pass", 0.1), check("fail", 0.2), check("skip", 0.0, 10.0, 10.0)]
    assert score_of(checks) == Score(earned=0.3, possible=30.0, pending=10.0)


@pytest.mark.parametrize(
    ("statuses", "status", "code"),
    [
        (["pass", "skip", "borderline"], "passed", 0),
        (["pass", "fail", "skip"], "failed", 1),
        (["fail", "error"], "error", 3),
        ([], "passed", 0),
        (["pass", "unmeasured"], "passed", 0),
        (["pass", "unmeasured", "unmeasured"], "not_judged", 4),
        (["fail", "unmeasured", "unmeasured"], "not_judged", 4),
        # What waits for a failed check has failed with it.
        (["fail", "skip", "skip", "skip"], "failed", 1),
        (["fail", "waits", "waits", "unmeasured"], "failed", 1),
        (["unmeasured", "unmeasured", "error"], "error", 3),
        (["n/a", "n/a", "n/a", "pass"], "passed", 0),
    ],
)
def test_status_and_exit_code(statuses: list[str], status: str, code: int) -> None:
    kinds = {
        "unmeasured": {"skip_reason": "not_measured", "pending": 10.0},
        "waits": {"skip_reason": "prerequisite", "pending": 10.0},
        "n/a": {"skip_reason": "not_applicable", "possible": 0.0},
    }
    checks = [msgspec.structs.replace(check("skip" if s in kinds else s), **kinds.get(s, {})) for s in statuses]
    assert status_of(checks) == status
    base = sample_results.passed()
    result = Result(
        student=base.student,
        lab=base.lab,
        status=status_of(checks),
        score=score_of(checks),
        environment=base.environment,
        variants={},
        checks=checks,
    )
    assert exit_code([base, result]) == code


@pytest.mark.parametrize("path", sorted(OLD.glob("version_1_*.json")), ids=lambda p: p.stem)
def test_results_of_version_1_are_read_and_stay_as_they_are(path: Path) -> None:
    stored = json.loads(path.read_bytes())
    result = decode(path.read_bytes(), path)
    assert result.schema_version == stored["schema_version"] == 1
    assert [c.message for c in result.checks] == [c["message"] for c in stored["checks"]]
    # There is nothing to say them in another language by.
    i18n.use("ru" if path.stem.endswith("en") else "en")
    assert told(result) == result
    assert decode(encode(told(result))) == result
    jsonschema.validate(json.loads(encode(result)), json_schema(), cls=jsonschema.Draft202012Validator)


def test_time_is_left_aside_and_what_a_teacher_gives_is_judged() -> None:
    passed = check("pass")
    left = msgspec.structs.replace(check("skip"), skip_reason="not_measured", pending=10.0)
    timed = msgspec.structs.replace(left, check="speedup", possible=90.0, pending=90.0)
    assert status_of([passed, timed]) == "passed"
    assert status_of([passed, left, left, timed]) == "not_judged"
    given = Override(points=3.0, reason="read", was=0.0, was_pending=10.0, was_possible=10.0)
    assert status_of([passed, msgspec.structs.replace(left, override=given, earned=3.0, pending=0.0), left]) == "passed"


@pytest.mark.parametrize(("codes", "code"), [((), 0), ((0, 1, 4), 4), ((4, 2), 2), ((3, 4, 2), 3), ((1, 0), 1)])
def test_the_gravest_exit_code_is_the_one_of_several(codes: tuple[int, ...], code: int) -> None:
    assert gravest_code(codes) == code


@pytest.mark.parametrize("version", [1, 2])
def test_older_results_keep_to_the_statuses_of_their_time(version: int) -> None:
    old = msgspec.structs.replace(sample_results.unjudged(), schema_version=version, status="passed")
    assert decode(encode(old)) == old
    assert marked(old, old.checks).status == "passed"
    assert marked(sample_results.unjudged(), old.checks).status == "not_judged"
