"""What other systems import: gradebooks of Moodle and Canvas, Gradescope's results, JUnit XML for build servers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from typing import Any
from xml.etree import ElementTree as ET

from grader.exports.entries import Entry, Export, lab_points, of_entries, scaled
from grader.exports.tables import csv_text, xml_text
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.job import decision_lines, in_language, where
from grader.report.predicted import in_figures
from grader.report.summary import code_at, unjudged_lines, worst_fault
from grader.report.text import Numbers, check_status, clipped, result_status, visible
from grader.result import Check, Result, is_unjudged, marked
from grader.words import check_title, said


def worksheet(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries with Moodle's own headings in `language`; grades are on the lab's scale."""
    # Translators: headings and words of Moodle's grading worksheet, as its own translation writes them.
    rows = [
        [
            *[_("Identifier"), _("Full name"), _("ID number"), _("Email address")],
            *[_("Grade"), _("Maximum grade"), _("Last modified (grade)"), _("Feedback comments")],
        ]
    ]
    for entry in entries:
        who, result = entry.who, entry.result
        participant = _("Participant {number}").format(number=who.participant) if who.participant else ""
        grade = scaled(result, lab) if result is not None else None
        rows.append(
            [
                participant,
                who.name or who.id,
                who.number,
                who.email,
                "" if grade is None else f"{grade:g}",
                f"{lab_points(lab):g}",
                "",
                comment(entry, language),
            ]
        )
    return csv_text(rows, ",").encode()


def comment(entry: Entry, language: str) -> str:
    """What a student reads beside the grade: what is pending, and what cost most."""
    result = entry.result
    if result is None:
        return said(entry.reason)
    pending = result.score.pending
    parts = [
        _("pending: {points} points").format(points=Numbers(language).points(pending)) if pending else "",
        worst_fault(result),
    ]
    parts += decision_lines(result, language)
    return "; ".join(filter(None, parts))


MOODLE = Export(".moodle.csv", of_entries(worksheet), lambda path: _("Grades for Moodle: {path}").format(path=path))


# Marks as Canvas imports them into its gradebook: a column named after the lab, a line with the points possible.
#
# Its importer (`lib/gradebook_importer.rb`) goes by the place of columns and by their English headings: student, ID,
# SIS
# User ID, SIS Login ID, section, then assignments, known by their titles.  It looks for a student by the first of ID,
# SIS
# User ID, SIS Login ID and name that is there.  An empty cell would take away a grade that a student has, so who has
# no
# mark is left out.


def canvas(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries with Canvas's own English headings, by which it finds its columns; UTF-8 with commas."""
    title = in_language(lab.title, language)
    rows = [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title],
        ["Points Possible", "", "", "", "", f"{lab_points(lab):g}"],
    ]
    for entry in entries:
        who = entry.who
        grade = scaled(entry.result, lab) if entry.result is not None else None
        if grade is not None:
            rows.append([who.name or who.id, who.canvas_id, who.number, who.email, who.group, f"{grade:g}"])
    return csv_text(rows, ",").encode("utf-8-sig")


CANVAS = Export(".canvas.csv", of_entries(canvas), lambda path: _("Grades for Canvas: {path}").format(path=path))


# One student's result as Gradescope's `results.json`.
#
# https://gradescope-autograders.readthedocs.io/en/latest/specs/


def gradescope_results(result: Result, language: str, seconds: float | None = None) -> bytes:
    """The file: a test for each check with its points, the verdict above them, a leaderboard of memory traffic.

    seconds: what the grading took.  Pending points are not given; the text says that they are pending.
    """
    numbers = Numbers(language)
    lines = {source.file: source.text.split("\n") for source in result.sources}
    checks = [c for c in result.checks if c.skip_reason != "not_applicable" and (c.possible or c.status != "pass")]
    # What stands above the tests tells nothing of hidden ones; while there are any, Gradescope shows no total.
    open_checks = [c for c in result.checks if not c.data.get("hidden")]
    shown = result if len(open_checks) == len(result.checks) else marked(result, open_checks)
    decided = "".join(f"<p>{_text(line)}</p>" for line in decision_lines(shown, language))
    record: dict[str, Any] = {
        "score": result.score.earned,
        "output": _verdict(shown, language) + decided,
        "output_format": "html",
        "test_output_format": "html",
        "test_name_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": [_test(check, result, lines, numbers) for check in checks],
        "extra_data": {
            "lab": result.lab,
            "status": result.status,
            "pending": result.score.pending,
            "predicted": in_figures(result),
        },
    }
    if seconds is not None:
        record["execution_time"] = round(seconds, 2)
    board = _leaderboard(shown)
    if board:
        record["leaderboard"] = board
    return json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n"


def gradescope_failure(output: str) -> bytes:
    """The file where nothing could be graded: no points given, none lost; output: why, in words."""
    record = {"score": 0, "output": _text(output), "output_format": "html", "visibility": "visible", "tests": []}
    return json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n"


def _verdict(result: Result, language: str) -> str:
    numbers = Numbers(language)
    status = result_status(result.status)
    score = result.score
    mark = numbers.mark(score.earned, score.possible)
    parts = [f"<p><strong>{status.symbol} {_text(status.word)}: {_text(mark)}</strong></p>"]
    parts += [f"<p>{_text(line)}</p>" for line in unjudged_lines(result, language)]
    if score.pending:
        pending = _("{points} points pending").format(points=numbers.points(score.pending))
        not_judged = result.status == "not_judged"
        reasons = dict.fromkeys(
            c.message
            for c in result.checks
            if c.pending and c.skip_reason == "not_measured" and not (not_judged and is_unjudged(c))
        )
        parts.append(f"<p>{_text(': '.join([pending, ' '.join(reasons)]) if reasons else pending)}</p>")
    parts += [f"<p>{_text(remark)}</p>" for remark in result.remarks]
    return "".join(parts)


def _test(check: Check, result: Result, lines: dict[str, list[str]], numbers: Numbers) -> dict[str, Any]:
    file = result.file_of(check)
    status = check_status(check.status, check.skip_reason)
    parts = []
    if check.line:
        code = code_at(lines, file, check.line)
        parts.append(f"<p><code>{_text(where(result, file, check.line))}</code></p>")
        parts += [f"<pre>{_text(code)}</pre>"] if code else []
    parts.append(f"<p>{status.symbol} {_text(check.message)}</p>")
    if check.hint:
        parts.append(f"<p>→ {_text(check.hint)}</p>")
    if check.pending:
        pending = _("{points} points pending").format(points=numbers.points(check.pending))
        parts.append(f"<p>{_text(pending)}</p>")
    test: dict[str, Any] = {
        "name": f"{check.variant} · {check_title(check.check)}",
        "score": check.earned,
        "max_score": check.possible,
        "output": "".join(parts),
        "output_format": "html",
        "visibility": "hidden" if check.data.get("hidden") else "visible",
        "tags": [check.check, check.variant],
    }
    # Neither where nothing was judged.
    if check.status in ("pass", "fail"):
        test["status"] = "passed" if check.status == "pass" else "failed"
    return test


def _leaderboard(result: Result) -> list[dict[str, Any]]:
    """Points, sectors of global memory, wavefronts of shared memory, the least predicted time; the latter of right
    kernels only.

    A kernel that is wrong, or is not there, moves less.
    """
    board: list[dict[str, Any]] = [{"name": _("Points"), "value": result.score.earned}]
    counted = [variant.counters for variant in result.variants.values() if variant.counters]
    wrong = any(c.check in ("present", "compiles", "correct") and c.status != "pass" for c in result.checks)
    if wrong or len(counted) != len(result.variants) or not counted:
        return board
    rows = [row for counters in counted for row in counters.by_line]
    sectors = sum(row.sectors for row in rows if row.space == "global")
    wavefronts = sum(row.wavefronts for row in rows if row.space == "shared")
    return [
        *board,
        {"name": _("Sectors of global memory"), "value": sectors, "order": "asc"},
        {"name": _("Wavefronts of shared memory"), "value": wavefronts, "order": "asc"},
        *_fastest(result),
    ]


def _fastest(result: Result) -> list[dict[str, Any]]:
    times = in_figures(result).values()
    if not times:
        return []
    best = min(times, key=lambda time: time["predicted_us"])
    name = _("Predicted time on {device}, µs").format(device=best["device"])
    return [{"name": name, "value": best["predicted_us"], "order": "asc"}]


def _text(text: str) -> str:
    return escape(visible(clipped(text))).replace("\n", "<br>")


# A group's checks as JUnit XML, as build servers show it: a suite for each student, a case for each check.


def junit(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries as XML: a failed check is a failure, one that could not be judged an error, a pending one skipped.

    Where too little was judged for a verdict, that is an error of its own, and the first case.
    """
    return junit_document(entries, lab.id, language)


def junit_document(entries: Sequence[Entry], lab_id: str, language: str) -> bytes:
    """The same for whoever knows the lab's name alone."""
    root = ET.Element("testsuites", name=xml_text(lab_id))
    for entry in entries:
        root.append(_suite(entry, lab_id, language))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return b"<?xml version='1.0' encoding='utf-8'?>\n" + ET.tostring(root, encoding="unicode").encode() + b"\n"


def _suite(entry: Entry, lab_id: str, language: str) -> ET.Element:
    who, result = entry.who, entry.result
    suite = ET.Element(
        "testsuite", name=xml_text(who.name or who.id), id=xml_text(entry.student), package=xml_text(lab_id)
    )
    cases = [_case(check, entry) for check in result.checks] if result is not None else [_not_graded(entry)]
    if result is not None:
        properties = ET.SubElement(suite, "properties")
        for name in ("earned", "pending", "possible"):
            ET.SubElement(properties, "property", name=name, value=f"{getattr(result.score, name):g}")
        for name, time in in_figures(result).items():
            predicted = ET.SubElement(properties, "property", name=xml_text(f"predicted_us.{name}"))
            predicted.set("value", f"{time['predicted_us']:g}")
        for line in decision_lines(result, language):
            ET.SubElement(properties, "property", name="decision", value=xml_text(line))
        reasons = unjudged_lines(result, language)
        if reasons:
            cases.insert(0, _unjudged(entry, reasons))
    suite.extend(cases)
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    return suite


def _case(check: Check, entry: Entry) -> ET.Element:
    name = f"{check.variant}: {check_title(check.check)}"
    case = ET.Element("testcase", name=xml_text(name), classname=xml_text(entry.student))
    tag = {"fail": "failure", "error": "error", "skip": "skipped"}.get(check.status)
    if tag is not None:
        element = ET.SubElement(case, tag, type=check.skip_reason or check.status, message=xml_text(check.message))
        # All of it: some services show the text and not the attribute.
        element.text = xml_text("\n".join(filter(None, (_place(check, entry), check.message, check.hint))))
    elif check.status == "borderline":
        ET.SubElement(case, "system-out").text = xml_text(check.message)
    return case


def _place(check: Check, entry: Entry) -> str:
    if entry.result is None or not check.line:
        return ""
    return where(entry.result, entry.result.file_of(check), check.line)


def _unjudged(entry: Entry, reasons: Sequence[str]) -> ET.Element:
    case = ET.Element("testcase", name=xml_text(_("judged")), classname=xml_text(entry.student))
    element = ET.SubElement(case, "error", type="not_judged", message=xml_text(reasons[0]))
    element.text = xml_text("\n".join(reasons[1:]))
    return case


def _not_graded(entry: Entry) -> ET.Element:
    case = ET.Element("testcase", name=xml_text(_("graded")), classname=xml_text(entry.student))
    ET.SubElement(case, "error", type="not_graded", message=xml_text(said(entry.reason)))
    return case


JUNIT = Export(".junit.xml", of_entries(junit), lambda path: _("Checks as JUnit XML: {path}").format(path=path))
