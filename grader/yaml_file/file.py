"""A YAML file's data with their lines: decoded as records, and told of at the line and key that is wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from grader.errors import FileError
from grader.message import Message, msg, verbatim
from grader.yaml_file.schema import KeyPath, culprit, dig, field_names, type_at

MAX_SHOWN = 80
"""Of what a file says, in an error's text."""
_WRONG_KIND = re.compile(r"Expected `(?P<expected>[\w |]+)`, got `\w+`")
_OUT_OF_BOUNDS = re.compile(r"Expected `(?P<kind>\w+)`(?P<length> of length)? (?P<sign>[<>]=?) (?P<limit>[\d.e+-]+)")
_BOUNDS = {">=": "at_least", "<=": "at_most", ">": "more_than", "<": "less_than"}
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class YamlFile:
    """A file's data with the line of every key and every list element.

    lines: 1-based line by the keys that lead there; () is the document's first line.
    written: numbers, yes and no as they stand in the file, by the keys that lead there.
    """

    path: Path
    data: object
    lines: dict[KeyPath, int]
    written: dict[KeyPath, str]

    def line(self, keys: KeyPath) -> int:
        """The line of `keys`, or of the nearest thing around it."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        return self.lines.get(keys, 1)

    def error(self, message: Message | str, keys: KeyPath = ()) -> FileError:
        """An error at `keys`: file, line, key and message."""
        where = dotted(keys)
        return FileError(msg("errors.at", where=where, what=message) if where else message, self.path, self.line(keys))

    def as_text(self, value: object, keys: KeyPath) -> object:
        """`value`, which stands at `keys`, where a text is wanted: `4312`, `43.10` and `No` as they are written."""
        if isinstance(value, list):
            return [self.as_text(inner, (*keys, index)) for index, inner in enumerate(value)]
        return self.written.get(keys, value)

    def decode(self, kind: type[T], keys: KeyPath = (), data: object = None) -> T:
        """The data (or `data`, the part of it at `keys`) as a msgspec struct of type `kind`.

        Raises
        ------
        FileError : a key is unknown or missing, a value has the wrong type; names line, key and what is allowed.
        """
        value = self.data if data is None else data
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            raise self._explain(str(error), kind, keys, value) from error

    def _explain(self, text: str, kind: type, keys: KeyPath, value: object) -> FileError:
        message, _separator, place = text.partition(" - at `")
        inner = culprit(kind, value, place)
        at = keys + inner
        if message.startswith("Object missing required field `"):
            listed = msg("yaml.allowed", names=", ".join(sorted(field_names(kind, inner))))
            missing = msg("yaml.missing_key", name=message.split("`")[1], allowed=listed)
            return self.error(missing, at)
        if message.startswith("Object contains unknown field `"):
            name = message.split("`")[1]
            allowed = choose(name, field_names(kind, inner))
            return self.error(msg("yaml.unknown_key", allowed=allowed), (*at, name))
        got = dig(value, inner)
        plain = isinstance(got, (str, int, float, bool))
        shown = verbatim(shortened(repr(got))) if plain else KINDS[_kind_of(got)]
        wrong_kind = _WRONG_KIND.fullmatch(message)
        if wrong_kind:
            kinds = [KINDS.get(kind, kind) for kind in re.findall(r"\w+", wrong_kind["expected"])]
            return self.error(msg("yaml.kind", kind=msg("yaml.either", choices=kinds), value=shown), at)
        bounds = _OUT_OF_BOUNDS.fullmatch(message)
        if bounds:
            meant, limit = KINDS.get(bounds["kind"], bounds["kind"]), f"{float(bounds['limit']):.12g}"
            what = "at_most_long" if bounds["sign"] == "<=" else "at_least_long"
            what = what if bounds["length"] else _BOUNDS[bounds["sign"]]
            shown = verbatim(shortened(repr(got)))
            return self.error(msg("yaml.kind", kind=msg(f"yaml.{what}", kind=meant, limit=limit), value=shown), at)
        words = type_at(kind, inner)
        if isinstance(words, msgspec.inspect.LiteralType):
            return self.error(
                msg("yaml.unknown_value", value=shown, allowed=choose(str(got), map(str, words.values))),
                at,
            )
        return self.error(msg("yaml.fault", fault=message[0].lower() + message[1:], value=shown), at)


def _kind_of(value: object) -> str:
    return "null" if value is None else "array" if isinstance(value, list) else "object"


KINDS = {
    "object": msg("yaml.keys"),
    "array": msg("yaml.list"),
    "str": msg("yaml.text"),
    "int": msg("yaml.whole_number"),
    "float": msg("yaml.number"),
    "bool": msg("yaml.boolean"),
    "null": msg("yaml.nothing"),
}
"""Kinds of YAML values, by msgspec's words for them."""


def shortened(text: str) -> str:
    """`text` as it may stand in an error: a value may be as long as the file."""
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def dotted(keys: KeyPath) -> str:
    """`("variants", "naive", 0)` as "variants.naive[0]"."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text


def choose(got: str, allowed: Iterable[str]) -> Message:
    """What is allowed instead of `got`, near misses first: "did you mean `x`? allowed: x, y"."""
    names = sorted(map(shortened, allowed))
    # Comparing takes time that grows with the square of the length.
    near = difflib.get_close_matches(shortened(got), names, n=3, cutoff=0.6)
    listed = msg("yaml.allowed", names=", ".join(names))
    if not near:
        return listed
    meant = msg("yaml.did_you_mean", near=msg("yaml.either", choices=[f"`{n}`" for n in near]))
    return msg("pieces.sentences", parts=[meant, listed])
