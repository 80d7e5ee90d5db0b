"""What a lab file says of a whole program that is asked for: how it is started, and where its arrays lie."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from grader.lab.parameters import signature_of
from grader.lab.parts import Part, check_known, sibling
from grader.lab.records import COPIED, STDOUT, FileRule, Parameter, ProgramRule
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose

FORMATS = {"bin": (".bin", ".dat"), "text": (".txt",), "csv": (".csv",), "pgm": (".pgm",), "ppm": (".ppm",), "wb": ()}
"""Formats of files, with the suffixes that mean one where the lab file names none."""
CHANNELS = {"pgm": 1, "ppm": 3}
"""Numbers that a picture has at each place."""
_PLACE = re.compile(r"\{(\w*)\}")
_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


class FilePart(Part, frozen=True):
    """What a parameter's part of a lab file says of where it lies."""

    file: str = ""
    format: str = ""
    header: list[str] = []
    label: str = ""


def file_rule(file: YamlFile, keys: KeyPath, part: FilePart, is_output: bool, is_array: bool) -> FileRule | None:
    """Where an array lies; None where the file says nothing of it.  FileError where that is no place for it."""
    given = [key for key in ("format", "header", "label") if getattr(part, key)]
    if not part.file:
        if given:
            raise file.error(msg("labs.needs_file"), (*keys, given[0]))
        return None
    if not is_array:
        raise file.error(msg("labs.only_kind", kind="input, output, in_out"), (*keys, "file"))
    printed, copied = part.file == STDOUT, part.file == COPIED
    if (printed or copied) and not is_output:
        raise file.error(msg("labs.only_kind", kind="output"), (*keys, "file"))
    if part.label and not printed:
        raise file.error(msg("labs.only_stdout"), (*keys, "label"))
    if copied and given:
        raise file.error(msg("labs.needs_file"), (*keys, given[0]))
    name = PurePosixPath(part.file)
    if not _NAME.fullmatch(part.file) or ".." in name.parts:
        raise file.error(msg("labs.file_name", got=part.file), (*keys, "file"))
    kind = part.format or next((f for f, suffixes in FORMATS.items() if name.suffix.lower() in suffixes), "")
    kind = "text" if (printed or copied) and not part.format else kind
    if kind not in FORMATS:
        key = "format" if part.format else "file"
        raise file.error(msg("labs.file_format", got=part.format, allowed=choose(kind, FORMATS)), (*keys, key))
    if printed and kind != "text":
        raise file.error(msg("labs.file_format", got=kind, allowed=choose(kind, ["text"])), (*keys, "format"))
    if part.header and (kind not in ("bin", "text", "csv") or printed):
        raise file.error(msg("labs.no_header", format=STDOUT if printed else kind), (*keys, "header"))
    return FileRule(part.file, kind, tuple(part.header), part.label)


def check_file(file: YamlFile, parameter: Parameter, sizes: Sequence[str]) -> None:
    """Refuse a file whose format cannot hold the parameter's array."""
    keys: KeyPath = ("parameters", parameter.name)
    rule = parameter.file
    if rule is None:
        return
    check_known(file, (*keys, "header"), rule.header, sizes)
    if rule.format in CHANNELS:
        channels = CHANNELS[rule.format]
        fits = parameter.shape[2:] == ((channels,) if channels > 1 else ()) and len(parameter.shape) >= 2
        if not fits or parameter.dtype != "uint8":
            shape = "[height, width, 3]" if channels > 1 else "[height, width]"
            got = f"{parameter.dtype} [{', '.join(map(str, parameter.shape))}]"
            raise file.error(msg("labs.picture", format=rule.format, allowed=f"uint8 {shape}", got=got), keys)


def program_of(
    file: YamlFile, arguments: Sequence[str], stdin: str, signature: str, parameters: Sequence[Parameter]
) -> ProgramRule:
    """How the program is started.

    Raises
    ------
    FileError : a place holder that nothing stands for, an array that the program is not handed or that nobody finds
      afterwards, two arrays in one file, a signature that does not parse.
    """
    by_name = {parameter.name: parameter for parameter in parameters}
    placed: list[tuple[KeyPath, str]] = [(("arguments", i), word) for i, word in enumerate(arguments)]
    placed.append((("stdin",), stdin))
    handed: set[str] = set()
    for keys, text in placed:
        for name in _PLACE.findall(text):
            if name not in by_name:
                raise file.error(msg("labs.unknown_name", name=name, allowed=choose(name, by_name)), keys)
            parameter = by_name[name]
            at_hand = parameter.file is not None and parameter.file.name not in (STDOUT, COPIED)
            if parameter.is_array and not at_hand and (keys != ("stdin",) or not parameter.is_input):
                raise file.error(msg("labs.not_handed", name=name), keys)
            handed.add(name)
    by_file: dict[str, str] = {}
    for name, parameter in by_name.items():
        rule, keys = parameter.file, ("parameters", name)
        if (parameter.is_input and rule is None and name not in handed) or (
            parameter.kind.is_number and name not in handed
        ):
            raise file.error(msg("labs.never_handed", place=f"{{{name}}}"), keys)
        if parameter.is_output and rule is None:
            raise file.error(msg("labs.no_output_file", stdout=STDOUT, copied=COPIED), keys)
        if rule is not None and rule.name != COPIED:
            if rule.name in by_file and (rule.name != STDOUT or not rule.label):
                raise file.error(msg("labs.file_twice", file=rule.name, name=by_file[rule.name]), (*keys, "file"))
            by_file[rule.name] = name
    parsed = signature_of(signature) if signature else None
    if signature and parsed is None:
        raise file.error(msg("labs.signature_form", got=signature), ("signature",))
    return ProgramRule(tuple(arguments), stdin, parsed)


def filled_in(text: str, values: dict[str, str]) -> str:
    """A text of `ProgramRule` with what its place holders stand for."""
    return _PLACE.sub(lambda match: values[match[1]], text)


def lab_files(file: YamlFile, references: Path, names: Sequence[str]) -> dict[str, Path]:
    """The lab's own files that go with what is handed in, by name.  FileError where one is not there."""
    paths = {}
    for i, name in enumerate(names):
        if not _NAME.fullmatch(name) or ".." in PurePosixPath(name).parts:
            raise file.error(msg("labs.file_name", got=name), ("files", i))
        paths[name] = sibling(file, references / name, ("files", i))
    return paths
