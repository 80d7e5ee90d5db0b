"""Predicted times where a measured one would stand: in every export, and beside the check that waits for it."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import msgspec
import pytest

from grader import i18n
from grader.exports.finding_formats import FORMATS, write
from grader.grading.predictions import in_result
from grader.measured import Ratio
from grader.message import msg
from grader.result import Result
from grader.words import text
from tests import sample_results
from tests.report.jobs import TIME, with_time

FIGURES = {"device": "H200", "predicted_us": 1995.0, "predicted_low_us": 1330.0, "predicted_high_us": 2990.0}


@pytest.fixture(autouse=True)
def english() -> None:
    i18n.use("en")


def written(name: str, result: Result) -> str:
    return write(name, result, Path("ivanov"), "en")


@pytest.mark.parametrize("name", sorted({"json", "sarif", "junit", "markdown", "vpl", "gradescope"}))
def test_nothing_is_said_of_predictions_where_none_was_made(name: str) -> None:
    plain = written(name, sample_results.passed())
    assert "predicted_us" not in plain
    assert "Predicted" not in plain


def test_programs_find_the_times_by_variant() -> None:
    result = with_time(shared=TIME)
    assert json.loads(written("json", result))["predicted"] == {"shared": FIGURES}
    (run,) = json.loads(written("sarif", result))["runs"]
    assert run["properties"]["predicted"] == {"shared": FIGURES}
    properties = ET.fromstring(written("junit", result)).iter("property")
    assert [(p.get("name"), p.get("value")) for p in properties if "predicted" in str(p.get("name"))] == [
        ("predicted_us.shared", "1995")
    ]
    scores = json.loads(written("gradescope", result))
    assert scores["extra_data"]["predicted"] == {"shared": FIGURES}


def test_the_leaderboard_has_the_fastest_of_right_kernels() -> None:
    faster = msgspec.structs.replace(TIME, predicted_us=20.0)
    board = json.loads(written("gradescope", with_time(shared=TIME, naive=faster)))["leaderboard"]
    assert board[-1] == {"name": "Predicted time on H200, µs", "value": 20.0, "order": "asc"}


def test_people_read_them_with_interval_and_device() -> None:
    result = with_time(shared=TIME)
    row = next(line for line in written("markdown", result).splitlines() if "Predicted time" in line)
    assert "H200" in row
    assert row.count("|") == len(result.variants) + 2
    assert "Comment :=>> shared: Predicted time 2.0\u00a0ms (1.3\u00a0ms – 3.0\u00a0ms; H200)" in written("vpl", result)


def test_a_check_of_speed_that_waits_says_what_was_predicted() -> None:
    result = sample_results.passed()
    waits = msgspec.structs.replace(
        next(c for c in result.checks if c.check == "speedup"), status="skip", skip_reason="not_measured", hint=""
    )
    others = [c for c in result.checks if c.id != waits.id]
    told = in_result(msgspec.structs.replace(result, checks=[*others, waits]), {waits.variant: TIME})
    assert told.checks[:-1] == others
    hint = told.checks[-1].hint_said
    assert hint is not None
    assert (hint.id, hint.data["figures"].data["speedup"]) == ("checks.speedup.hint_predicted", 2.5)  # type: ignore[union-attr]
    unsure = msgspec.structs.replace(TIME, predicted_speedup=Ratio(1.5, 0.46, 4.87))
    told = in_result(msgspec.structs.replace(result, checks=[waits]), {waits.variant: unsure})
    assert "which of them is faster is not certain" in text(told.checks[0].hint_said)
    # A reason in its place says nothing of speed.
    unknown = in_result(msgspec.structs.replace(result, checks=[waits]), {waits.variant: msg("predict.sizes")})
    assert unknown.checks == [waits]


def test_every_format_is_looked_at_here_or_has_no_place_for_times() -> None:
    places = {"gcc", "github", "gitlab", "classroom"}
    assert set(FORMATS) - places == {"json", "sarif", "junit", "markdown", "vpl", "gradescope"}
