"""The catalogues keep up with the code."""

from __future__ import annotations

import gettext
import string
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message

from grader import i18n

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))
import messages

CATALOGUES = sorted(i18n.LOCALE_FOLDER.glob("*/LC_MESSAGES/grader.po"))


@pytest.fixture(scope="module")
def texts() -> Catalog:
    return messages.template()


def pairs(catalog: Catalog) -> Iterator[tuple[Message, str, str]]:
    """Every text with each of its translations."""
    for message in catalog:
        if not message.id:
            continue
        if isinstance(message.id, str):
            yield message, message.id, str(message.string)
        else:
            for form in message.string or ():
                yield message, message.id[-1], form


def placeholders(text: str) -> set[str]:
    """Names in braces, with their format."""
    return {f"{name}:{form}" for _text, name, form, _conversion in string.Formatter().parse(text) if name is not None}


def contents(catalogue: gettext.GNUTranslations) -> tuple[dict[object, str], dict[str, str]]:
    """Every text with its translation, and the header's lines but one: which release of Babel has written the file."""
    texts = {text: translation for text, translation in vars(catalogue)["_catalog"].items() if text}
    return texts, {name: line for name, line in catalogue.info().items() if name != "generated-by"}


def test_there_is_russian() -> None:
    assert "ru" in i18n.languages()
    assert CATALOGUES


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.parts[-3])
def test_every_text_is_translated_and_no_other(path: Path, texts: Catalog) -> None:
    catalog = messages.read(path)
    assert {m.id for m in catalog} == {m.id for m in texts}
    assert list(messages.untranslated(catalog)) == []
    assert not [m.id for m in catalog if m.id and m.fuzzy]


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.parts[-3])
def test_every_placeholder_is_kept(path: Path) -> None:
    for _message, text, translation in pairs(messages.read(path)):
        assert placeholders(translation) == placeholders(text), text


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.parts[-3])
def test_the_compiled_catalogue_is_that_of_the_texts(path: Path) -> None:
    compiled = gettext.GNUTranslations(BytesIO(messages.mo_bytes(messages.read(path))))
    with path.with_suffix(".mo").open("rb") as file:
        kept = gettext.GNUTranslations(file)
    assert contents(kept) == contents(compiled)
    assert len(contents(kept)[0]) > 1000


@pytest.mark.parametrize("path", CATALOGUES, ids=lambda p: p.parts[-3])
def test_edges_are_kept(path: Path) -> None:
    """A space or a full stop at either end is there because something is put beside it."""
    for _message, text, translation in pairs(messages.read(path)):
        assert translation[:1].isspace() == text[:1].isspace(), text
        assert translation[-1:].isspace() == text[-1:].isspace(), text
        assert (translation[-1:] == ".") == (text[-1:] == "."), text


def test_russian_has_its_three_plurals() -> None:
    i18n.use("ru")
    try:
        forms = [i18n.ngettext("{n} byte", "{n} bytes", n).format(n=n) for n in (1, 2, 5, 11, 21)]
    finally:
        i18n.use("en")
    assert forms == ["1 байт", "2 байта", "5 байт", "11 байт", "21 байт"]


def test_an_unknown_language_is_english() -> None:
    i18n.use("xx")
    try:
        assert i18n._("passed") == "passed"
    finally:
        i18n.use("en")
