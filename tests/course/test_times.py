"""Times as people and systems write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from grader.course.roster import parse_time, zoned
from grader.errors import UsageError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-09-05 18:14", datetime(2026, 9, 5, 18, 14)),
        ("2026-09-05", datetime(2026, 9, 5, 23, 59, 59)),
        ("05.09.2026 18:14", datetime(2026, 9, 5, 18, 14)),
        ("5.9.2026", datetime(2026, 9, 5, 23, 59, 59)),
        ("суббота, 5 сентября 2026, 18:14", datetime(2026, 9, 5, 18, 14)),
        ("Saturday, 5 September 2026, 12:14 AM", datetime(2026, 9, 5, 0, 14)),
        ("2026-09-05 18:14:31.250000000 Z", datetime(2026, 9, 5, 18, 14, 31, 250_000, tzinfo=UTC)),
        ("2026-09-05 18:14:31.000000000 Z", datetime(2026, 9, 5, 18, 14, 31, tzinfo=UTC)),
        # Gradescope's, which Ruby writes.
        ("2026-09-05 18:14:31.000000000 +0300", datetime(2026, 9, 5, 15, 14, 31, tzinfo=UTC)),
        ("2026-09-05 18:14:31 UTC", datetime(2026, 9, 5, 18, 14, 31, tzinfo=UTC)),
        ("2026-09-05 18:14:31 -07:00", datetime(2026, 9, 6, 1, 14, 31, tzinfo=UTC)),
        ("5 September 2026, 6:14 PM", datetime(2026, 9, 5, 18, 14)),
        ("5 September 2026, 12:14 PM", datetime(2026, 9, 5, 12, 14)),
        ("5 September 2026 at 6:14:09 am", datetime(2026, 9, 5, 6, 14, 9)),
        ("5 September 2026", datetime(2026, 9, 5, 23, 59, 59)),
        ("5\u00a0сентября 2026 г., 18:14", datetime(2026, 9, 5, 18, 14)),
        ("2026-09-05T18:14:31Z", datetime(2026, 9, 5, 18, 14, 31, tzinfo=UTC)),
    ],
)
def test_times(text: str, expected: datetime) -> None:
    assert parse_time(text) == expected


@pytest.mark.parametrize("text", ["", "tomorrow", "31.02.2026", "5 Maytober 2026", "25:00", "05.09.2026 25:61"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError):
        parse_time(text)


def test_times_with_and_without_a_zone() -> None:
    from zoneinfo import ZoneInfo

    moscow = ZoneInfo("Europe/Moscow")
    assert zoned(datetime(2026, 9, 5, 18, 0), moscow) == zoned(parse_time("2026-09-05T15:00:00Z"), moscow)
