"""Texts of a lab in the languages that it has them in, and the base of all parts of its file."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.lab.records import Text
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile

LANGUAGES = ("en", "ru")


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the file's parts."""


class TextPart(Part, frozen=True):
    """A text in one language or several; those that read another one are shown it in one of these."""

    en: str = ""
    ru: str = ""

    def __post_init__(self) -> None:
        if not (self.en or self.ru):
            raise ValueError(f"{{{', '.join(f'{language}: …' for language in LANGUAGES)}}}")


TextOrTexts = str | TextPart
"""A text that is the same in all languages, or several."""


def plain_text(part: str | int | TextPart) -> dict[str, str]:
    """The text by language."""
    if not isinstance(part, TextPart):
        return dict.fromkeys(LANGUAGES, str(part))
    texts = {language: getattr(part, language) for language in LANGUAGES}
    return {language: text for language, text in texts.items() if text}


def sibling(file: YamlFile, path: Path, keys: KeyPath = ()) -> Path:
    """`path`, if it is a file."""
    if not path.is_file():
        raise file.error(msg("labs.no_file", path=str(path)), keys)
    return path


def task_text(file: YamlFile, folder: Path) -> Text:
    """The task's text, in the languages in which there is one."""
    there = {language: folder / f"task.{language}.md" for language in LANGUAGES}
    found = {language: path for language, path in there.items() if path.is_file()}
    return {language: path.read_text("utf-8") for language, path in found.items()} or {
        LANGUAGES[0]: sibling(file, there[LANGUAGES[0]]).read_text("utf-8")
    }
