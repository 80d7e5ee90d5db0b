"""Text that acts on nobody, and numbers in English and Russian."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader import i18n
from grader.report.text import Numbers, digits_needed, visible, visible_all


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
        (999, "999", "999"),
        (4096, "4,096", "4\u202f096"),
        (63488, "63,488", "63\u202f488"),
        (1234567, "1,234,567", "1\u202f234\u202f567"),
    ],
)
def test_counts_of_a_table_are_grouped_alike(value: int, english: str, russian: str) -> None:
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
    ("value", "english", "russian"),
    [
        (8, "8 times", "8 раз"),
        (5.04, "5 times", "5 раз"),
        (31.46, "31.5 times", "31,5 раза"),
        (2, "2 times", "2 раза"),
        (1, "1 time", "1 раз"),
        (21, "21 times", "21 раз"),
        (0.43, "0.4 times", "0,4 раза"),
    ],
)
def test_the_noun_agrees_with_its_number(value: float, english: str, russian: str) -> None:
    assert Numbers("en").times(value) == english
    i18n.use("ru")
    assert Numbers("ru").times(value) == russian
    assert Numbers("ru").sectors(8.12) == "8,12 сектора"
    i18n.use("en")


@pytest.mark.parametrize(
    ("value", "digits", "english", "russian"),
    [
        (1.0, 2, "1.00", "1,00"),
        (-0.001, 2, "0.00", "0,00"),
        (-0.25, 1, "-0.2", "-0,2"),
        (24675.4, 0, "24,675", "24\u202f675"),
        (12345.5, 1, "12,345.5", "12\u202f345,5"),
    ],
)
def test_numbers_of_a_table_keep_their_decimals(value: float, digits: int, english: str, russian: str) -> None:
    assert (Numbers("en").fixed(value, digits), Numbers("ru").fixed(value, digits)) == (english, russian)


def test_columns_are_padded_to_the_longest_decimals() -> None:
    assert Numbers("ru").aligned(["1,25", "–", "24\u202f675", "119,0"]) == [
        "1,25",
        "–\u2008\u2007\u2007",
        "24\u202f675\u2008\u2007\u2007",
        "119,0\u2007",
    ]
    assert Numbers("en").aligned(["9999", "24,675.1"]) == ["9999\u2008\u2007", "24,675.1"]


def test_as_many_decimals_as_any_of_a_row_needs() -> None:
    assert [digits_needed(v) for v in ([], [4.0, 32.0], [4.0, 3.5], [4.0, 3.984], [2.0, 1.999])] == [0, 0, 1, 2, 0]


def test_microseconds_carry_the_unit_of_the_language() -> None:
    assert (Numbers("en").microseconds(5.98), Numbers("ru").microseconds(5.98)) == ("5.98\u00a0µs", "5,98\u00a0мкс")


@pytest.mark.parametrize(
    ("language", "possible", "text"),
    [
        ("en", 1, "of 1 point"),
        ("en", 91, "of 91 points"),
        ("en", 90.5, "of 90.5 points"),
        ("ru", 91, "из 91 балла"),
        ("ru", 11, "из 11 баллов"),
        ("ru", 32, "из 32 баллов"),
        ("ru", 100, "из 100 баллов"),
        ("ru", 90.5, "из 90,5 балла"),
    ],
)
def test_points_that_were_possible_take_the_form_that_follows_of(language: str, possible: float, text: str) -> None:
    i18n.use(language)
    try:
        numbers = Numbers(language)
        assert numbers.out_of(possible) == text
        assert numbers.mark(0, possible) == f"0 {text}"
    finally:
        i18n.use("en")


@pytest.mark.parametrize(
    ("value_us", "english", "russian"),
    [
        (3.14159, "3.1\u00a0µs", "3,1\u00a0мкс"),
        (9.96, "10\u00a0µs", "10\u00a0мкс"),
        (123.4, "120\u00a0µs", "120\u00a0мкс"),
        (996, "1.0\u00a0ms", "1,0\u00a0мс"),
        (5520.2, "5.5\u00a0ms", "5,5\u00a0мс"),
        (12_421, "12\u00a0ms", "12\u00a0мс"),
        (123_456, "120\u00a0ms", "120\u00a0мс"),
    ],
)
def test_a_time_known_roughly_has_two_digits(value_us: float, english: str, russian: str) -> None:
    assert (Numbers("en").about(value_us), Numbers("ru").about(value_us)) == (english, russian)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "␛[31mred␇"),
        ("a\r\nb\tc", "a␍\nb\tc"),
        ("if \u202e} \u2066// admin", "if ⟨U+202E⟩} ⟨U+2066⟩// admin"),
        ("\x9b2J\x7f", "\ufffd2J␡"),
        ("Иванов — «ёж»", "Иванов — «ёж»"),
    ],
)
def test_what_acts_is_shown(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    kept = {c for c in visible(text) if unicodedata.category(c) == "Cc"}
    assert kept <= {"\t", "\n"}
    assert not {unicodedata.bidirectional(c) for c in visible(text)} & {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI"}


def test_views_are_gone_through() -> None:
    assert visible_all({"a": ["\x1b", {"b": "\x07"}], "n": 1}) == {"a": ["␛", {"b": "␇"}], "n": 1}
