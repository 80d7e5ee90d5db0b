"""A group's checks as JUnit XML, as build servers show it: a suite for each student, a case for each check."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from grader.exports.entries import Entry, Export, of_entries
from grader.exports.xml_text import xml_text
from grader.i18n import _
from grader.lab.records import Lab
from grader.report.decisions import decision_lines
from grader.report.summary import unjudged_lines, where
from grader.result import Check
from grader.words import check_title, said


def junit(entries: Sequence[Entry], lab: Lab, language: str) -> bytes:
    """The entries as XML: a failed check is a failure, one that could not be judged an error, a pending one skipped.

    Where too little was judged for a verdict, that is an error of its own, and the first case.
    """
    return document(entries, lab.id, language)


def document(entries: Sequence[Entry], lab_id: str, language: str) -> bytes:
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
        told = ET.SubElement(case, tag, type=check.skip_reason or check.status, message=xml_text(check.message))
        # All of it: some services show the text and not the attribute.
        told.text = xml_text("\n".join(filter(None, (_place(check, entry), check.message, check.hint))))
    elif check.status == "borderline":
        ET.SubElement(case, "system-out").text = xml_text(check.message)
    return case


def _place(check: Check, entry: Entry) -> str:
    if entry.result is None or not check.line:
        return ""
    return where(entry.result, entry.result.file_of(check), check.line)


def _unjudged(entry: Entry, reasons: Sequence[str]) -> ET.Element:
    case = ET.Element("testcase", name=xml_text(_("judged")), classname=xml_text(entry.student))
    told = ET.SubElement(case, "error", type="not_judged", message=xml_text(reasons[0]))
    told.text = xml_text("\n".join(reasons[1:]))
    return case


def _not_graded(entry: Entry) -> ET.Element:
    case = ET.Element("testcase", name=xml_text(_("graded")), classname=xml_text(entry.student))
    ET.SubElement(case, "error", type="not_graded", message=xml_text(said(entry.reason)))
    return case


EXPORT = Export(".junit.xml", of_entries(junit), lambda path: _("Checks as JUnit XML: {path}").format(path=path))
