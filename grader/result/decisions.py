"""What a teacher decided of a result after it was graded: it stands beside what the grader found, and can be undone."""

from __future__ import annotations

from grader.result.record import Record


class Override(Record, frozen=True):
    """Points that a teacher gives, in place of the grader's.

    was, was_pending, was_possible: what stood there.  outdated: what it replaces is no more what it was when that was
    decided.
    """

    points: float
    was: float
    was_pending: float
    was_possible: float
    reason: str
    outdated: bool = False


class Lateness(Record, frozen=True):
    """Work that was handed in after its deadline.

    handed_in, deadline: ISO 8601; the student's extra time is part of the deadline.  days: begun days between them.
    penalty_pct: what is taken off the points, in per cent of them; lost: in points.
    """

    handed_in: str
    deadline: str
    days: int
    penalty_pct: float
    lost: float


class Decisions(Record, frozen=True):
    """What holds for the whole mark.

    late: null for work in time.  total: null where the sum of the checks stands.  note: "" where there is none.
    asks_time: there is a deadline, and nobody says when the work was handed in: no penalty is counted.
    """

    late: Lateness | None = None
    total: Override | None = None
    note: str = ""
    asks_time: bool = False
