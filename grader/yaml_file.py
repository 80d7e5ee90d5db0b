"""YAML files whose errors name the line and the key: plain data, no aliases, no duplicate keys, no surprises.

`read` gives data with the line of every key; a `YamlFile` decodes them as records, and tells of what does not fit at
the line and key that is wrong: msgspec's descriptions of types and its complaints, followed.
"""

from __future__ import annotations

import codecs
import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec

from grader.errors import FileError, system_reason
from grader.files import NotPlain, TooLarge, read_plain
from grader.message import Message, msg, verbatim

if TYPE_CHECKING:
    import yaml


Key = str | int
KeyPath = tuple[Key, ...]


def culprit(kind: type, value: object, place: str) -> KeyPath:
    """Where msgspec found the fault: "$.sizes[2].rows" is ("sizes", 2, "rows").

    msgspec writes [...] for "some value of this mapping".  Which one, is found by asking again for one key at a time.
    """
    keys: KeyPath = ()
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", place):
        if index != "...":
            keys = (*keys, int(index) if index else name)
            continue
        mapping = dig(value, keys)
        culprits = [
            key
            for key in (mapping if isinstance(mapping, dict) else {})
            if not _converts(kind, with_only(value, keys, key))
        ]
        if not culprits:
            break
        keys = (*keys, culprits[0])
    return keys


def _converts(kind: type, value: object) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def with_only(value: object, keys: KeyPath, only: Key) -> object:
    """`value` with the mapping at `keys` reduced to its key `only`."""
    if not keys:
        return {only: value[only]} if isinstance(value, dict) else value
    first, *rest = keys
    if isinstance(value, dict):
        return {k: with_only(v, tuple(rest), only) if k == first else v for k, v in value.items()}
    if isinstance(value, list):
        return [with_only(v, tuple(rest), only) if i == first else v for i, v in enumerate(value)]
    return value


def dig(value: object, keys: KeyPath) -> object:
    """What is at `keys` in nested mappings and lists; None where there is nothing."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def field_names(kind: type, keys: KeyPath) -> list[str]:
    """Names of the fields of the struct that sits at `keys` inside a struct of type `kind`."""
    info = type_at(kind, keys)
    return [f.encode_name for f in info.fields] if isinstance(info, msgspec.inspect.StructType) else []


def type_at(kind: type, keys: KeyPath) -> object:
    """msgspec's description of what may sit at `keys` inside a struct of type `kind`; None where that is unknown."""
    info: object = msgspec.inspect.type_info(kind)
    for key in keys:
        if isinstance(info, msgspec.inspect.StructType):
            info = next((f.type for f in info.fields if f.encode_name == key), None)
        elif isinstance(info, msgspec.inspect.DictType):
            info = info.value_type
        elif isinstance(info, (msgspec.inspect.ListType, msgspec.inspect.VarTupleType)):
            info = info.item_type
        if isinstance(info, msgspec.inspect.UnionType):
            info = next((t for t in info.types if isinstance(t, msgspec.inspect.StructType)), None)
    return info


_LIBYAML_TOO_DEEP = "exceeded maximum nesting depth"
"""libyaml 0.2.6 and later read ahead of the events that they give out, and stop at 1000 levels by themselves."""
MAX_SHOWN = 80
"""Characters of a file's text that an error quotes, at most."""
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

        Raises FileError: a key is unknown or missing, a value has the wrong type; names line, key and what is allowed.
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
            meaning, limit = KINDS.get(bounds["kind"], bounds["kind"]), f"{float(bounds['limit']):.12g}"
            what = "at_most_long" if bounds["sign"] == "<=" else "at_least_long"
            what = what if bounds["length"] else _BOUNDS[bounds["sign"]]
            shown = verbatim(shortened(repr(got)))
            return self.error(msg("yaml.kind", kind=msg(f"yaml.{what}", kind=meaning, limit=limit), value=shown), at)
        words = type_at(kind, inner)
        if isinstance(words, msgspec.inspect.LiteralType):
            return self.error(
                msg("yaml.unknown_value", value=shown, allowed=choose(str(got), filter(None, map(str, words.values)))),
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
    suggestion = msg("yaml.did_you_mean", near=msg("yaml.either", choices=[f"`{n}`" for n in near]))
    return msg("pieces.sentences", parts=[suggestion, listed])


MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_NUMBER = 64
"""Digits of a number, at most."""
SCALAR_TAGS = {"str", "int", "float", "bool", "null"}


def utf8(raw: bytes) -> str:
    """`raw` as UTF-8.  UnicodeDecodeError where it is none."""
    return raw.decode("utf-8-sig")


def read(path: Path, decode: Callable[[bytes], str] = utf8) -> YamlFile:
    """The YAML file at `path`; `decode` makes text of its bytes, where no mark says that they are UTF-16 or UTF-32.

    Raises FileError: unreadable, not a plain file, no text, not YAML, more than one document, too large or too deep, an
    alias or anchor, a key that is twice there or is no text, a tag.  The error names the line.
    """
    import yaml

    try:
        raw = read_plain(path, MAX_BYTES)
    except NotPlain as error:
        raise FileError(msg("yaml.not_plain"), path) from error
    except TooLarge as error:
        large = msg("yaml.large", size=error.size, limit=MAX_BYTES)
        raise FileError(large, path) from error
    except OSError as error:
        raise FileError(msg("yaml.unreadable", reason=system_reason(error)), path) from error
    try:
        text = raw.decode(_marked_encoding(raw)) if _marked_encoding(raw) else decode(raw)
    except UnicodeDecodeError as error:
        raise FileError(msg("yaml.not_utf8"), path, raw[: error.start].count(b"\n") + 1) from error
    kind = _loader_class()
    loader = kind(text)
    try:
        _refuse_aliases_and_depth(text, path)
        node = loader.get_single_node()
        file = YamlFile(path, None, {}, {})
        data = None if node is None else _construct(loader, node, (), file)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        if error.problem == _LIBYAML_TOO_DEEP:
            raise FileError(msg("yaml.deep", most=MAX_DEPTH), path, mark.line + 1 if mark else None) from error
        problem: str | Message = " ".join(part for part in (error.problem, error.note) if part) or "?"
        if mark and text.splitlines()[mark.line : mark.line + 1] and _starts_with_tab(text.splitlines()[mark.line]):
            problem = msg("yaml.tab")
        raise FileError(msg("yaml.not_yaml", problem=problem), path, mark.line + 1 if mark else None) from error
    except yaml.YAMLError as error:
        # The reader's own words begin with what is wrong: a character that no text holds.
        problem = next(iter(str(error).splitlines()), "?")
        raise FileError(msg("yaml.not_yaml", problem=problem), path) from error
    finally:
        loader.dispose()
    return replace(file, data=data)


def _marked_encoding(raw: bytes) -> str:
    """Return the encoding of a byte order mark (YAML 1.2.2, section 5.2), "" without one or for UTF-8."""
    for encoding, marks in (
        ("utf-32", (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)),
        ("utf-16", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
    ):
        # Without a NUL such a mark is CP1251 text that begins with "яю".
        if raw.startswith(marks) and b"\0" in raw:
            return encoding
    return ""


def _starts_with_tab(line: str) -> bool:
    return "\t" in line[: len(line) - len(line.lstrip())]


def _loader_class() -> type[yaml.SafeLoader | yaml.CSafeLoader]:
    """Return libyaml's loader where PyYAML was built with it: ten times as fast."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _refuse_aliases_and_depth(text: str, path: Path) -> None:
    """Look at the parser's events before any tree is built: deep nesting would exhaust the stack."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=_loader_class()):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise FileError(msg("yaml.alias"), path, _line(event.start_mark))
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
            if depth > MAX_DEPTH:
                deep = msg("yaml.deep", most=MAX_DEPTH)
                raise FileError(deep, path, _line(event.start_mark))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1


def _construct(loader: yaml.SafeLoader | yaml.CSafeLoader, node: yaml.Node, keys: KeyPath, file: YamlFile) -> object:
    """Return the data of `node`, which stands at `keys`; its lines and words are noted in `file`."""
    import yaml

    path, lines = file.path, file.lines
    line = node.start_mark.line + 1
    lines.setdefault(keys, line)
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, object] = {}
        for key_node, value_node in node.value:
            key_line = key_node.start_mark.line + 1
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode) or key_node.tag == "tag:yaml.org,2002:merge":
                raise FileError(msg("yaml.key_text"), path, key_line)
            if key in mapping:
                first = lines[(*keys, key)]
                twice = msg("yaml.twice", key=dotted((*keys, key)), line=first)
                raise FileError(twice, path, key_line)
            lines[(*keys, key)] = key_line
            mapping[key] = _construct(loader, value_node, (*keys, key), file)
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [_construct(loader, child, (*keys, i), file) for i, child in enumerate(node.value)]
    return _scalar(loader, node, keys, file)


def _scalar(loader: yaml.SafeLoader | yaml.CSafeLoader, node: yaml.Node, keys: KeyPath, file: YamlFile) -> object:
    path, line = file.path, node.start_mark.line + 1
    tag = node.tag.rpartition(":")[2]
    if tag not in SCALAR_TAGS:
        # Dates and the like stay text; a tag written out by hand is refused.
        if node.tag.startswith("tag:yaml.org,2002:") and tag in {"timestamp", "binary", "value"}:
            return str(node.value)
        raise FileError(msg("yaml.tag", tag=shortened(node.tag)), path, line)
    if tag != "str":
        file.written[keys] = node.value
    if tag in {"int", "float"} and len(node.value) > MAX_NUMBER:
        raise FileError(msg("yaml.long_number", count=len(node.value), limit=MAX_NUMBER), path, line)
    try:
        digits = node.value.lstrip("+-")
        if tag == "int" and digits.startswith("0") and digits.isdecimal():
            return int(node.value)  # YAML 1.1 reads 010 as 8; nobody means that.
        value: object = loader.construct_object(node)
    except (ValueError, KeyError, IndexError, OverflowError) as error:
        # `!!int x`: a tag written by hand before what is no such value.
        kind = KINDS[tag]
        wrong = msg("yaml.kind", kind=kind, value=shortened(repr(node.value)))
        raise file.error(wrong, keys) from error
    return value


def _line(mark: yaml.error.Mark | yaml._yaml.Mark | None) -> int:
    return mark.line + 1 if mark else 1
