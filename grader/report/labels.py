"""Words, symbols and colours that every view of a result shares."""

from __future__ import annotations

from typing import NamedTuple

from grader.i18n import _

# Ordered so that neighbours differ in lightness too: a grey print still tells them apart.
VARIANT_COLOURS = ("#3a5a8c", "#d08a2e", "#2f8068", "#8a4a78", "#7f93a8", "#5d4a2f")


class Status(NamedTuple):
    """How a status is shown; never by colour alone."""

    key: str
    symbol: str
    word: str


def variant_colour(index: int) -> str:
    """The colour of the lab's `index`-th variant, the same in every table and figure."""
    return VARIANT_COLOURS[index % len(VARIANT_COLOURS)]


def check_status(status: str, skip_reason: str = "") -> Status:
    """How a check's status is shown; skip_reason: of one that is skipped, as results have it."""
    if status == "skip" and skip_reason == "not_applicable":
        return Status("none", "·", _("does not apply"))
    if status == "skip" and skip_reason == "prerequisite":
        return Status("blocked", "–", _("not reached"))
    shown = {
        "pass": Status("pass", "✓", _("passed")),
        "fail": Status("fail", "✗", _("failed")),
        "borderline": Status("borderline", "≈", _("borderline")),
        "skip": Status("skip", "…", _("not measured")),
        "error": Status("error", "!", _("grader error")),
    }
    return shown[status]


def result_status(status: str) -> Status:
    """How the status of a whole result is shown."""
    shown = {
        "passed": Status("pass", "✓", _("passed")),
        "failed": Status("fail", "✗", _("needs work")),
        "not_judged": Status("unjudged", "?", _("not judged")),
        "error": Status("error", "!", _("grading incomplete")),
    }
    return shown[status]
