"""YAML text as data, with the line of every key; aliases, keys that stand twice, tags and the like are refused."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import FileError, system_reason
from grader.files import NotPlain, TooLarge, read_plain
from grader.message import Message, msg
from grader.yaml_file.file import KINDS, YamlFile, dotted, shortened
from grader.yaml_file.schema import KeyPath

if TYPE_CHECKING:
    import yaml

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
MAX_NUMBER = 64
"""Of a number in its digits, which no number of a course comes near."""
SCALAR_TAGS = {"str", "int", "float", "bool", "null"}


def utf8(raw: bytes) -> str:
    """`raw` as UTF-8.  UnicodeDecodeError where it is none."""
    return raw.decode("utf-8-sig")


def read(path: Path, decode: Callable[[bytes], str] = utf8) -> YamlFile:
    """The YAML file at `path`; `decode` makes text of its bytes, where no mark says that they are UTF-16 or UTF-32.

    Raises
    ------
    FileError : unreadable, not a plain file, no text, not YAML, more than one document, too large or too deep, an
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
        made = YamlFile(path, None, {}, {})
        data = None if node is None else _construct(loader, node, (), made)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
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
    return replace(made, data=data)


def _marked_encoding(raw: bytes) -> str:
    """What a byte order mark says (YAML 1.2.2, section 5.2), "" without one or for UTF-8."""
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
    """libyaml's loader where PyYAML was built with it: ten times as fast."""
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _refuse_aliases_and_depth(text: str, path: Path) -> None:
    """Looks at the parser's events before any tree is built: deep nesting would end in a RecursionError."""
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
    """The data of `node`, which stands at `keys`; lines and what was written are noted in `file`."""
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
