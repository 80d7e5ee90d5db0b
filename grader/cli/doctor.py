"""`grade doctor`: what this machine can do, and what to install for the rest."""

from __future__ import annotations

import click

from grader.cli.options import lang_option
from grader.i18n import _


def doctor_command() -> click.Command:
    """`grade doctor`: what this machine can do, and what to install for the rest."""
    text = _("Show what this machine can do, and what to install.")
    return click.Command("doctor", params=[lang_option()], callback=_doctor, help=text)


def _doctor(lang: str) -> int:
    """A table, and what it comes to; exit code 0 whatever was found."""
    from grader import doctor
    from grader.report import terminal
    from grader.words import said

    symbols = {"ok": "✓", "missing": "✗", "optional": "–"}
    findings = doctor.examine()
    terminal.show_table(
        terminal.console(),
        [_("Tool"), _("Found"), _("What for"), _("What to install")],
        [(f"{symbols[f.state]} {said(f.name)}", said(f.found), said(f.purpose), said(f.advice)) for f in findings],
    )
    missing = [said(f.name) for f in findings if f.state == "missing"]
    optional = [said(f.name) for f in findings if f.state == "optional"]
    out = terminal.console()
    if missing:
        out.print(_("Missing for grading or reports: {names}.").format(names=", ".join(missing)))
    else:
        out.print(_("Everything that grading and reports need is here."))
    if optional:
        out.print(_("Optional, not found: {names}.").format(names=", ".join(optional)))
    return 0
