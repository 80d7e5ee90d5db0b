"""Predicted times on a terminal: with interval, what takes most, causes, and why there is none."""

from __future__ import annotations

import io

import msgspec
import pytest

from grader import i18n
from grader.report import terminal
from grader.report.summary import summary
from grader.result import Result
from tests.report.jobs import TIME, job, with_time


def shown(result: Result, language: str = "en") -> str:
    file = io.StringIO()
    i18n.use(language)
    try:
        terminal.show_result(terminal.console(file), summary(job(result, language=language)))
    finally:
        i18n.use("en")
    return file.getvalue().replace("\u00a0", " ")


def test_the_terminal_has_a_row_for_each_time_and_what_it_need_not_be() -> None:
    lines = shown(with_time(shared=TIME)).splitlines()
    start = lines.index("Predicted times")
    assert lines[start + 1].startswith("Predicted for H200 at")
    assert lines[start + 3].split() == ["Variant", "Predicted", "time", "Interval", "Largest", "part", "of", "it"]
    assert lines[start + 5].split() == [
        "shared",
        "2.0",
        "ms",
        "1.3",
        "ms",
        "–",
        "3.0",
        "ms",
        "shared",
        "memory",
        "(70",
        "%)",
    ]
    assert lines[start + 7 :] == ["shared: Bank conflicts take 75 % of the time: without them 4 times as fast."]


def test_a_reason_stands_for_a_time_and_the_device_is_said_to_be_unchecked() -> None:
    result = with_time(naive=msgspec.structs.replace(TIME, is_checked=False, predicted_without_us={}))
    padded = msgspec.structs.replace(result.variants["padded"], unpredicted="too long")
    lines = shown(msgspec.structs.replace(result, variants={**result.variants, "padded": padded})).splitlines()
    assert [line.split() for line in lines if "too long" in line] == [["padded", "—", "—", "too", "long"]]
    assert "published figures alone" in lines[-1]


@pytest.mark.parametrize(("language", "heading"), [("en", "Predicted times"), ("ru", "Прогноз времени")])
def test_nothing_is_shown_where_nothing_was_asked_for(language: str, heading: str) -> None:
    assert heading in shown(with_time(shared=TIME), language)
    assert heading not in shown(with_time(), language)
