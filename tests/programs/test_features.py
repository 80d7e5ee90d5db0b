"""The programs are many and unlike: each feature of real submissions is in three of them at least."""

from __future__ import annotations

from tests.programs.expected import PROGRAMS
from tests.programs.features import IN_TEXT, TABLE, markdown, table


def test_every_feature_is_in_three_programs() -> None:
    found = table()
    assert set(IN_TEXT) <= found.keys()
    assert not {feature: names for feature, names in found.items() if len(names) < 3}


def test_there_are_a_hundred_programs_and_long_ones_among_them() -> None:
    assert len(PROGRAMS) >= 100
    assert len(table()["above 200 lines"]) >= 18


def test_the_table_is_as_the_programs_are() -> None:
    assert TABLE.read_text(encoding="utf-8") == markdown()
