"""Brings the message catalogues up to date: `python scripts/messages.py` (or `make messages`).

Extracts every text from the code and the report templates, merges them into `grader/locale/<language>/…/grader.po`
(translations of unchanged texts are kept, nothing is guessed), and compiles the `.mo` files.  Prints what is left to
translate; tests hold that there is nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
LOCALE = ROOT / "grader" / "locale"
METHODS = [("**.py", "python"), ("**.j2", "jinja2")]
OPTIONS = {"**.j2": {"trim_blocks": "true", "lstrip_blocks": "true", "newstyle_gettext": "false"}}
KEYWORDS = {"_": None, "N_": None, "Plural": (1, 2), "ngettext": (1, 2)}
# A fixed date: the catalogues change when the texts do, and only then.
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def template() -> Catalog:
    """A catalogue of all texts to be translated."""
    catalog = new_catalog(None)
    for folder in ("grader", "templates"):
        for _file, _line, message, comments, context in extract_from_dir(
            ROOT / folder, METHODS, OPTIONS, keywords=KEYWORDS, comment_tags=["Translators:"]
        ):
            catalog.add(message, auto_comments=comments, context=context)
    return catalog


def new_catalog(language: str | None) -> Catalog:
    """An empty catalogue with our header."""
    return Catalog(
        locale=language,
        project="cuda-lab-grader",
        creation_date=EPOCH,
        revision_date=EPOCH,
        header_comment="# Texts of the CUDA lab grader.",
        last_translator="",
        language_team="",
        fuzzy=False,
    )


def updated(path: Path, texts: Catalog) -> Catalog:
    """The catalogue at `path` with exactly the `texts`; new ones are left untranslated."""
    language = path.parent.parent.name
    known = read(path) if path.exists() else new_catalog(language)
    catalog = new_catalog(language)
    for message in texts:
        if message.id:
            old = known.get(message.id, message.context)
            catalog.add(message.id, old.string if old is not None else "", auto_comments=message.auto_comments)
    return catalog


def read(path: Path) -> Catalog:
    """The catalogue in a `.po` file."""
    with path.open("rb") as file:
        catalog = read_po(file, locale=path.parent.parent.name)
    catalog.revision_date = EPOCH
    return catalog


def po_bytes(catalog: Catalog) -> bytes:
    """The catalogue as a `.po` file: sorted by text, no line numbers, so that differences show translations only."""
    buffer = BytesIO()
    write_po(buffer, catalog, width=110, no_location=True, sort_output=True)
    return buffer.getvalue()


def mo_bytes(catalog: Catalog) -> bytes:
    """The catalogue as a `.mo` file."""
    buffer = BytesIO()
    write_mo(buffer, catalog)
    return buffer.getvalue()


def untranslated(catalog: Catalog) -> Iterator[str]:
    """Texts that lack a translation, or one of its plural forms."""
    for message in catalog:
        strings = message.string if isinstance(message.string, tuple | list) else (message.string,)
        if message.id and not all(strings):
            yield message.id if isinstance(message.id, str) else message.id[0]


def main() -> int:
    """Update and compile every catalogue; exit code 1 while a text is untranslated."""
    texts = template()
    left = 0
    for path in sorted(LOCALE.glob("*/LC_MESSAGES/grader.po")):
        catalog = updated(path, texts)
        path.write_bytes(po_bytes(catalog))
        path.with_suffix(".mo").write_bytes(mo_bytes(read(path)))
        missing = list(untranslated(catalog))
        left += len(missing)
        print(f"{path.relative_to(ROOT)}: {len(catalog)} texts, {len(missing)} to translate")
        for text in missing:
            print(f"  {text}")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
