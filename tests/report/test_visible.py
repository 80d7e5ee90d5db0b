"""Nothing that a student writes acts on a terminal or on the order of a line."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.report.text import visible, visible_all


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
