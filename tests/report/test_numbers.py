"""Numbers as text in English and Russian."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.numbers import Numbers


@pytest.mark.parametrize(
    ("value", "english", "russian"),
    [
        (0.0, "0", "0"),
        (15.0, "15", "15"),
        (7.5, "7.5", "7,5"),
        (6.0606, "6.06", "6,06"),
        (0.999, "1", "1"),
        (-0.001, "0", "0"),
        (-0.25, "-0.25", "-0,25"),
        (12345.5, "12,345.5", "12\u202f345,5"),
    ],
)
def test_decimals_drop_trailing_zeros_and_follow_the_language(value: float, english: str, russian: str) -> None:
    assert Numbers("en").decimal(value) == english
    assert Numbers("ru").decimal(value) == russian


@pytest.mark.parametrize(
    ("value", "english", "russian"),
    [
        (0, "0", "0"),
        (9999, "9999", "9999"),
        (63488, "63,488", "63\u202f488"),
        (1234567, "1,234,567", "1\u202f234\u202f567"),
    ],
)
def test_counts_are_grouped_from_five_digits_on(value: int, english: str, russian: str) -> None:
    assert Numbers("en").count(value) == english
    assert Numbers("ru").count(value) == russian


@given(st.floats(min_value=-1e9, max_value=1e9))
def test_a_decimal_reads_back_as_the_number(value: float) -> None:
    text = Numbers("ru").decimal(value).replace("\u202f", "").replace(",", ".")
    assert float(text) == pytest.approx(value, abs=0.005 + 1e-9)


def test_percent_keeps_its_sign_on_the_line() -> None:
    assert Numbers("ru").percent(6.06) == "6,06\u00a0%"


def test_errors_are_powers_of_ten() -> None:
    assert Numbers("en").error(0.0) == "0"
    assert Numbers("ru").error(0.000123) == "1,2e-4"


@pytest.mark.parametrize(
    ("value", "english", "russian"), [(8, "8", "8,0"), (5.04, "5", "5,0"), (31.46, "31.5", "31,5")]
)
def test_a_ratio_in_russian_always_has_a_decimal(value: float, english: str, russian: str) -> None:
    assert (Numbers("en").ratio(value), Numbers("ru").ratio(value)) == (english, russian)
