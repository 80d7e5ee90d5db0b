"""What the parts of a lab file have in common: texts, formulas, names, cases, files; each refused with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from grader.lab import formula
from grader.lab.records import Sizes
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose

LANGUAGES = ("en", "ru")
BACKENDS = ("emulator", "gpu")


class TextPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A text in every language."""

    en: str
    ru: str


def plain_text(part: TextPart) -> dict[str, str]:
    """The text by language."""
    return {language: getattr(part, language) for language in LANGUAGES}


def formula_text(file: YamlFile, keys: KeyPath, text: str | int, names: list[str]) -> str:
    """`text`, if it is a formula of these names; a number is one too."""
    if text == "":
        return ""
    try:
        used = formula.names_of(str(text))
    except formula.FormulaError as error:
        allowed = ", ".join([*sorted(names), "+ - * / // %", *formula.FUNCTIONS])
        fault = msg("labs.formula", text=text, names=allowed)
        raise file.error(fault, keys) from error
    for name in sorted(used - set(names)):
        raise file.error(msg("labs.unknown_name", name=name, allowed=choose(name, names)), keys)
    return str(text)


def case_of(file: YamlFile, at: KeyPath, values: Mapping[str, int], sizes: list[str]) -> Sizes:
    """One value for each of the lab's sizes."""
    check_known(file, at, values, sizes)
    for name in sizes:
        if name not in values:
            raise file.error(msg("labs.missing_size", name=name), at)
        if values[name] < 1:
            raise file.error(msg("labs.size", got=values[name]), (*at, name))
    return dict(values)


def check_known(file: YamlFile, keys: KeyPath, names: Iterable[str], allowed: Iterable[str]) -> None:
    """Refuse the first of `names` that is not `allowed`."""
    allowed = list(allowed)
    for i, name in enumerate(names):
        if name not in allowed:
            inner = (*keys, name) if (*keys, name) in file.lines else (*keys, i)
            raise file.error(msg("labs.unknown_name_here", name=name, allowed=choose(name, allowed)), inner)


def check_patterns(file: YamlFile, keys: KeyPath, patterns: list[str]) -> None:
    """Refuse what is no regular expression."""
    for i, pattern in enumerate(patterns):
        try:
            re.compile(pattern)
        except re.error as error:
            raise file.error(msg("labs.pattern", error=str(error), pattern=pattern), (*keys, i)) from error


def sibling(file: YamlFile, path: Path, keys: KeyPath = ()) -> Path:
    """`path`, if it is a file."""
    if not path.is_file():
        raise file.error(msg("labs.no_file", path=str(path)), keys)
    return path
