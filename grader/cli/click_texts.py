"""click's own texts in our languages: what it says in help and complaints, looked up in our catalogues.

click asks gettext's current domain, which is ours from `speak` on.  Only texts that users of `grade` can meet are here.
"""

from __future__ import annotations

import gettext
import os

from grader.i18n import LOCALE_FOLDER, _, ngettext

DOMAIN = "grader"


def speak(language: str) -> None:
    """Let click speak `language`, as far as our catalogues have its texts."""
    os.environ["LANGUAGE"] = language
    gettext.bindtextdomain(DOMAIN, LOCALE_FOLDER)
    gettext.textdomain(DOMAIN)


def texts() -> list[str]:
    """The texts as click has them, in the language in use; here so that they are extracted and translated."""
    return [
        _("Usage:"),
        _("Options"),
        _("required"),
        _("default: {default}"),
        _("Show this message and exit."),
        _("Invalid value for {param_hint}: {message}"),
        ngettext("{value!r} is not {choice}.", "{value!r} is not one of {choices}.", 2),
        _("{name} {filename!r} is a file."),
        _("{value!r} is not a valid {number_type}."),
        _("{value} is not in the range {range}."),
        _("Option {name!r} does not take a value."),
        ngettext("Option {name!r} requires an argument.", "Option {name!r} requires {nargs} arguments.", 1),
        ngettext("Got unexpected extra argument ({args})", "Got unexpected extra arguments ({args})", 2),
    ]
