"""Which whole programs a submission's files are, with what each may be started, and with what smaller sizes."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import prod
from pathlib import Path

from grader.devices import MAX_THREADS_PER_BLOCK
from grader.errors import UsageError
from grader.programs.records import Start
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import WORD, ParsedFile
from grader.submission.kernels.kernel import first_extents, local_values
from grader.submission.lexical import line_of_main, without_comments
from grader.submission.source import SourceText

MAX_PROGRAMS = 6
MAX_CHOICES = 8
"""Numbers that a program is given to choose a kernel by, from 0 on."""
USUAL_SIZE = "256"
USUAL_BLOCK = 16

_NUMBER_OR_NAME = re.compile(r"\w+")
_INCLUDED = re.compile(r"^[ \t]*#[ \t]*include[ \t]*\"([^\"\n]+\.(?:cu|cpp|cc|c))\"", re.M)
_ARGUMENT = re.compile(r"\bargv\s*\[\s*(\d{1,9})\s*\]")
_READS_INPUT = re.compile(r"\bcin\b|\bscanf(?:_s)?\s*\(|\bstdin\b|\bgetchar\s*\(")
_CHOOSES = re.compile(r"\bswitch\s*\([^{}]{1,200}\)\s*\{\s*case\s+\d+\s*:")
_SWITCH = re.compile(r"\bswitch\s*\(([^{}]{1,200})\)\s*\{")
_CASE = re.compile(r"\bcase\s+(\d{1,2})\s*:")
_SCANNED = re.compile(r"\bscanf(?:_s)?\s*\(\s*\"([^\"\n]*)\"")
_SCANNED_INTO = re.compile(r"\bscanf(?:_s)?\s*\(\s*\"[^\"\n]*\"([^;{}]{0,200});")
_COMPARED_NUMBER = re.compile(r"\bif\s*\(\s*(\w+)\s*==\s*\d{1,2}\s*\)")
_HOLDS_NUMBER = re.compile(
    r"\b(\w+)\s*=\s*(?:\(\w+\)\s*)?(?:std\s*::\s*)?(?:ato[il]|stoi|strtol)\s*\(\s*argv\s*\[\s*([1-9])\s*\]"
)
# `n = 1 << m`, `pow(2, m)`.
_POWER_OF_TWO = re.compile(
    r"(?:\b1[uUlL]{0,3}\s*<<\s*|\bpow[fl]?\s*\(\s*2(?:\.0?)?[fF]?\s*,\s*)(?:\(\w+\)\s*)?(\w+)\s*[);]"
)
_HOLDS_WORD = re.compile(r"\b(\w+)\s*(?:=\s*(?:(?:std\s*::\s*)?string\s*[({]\s*)?|[({]\s*)argv\s*\[\s*([1-9])\s*\]")
_COMPARED_ARGUMENT = re.compile(r"\bargv\s*\[\s*([1-9])\s*\]\s*\)?\s*(?:,|==)\s*\"([^\"\n]{1,40})\"")
_COMPARED_NAME = re.compile(
    r"(?:\bstr(?:case)?cmp\s*\(\s*(\w+)(?:\s*\.\s*c_str\s*\(\s*\))?\s*,|\b(\w+)\s*==)\s*\"([^\"\n]{1,40})\""
)
_TYPED_IN = re.compile(r"\bcin\b([^;{}]{0,200});")
# Words, not the tree: a launch that the grammar cannot read is one, too, and one too many costs a run and no mark.
_INSTANCE = re.compile(r"([A-Za-z_]\w*)\s*<([^<>;(){}]{0,200})>\s*<<[ \t]*<")
_LAUNCHED = re.compile(r"([A-Za-z_]\w*)\s*(?:<[^<>;(){}]{0,200}>)?\s*<<[ \t]*<")


def programs_of(sources: Sequence[SourceText]) -> list[tuple[SourceText, ...]]:
    """Return the files of each program, the one with `main` first; files without one belong to every program."""
    texts = {source.path: without_comments(source.text) for source in sources}
    included = {path for source in sources for path in _included(source, texts)}
    own = [source for source in sources if source.path not in included]
    mains = [source for source in own if line_of_main(texts[source.path])]
    others = [source for source in own if source not in mains]
    return [(main, *(o for o in others if _belongs_to(o, main, mains))) for main in mains][:MAX_PROGRAMS]


def without_versions(files: Sequence[SourceText]) -> list[tuple[SourceText, ...]]:
    """Return the programs that a program's files are of which several define one kernel: each of these by itself, or
    none where `main` has it, with the files that define none of them."""
    main, *others = files
    named = {parsed.source.path: {kernel.name for kernel in parsed.kernels} for parsed in _parsed(files)}
    counts = Counter(name for names in named.values() for name in names)
    twice = {name for name, count in counts.items() if count > 1}
    versions = [source for source in others if named.get(source.path, set()) & twice]
    rest = [source for source in others if source not in versions]
    if not versions:
        return [(main,)]
    of_main = named.get(main.path, set())
    alone = [source for source in versions if not named[source.path] & of_main]
    return [(main, *rest, version) for version in alone] or [(main, *rest)]


def _included(source: SourceText, texts: Mapping[Path, str]) -> list[Path]:
    """Return the files that one includes: at the path that it says, or else any of that name."""
    paths = []
    for name in _INCLUDED.findall(texts[source.path]):
        file = os.path.normpath(source.path.parent / name)
        there = [path for path in texts if os.path.normpath(path) == file]
        paths += there or [path for path in texts if path.name == Path(name).name and path != source.path]
    return paths


def _belongs_to(other: SourceText, main: SourceText, mains: Sequence[SourceText]) -> bool:
    """Whether a file without `main` is part of this program: of those it shares most folders with."""

    def common(one: SourceText) -> int:
        folders = zip(Path(other.file).parent.parts, Path(one.file).parent.parts, strict=False)
        return sum(1 for _same in takewhile(lambda pair: pair[0] == pair[1], folders))

    return common(main) == max(map(common, mains))


def launched_in(sources: Sequence[SourceText]) -> set[str]:
    """Return the kernels that a program may launch: those named before a `<<<`.

    Where a parameter of a macro or a function pointer stands there as well, every kernel that is named again.
    """
    text = "\n".join(without_comments(source.text) for source in sources)
    launched = set(_LAUNCHED.findall(text))
    kernels = {kernel.name for parsed in _parsed(sources) for kernel in parsed.kernels}
    if launched <= kernels or not kernels:
        return launched
    words = Counter(WORD.findall(text))
    return {name for name in kernels if words[name] > 1}


def instances_in(sources: Sequence[SourceText]) -> dict[str, int]:
    """Templates that a program may launch with other arguments from place to place, with how many of them."""
    text = "\n".join(without_comments(source.text) for source in sources)
    instances: dict[str, set[str]] = {}
    for name, arguments in _INSTANCE.findall(text):
        instances.setdefault(name, set()).add("".join(arguments.split()))
    return {name: len(arguments) for name, arguments in instances.items() if len(arguments) > 1}


def ways_to_start(sources: Sequence[SourceText], sizes: Sequence[int] = (), threads: int = USUAL_BLOCK) -> list[Start]:
    """Return how to start a program: with nothing; where it takes arguments, with the lab's sizes in either order.

    sizes: those that kernels are profiled at.  What the program would read from a keyboard is the same, line by line;
    one that asks for several numbers may want a size in each.  threads: of a block along x, for a program that is told.
    """
    usual = tuple(str(size) for size in sizes) or (USUAL_SIZE,)
    text = "\n".join(without_comments(source.text) for source in sources)
    if {name for name, _place in _HOLDS_NUMBER.findall(text)} & set(_POWER_OF_TWO.findall(text)):
        # A program that is told an exponent: at 96 it would take 2 to that power for its size.
        usual = tuple(str(int(size).bit_length()) for size in usual)
    reads = _READS_INPUT.search(text) is not None
    block = str(_side_of_tile(sources) or threads)
    stdin = "\n".join([*usual, *[block] * 16, ""]).encode() if reads else b""
    count = max((int(number) for number in _ARGUMENT.findall(text) if int(number) < 10), default=0)
    ways = [Start((), stdin)]
    if count:
        for order in dict.fromkeys((usual, usual[::-1])):
            ways.append(Start((*order, *[block] * count)[:count], stdin))
        ways.append(Start((max(usual, key=int),) * count, stdin))
    if count > 1:
        # "N threads", as lectures have it.
        ways.append(Start((max(usual, key=int), *[block] * (count - 1)), stdin))
    if reads:
        largest = max(usual, key=int)
        ways.append(Start((), "\n".join([*[largest] * 16, ""]).encode()))
        # A menu: each of its items, and a size for those that ask for one; twice, as some are wanted before others.
        items = [line for item in range(1, 10) for line in (str(item), largest)]
        ways.append(Start((), "\n".join([*items, *items, "0", ""]).encode()))
    return list({(way.arguments, way.stdin): way for way in ways}.values())


def ways_to_choose(sources: Sequence[SourceText], sizes: Sequence[int] = (), threads: int = USUAL_BLOCK) -> list[Start]:
    """What a program is started with that is told by a number or a word which kernel to launch; none for any other.

    Where it is not clear which argument that is it comes first, then perhaps a block's sides, then sizes; from a
    keyboard also after as many sizes as are read before it.
    """
    text = "\n".join(without_comments(source.text) for source in sources)
    usual = tuple(str(size) for size in sizes) or (USUAL_SIZE,)
    block = str(_side_of_tile(sources) or threads)
    count = max((int(number) for number in _ARGUMENT.findall(text) if int(number) < 10), default=0)
    place, values = _choosing_argument(text)
    if values and place <= count:
        # The sizes; else one of them and a block's sides.
        around = dict.fromkeys(((*usual, *[block] * count), (max(usual, key=int), *[block] * count)))
        return [Start((*o[: place - 1], value, *o[place - 1 :])[:count]) for o in around for value in values]
    chooses = _choice_in(text)
    if chooses is None:
        return []
    ways = []
    for number in map(str, range(MAX_CHOICES)):
        if count:
            # Those at the end are sizes, where there is room for a block's sides before them.
            others = (*[block] * 2, *usual * 2) if count > 3 else (*usual, block)
            ways.append(Start((number, *others)[:count]))
        elif _READS_INPUT.search(text):
            ways.append(Start((), "\n".join([number, *usual, *[block] * 8, ""]).encode()))
    before = _read_before(text[:chooses])
    if before and not count:
        # One block may have to hold it all, so that only a size as small as a block's side is launched.
        for size in (max(usual, key=int), block):
            for number in map(str, range(1, MAX_CHOICES)):
                ways.append(Start((), "\n".join([*[size] * before, number, *[size] * 8, ""]).encode()))
    return ways


def _choosing_argument(text: str) -> tuple[int, list[str]]:
    """Return the index of the argument by which a program chooses, and the words or numbers compared with it."""
    holders = {name: int(place) for name, place in _HOLDS_WORD.findall(text)}
    words: dict[int, dict[str, None]] = {}
    for place, word in _COMPARED_ARGUMENT.findall(text):
        words.setdefault(int(place), {})[word] = None
    for first, second, word in _COMPARED_NAME.findall(text):
        if (first or second) in holders:
            words.setdefault(holders[first or second], {})[word] = None
    # Options are handed in beside what they are for, not in place of it.
    plain = {place: [w for w in choices if not w.startswith("-")] for place, choices in words.items()}
    place = max(plain, key=lambda place: len(plain[place]), default=0)
    if place and plain[place]:
        return place, plain[place][:MAX_CHOICES]
    switch = _SWITCH.search(text)
    if switch is not None:
        argument = _ARGUMENT.search(switch[1])
        numbers_held = {name: int(place) for name, place in _HOLDS_NUMBER.findall(text)}
        place = int(argument[1]) if argument else numbers_held.get(switch[1].strip(), 0)
        return (place, _values(map(int, _CASE.findall(text[switch.end() :])))) if 1 < place < 10 else (0, [])
    compared = {
        (name, int(argument)): {int(number) for number in re.findall(rf"\b{name}\s*==\s*(\d{{1,2}})\b", text)}
        for name, argument in _HOLDS_NUMBER.findall(text)
    }
    (_name, place), numbers = max(compared.items(), key=lambda item: len(item[1]), default=(("", 0), set[int]()))
    return place, _values(numbers)


def _values(numbers: Iterable[int]) -> list[str]:
    """Return values to hand in where a number is compared with these, one that leads to an `else` among them."""
    compared = set(numbers)
    values = sorted({*compared, max(compared) + 1, 0}) if compared else []
    return [str(number) for number in values][:MAX_CHOICES]


def _choice_in(text: str) -> int | None:
    """Return where a program first chooses by a number: a `switch`, or a number that is read and compared."""
    chooses = _CHOOSES.search(text)
    typed = {name for line in _TYPED_IN.findall(text) for name in _NUMBER_OR_NAME.findall(line)}
    typed |= {name for line in _SCANNED_INTO.findall(text) for name in _NUMBER_OR_NAME.findall(line)}
    compared = next((m for m in _COMPARED_NUMBER.finditer(text) if m[1] in typed), None)
    places = [match.start() for match in (chooses, compared) if match is not None]
    return min(places, default=None)


def _read_before(head: str) -> int:
    formats = [str(match[1]) for match in _SCANNED.finditer(head)]
    typed = [str(match[1]) for match in _TYPED_IN.finditer(head)]
    read = sum(len(re.findall(r"%[ld]", line)) for line in formats) + sum(line.count(">>") for line in typed)
    return min(max(read - 1, 0), MAX_CHOICES)


def _side_of_tile(sources: Sequence[SourceText]) -> int | None:
    """Return the side of the first shared array of a fixed size, which a block of such a program is made for."""
    for parsed in _parsed(sources):
        for item in parsed.items:
            if not item.active or not ("__shared__" in item.qualifiers or item.kind == "function"):
                continue
            size = next(first_extents(parsed, item.node), None)
            # The side of `[TILE + 1]` and `[TILE * TILE]` is `TILE`.
            word = _NUMBER_OR_NAME.search(size) if size is not None else None
            if word is not None:
                defaults = dict(zip(item.template_parameters, item.template_defaults, strict=False))
                body = item.node.child_by_field_name("body")
                values = local_values(parsed, body) if body is not None else None
                side = parsed.constants.integer(defaults.get(word[0]) or word[0], values)
                return side if side is not None and 4 <= side <= MAX_THREADS_PER_BLOCK else None
    return None


def _parsed(sources: Sequence[SourceText]) -> list[ParsedFile]:
    """Parse the files, leaving out those that cannot be parsed, of which binding tells."""
    files = []
    for source in sources:
        with contextlib.suppress(UsageError):
            files.append(parse(source))
    return files


# -- sizes made smaller: one constant or argument at a time where a program is too large to be run here, or all of them
# a little, so that they are no multiple of anything.  Only numbers change, never a line, so that what is found out
# still carries the student's lines.

MAX_TRIES = 4
WANTED = 512
WANTED_ON_THE_HOST = 128
"""For a program that takes too long itself: what it computes for comparison is often cubic in its size."""

_NUMBER = r"(?P<number>\d{3,9})(?P<suffix>[uUlL]{0,3})(?![\w.])"
_DEFINE = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)[ \t]+\(?[ \t]*{_NUMBER}", re.M)
_INTEGER = r"\b(?:int|long|unsigned|size_t|auto|short|u?int(?:32|64)_t)\s+"
_VARIABLE = re.compile(rf"{_INTEGER}(?P<name>\w+)\s*(?:=|\{{|\()\s*{_NUMBER}")
# `int sizes[] = {256, 1024, 4096};`, `for (int n : {256, 1024})`, each of which the program works through.
_NUMBERS = r"\d{1,9}(?:\s*,\s*\d{1,9}){1,15}"
_VECTOR = r"\bvector\s*<[^;{}()]{1,40}>\s+"
_LIST = re.compile(
    rf"(?:{_INTEGER}(?P<name>\w+)\s*(?:\[\w*\]|:)|{_VECTOR}(?P<vector>\w+))\s*=?\s*"
    rf"\{{\s*(?P<number>{_NUMBERS})\s*,?\s*\}}"
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
# `for (int n : {256, 512})`, beside lists that have a name.
_LOOPED = re.compile(rf"(?P<name>\b\w+)\s*:\s*\{{\s*(?P<number>{_NUMBERS})\s*,?\s*\}}")
_CALL = re.compile(r"\b(?P<name>\w+)\s*\((?P<number>[^(){};\"']{1,200})\)")
_DEFINED = re.compile(r"\b(\w+)\s*\([^(){};]{1,400}\)\s*\{")
_WHOLE = re.compile(r"(?<![^,\s{])\d{1,9}(?=\s*(?:[,}]|$))")
_TYPED = re.compile(rb"(\d+)")
_NO_RAGGED_SIZE = re.compile(rf"{_NO_SIZE.pattern}|side|^(?:bs|ts|tx|ty)$", re.IGNORECASE)


def made_ragged(texts: Mapping[str, str], start: Start, values: Iterable[object]) -> tuple[dict[str, str], Start]:
    """Texts that differ, and a start, with the sizes among the `values` that kernels were handed a little smaller.

    A size stands in a constant, in a list that a loop runs over, or in a call of one of the program's functions.
    """
    sizes = {value for value in values if isinstance(value, int) and value >= SMALLEST}

    def less(word: str) -> str:
        return str(int(word) - LESS) if word.isdigit() and int(word) in sizes else word

    def constant(match: re.Match[str]) -> str:
        is_size = int(match["number"]) in sizes and not _NO_RAGGED_SIZE.search(match["macro"] or match["name"] or "")
        return match[0][: match.start("number") - match.start()] + less(match["number"]) if is_size else match[0]

    def several(match: re.Match[str]) -> str:
        name = match["name"] or match.groupdict().get("vector") or ""
        is_other = name not in own or _NO_CALL.search(name) if match.re is _CALL else _NO_RAGGED_SIZE.search(name)
        if is_other:
            return match[0]
        start, end = (place - match.start() for place in match.span("number"))
        return match[0][:start] + _WHOLE.sub(lambda word: less(word[0]), match["number"]) + match[0][end:]

    own = {name for text in texts.values() for name in _DEFINED.findall(text)}
    changed = {}
    for name, text in texts.items():
        changed[name] = _CONSTANT.sub(constant, text)
        for pattern in (_LIST, _LOOPED, _SHAPES, _CALL):
            changed[name] = pattern.sub(several, changed[name])
    stdin = b"".join(less(word.decode()).encode() for word in _TYPED.split(start.stdin))
    arguments = tuple(less(word) for word in start.arguments)
    return {name: text for name, text in changed.items() if text != texts[name]}, Start(arguments, stdin)
