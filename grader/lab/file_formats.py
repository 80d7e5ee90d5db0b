"""Arrays as the files that programs read and write: binary, text, tables, pictures; what is wrong with a file is told.

What a student's program has written is read in time that grows with its length alone, and only so far as a right file
could be long.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod

import numpy as np
import numpy.typing as npt

from grader.lab.records import STDOUT, FileRule, Parameter, Sizes
from grader.message import Message, msg

Array = npt.NDArray[np.generic]

NUMBER_BYTES = 64
"""Longest number in a text, with what stands around it."""
MORE_BYTES = 1 << 16
"""What may stand in a text besides its numbers."""
SHOWN_NUMBERS, SHOWN_CHARACTERS = 5, 20
"""How many of the numbers that were printed are shown, to tell where they come from."""
_PICTURES = {"pgm": (b"P5", b"P2"), "ppm": (b"P6", b"P3")}
# Nothing that has matched is given back, and none begins within another: a text is gone through once.
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[-+]?\d{1,4})?(?![\w.])|(?<!\w)[-+]?(?:nan|inf)(?!\w)",
    re.ASCII | re.IGNORECASE,
)
_TIME = re.compile(
    r"[ \t]*(?:(?:milli|micro|nano)seconds?|[munµμ]?s(?:ec(?:onds?)?)?|(?:мк|м|н)?с(?:ек)?"
    r"|[gmt]i?b(?:/s|ps)|[gmt]?flops?(?:/s)?)(?![a-zа-я])",
    re.IGNORECASE,
)
"""A unit behind a number that says it is a time, or a speed."""
_OF_TIME = re.compile(r"\btimes?\b|\belapsed\b|\btook\b|\bвремя\b", re.IGNORECASE)
"""Words of a line that reports a time."""


def to_file(parameter: Parameter, array: Array, sizes: Sizes) -> bytes:
    """An input as the file that a program is handed."""
    rule = parameter.file
    assert rule is not None
    head = [sizes[name] for name in rule.header]
    match rule.format:
        case "bin":
            return np.array(head, "<i4").tobytes() + array.astype(array.dtype.newbyteorder("<")).tobytes()
        case "pgm" | "ppm":
            height, width = array.shape[:2]
            return _PICTURES[rule.format][0] + f"\n{width} {height}\n255\n".encode() + array.tobytes()
        case "wb":
            head = list(array.shape)
    separator = "," if rule.format == "csv" else " "
    first = " ".join(map(str, head)) + "\n" if head else ""
    return (first + numbers_text(array, separator)).encode()


def numbers_text(array: Array, separator: str = " ") -> str:
    """An array's numbers, the last axis in lines, with as many digits as tell them apart."""
    digits = {"float32": "%.9g", "float64": "%.17g", "float16": "%.5g"}.get(str(array.dtype), "%d")
    rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
    return "".join(separator.join(digits % value for value in row) + "\n" for row in rows.tolist())


def longest(rule: FileRule, elements: int, itemsize: int) -> int:
    """Bytes of a file that could be right, at most."""
    each = itemsize if rule.format == "bin" else NUMBER_BYTES
    return elements * each + MORE_BYTES


def from_file(parameter: Parameter, data: bytes, shape: tuple[int, ...], sizes: Sizes) -> Array | Message:
    """An output out of the file that a program has written, or out of what it has printed; else what is wrong with it.

    data: at most one byte more than `longest` says.
    """
    rule = parameter.file
    assert rule is not None
    count, dtype = prod(shape), np.dtype(parameter.dtype)
    if len(data) > longest(rule, count, dtype.itemsize):
        return msg("outputs.too_long", file=rule.name, expected=count)
    if rule.format == "bin":
        wanted = np.array([sizes[name] for name in rule.header], "<i4").tobytes()
        if len(data) != len(wanted) + count * dtype.itemsize:
            return msg("outputs.bytes", file=rule.name, got=len(data), expected=len(wanted) + count * dtype.itemsize)
        if not data.startswith(wanted):
            got = np.frombuffer(data, "<i4", len(rule.header)).tolist()
            return _other_header(rule.name, got, [sizes[name] for name in rule.header])
        return np.frombuffer(data, dtype.newbyteorder("<"), count, len(wanted)).astype(dtype).reshape(shape)
    if rule.format in _PICTURES:
        return _picture(rule, data, shape)
    return _text(rule, data, shape, dtype, sizes)


def _other_header(file: str, got: Sequence[object], expected: Sequence[object]) -> Message:
    return msg("outputs.header", file=file, got=" ".join(map(str, got)), expected=" ".join(map(str, expected)))


def _picture(rule: FileRule, data: bytes, shape: tuple[int, ...]) -> Array | Message:
    """A portable picture: binary or plain, 255 for the brightest (netpbm.sourceforge.net/doc/ppm.html)."""
    binary, plain = _PICTURES[rule.format]
    if data[:2] not in (binary, plain):
        return msg(
            "outputs.magic",
            file=rule.name,
            format=rule.format.upper(),
            got=repr(data[:2])[1:],
            expected=binary.decode(),
        )
    words: list[bytes] = []
    at = 2
    while len(words) < 3:
        match = re.compile(rb"(?:\s|#[^\n]*\n)*(\d{1,9})(?=\s)").match(data, at)
        if match is None:
            return msg("outputs.picture_header", file=rule.name)
        words.append(match[1])
        at = match.end()
    width, height, brightest = map(int, words)
    if (height, width) != shape[:2] or brightest != 255:
        return _other_header(rule.name, [width, height, brightest], [shape[1], shape[0], 255])
    count = prod(shape)
    if data[:2] == binary:
        if len(data) != at + 1 + count:
            return msg("outputs.bytes", file=rule.name, got=len(data), expected=at + 1 + count)
        return np.frombuffer(data, np.uint8, count, at + 1).reshape(shape)
    return _numbers(rule.name, _numbers_in(data[at:]), shape, np.dtype(np.uint8))


def _text(
    rule: FileRule, data: bytes, shape: tuple[int, ...], dtype: np.dtype[np.generic], sizes: Sizes
) -> Array | Message:
    numbers = printed(data, rule.label) if rule.name == STDOUT else _numbers_in(data)
    head = [str(n) for n in (shape if rule.format == "wb" else [sizes[name] for name in rule.header])]
    given = numbers[: len(head)]
    if head and given != head:
        return _other_header(rule.name, given, head)
    numbers = numbers[len(head) :]
    if rule.label:
        if not numbers:
            return msg("outputs.no_label", label=rule.label)
        # What else the line says follows them.
        numbers = numbers[: prod(shape)]
    return _numbers(rule.name, numbers, shape, dtype)


def printed(data: bytes, label: str = "") -> list[str]:
    """The numbers that a program has printed, without times and speeds; label: only those behind this text.

    If several lines have the label, the last one counts: a program may print what it computes step by step.
    """
    numbers: list[str] = []
    for line in data.decode("utf-8", "replace").split("\n"):
        at = line.casefold().find(label.casefold())
        if at < 0 or (not label and _OF_TIME.search(line)):
            continue
        row = [m[0] for m in _NUMBER.finditer(line, at + len(label)) if not _TIME.match(line, m.end())]
        if label and row:
            numbers = row
        elif not label:
            numbers += row
    return numbers


def _numbers_in(data: bytes) -> list[str]:
    return [match[0] for match in _NUMBER.finditer(data.decode("utf-8", "replace"))]


def _numbers(file: str, words: Sequence[str], shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array | Message:
    if file == STDOUT and len(words) > prod(shape):
        shown = ", ".join(word[:SHOWN_CHARACTERS] for word in words[:SHOWN_NUMBERS])
        return msg("outputs.printed", file=file, got=len(words), expected=prod(shape), shown=shown)
    if len(words) != prod(shape):
        return msg("outputs.numbers", file=file, got=len(words), expected=prod(shape))
    if dtype.kind == "f":
        return np.array([float(word) for word in words]).astype(dtype).reshape(shape)
    low, high = _limits(dtype)
    whole: list[int] = []
    for word in words:
        value = float(word)
        # Not by way of a float where 64 bits are to be exact; nor of more digits than any whole number has.
        exact = int(word) if len(word) <= NUMBER_BYTES and word.lstrip("+-").isdigit() else value
        if not value.is_integer() or not low <= exact <= high:
            return msg("outputs.not_whole", file=file, got=word[:40], dtype=str(dtype))
        whole.append(int(exact))
    return np.array(whole, dtype).reshape(shape)


def _limits(dtype: np.dtype[np.generic]) -> tuple[int, int]:
    bits = 8 * dtype.itemsize
    return (0, (1 << bits) - 1) if dtype.kind == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)
