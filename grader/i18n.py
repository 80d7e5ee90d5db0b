"""Languages of all text that users see: English in the code, other languages in gettext catalogues.

    from grader.i18n import _, ngettext
    _("Line {line}: no barrier").format(line=12)

Catalogues are `grader/locale/<language>/LC_MESSAGES/grader.mo`; a text without translation stays English.
"""

from __future__ import annotations

import gettext
from pathlib import Path

LOCALE_FOLDER = Path(__file__).parent / "locale"

_translations: gettext.NullTranslations = gettext.NullTranslations()
_language = "en"


def use(language: str) -> None:
    """Speak `language` ("en", "ru", …) from now on; English where there is no catalogue for it."""
    global _translations, _language
    _language = language
    _translations = gettext.translation("grader", LOCALE_FOLDER, languages=[language], fallback=True)


def language() -> str:
    return _language


def languages() -> list[str]:
    """All languages that can be used, English first."""
    return ["en", *sorted(p.parent.parent.name for p in LOCALE_FOLDER.glob("*/LC_MESSAGES/grader.mo"))]


class _Decimal(float):
    """A number that formats with the language's decimal mark."""

    def __format__(self, spec: str) -> str:
        text = format(float(self), spec)
        return text.replace(".", ",") if _language == "ru" else text


def decimal(value: float) -> float:
    """`value` for a text in the language in use: `"{pct:.2f}".format(pct=decimal(6.06))` is 6,06 in Russian."""
    return _Decimal(value)


def _(message: str) -> str:
    """Return `message` in the language in use."""
    return _translations.gettext(message)


def form_of(value: float) -> int:
    """The whole number whose form a noun takes after `value`: its own, or after a fraction that of two.

    English says 0.5 sectors and 2 sectors, Russian 0,5 сектора and 2 сектора: `ngettext` knows no fractions.
    """
    return int(value) if float(value).is_integer() else 2


def ngettext(singular: str, plural: str, count: int) -> str:
    """The form for `count` in the language in use; put the number in with `.format(…)` afterwards."""
    return _translations.ngettext(singular, plural, count)
