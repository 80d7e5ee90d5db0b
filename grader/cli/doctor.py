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
    tools = doctor.examine()
    rows = [
        (f"{symbols[tool.state]} {said(tool.name)}", said(tool.found), said(tool.purpose), said(tool.advice))
        for tool in tools
    ]
    titles = [_("Tool"), _("Found"), _("What for"), _("What to install")]
    terminal.show_table(terminal.console(), titles, rows)
    missing = [said(tool.name) for tool in tools if tool.state == "missing"]
    optional = [said(tool.name) for tool in tools if tool.state == "optional"]
    out = terminal.console()
    if missing:
        out.print(_("Missing for grading or reports: {names}.").format(names=", ".join(missing)))
    else:
        out.print(_("Everything that grading and reports need is here."))
    if optional:
        out.print(_("Optional, not found: {names}.").format(names=", ".join(optional)))
    return 0
