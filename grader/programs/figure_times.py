"""Times that a program prints, and what they are of.

In a run that marks times every launch and every copy takes a time that no other does, so that a number which a program
prints tells by its value which of the times it is: in what unit, over how many launches, with which copies.  The words
around it say what it is meant to be.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise

from grader.message import Message, msg
from grader.programs.printed import FEWEST_DIGITS, Number
from grader.programs.records import Observation, TimedSpan
from grader.submission.kernels.records import SeenCopy, SeenFault, SeenLaunch

MOST_APART = 6
"""Readings of a clock between which a time is taken."""
MOST_TIMES = 3000
MOST_EMPTY_NS = 100.0
"""What a printed time of nothing may be off by for its digits."""
EPOCH_NS = 500.0
"""What double precision leaves out of a difference of two times since 1970, in whatever unit."""
SINGLE = 1e-6
"""Of a number: what single precision leaves out of it."""
_END = r"(?![\w/·*])"
UNITS: tuple[tuple[str, float, str], ...] = (
    ("ms", 1e6, rf"(?:ms|msecs?|milli-?sec(?:ond)?s?|мс|мсек|миллисекунд\w*){_END}"),
    ("us", 1e3, rf"(?:us|µs|μs|usecs?|micro-?sec(?:ond)?s?|мкс|мксек|микросекунд\w*){_END}"),
    ("ns", 1.0, rf"(?:ns|nsecs?|nano-?sec(?:ond)?s?|нс|наносекунд\w*){_END}"),
    ("s", 1e9, rf"(?:s|secs?|seconds?|с|сек|секунд\w*){_END}"),
)
RATES: tuple[tuple[str, float, str], ...] = (
    ("bytes", 1e9, r"(?:G[Bb](?:yte)?s?\s*/\s*s(?:ec)?|GBps|Г[Бб](?:айт)?\s*/\s*с(?:ек)?)"),
    ("bytes", 2.0**30, r"(?:GiB\s*/\s*s|ГиБ\s*/\s*с)"),
    ("bytes", 1e6, r"(?:M[Bb](?:yte)?s?\s*/\s*s(?:ec)?|М[Бб]\s*/\s*с)"),
    ("operations", 1e9, r"(?:G\s?-?FLOPS?(?:\s*/\s*s(?:ec)?)?|GFlops?(?:/s)?|Гфлоп\w*(?:\s*/\s*с)?)"),
    ("operations", 1e6, r"(?:M\s?FLOPS?(?:\s*/\s*s(?:ec)?)?)"),
    ("operations", 1e12, r"(?:T\s?FLOPS?(?:\s*/\s*s(?:ec)?)?|Тфлоп\w*)"),
)
_TOTAL = re.compile(
    r"\b(?:total|overall|whole|all|sum|with cop|incl|end.to.end|e2e|gpu|device|всего|общ|сумм|итог|вмест|с копир|весь"
    r"|вся|все|полн|видеокарт|устройств|гпу|razem|suma|całk|łączn|łącz)",
    re.IGNORECASE,
)
_COPIES = re.compile(
    r"\b(?:cop(?:y|ies|ied|ying)|memcp|transfer|upload|download|H2D|D2H|HtoD|DtoH|host.to.device|device.to.host"
    r"|end.to.end|пересыл|передач|копи|kopi|skopi|przes|transmis)|\w\s*\+\s*\w",
    re.IGNORECASE,
)
"""Words of a time that is one of copies too, or of nothing else."""
_TOGETHER = re.compile(
    r"\b(?:with|together|another|both|plus|after|then|row|since|пар|обе|оба|обо|подряд|вслед|после|вместе|затем|oba|obie"
    r"|obu|po|z|wraz|kolei)(?:\b|(?<=[а-я])\w)|\+",
    re.IGNORECASE,
)
"""Words of a time of several kernels."""
_KERNEL = re.compile(r"\bkernel|\bядр|\bjądr|\bjadr", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[^\W\d_A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Span:
    """A time that the program has taken: from and to which launches and copies; count: of times that it is the sum of.

    taken: by events, where that is, see `TimedSpan`.
    """

    nanoseconds: float
    launches: tuple[int, int]
    copies: tuple[int, int]
    count: int = 1
    taken: TimedSpan | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What a printed number is: that time over a number of parts."""

    span: Span
    parts: int


@dataclass
class Seen:
    """A run's numbers, and the times that it took."""

    observation: Observation
    numbers: list[Number]
    spans: list[Span]
    readings: dict[int, list[Reading]] = field(default_factory=dict)
    """By number, which times it may be as it is meant."""
    mixed_up: set[int] = field(default_factory=set)
    """Lines of the output with a time that is another than their words say."""

    def launches(self, span: Span) -> list[SeenLaunch]:
        return self.observation.launches[slice(*span.launches)]

    def copies(self, span: Span) -> list[SeenCopy]:
        return [c for c in self.observation.copies[slice(*span.copies)] if c.way in ("in", "out")]


def spans_of(observation: Observation) -> list[Span]:
    times = observation.times
    assert times is not None
    spans = [Span(one.nanoseconds, one.launches, one.copies, taken=one) for one in times.spans]
    spans += _sums(observation, spans)
    reads = times.reads
    pairs = []
    for at, first in enumerate(reads):
        for last in reads[at + 1 : at + 1 + MOST_APART]:
            span = Span(
                last.nanoseconds - first.nanoseconds,
                (first.launches, last.launches),
                (first.copies, last.copies),
            )
            pairs.append(span)
    neighbours = [
        Span(b.nanoseconds - a.nanoseconds, (a.launches, b.launches), (a.copies, b.copies))
        for a, b in pairwise(reads)
        if b.launches > a.launches
    ]
    return [*spans, *pairs, *_sums(observation, neighbours)][:MOST_TIMES]


def _sums(observation: Observation, spans: Sequence[Span]) -> Iterator[Span]:
    """Yield sums of times in a row that are of the same: a time of repetitions, taken one by one."""

    def content(span: Span) -> tuple[object, ...]:
        return tuple((x.display, x.line, x.grid) for x in observation.launches[slice(*span.launches)])

    group: list[Span] = []
    for span in [*spans, None]:
        if group and (span is None or content(span) != content(group[0])):
            if len(group) > 1 and content(group[0]):
                total = sum(one.nanoseconds for one in group)
                launches = group[0].launches[0], group[-1].launches[1]
                yield Span(total, launches, group[0].copies, len(group), group[0].taken)
            group = []
        if span is not None:
            group.append(span)


# -- what a number is --------------------------------------------------------------------


def unit_of(number: Number, table: Sequence[tuple[str, float, str]]) -> tuple[str, float] | None:
    """Return the unit that stands right behind a number, or right before it, or heads its column."""
    for name, scale, pattern in table:
        if re.match(rf"\s*[\])]?\s*[\[(]?\s*{pattern}", number.after):
            return name, scale
    for name, scale, pattern in table:
        if re.search(rf"(?:^|[\s(\[,]){pattern}\s*[\])]?\s*[:=]\s*$", number.before):
            return name, scale
    for name, scale, pattern in table:
        if re.search(rf"(?:^|[\s(\[,]){pattern}\s*[\])]?\s*$", number.head):
            return name, scale
    return None


class _Index:
    """Times by how long they are."""

    def __init__(self, readings: Iterable[Reading]) -> None:
        self._rows = sorted(((r.span.nanoseconds / r.parts, at, r) for at, r in enumerate(readings)))
        self._keys = [row[0] for row in self._rows]

    def near(self, nanoseconds: float, tolerance: float) -> list[Reading]:
        """Return the times of so many nanoseconds; what was read off a clock may have been rounded before."""
        if nanoseconds <= 0:
            return []
        tolerance = tolerance * 1.01 + SINGLE * nanoseconds
        low, high = nanoseconds - tolerance - EPOCH_NS, nanoseconds + tolerance + EPOCH_NS
        rows = self._rows[bisect_left(self._keys, low) : bisect_right(self._keys, high)]
        return [
            reading
            for length, _at, reading in rows
            if reading.span.taken is None or abs(length - nanoseconds) <= tolerance
        ]


def meant(seen: Seen) -> _Index:
    """Times, and what one of several launches takes of them."""
    readings = []
    for span in seen.spans:
        readings.append(Reading(span, 1))
        parts = {span.count, span.launches[1] - span.launches[0], *_counts(seen.launches(span))}
        readings += [Reading(span, n) for n in parts if n > 1]
    return _Index(readings)


def _counts(launches: Sequence[SeenLaunch]) -> set[int]:
    return set(Counter(x.display for x in launches).values())


def otherwise_divided(seen: Seen) -> _Index:
    """The same divided by another number than that of the launches in them."""
    readings = []
    for span in seen.spans:
        counts = _counts(seen.launches(span))
        if len(counts) == 1 and (count := counts.pop()) > 2:
            readings += [Reading(span, count - 1), Reading(span, count * count)]
        elif span.launches[1] - span.launches[0] == 1 and (repeats := _repeats(seen, span)) > 2:
            readings.append(Reading(span, repeats))
    return _Index(readings)


def _repeats(seen: Seen, span: Span) -> int:
    """Return how often the launch that a time is of was made in a row until then."""
    launches = seen.observation.launches
    last, count = launches[span.launches[0] : span.launches[1]], 0
    for launch in reversed(launches[: span.launches[1]]):
        if not last or (launch.display, launch.line) != (last[0].display, last[0].line):
            break
        count += 1
    return count


Slot = tuple[str, int, str, int]


def slot_of(number: Number) -> Slot:
    argument = number.argument
    return argument.file, argument.line, argument.code, argument.place


def agree(count: int, of: int, digits: int) -> bool:
    """Whether numbers that a rule explains are too many to be so by chance."""
    return count >= max(2, 0.7 * of) or (count == of == 1 and digits >= FEWEST_DIGITS + 2)


def fault_at(number: Number, message: Message, line: int = 0, file: str = "") -> SeenFault:
    """What is said of a number, where it is printed or where that comes of."""
    place = (file, line) if line else (number.argument.file, number.argument.line)
    return SeenFault("figure", *place, message, is_untidy=True)


def _began(reading: Reading) -> tuple[int, str]:
    """Return line and file in which a time begins, 0 where that is not known."""
    taken = reading.span.taken
    return (taken.begin_line, taken.file) if taken is not None else (0, "")


# -- times -------------------------------------------------------------------------------


def of_time(
    numbers: Sequence[tuple[Seen, Number]],
    unit: tuple[str, float] | None,
    indices: Mapping[int, tuple[_Index, _Index]],
) -> Iterator[SeenFault]:
    """Note which times the numbers of one place are; yield that they are of another unit, or over other counts."""
    yield from _of_nothing(numbers, unit)
    exact = [(seen, number) for seen, number in numbers if number.digits >= FEWEST_DIGITS]
    if not exact:
        return
    scales = [unit[1]] if unit is not None else [scale for _name, scale, _pattern in UNITS]
    best: list[tuple[Seen, Number, list[Reading]]] = []
    for scale in scales:
        near = [(s, n, indices[id(s)][0].near(n.value * scale, n.tolerance * scale)) for s, n in exact]
        found = [row for row in near if row[2]]
        best = found if len(found) > len(best) else best
    digits = max(number.digits for _seen, number in exact)
    if best and (agree(len(best), len(exact), digits) or (unit is not None and len(best) * 2 >= len(exact))):
        for seen, number, readings in best:
            seen.readings[id(number)] = readings
        return
    if best and len(best) * 3 > len(exact):
        return
    for scale in scales if unit is not None else ():
        other = [(s, n, indices[id(s)][1].near(n.value * scale, n.tolerance * scale)) for s, n in exact]
        found = [row for row in other if row[2]]
        if agree(len(found), len(exact), digits):
            seen, number, readings = found[0]
            is_twice = readings[0].parts > len(seen.launches(readings[0].span)) > 1
            yield fault_at(number, _divided(seen, readings[0]), *((0, "") if is_twice else _began(readings[0])))
            return
    if unit is None:
        return
    for name, scale, _pattern in UNITS:
        if name != unit[0]:
            near = [(s, n, indices[id(s)][0].near(n.value * scale, n.tolerance * scale)) for s, n in exact]
            found = [row for row in near if row[2]]
            if agree(len(found), len(exact), digits):
                seen, number, _readings = found[0]
                for own, one, readings in found:
                    own.readings[id(one)] = readings
                said, actual = (msg(f"figures.unit_{one}") for one in (unit[0], name))
                yield fault_at(number, msg("figures.unit", code=number.argument.code, unit=said, actual=actual))
                return


def _of_nothing(numbers: Sequence[tuple[Seen, Number]], unit: tuple[str, float] | None) -> Iterator[SeenFault]:
    """Yield times of kernels, each row of which is one that events took of nothing."""
    rows = []
    for seen, number in numbers:
        spans = (one for one in seen.spans if one.launches[0] == one.launches[1] and one.copies[0] == one.copies[1])
        empty = [one.taken for one in spans if one.taken is not None]
        label = labels_of(seen, [number])[id(number)]
        scale = unit[1] if unit is not None else 0.0
        near = [t for t in empty if abs(t.nanoseconds - number.value * scale) <= number.tolerance * scale * 1.01]
        # Some time is taken of a launch, or the program does so nowhere.
        is_other = any(one.taken is not None and one.launches[0] < one.launches[1] for one in seen.spans)
        if not near or not label or is_other or number.tolerance * scale > MOST_EMPTY_NS:
            return
        rows.append((number, label, near[0]))
    if len(rows) > 1:
        number, label, taken = rows[0]
        yield fault_at(number, msg("figures.of_nothing", row=label), taken.begin_line, taken.file)


def _divided(seen: Seen, reading: Reading) -> Message:
    launches = seen.launches(reading.span)
    kernel, count = launches[0].display, len(launches)
    data: dict[str, str | int] = {"kernel": kernel, "count": count, "divisor": reading.parts}
    if count == 1:
        return msg("figures.of_one", **data)
    return msg("figures.divided_twice" if reading.parts > count else "figures.with_warm_up", **data)


# -- rows: whose time it is --------------------------------------------------------------


def _labels(launches: Iterable[SeenLaunch]) -> dict[str, str]:
    """Return words that name one kernel alone: a part of its name that no other kernel's has."""
    names = {launch.kernel.rpartition("::")[2] for launch in launches}
    parts = {name: {part.lower() for part in _PARTS.findall(name)} | {name.lower()} for name in names}
    counts = Counter(word for words in parts.values() for word in words)
    return {word: name for name, words in parts.items() for word in words if counts[word] == 1 and len(word) > 2}


def labels_of(seen: Seen, numbers: Sequence[Number]) -> dict[int, str]:
    """Return, by number, the kernel whose its words say it is; "" where they name none, or may mean several."""
    labels = _labels(seen.observation.launches)
    found: dict[int, str] = {}
    for _row, group in groupby(numbers, key=lambda number: number.row):
        own = list(group)
        found.update(zip(map(id, own), _labels_in_line(own, labels), strict=True))
    return found


MOST_BETWEEN = 2
"""Words between the numbers of a list: a unit, and "vs"."""


def _labels_in_line(numbers: Sequence[Number], labels: Mapping[str, str]) -> list[str]:
    """Return the kernels whose the numbers of one line are: of a list of them each its own, else those named last."""

    def named(text: str) -> list[str]:
        words = (word.lower() for word in _WORD.findall(text))
        return list(dict.fromkeys(labels[word] for word in words if word in labels))

    line = numbers[0].line
    every, nobody = named(line), ["" for _number in numbers]
    if len(every) < 2:
        return [*every, ""][:1] * len(numbers)
    starts = [0, *(number.start for number in numbers)]
    parts = [line[first:last] for first, last in pairwise(starts)]
    first = named(parts[0])
    if len(first) > 1:
        words = max((len(_WORD.findall(part)) for part in parts[1:]), default=0)
        is_list = len(first) == len(every) == len(numbers) and words <= MOST_BETWEEN
        return first if is_list else nobody
    if not first and named(line[starts[-1] :]):
        return nobody  # They may stand behind their numbers.
    found, last = [], ""
    for part in parts:
        own = named(part)
        last = own[0] if len(own) == 1 else last if not own else ""
        found.append(last)
    return found


def plain_names(launches: Iterable[SeenLaunch]) -> list[str]:
    return list(dict.fromkeys(launch.kernel.rpartition("::")[2] for launch in launches))


def of_rows(runs: Sequence[Seen]) -> Iterator[SeenFault]:
    """Yield times of other kernels than those that their words name, with copies in them, of several launches: those
    that more than one number shows, or one whose value no other time comes near."""
    shown: dict[tuple[object, ...], list[tuple[bool, SeenFault]]] = defaultdict(list)
    for seen in runs:
        for number, fault in _of_row(seen):
            is_sure = number.digits >= FEWEST_DIGITS + 2 and len(seen.readings[id(number)]) == 1
            shown[slot_of(number), fault.message.id, fault.message.data.get("row")].append((is_sure, fault))
    for rows in shown.values():
        if len(rows) > 1 or rows[0][0]:
            yield rows[0][1]


def _of_row(seen: Seen) -> Iterator[tuple[Number, SeenFault]]:
    labels = _labels(seen.observation.launches)
    timed = [number for number in seen.numbers if id(number) in seen.readings]
    label_of = labels_of(seen, timed)
    own = set(label_of.values())
    rows_with_rate = {n.row for n in seen.numbers if unit_of(n, RATES) is not None}
    for number in timed:
        copied = [seen.copies(r.span) for r in seen.readings[id(number)] if not seen.launches(r.span)]
        if len(copied) == len(seen.readings[id(number)]) and all(copied) and _names_kernel(number):
            yield number, fault_at(number, msg("figures.of_copy", line=copied[0][0].line))
        readings = [reading for reading in seen.readings[id(number)] if seen.launches(reading.span)]
        if not readings or len(readings) < len(seen.readings[id(number)]):
            continue
        contents = [plain_names(seen.launches(reading.span)) for reading in readings]
        label = label_of[id(number)]
        if label and all(label not in kernels for kernels in contents) and number.digits > FEWEST_DIGITS:
            kernel = contents[0][0]
            place = _asked(seen, number, readings[0], label, labels)
            seen.mixed_up.add(number.row)
            yield number, fault_at(number, msg("figures.of_other", row=label, kernel=kernel), *place)
            continue
        others = [[name for name in kernels if name != label and name in own] for kernels in contents]
        if label and all(others) and not _TOTAL.search(number.line) and not _TOGETHER.search(number.before):
            seen.mixed_up.add(number.row)
            first = next(x for x in seen.launches(readings[0].span) if x.kernel.rpartition("::")[2] == others[0][0])
            message = msg("figures.of_both", row=label, kernel=others[0][0], line=first.line)
            yield number, fault_at(number, message, *_asked(seen, number, readings[0], label, labels))
            continue
        for fault in _with_copies(seen, number, readings, number.row in rows_with_rate):
            yield number, fault
        for fault in _of_several(seen, number, readings):
            yield number, fault


def _asked(seen: Seen, number: Number, reading: Reading, label: str, labels: Mapping[str, str]) -> tuple[int, str]:
    """Return where the program asks for a time that is not what its name says; 0 where what is printed is another."""
    taken = reading.span.taken
    words = {word.lower() for word in _PARTS.findall(number.argument.code)}
    if taken is None or all(labels.get(word) != label for word in words):
        return 0, ""
    alike = [one for one in seen.spans if one.taken is not None and one.taken.line == taken.line]
    contents = {tuple(plain_names(seen.launches(one))) for one in alike}
    return (taken.line, taken.file) if len(contents) == 1 else (0, "")


def _names_kernel(number: Number) -> bool:
    """Whether what stands last before a number, or heads its column, is a kernel's time."""
    near = re.split(r"[,;|()]", number.before.rstrip(" :="))[-1]
    return not _COPIES.search(f"{number.head} {near}") and (
        _KERNEL.search(number.head) is not None
        or re.search(rf"(?:{_KERNEL.pattern})\w*\s*\w*$", near, re.I) is not None
    )


def _with_copies(seen: Seen, number: Number, readings: Sequence[Reading], has_rate: bool) -> Iterator[SeenFault]:
    copies = [seen.copies(reading.span) for reading in readings]
    words = f"{number.head} {number.before}"
    if not all(copies) or _TOTAL.search(words) or _TOTAL.search(number.argument.code):
        return
    behind = re.match(r"[^,;|(]*\(([^()]*)\)", number.after)
    if _COPIES.search(f"{words} {behind[1] if behind is not None else ''}"):
        return
    is_one_way = all(len({copy.way for copy in of_reading}) == 1 for of_reading in copies)
    if has_rate or _KERNEL.search(words) or (is_one_way and not _TOTAL.search(number.line)):
        kernel, copy = seen.launches(readings[0].span)[0].display, copies[0][0]
        message = msg("figures.with_copy", kernel=kernel, line=number.argument.line)
        # Where it is the wrong one of several times that is printed, the copy is where it should be.
        others = [r.span.copies for n in seen.numbers if n.row == number.row for r in seen.readings.get(id(n), ())]
        is_own = any(
            a <= seen.observation.copies.index(copy) < b for a, b in others if (a, b) != readings[0].span.copies
        )
        yield fault_at(number, message, *((0, "") if is_own else (copy.line, copy.file)))


def _of_several(seen: Seen, number: Number, readings: Sequence[Reading]) -> Iterator[SeenFault]:
    """Yield a time of many launches that nothing tells to be one."""
    counts = [len(seen.launches(reading.span)) if reading.parts == 1 else 0 for reading in readings]
    kernels = {name for reading in readings for name in plain_names(seen.launches(reading.span))}
    if min(counts) < 3 or len(kernels) != 1 or _TOTAL.search(number.line) or _TOTAL.search(number.argument.code):
        return
    if any(len({given(x) for x in seen.launches(reading.span)}) > 1 for reading in readings):
        return  # Steps of one computation.
    output = seen.observation.stdout.decode("utf-8", "replace")
    if not re.search(rf"(?<![\d.]){counts[0]}(?![\d.])", output) and not re.search(
        r"\b(?:runs|launches|iter|запуск|повтор)", output
    ):
        yield fault_at(number, msg("figures.of_all", count=counts[0], kernel=kernels.pop()))


def given(launch: SeenLaunch) -> tuple[object, ...]:
    return launch.grid, launch.block, *((a.value, a.serial, a.offset_bytes) for a in launch.arguments)
