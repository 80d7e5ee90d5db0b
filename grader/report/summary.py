"""The summary of a result, mark, checks against variants, what to mend, and its row in a group's table; plain text.

The views (`views.py`) hold strings, lists and dicts only, so that a template or a terminal table need decide
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.i18n import _
from grader.measured import PredictedTime
from grader.message import sentences_of
from grader.report import views
from grader.report.job import ReportJob, decided, decision_lines, size_text, variant_columns, where
from grader.report.predicted import beside, faster_views, of_variants, predicted_table
from grader.report.text import Numbers, Status, check_status, result_status, visible, visible_line
from grader.result import Check, Decisions, Result, is_unjudged, judged_points
from grader.words import check_title, fault_title

FAULT_STATUSES = ("fail", "borderline", "error")


def summary(job: ReportJob) -> views.Summary:
    """Mark, table of checks against variants, and what to mend: all that a terminal shows."""
    result = job.result
    numbers = Numbers(job.language)
    columns = variant_columns(job)
    names = [column["name"] for column in columns]
    return {
        "student": {
            "id": result.student.id,
            "name": visible(result.student.name or result.student.id),
            "group": visible(result.student.group),
        },
        "lab": {"id": result.lab, "title": job.lab_title},
        "status": status_view(result_status(result.status)),
        "unjudged": unjudged_lines(result, job.language),
        "score": score(result.score.earned, result.score.possible, result.score.pending, numbers),
        "decisions": decision_lines(result, job.language),
        "variants": columns,
        "matrix": matrix(result.checks, names, numbers),
        "totals": [totals([c for c in result.checks if c.variant == name], numbers) for name in names],
        "faults": faults(job, numbers),
        "waiting": waiting(result, numbers),
        "inapplicable": inapplicable(result.checks),
        "remarks": remarks(result, columns),
        "predicted_table": _predicted(job, numbers),
    }


def _predicted(job: ReportJob, numbers: Numbers) -> views.PredictedTable | None:
    times = of_variants(job.result.variants)
    if not times:
        return None
    size = next((time.size for time in times.values() if isinstance(time, PredictedTime)), {})
    by_variant = {name: variant.faster for name, variant in job.result.variants.items()}
    changes = {
        name: (where(job.result, change.file, change.line), change) for name, change in by_variant.items() if change
    }
    shown = [check.repair.diff for check in job.result.checks if check.repair is not None]
    faster = faster_views(changes, shown, numbers)
    has_measured_gains = all(change.measured_times for _place, change in changes.values())
    return predicted_table(times, size_text(size, job.extents), numbers, faster, beside(job.result), has_measured_gains)


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A reason for which checks were not judged.

    root: the check that it stopped; the others wait for that one.  variants: that it holds for.
    points: of all checks that it keeps from being judged.
    """

    root: Check
    variants: tuple[str, ...]
    points: float


def unjudged(result: Result) -> list[Unjudged]:
    """What keeps a result from a verdict, most points first; [] where it has one."""
    if result.status != "not_judged":
        return []
    by_reason: dict[tuple[str, str, str], Unjudged] = {}
    by_id = {check.id: check for check in result.checks}
    for check in filter(is_unjudged, result.checks):
        root = check
        while (before := by_id.get(f"{root.variant}.{root.data.get('blocked_by')}")) is not None:
            root = before
        key = (root.message, root.hint, result.file_of(root) or "")
        earlier = by_reason.get(key)
        if earlier is None:
            by_reason[key] = Unjudged(root, (check.variant,), check.possible)
        else:
            variants = tuple(dict.fromkeys((*earlier.variants, check.variant)))
            by_reason[key] = Unjudged(earlier.root, variants, earlier.points + check.possible)
    return sorted(by_reason.values(), key=lambda reason: -reason.points)


def unjudged_lines(result: Result, language: str) -> list[str]:
    """A line that there is no verdict, then one for each reason with its remedy; [] where there is one."""
    reasons = unjudged(result)
    if not reasons:
        return []
    numbers = Numbers(language)
    judged, asked = judged_points(result.checks)
    first = _("Not judged: of {asked} points that can be judged without measuring time, {judged} were.").format(
        asked=numbers.points(asked), judged=numbers.points(judged)
    )
    return [first, *(visible_line(_unjudged_line(reason, numbers)) for reason in reasons)]


def _unjudged_line(reason: Unjudged, numbers: Numbers) -> str:
    root = reason.root
    return _("{variants}, {points} points: {reason}").format(
        variants=", ".join(reason.variants),
        points=numbers.points(reason.points),
        reason=" ".join(filter(None, (root.message, root.hint))),
    )


def status_view(status: Status) -> views.StatusView:
    return {"key": status.key, "symbol": status.symbol, "word": status.word}


def score(earned: float, possible: float, pending: float, numbers: Numbers) -> views.ScoreView:
    """Points as text, and as shares of the possible ones in per cent (for a bar)."""
    whole = possible or 1.0
    return {
        "earned": numbers.points(earned),
        "possible": numbers.points(possible),
        "mark": numbers.mark(earned, possible),
        "out_of": numbers.out_of(possible),
        "pending": numbers.points(pending) if pending else "",
        "lost": numbers.points(possible - earned - pending) if possible - earned - pending > 0.005 else "",
        "earned_pct": round(100 * earned / whole, 2),
        "pending_pct": round(100 * pending / whole, 2),
    }


def totals(checks: list[Check], numbers: Numbers) -> views.ScoreView:
    """The points of some checks together."""
    return score(
        sum(c.earned for c in checks), sum(c.possible for c in checks), sum(c.pending for c in checks), numbers
    )


def matrix(checks: list[Check], variants: list[str], numbers: Numbers) -> list[views.MatrixRow]:
    """A row per check in order of appearance: its title, and a cell per variant (None where it has no such check)."""
    by_place = {(c.check, c.variant): c for c in checks}
    rows: list[views.MatrixRow] = []
    for check in dict.fromkeys(c.check for c in checks):
        row_checks = [by_place.get((check, variant)) for variant in variants]
        cells = [cell(c, numbers) if c else None for c in row_checks]
        rows.append({"check": check, "title": check_title(check), "cells": cells})
    return rows


def cell(check: Check, numbers: Numbers) -> views.CellView:
    """A check's status, its points ("15", "5 / 15", or what is pending), and its message."""
    status = check_status(check.status, check.skip_reason, is_partly="elsewhere" in check.data)
    short = "" if not check.possible else numbers.points(check.earned)
    if not check.possible:
        points = ""
    elif check.pending:
        points = _("{points} pending").format(points=numbers.points(check.pending))
    elif check.earned == check.possible:
        points = numbers.points(check.earned)
    else:
        points = _("{earned} of {possible}").format(
            earned=numbers.points(check.earned), possible=numbers.points(check.possible)
        )
        short = f"{short}/{numbers.points(check.possible)}"
    waiting = numbers.points(check.pending) if check.possible and check.pending else ""
    return {
        **status_view(status),
        "points": points,
        "short": short,
        "pending": waiting,
        "message": check.message,
        "id": check.id,
    }


def faults(job: ReportJob, numbers: Numbers) -> list[views.FaultView]:
    """What to mend: what a run of the program showed of its host code and launches, then by points lost, most first;
    variants that were not handed in come last.

    One and the same fault of several variants is one entry naming all of them, and what follows from a fault, as far as
    its check says so, is part of that one.

    Dearest: by the points it costs and those that wait for it, the points of checks that could not be made because of
    it.
    """
    result = job.result
    columns = {c["name"]: c for c in variant_columns(job)}
    lines = {s.file: s.text.split("\n") for s in result.sources}
    entries: list[views.FaultView] = []
    members: list[tuple[views.FaultView, Check]] = []
    behind: list[tuple[views.FaultView, Check]] = []
    for check in result.checks:
        if check.status not in FAULT_STATUSES:
            continue
        mended = check.repair
        file = result.file_of(check) if mended is None else mended.file
        place = (file, check.line if mended is None else mended.line)
        # What one change is known to mend is one fault, told by its cause; all else follows from that.  A check of what
        # a run showed names the cause itself, in more words than the change.
        names_cause = mended is None or (bool(check.data.get("seen")) and place == (result.file_of(check), check.line))
        # What kept the grader from judging is one thing, however many checks wait for it.
        of_check = "" if check.status == "error" else check.check
        key = (of_check, check.status, _fault_of(check)) if mended is None else ("", mended.kind, check.hint)
        entry = next((e for e in entries if _same_fault(e, check, key, place)), None)
        if entry is None:
            entry = {
                "key": key,
                "told": _fault_of(check) if names_cause else "",
                "places": [],
                "variants": [],
                "id": check.id,
                "check": title_of(check),
                "status": status_view(check_status(check.status)),
                "message": check.message if names_cause else check.hint,
                "hint": check.hint if names_cause else "",
                "follows": [],
                "repair": [visible(row) for row in check.repair.diff] if check.repair else [],
                "effect": check.repair.effect if check.repair else "",
                "seen": bool(check.data.get("seen")),
                "is_mended": mended is not None,
                "weight": 0.0,
                "waiting": 0.0,
                "lost": "",
                "held": "",
                "where": "",
                "line_before": check.data.get("cause") if mended is None else None,
                "code_before": "",
                "line": None,
                "code": "",
            }
            entries.append(entry)
        elif not of_check and title_of(check) != entry["check"]:
            entry["check"] = entry["status"]["word"]
        if place not in entry["places"]:
            entry["places"].append(place)
        if mended is None:
            # Where the words differ at all, the shorter hint is the one that holds for all of them.
            entry["hint"] = min(entry["hint"], check.hint, key=len)
        elif _fault_of(check) != entry["told"]:
            behind.append((entry, check))
        if check.variant in columns and columns[check.variant] not in entry["variants"]:
            entry["variants"].append(columns[check.variant])
        entry["weight"] += lost_points(check)
        entry["waiting"] += blocked_points(result.checks, check)
        members.append((entry, check))
    for entry in tuple(entries):
        own = [check for member, check in members if member is entry]
        causes = [fault for check in own if (fault := _cause_of(check, members)) is not entry]
        cause = causes[0] if causes else None
        if cause is None or any(other is not cause for other in causes):
            continue
        # All of it follows from one other fault.
        entries.remove(entry)
        cause["weight"] += entry["weight"]
        cause["waiting"] += entry["waiting"]
        members = [(cause if member is entry else member, check) for member, check in members]
        behind = [(cause if member is entry else member, check) for member, check in behind]
        behind += [(cause, check) for check in own if (cause, check) not in behind]
    entries.sort(key=_order_of)
    for entry in entries:
        entry["lost"] = numbers.points(entry["weight"]) if entry["weight"] > 0.005 else ""
        entry["follows"] = _each_once([check for fault, check in behind if fault is entry])
        entry["held"] = numbers.points(entry["waiting"]) if entry["waiting"] > 0.005 else ""
        entry["where"] = ", ".join(filter(None, (where(result, *place) for place in entry["places"])))
        file, entry["line"] = entry["places"][0] if len(entry["places"]) == 1 else (None, None)
        entry["code"] = code_at(lines, file, entry["line"])
        entry["code_before"] = code_at(lines, file, entry["line_before"]) if entry["code"] else ""
    return entries


def _order_of(entry: views.FaultView) -> tuple[bool, bool, bool, float]:
    """What an entry stands behind: mistakes come before variants that were not handed in, and the grader's own
    failures, about which the student can do nothing, last."""
    is_absent = entry["key"][0] == "present"
    return entry["status"]["key"] == "error", is_absent, not entry["seen"], -entry["weight"] - entry["waiting"]


def _cause_of(check: Check, members: Sequence[tuple[views.FaultView, Check]]) -> views.FaultView | None:
    """Return the fault that a check of the same variant found, and from which this one follows as its data say.

    None where it is known what mends this one, by itself or in part.
    """
    sentences = sentences_of(check.hint_said)
    if check.repair is not None or any(sentence.id.startswith("repairs.") for sentence in sentences):
        return None
    place = check.variant, check.data.get("due_to")
    return next((entry for entry, other in members if (other.variant, other.check) == place), None)


def title_of(check: Check) -> str:
    """What a check is called in a list of faults: the fault where it failed, else the check itself."""
    return fault_title(check.check, check.message_said) if check.status == "fail" else check_title(check.check)


OF_ONE_PLACE = ("checks.host_code.own_check", "programs.clock_read")
"""How ids begin of faults that are the same one where their places are."""


def _fault_of(check: Check) -> str:
    """What a fault is known again by: of one that a run of the program showed, without what its own check says; of what
    does not compile, by the first error alone."""
    if check.message_said is None:
        return check.message
    first = sentences_of(check.message_said)[0]
    if first.id.startswith(OF_ONE_PLACE):
        # What a program's check says of one variant it says of the others in other words; one clock is read for all.
        return f"{first.id} {check.line}"
    return repr(first) if check.data.get("seen") or check.check == "compiles" else check.message


def _each_once(checks: Sequence[Check]) -> list[str]:
    """Return a line for each fault with the variants that have it: "wrong result · naive, shared: …"."""
    same: dict[tuple[str, str], list[Check]] = {}
    for check in checks:
        same.setdefault((title_of(check), _fault_of(check)), []).append(check)
    variants = {key: ", ".join(check.variant for check in group if check.variant) for key, group in same.items()}
    return [f"{' · '.join(filter(None, (key[0], variants[key])))}: {group[0].message}" for key, group in same.items()]


def _same_fault(
    entry: views.FaultView, check: Check, key: tuple[str, str, str], place: tuple[str | None, int | None]
) -> bool:
    """Whether a check repeats `entry`: in the same words, of the same place or with the same advice."""
    return entry["key"] == key and (place in entry["places"] or (check.repair is None and entry["hint"] == check.hint))


def lost_points(check: Check) -> float:
    """Points that are gone: neither earned nor pending."""
    return max(0.0, check.possible - check.earned - check.pending)


def blocked_points(checks: list[Check], root: Check) -> float:
    """Points of the same variant's checks that wait because `root` failed."""
    return sum(
        check.pending
        for check in checks
        if check.variant == root.variant
        and check.skip_reason == "prerequisite"
        and check.data.get("blocked_by") == root.check
    )


def code_at(lines: dict[str, list[str]], file: str | None, line: int | None) -> str:
    """The student's line itself, without its indent, at most 160 characters."""
    rows = lines.get(file or "", [])
    if line is None or not 1 <= line <= len(rows):
        return ""
    text = visible(rows[line - 1].strip())
    return text if len(text) <= 160 else text[:159] + "…"


def waiting(result: Result, numbers: Numbers) -> list[views.WaitingRow]:
    """Why points were not measured: each reason once, with the points that wait for it.

    What waits for a fault to be mended is told with that fault, what leaves a result without a verdict at its head.
    """
    reasons: dict[str, float] = {}
    for check in result.checks:
        if result.status == "not_judged" and is_unjudged(check):
            continue
        if check.pending and check.status == "skip" and check.skip_reason != "prerequisite":
            reason = " ".join(filter(None, (check.message, check.hint)))
            reasons[reason] = reasons.get(reason, 0.0) + check.pending
    return [{"reason": reason, "points": numbers.points(points)} for reason, points in reasons.items()]


def inapplicable(checks: list[Check]) -> list[views.InapplicableRow]:
    """Why checks are no part of the mark, each reason once: else nobody knows why the points are no hundred."""
    reasons: dict[tuple[str, str], None] = {}
    for check in checks:
        if check.status == "skip" and check.skip_reason == "not_applicable" and check.message:
            reasons[check.check, check.message] = None
    return [{"check": check_title(check), "reason": reason} for check, reason in reasons]


def remarks(result: Result, columns: list[views.VariantView]) -> list[views.RemarkRow]:
    """Remarks that cost nothing: on the whole submission, then on its variants; a remark made twice is one entry."""
    rows: dict[str, list[views.VariantView]] = {text: [] for text in result.remarks}
    for column in columns:
        variant = result.variants.get(column["name"])
        for text in variant.remarks if variant else []:
            rows.setdefault(text, []).append(column)
    return [{"text": text, "variants": variants} for text, variants in rows.items()]


def shortened(text: str, limit: int = 110) -> str:
    """The first sentence of a message without its full stop; of a long one the words in its first `limit` letters."""
    sentence = text.split("\n", 1)[0].split(". ", 1)[0].removesuffix(".")
    if len(sentence) <= limit:
        return sentence
    words = sentence[:limit].rpartition(" ")[0].rstrip(" ,;:(–-")
    return f"{words} …" if words else sentence


# A variant is as good as its worst check.
_SEVERITY = {"fail": 4, "error": 3, "borderline": 2, "pass": 1, "skip": 0}


@dataclass(frozen=True, slots=True)
class GroupCell:
    """What became of a variant: the worst status, and its points."""

    key: str
    symbol: str
    text: str


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A student.

    student: what the terminal calls them.  report: the address of their report.  cells: none where nothing was graded.
    fault: the one that costs most points.
    decisions: why the mark is not the sum of the cells, a line for each thing that the teacher decided.
    status: words that the page filters by.
    """

    student: str
    name: str
    group: str
    report: str
    key: str
    mark: str
    cells: tuple[GroupCell, ...]
    fault: str
    decisions: tuple[str, ...] = ()
    status: str = "none"


def group_row(result: Result, variants: Sequence[str], language: str, report: str = "") -> GroupRow:
    """A student's row: mark, a cell per variant, the fault that costs most."""
    numbers = Numbers(language)
    return GroupRow(
        student=visible_line(result.student.id),
        name=visible_line(result.student.name or result.student.id),
        group=visible_line(result.student.group),
        report=report,
        key=result_status(result.status).key,
        mark=_("{earned} of {possible}").format(
            earned=numbers.points(result.score.earned), possible=numbers.points(result.score.possible)
        ),
        cells=tuple(_cell(result, name, numbers) for name in variants),
        fault=worst_fault(result),
        decisions=tuple(decided(result, language)),
        status=" ".join([result_status(result.status).key, *_of_time(result)]),
    )


def _of_time(result: Result) -> list[str]:
    """Return "late", or "timeless" where a deadline holds and nobody knows the time."""
    decisions = result.decisions or Decisions()
    return ["late"] * (decisions.late is not None) + ["timeless"] * decisions.asks_time


def _cell(result: Result, variant: str, numbers: Numbers) -> GroupCell:
    checks = [check for check in result.checks if check.variant == variant]
    worst = max(checks, key=lambda check: _SEVERITY[check.status], default=None)
    status = check_status(worst.status, worst.skip_reason) if worst else check_status("skip", "not_applicable")
    return GroupCell(status.key, status.symbol, numbers.points(sum(check.earned for check in checks)))


def student_line(result: Result, language: str, name: str) -> str:
    """A submission in one line, for the running account of a long grading; name: what its student is called."""
    row = group_row(result, [], language)
    return f"{result_status(result.status).symbol} {visible_line(name)}: {row.mark}"


def failed_row(student: str, reason: str) -> GroupRow:
    """The row of a submission that could not be graded at all."""
    name = visible_line(student)
    return GroupRow(name, name, "", "", "error", "–", (), visible_line(reason))


def worst_fault(result: Result) -> str:
    """The fault that costs most, with its place, in words, or why there is no verdict; "" where there is neither."""
    checks = result.checks
    reason = next(iter(unjudged(result)), None)
    if reason is not None:
        return visible_line(f"{result_status(result.status).word}: {shortened(reason.root.message)}")
    costs = {c.id: lost_points(c) + blocked_points(checks, c) for c in checks}
    # For what the teacher gave all points, none is lost.
    faults = [c for c in checks if c.status in FAULT_STATUSES and (costs[c.id] or c.override is None)]
    if not faults:
        return ""
    worst = max(faults, key=lambda c: (c.status == "fail", costs[c.id]))
    by_id = {c.id: c for c in faults}
    while (cause := by_id.get(f"{worst.variant}.{worst.data.get('due_to')}")) is not None:
        worst = cause
    place = where(result, result.file_of(worst), worst.line) if worst.line else ""
    return visible_line(f"{title_of(worst)}{f' ({place})' if place else ''}: {shortened(worst.message)}")
