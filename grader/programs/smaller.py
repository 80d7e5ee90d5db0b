"""A program's sizes, made smaller: one constant or argument at a time where it is too large to be run here, or all of
them a little, so that they are no multiple of anything.

Only the text's numbers change, never a line, so that what is found out still carries the student's lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

from grader.programs.records import Start

MAX_TRIES = 4
WANTED = 512
WANTED_ON_THE_HOST = 128
"""For a program that takes too long itself: what it computes for comparison is often cubic in its size."""

_NUMBER = r"(?P<number>\d{3,9})(?P<suffix>[uUlL]{0,3})(?![\w.])"
_DEFINE = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+\(?[ \t]*{_NUMBER}", re.M)
_INTEGER = r"\b(?:int|long|unsigned|size_t|auto|short|u?int(?:32|64)_t)\s+"
_VARIABLE = re.compile(rf"{_INTEGER}(?P<name>\w+)\s*(?:=|\{{|\()\s*{_NUMBER}")
# `int sizes[] = {256, 1024, 4096};`, each of which the program works through.
_NUMBERS = r"\d{1,9}(?:\s*,\s*\d{1,9}){1,15}"
_VECTOR = r"\bvector\s*<[^;{}()]{1,40}>\s+"
_LIST = re.compile(
    rf"(?:{_INTEGER}(?P<name>\w+)\s*\[\w*\]|{_VECTOR}(?P<vector>\w+))\s*=?\s*\{{\s*(?P<number>{_NUMBERS})\s*,?\s*\}}"
)
# `int shapes[][2] = {{256, 256}, {1000, 300}};`, of structs and pairs too.
_SHAPES = re.compile(
    rf"(?:\b[A-Za-z_]\w*\s+(?P<name>\w+)\s*(?:\[\w*\]\s*){{1,2}}|{_VECTOR}(?P<vector>\w+)\s*)=?\s*"
    rf"\{{\s*(?P<number>\{{\s*{_NUMBERS}\s*\}}(?:\s*,\s*\{{\s*{_NUMBERS}\s*\}}){{0,15}})\s*,?\s*\}}"
)
_MORE = re.compile(rf",\s*(?P<name>\w+)\s*=\s*{_NUMBER}")
_ASSIGNED = re.compile(rf"(?<![\w.>=!<])(?P<name>[A-Za-z_]\w*)\s*=\s*{_NUMBER}(?=\s*;)")
# `run(2000)`, where nothing else is a size.
_HANDED_IN = re.compile(rf"\b(?P<name>[A-Za-z_]\w*)\s*\(\s*(?:[A-Za-z_]\w*\s*,\s*){{0,3}}{_NUMBER}(?=\s*[,)])")
# `16 * 1024 * 1024`, by itself or in a list of sizes.
_FACTORS = r"(?P<number>\d{1,6}(?:\s*\*\s*\d{1,6}){1,3})"
_PRODUCTS = (
    re.compile(rf"{_INTEGER}(?P<name>\w+)\s*(?:\[\w*\])?\s*=\s*(?:\{{(?:\s*[\w ]+,)*\s*)?{_FACTORS}(?=\s*[,;}}])"),
    re.compile(rf"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+\(?{_FACTORS}\)?[ \t]*$", re.M),
)
_SHAPE = re.compile(r"\{[^{}]*\}")
_NO_CALL = re.compile(r"sleep|seed|srand|exit|alloc|reserve|resize|time|delay", re.IGNORECASE)
_SHIFT = re.compile(r"(?P<name>\w+)?\s*=?\s*\b(?P<base>[1-9]\d{0,3})[uUlL]{0,3}\s*<<\s*\(?(?P<number>\d{2})(?![\w.])")
_NO_SIZE = re.compile(r"block|thread|tile|warp|seed|iter|repeat|runs?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SizeChange:
    """One number of the program's, or one list of them, changed.

    file: "" for an argument of the command line; `line` is its position then.
    name: of the constant, as the text has it.  value: what it is afterwards.
    also: where in the same file the same number stands for another size: they are changed together.
    base: of a shift: `before` and `after` are the 20 and the 10 of `16 << 20` and `16 << 10`; 0 of a plain number.
    """

    file: str
    line: int
    name: str
    before: str
    after: str
    position: int
    value: int
    base: int = 0
    also: tuple[int, ...] = ()

    @property
    def numbers(self) -> tuple[str, str]:
        """Return the number before and after, as people read it."""
        if not self.base:
            return self.before, self.after
        return f"{self.base} << {self.before}", f"{self.base} << {self.after}"


def halved(number: int, wanted: int) -> int:
    """Return a number halved until it is at most `wanted`, or odd."""
    while number > wanted and number % 2 == 0:
        number //= 2
    return number


def changes(texts: Mapping[str, str], arguments: Sequence[str], cause: str) -> list[SizeChange]:
    """Numbers that may be the program's size, the most promising first; cause: id of what ended the program."""
    wanted = WANTED_ON_THE_HOST if cause == "programs.too_long" else WANTED
    weighted: list[tuple[int, SizeChange]] = []
    for index, argument in enumerate(arguments):
        if argument.isdigit() and int(argument) >= 2 * wanted and halved(int(argument), wanted) < int(argument):
            after = halved(int(argument), wanted)
            weighted.append((1 << 40, SizeChange("", index, argument, argument, str(after), index, after)))
    for file, text in texts.items():
        weighted += _in_text(file, text, wanted)
    unique = {(change.file, change.position): (weight, change) for weight, change in weighted}
    numbers = [change for weight, change in unique.values() if weight > 1 and change.before.isdigit()]
    unique |= _together([change for change in numbers if not change.base])
    ordered = sorted(unique.values(), key=lambda item: (-item[0], item[1].file, item[1].position))
    return [change for _weight, change in ordered]


def _together(changes: Sequence[SizeChange]) -> dict[tuple[str, int], tuple[int, SizeChange]]:
    """Join changes of one value, `m = 10000; n = 10000;`, so that a square stays one."""
    alike: dict[tuple[str, str], list[SizeChange]] = {}
    for change in changes:
        if change.file:
            alike.setdefault((change.file, change.before), []).append(change)
    together = {}
    for group in alike.values():
        names = dict.fromkeys(change.name for change in group)
        if len(names) > 1:
            first = min(group, key=lambda change: change.position)
            also = tuple(sorted(change.position for change in group if change is not first))
            one = replace(first, name=", ".join(names), also=also)
            together[first.file, first.position] = int(first.before), one
    return together


def _in_text(file: str, text: str, wanted: int) -> Iterator[tuple[int, SizeChange]]:
    for pattern in (_DEFINE, _VARIABLE, _MORE, _ASSIGNED):
        for match in pattern.finditer(text):
            before = int(match["number"])
            after = halved(before, wanted)
            if before >= 2 * wanted and after < before and not _NO_SIZE.search(match["name"]):
                yield before, _change(file, text, match, str(after), after)
    for match in (match for pattern in _PRODUCTS for match in pattern.finditer(text)):
        before = prod(map(int, match["number"].split("*")))
        after = halved(before, wanted)
        if before >= 2 * wanted and after < before and not _NO_SIZE.search(match["name"]):
            yield before, _change(file, text, match, str(after), after)
    for match in _HANDED_IN.finditer(text):
        before = int(match["number"])
        after = halved(before, wanted)
        if before >= 2 * wanted and after < before and not _NO_CALL.search(match["name"]):
            # Behind all that have a name.
            yield 1, _change(file, text, match, str(after), after)
    for match in _LIST.finditer(text):
        numbers = [int(number) for number in match["number"].split(",")]
        small = [halved(number, wanted) if number >= 2 * wanted else number for number in numbers]
        if small != numbers and not _NO_SIZE.search(match["name"] or match["vector"]):
            yield max(numbers), _change(file, text, match, ", ".join(map(str, small)), max(small))
    for match in _SHAPES.finditer(text):
        shapes = _SHAPE.sub(lambda shape: _with_fewer(shape[0], wanted), match["number"])
        if shapes != match["number"] and not _NO_SIZE.search(match["name"] or match["vector"]):
            largest, value = (max(map(int, re.findall(r"\d+", one))) for one in (match["number"], shapes))
            yield largest, _change(file, text, match, shapes, value)
    for match in _SHIFT.finditer(text):
        before = int(match["number"])
        if 10 <= before <= 40 and not _NO_SIZE.search(match["name"] or ""):
            value = int(match["base"]) << (before // 2)
            base = int(match["base"])
            yield base << before, replace(_change(file, text, match, str(before // 2), value), base=base)


def _with_fewer(shape: str, wanted: int) -> str:
    """Return the numbers of one shape made smaller: those that differ stay different, so that no rectangle becomes a
    square."""
    numbers = [int(number) for number in re.findall(r"\d+", shape)]
    small = [halved(number, wanted) if number >= 2 * wanted else number for number in numbers]
    if len(set(small)) < len(set(numbers)):
        most = max(numbers) // halved(max(numbers), wanted)
        small = [number // most if number % most == 0 else number for number in numbers]
    rows = iter(small)
    return re.sub(r"\d+", lambda _number: str(next(rows)), shape)


def _change(file: str, text: str, match: re.Match[str], after: str, value: int) -> SizeChange:
    start = match.start("number")
    name = match["name"] or match.groupdict().get("vector") or ""
    return SizeChange(file, text.count("\n", 0, start) + 1, name, match["number"], after, start, value)


def applied(change: SizeChange, texts: Mapping[str, str], arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Texts that differ, and the arguments, with one change made."""
    if not change.file:
        return {}, [change.after if i == change.position else argument for i, argument in enumerate(arguments)]
    text = texts[change.file]
    for position in sorted((change.position, *change.also), reverse=True):
        text = text[:position] + change.after + text[position + len(change.before) :]
    return {change.file: text}, list(arguments)


SMALLEST = 8
LESS = 3
"""How much a size is made smaller, so that it is no multiple of anything: sides of blocks are mostly powers of two."""

_CONSTANT = re.compile(
    r"(?:#[ \t]*define[ \t]+(?P<macro>\w+)[ \t]+\(?[ \t]*|\b(?P<name>\w+)\s*=\s*)(?P<number>\d{1,9})(?![\w.]|\s*<<)"
)
_TYPED = re.compile(rb"(\d+)")
_NO_RAGGED_SIZE = re.compile(rf"{_NO_SIZE.pattern}|side|^(?:bs|ts|tx|ty)$", re.IGNORECASE)


def made_ragged(texts: Mapping[str, str], start: Start, values: Iterable[object]) -> tuple[dict[str, str], Start]:
    """Texts that differ, and a start, with the sizes among the `values` that kernels were handed a little smaller."""
    sizes = {value for value in values if isinstance(value, int) and value >= SMALLEST}

    def less(word: str) -> str:
        return str(int(word) - LESS) if word.isdigit() and int(word) in sizes else word

    def constant(match: re.Match[str]) -> str:
        is_size = int(match["number"]) in sizes and not _NO_RAGGED_SIZE.search(match["macro"] or match["name"] or "")
        return match[0][: match.start("number") - match.start()] + less(match["number"]) if is_size else match[0]

    changed = {name: _CONSTANT.sub(constant, text) for name, text in texts.items()}
    stdin = b"".join(less(word.decode()).encode() for word in _TYPED.split(start.stdin))
    arguments = tuple(less(word) for word in start.arguments)
    return {name: text for name, text in changed.items() if text != texts[name]}, Start(arguments, stdin)
