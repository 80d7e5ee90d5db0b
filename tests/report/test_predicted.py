"""Predicted times on the page and on a terminal: said to be predicted, with interval, parts, causes and lines, and why
there are none.
"""

from __future__ import annotations

import io

import msgspec
import pytest

from grader import i18n
from grader.checks.execution import predicted_figures
from grader.measured import FasterChange, Ratio, Timing
from grader.report import html, terminal
from grader.report.predicted import predicted_times
from grader.report.summary import summary
from grader.result import Repair, Result
from grader.words import text
from tests.report.jobs import TIME, job, with_time


def test_a_row_tells_time_interval_ratio_parts_causes_and_lines() -> None:
    view = predicted_times(job(with_time(shared=TIME)))
    assert view is not None
    (row,) = view["rows"]
    assert (row["name"], row["time"], row["why"]) == ("shared", "2.0\u00a0ms", "")
    assert row["facts"] == [
        "interval 1.3\u00a0ms – 3.0\u00a0ms",
        "3.1 times as fast as naive (1.7 to 5.6)",
        "2.5 times as fast as the reference kernel naive (1.4 to 4.5)",
    ]
    # Memory from far to near; what is less than 1 % is left out.
    assert [(s["unit"], s["width"]) for s in row["shares"]] == [("L2 cache", 25.0), ("shared memory", 70.0)]
    assert row["notes"] == [
        "The largest part of the time goes to accesses to shared memory.",
        "Bank conflicts take 75\u00a0% of the predicted time: without them 4 times as fast.",
    ]
    assert [(line["percent"], line["units"]) for line in row["lines"]] == [
        ("80\u00a0%", "shared memory\u00a070\u00a0%, L2 cache\u00a010\u00a0%")
    ]
    assert view["caption"].startswith("Predicted for H200")
    assert not any("published figures" in note for note in view["notes"])


def test_an_unchecked_device_is_said_to_be_one_and_a_reason_stands_for_a_time() -> None:
    result = with_time(naive=msgspec.structs.replace(TIME, is_checked=False))
    padded = msgspec.structs.replace(result.variants["padded"], unpredicted="too long")
    view = predicted_times(job(msgspec.structs.replace(result, variants={**result.variants, "padded": padded})))
    assert view is not None
    assert [(row["name"], row["time"] != "", row["why"]) for row in view["rows"]] == [
        ("naive", True, ""),
        ("padded", False, "too long"),
    ]
    assert any("No predicted time was ever compared" in note for note in view["notes"])


def test_nothing_is_shown_where_nothing_was_asked_for() -> None:
    assert predicted_times(job()) is None
    assert "<h2>Predicted times" not in html.render(html.document(job()), [])


@pytest.mark.parametrize(("language", "words"), [("en", "Predicted times"), ("ru", "Прогноз времени")])
def test_the_page_says_that_times_are_predicted(language: str, words: str) -> None:
    i18n.use(language)
    try:
        page = html.render(html.document(job(with_time(shared=TIME), language=language)), [])
    finally:
        i18n.use("en")
    assert f"<h2>{words}" in page
    assert 'style="width:70.0%;background:' in page


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
    assert lines[start + 7 :] == [
        "shared: Bank conflicts take 75 % of the predicted time: without them 4 times as fast."
    ]


def test_a_reason_stands_for_a_time_and_the_device_is_said_to_be_unchecked() -> None:
    result = with_time(naive=msgspec.structs.replace(TIME, is_checked=False, predicted_without_us={}))
    padded = msgspec.structs.replace(result.variants["padded"], unpredicted="too long")
    lines = shown(msgspec.structs.replace(result, variants={**result.variants, "padded": padded})).splitlines()
    assert [line.split() for line in lines if "too long" in line] == [["padded", "—", "—", "too", "long"]]
    assert "No predicted time was ever compared" in lines[-1]


@pytest.mark.parametrize(("language", "heading"), [("en", "Predicted times"), ("ru", "Прогноз времени")])
def test_a_terminal_shows_nothing_where_nothing_was_asked_for(language: str, heading: str) -> None:
    assert heading in shown(with_time(shared=TIME), language)
    assert heading not in shown(with_time(), language)


SURE, UNSURE = Ratio(value=4.0, low=2.222, high=7.2), Ratio(value=1.8, low=0.556, high=5.83)


def with_change(of: str, diff: list[str], result: Result, gain: Ratio = SURE) -> Result:
    change = FasterChange(
        file="transpose.cu",
        line=9,
        kind="padding",
        device="H200",
        size=TIME.size,
        predicted_us=500.0,
        predicted_times=gain,
        diff=diff,
        effect="One wavefront for 32.",
    )
    changed = msgspec.structs.replace(result.variants[of], faster=change)
    return msgspec.structs.replace(result, variants={**result.variants, of: changed})


DIFF = ["@@ -9,1 +9,1 @@", "-    float t[8][8];", "+    float t[8][8 + 1];"]


@pytest.mark.parametrize(
    ("language", "heading", "said"),
    [
        ("en", "Changes that may make kernels faster", "predicted 4 times as fast on H200 (2.2 to 7.2)"),
        ("ru", "Изменения, которые могут ускорить ядра", "по прогнозу в 4 раза быстрее на H200 (от 2,2 до 7,2)"),
    ],
)
def test_a_change_that_makes_faster_is_said_to_be_predicted_and_shown(language: str, heading: str, said: str) -> None:
    result = with_change("naive", DIFF, with_change("shared", DIFF, with_time(naive=TIME, shared=TIME)))
    lines = shown(result, language)
    told = " ".join(lines.split())
    assert heading in told
    assert told.count(said) == 2
    # Of one change that makes two kernels faster the lines stand there once.
    assert lines.count("transpose.cu:9: ") == 1
    assert (lines.count("+    float t[8][8 + 1];"), told.count("One wavefront for 32.")) == (1, 2)
    i18n.use(language)
    try:
        page = html.render(html.document(job(result, language=language)), []).replace("\u00a0", " ")
    finally:
        i18n.use("en")
    assert heading in page and page.count(said) == 2
    assert page.count('<span class="added">+    float t[8][8 + 1];</span>') == 1


@pytest.mark.parametrize(
    ("language", "gain"),
    [
        ("en", "naive: 1.35 times as fast, measured on NVIDIA H100 (1.34 to 1.36); predicted 4 on H200."),
        ("ru", "naive: в 1,35 раза быстрее, измерено на NVIDIA H100 (от 1,34 до 1,36); прогноз для H200: 4."),
    ],
)
def test_a_measured_gain_stands_before_the_predicted_one(language: str, gain: str) -> None:
    result = with_change("naive", DIFF, with_time(naive=TIME))
    change = result.variants["naive"].faster
    assert change is not None
    change = msgspec.structs.replace(change, measured_on="NVIDIA H100", measured_times=Ratio(1.351, 1.342, 1.361))
    naive = msgspec.structs.replace(result.variants["naive"], faster=change)
    measured = msgspec.structs.replace(result, variants={**result.variants, "naive": naive})
    # That gains were predicted, not measured, is no longer said.
    predicted_only = {"en": "gains was predicted", "ru": "а не измерение."}[language]
    for one, is_measured in ((result, False), (measured, True)):
        told = " ".join(shown(one, language).split())
        assert (gain in told) is is_measured
        assert (predicted_only in told) is not is_measured


def test_of_a_change_that_is_kept_from_students_or_shown_at_a_fault_the_gain_alone_is_told() -> None:
    result = with_time(shared=TIME)
    hidden = shown(with_change("shared", [], result))
    repair = Repair(file="transpose.cu", line=9, kind="padding", diff=DIFF)
    checks = [msgspec.structs.replace(result.checks[0], repair=repair), *result.checks[1:]]
    at_fault = shown(msgspec.structs.replace(with_change("shared", DIFF, result), checks=checks))
    for page in (hidden, at_fault):
        assert "predicted 4 times as fast" in " ".join(page.split("Changes that may make kernels faster")[1].split())
        assert "8 + 1" not in page.split("Changes that may make kernels faster")[1]


@pytest.mark.parametrize(
    ("language", "change", "over"),
    [
        (
            "en",
            "1.8 times as fast on H200, with an interval of 0.6 to 5.8: only a measurement tells whether it is faster.",
            "speed over that of naive: 1.8 (0.6 to 5.8), which of them is faster is not certain",
        ),
        (
            "ru",
            "в 1,8 раза быстрее на H200, но с интервалом от 0,6 до 5,8: стало ли быстрее, покажет только измерение.",
            "отношение скорости к скорости naive: 1,8 (от 0,6 до 5,8); что из них быстрее, неизвестно",
        ),
    ],
)
def test_no_gain_is_claimed_where_the_interval_holds_none(language: str, change: str, over: str) -> None:
    time = msgspec.structs.replace(TIME, predicted_over_baseline=UNSURE)
    result = with_change("shared", DIFF, with_time(naive=TIME, shared=time), UNSURE)
    assert change in " ".join(shown(result, language).split())
    i18n.use(language)
    try:
        page = html.render(html.document(job(result, language=language)), []).replace("\u00a0", " ")
    finally:
        i18n.use("en")
    assert change in page and over in page


def test_a_slower_kernel_is_said_to_be_slower() -> None:
    slow = msgspec.structs.replace(TIME, predicted_over_baseline=Ratio(value=0.125, low=0.04, high=0.4))
    view = predicted_times(job(with_time(naive=TIME, shared=slow)))
    assert view is not None
    facts = next(row["facts"] for row in view["rows"] if row["name"] == "shared")
    assert "8\u00a0times slower than naive (2.5 to 25)" in [fact.replace(" times", "\u00a0times") for fact in facts]


def test_what_a_gpu_took_stands_beside_what_was_predicted() -> None:
    result = with_time(shared=TIME, padded=TIME)
    timing = [Timing(size={"rows": 1, "cols": 1}, median_us=1.0), Timing(size=dict(TIME.size), median_us=1800.0)]
    shared = msgspec.structs.replace(result.variants["shared"], timing=timing)
    environment = msgspec.structs.replace(result.environment, device="NVIDIA H200")
    result = msgspec.structs.replace(result, variants={**result.variants, "shared": shared}, environment=environment)
    lines = shown(result).splitlines()
    assert any(line.endswith("beside what was measured on NVIDIA H200.") for line in lines)
    rows = [line.split() for line in lines]
    assert ["shared", "2.0", "ms", "1.3", "ms", "–", "3.0", "ms", "1.8", "ms", "shared", "memory", "(70", "%)"] in rows
    assert ["padded", "2.0", "ms", "1.3", "ms", "–", "3.0", "ms", "—", "shared", "memory", "(70", "%)"] in rows
    view = predicted_times(job(result))
    assert view is not None
    assert "measured: 1.8\u00a0ms" in next(row for row in view["rows"] if row["name"] == "shared")["facts"]


@pytest.mark.parametrize(("ratio", "said"), [(SURE, "times as fast as"), (UNSURE, "is not certain")])
def test_a_speedup_whose_interval_holds_one_is_no_gain(ratio: Ratio, said: str) -> None:
    assert said in text(predicted_figures(TIME, ratio))
