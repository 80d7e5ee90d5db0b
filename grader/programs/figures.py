"""Figures of time that a program prints and that are not what the words beside them say: times by `figure_times`, and
here rates and speedups, which are computed of them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import log10

from grader.message import Message, msg
from grader.programs.figure_times import (
    RATES,
    UNITS,
    Reading,
    Seen,
    Slot,
    agree,
    fault_at,
    given,
    meant,
    of_rows,
    of_time,
    otherwise_divided,
    plain_names,
    slot_of,
    spans_of,
    unit_of,
)
from grader.programs.printed import FEWEST_DIGITS, Number, numbers_in
from grader.programs.records import Observation
from grader.submission.kernels.records import SeenFault, SeenLaunch

_ONE_WAY = re.compile(
    r"\b(?:read|writ|input|output|load|stor|чте|чита|запис|вход|выход|odczyt|zapis|wczyt|wejś|wyjś)", re.IGNORECASE
)
"""Words of a rate that is one of what is read, or of what is written, alone."""
_BASE = re.compile(r"naive|simple|plain|basic|base|serial", re.IGNORECASE)
"""In the name of a kernel that others are held against."""
_SPEEDUP = re.compile(r"speed-?\s?up|faster|ускорени|быстрее|przyspiesz|szybci", re.IGNORECASE)


def wrong_figures(observations: Iterable[Observation], texts: Mapping[str, str]) -> Iterator[SeenFault]:
    """Yield what runs of one program show of figures that are not what the words beside them say; each once."""
    runs = []
    for observation in observations:
        times = observation.times
        if times is None or not (times.spans or times.reads) or not observation.launches:
            continue
        # What is done at the same time in several streams makes no sum.
        streams = [launch.stream for launch in observation.launches]
        if sum(one != other for one, other in pairwise(streams)) >= len(set(streams)):
            continue
        runs.append(Seen(observation, numbers_in(observation.stdout, texts), spans_of(observation)))
    told: set[tuple[str, int]] = set()
    for fault in _faults(runs):
        if (fault.file, fault.line) not in told:
            told.add((fault.file, fault.line))
            yield fault


def _faults(runs: Sequence[Seen]) -> Iterator[SeenFault]:
    slots: dict[Slot, list[tuple[Seen, Number]]] = defaultdict(list)
    for seen in runs:
        for number in seen.numbers:
            slots[slot_of(number)].append((seen, number))
    indices = [(meant(seen), otherwise_divided(seen)) for seen in runs]
    of_run = {id(seen): index for seen, index in zip(runs, indices, strict=True)}
    for numbers in slots.values():
        unit = unit_of(numbers[0][1], UNITS)
        if unit_of(numbers[0][1], RATES) is not None or _is_speedup(numbers[0][1]):
            continue
        yield from of_time(numbers, unit, of_run)
    yield from of_rows(runs)
    for numbers in slots.values():
        rate = unit_of(numbers[0][1], RATES)
        if rate is not None:
            yield from _of_rate(numbers, rate)
        elif _is_speedup(numbers[0][1]):
            yield from _of_speedup(numbers)


# -- rates -------------------------------------------------------------------------------


def _of_rate(numbers: Sequence[tuple[Seen, Number]], rate: tuple[str, float]) -> Iterator[SeenFault]:
    """Yield rates that are not what a launch moves, or computes, over the time in the same line."""
    explained: dict[str, list[tuple[Number, Message]]] = defaultdict(list)
    looked_at = 0
    for seen, number in numbers:
        if rate[0] == "bytes" and _ONE_WAY.search(f"{number.head} {number.line[: number.start]}"):
            continue
        times = _times_in_line(seen, number) if number.digits >= FEWEST_DIGITS - 1 else []
        found: dict[str, Message] = {}
        slack = number.tolerance / abs(number.value) + 2e-3 if number.value else 0.0
        is_known = False
        for place, time in enumerate(times):
            launches = seen.launches(time.span)
            sizes = _used(seen, time.span.launches[1] - 1)
            work = float(sum(sizes)) if rate[0] == "bytes" else _operations(sizes)
            if not work or len(plain_names(launches)) != 1 or _may_be_parts(seen, time):
                continue
            is_known = True
            for name, ratio, message in _mistakes(rate, number, launches, work, time):
                if abs(ratio - 1) <= slack:
                    found.setdefault(name if name == "right" else f"{name} {place}", message)
                    break
        looked_at += is_known
        for name, message in found.items() if "right" not in found else [("right", found["right"])]:
            explained[name].append((number, message))
    for rows in explained.values() if not explained["right"] else ():
        if rows and agree(len(rows), looked_at, FEWEST_DIGITS + 2):
            yield fault_at(*rows[0])


def _may_be_parts(seen: Seen, time: Reading) -> bool:
    """Whether launches of one time, or others of the same arrays, may each do a part of the work only."""
    launches = seen.launches(time.span)
    if len(launches) > 1 and time.parts == 1:
        return True
    last = launches[-1]
    serials = {a.serial for a in last.arguments if a.buffer_bytes}
    at = time.span.launches[1] - 1
    # What is copied in anew is other work.
    fills = [c.launches for c in seen.observation.copies if c.way == "in" and c.serial in serials]
    begin = max((fill for fill in fills if fill <= at), default=0)
    end = min((fill for fill in fills if fill > at), default=len(seen.observation.launches))
    alike = [x for x in seen.observation.launches[begin:end] if x.kernel == last.kernel]
    alike = [x for x in alike if {a.serial for a in x.arguments if a.buffer_bytes} == serials]
    return len({given(x)[2:] for x in [*launches, *alike]}) > 1


def _mistakes(
    rate: tuple[str, float], number: Number, launches: Sequence[SeenLaunch], work: float, time: Reading
) -> Iterator[tuple[str, float, Message]]:
    """Yield what a rate may be, right first: by which factor it is off that, and what is said of it then."""
    kernel = launches[0].display
    seconds = time.span.nanoseconds / 1e9
    said = number.value * rate[1] * seconds / len(launches)
    none = msg("figures.rate_grows")
    yield "right", said / work, none
    if rate[0] == "bytes":
        yield "right", said / (work * 1e9 / 2**30), none
        yield "once", said * 2 / work, msg("figures.bytes_once", kernel=kernel, bytes=round(work))
        yield "elements", said * 4 / work, msg("figures.bytes_elements", kernel=kernel, bytes=round(work))
        yield "both", said * 8 / work, msg("figures.bytes_elements", kernel=kernel, bytes=round(work))
    else:
        side = round((work / 2) ** (1 / 3))
        yield "half", said * 2 / work, msg("figures.operations_once", kernel=kernel, operations=round(work))
        yield (
            "square",
            said * side / work,
            msg("figures.operations_square", kernel=kernel, operations=round(work)),
        )
    for factor in (1000, 10**6, 10**9):
        yield f"large{factor}", said / factor / work, msg("figures.rate_large", factor=factor)
        yield f"small{factor}", said * factor / work, msg("figures.rate_small", factor=factor)
    if len(launches) > 1:
        message = msg("figures.rate_of_all", count=len(launches), kernel=kernel)
        yield "all", said * len(launches) / work, message
    grown = number.value / (work * seconds / time.parts)
    yield "grows", grown / 10.0 ** round(log10(grown)) if grown > 0 else 0.0, msg("figures.rate_grows")


def _times_in_line(seen: Seen, number: Number) -> list[Reading]:
    """Return the times of kernels in the same line, of those before the number where there are any, the last first."""
    timed = [n for n in seen.numbers if n.row == number.row and id(n) in seen.readings]
    timed = [n for n in timed if any(seen.launches(r.span) for r in seen.readings[id(n)])]
    at = seen.numbers.index(number)
    before = [n for n in timed if seen.numbers.index(n) < at] or timed
    readings = [seen.readings[id(n)] for n in reversed(before)]
    return [own[0] for own in readings if len({reading.span.launches for reading in own}) == 1]


def _used(seen: Seen, launch: int) -> list[int]:
    """Return how many bytes of each of its arrays a launch has to do with: what is copied back, or was copied in, where
    the array is larger; [] for a launch of one array alone."""
    arrays = {a.serial: a.buffer_bytes for a in seen.observation.launches[launch].arguments if a.buffer_bytes}
    for serial in arrays:
        copies = [copy for copy in seen.observation.copies if copy.serial == serial]
        before = [copy.bytes for copy in copies if copy.launches <= launch and copy.way != "out"]
        after = [copy.bytes for copy in copies if copy.launches > launch and copy.way == "out"]
        arrays[serial] = min([arrays[serial], *(after[:1] or before[-1:])])
    return list(arrays.values()) if len(arrays) > 1 else []


def _operations(sizes: Sequence[int]) -> float:
    """Return the operations of a product of square matrices, three arrays of one size; 0 for another kernel."""
    side = round((sizes[0] / 4) ** 0.5) if sizes else 0
    return 2.0 * side**3 if len(sizes) == 3 and set(sizes) == {4 * side * side} else 0.0


# -- speedups ----------------------------------------------------------------------------


def _is_speedup(number: Number) -> bool:
    """Whether the words beside a number call it a speedup."""
    near = f"{number.head} {re.split('[,;|]', number.before)[-1]}"
    behind = re.match(r"\s*(?:x|×|times|раз\w*)?\s*(?:faster|speed-?up|быстрее|ускорени\w*)", number.after)
    return _SPEEDUP.search(near) is not None or behind is not None


def _of_speedup(numbers: Sequence[tuple[Seen, Number]]) -> Iterator[SeenFault]:
    """Yield speedups that are upside down, of one time alone, or of times in different units."""
    explained: dict[str, list[Number]] = defaultdict(list)
    messages: dict[str, Message] = {}
    looked_at = 0
    for seen, number in numbers:
        names: set[str] = set()
        quotients = list(_quotients(seen, number)) if number.row not in seen.mixed_up else []
        if not quotients:
            continue
        for name, value, message in quotients:
            tolerance = number.tolerance * 1.01 + 1e-3 * abs(value) + (0.02 * abs(value) if number.digits < 3 else 0)
            if abs(number.value - value) <= tolerance:
                names.add(name)
                messages.setdefault(name, message)
        looked_at += 1
        if "right" in names:
            explained["right"].append(number)
            continue
        for name in names:
            explained[name].append(number)
    if not looked_at or len(explained["right"]) * 3 > looked_at:
        return
    for name, rows in explained.items():
        if rows and agree(len(rows), looked_at, max(n.digits for n in rows) + 2):
            yield fault_at(rows[0], messages[name])
            return


MOST_IN_BLOCK = 12
"""Times in lines that follow one another."""
Timed = tuple[Number, Reading]


def _block(timed: Sequence[Timed], number: Number) -> list[Timed]:
    """Return the times in lines that follow one another, with the number's own among them."""
    rows = {n.row for n, _reading in timed}
    first = last = number.row
    while first - 1 in rows:
        first -= 1
    while last + 1 in rows:
        last += 1
    return [one for one in timed if first <= one[0].row <= last]


def _quotients(seen: Seen, number: Number) -> Iterator[tuple[str, float, Message]]:
    """Yield what a speedup may be a quotient of: of times in its line and in those before it, and of later ones."""
    block = _block([(n, seen.readings[id(n)][0]) for n in seen.numbers if id(n) in seen.readings], number)
    at = seen.numbers.index(number)
    in_line = [one for one in block if one[0].row == number.row]
    own = [one for one in in_line if seen.launches(one[1].span)]
    own = [one for one in own if seen.numbers.index(one[0]) < at] or own
    if not own:
        return
    this = own[-1][1]
    in_turn = _new_and_old(seen, number, [r for _n, r in own])
    if in_turn is not None:
        this = in_turn
    is_clear = in_turn is not None or len({r.span.launches for _n, r in own}) == 1
    bases = [r for n, r in block if r.span is not this.span and (n.row < number.row or (n, r) in in_line)]
    over = msg("figures.upside_down")
    for base in bases:
        quotient = _length(base) / _length(this)
        yield "right", quotient, over
        # Close to one either may be meant.
        if not 0.97 < quotient < 1.03:
            is_either = not is_clear and any(base is r for _n, r in own)
            yield "right" if is_either else "over", 1 / quotient, over
        for factor in (1000, 10**6):
            yield "large", quotient * factor, msg("figures.speedup_large", factor=factor)
            yield "small", quotient / factor, msg("figures.speedup_small", factor=factor)
    if len(own) > 1:
        yield "one", 1.0, msg("figures.always_one")
    others = [(n, r) for n, r in block[:MOST_IN_BLOCK] if r.span is not this.span and seen.launches(r.span)]
    for place, (_number, other) in enumerate(others if is_clear and number.digits >= FEWEST_DIGITS - 1 else ()):
        if bases and other.span is not bases[0].span:
            kernel = plain_names(seen.launches(other.span))[0]
            message = msg("figures.speedup_of_other", kernel=kernel, own=plain_names(seen.launches(this.span))[0])
            yield f"other {place}", _length(bases[0]) / _length(other), message


def _new_and_old(seen: Seen, number: Number, own: Sequence[Reading]) -> Reading | None:
    """Return which of two kernels' times in one line is the new one; None where the words do not say so: whose speedup
    it is may be either's, but for that over a kernel called naive."""
    kernels = {name: r for r in own for name in plain_names(seen.launches(r.span))}
    others = [name for name in kernels if not _BASE.search(name)]
    words = " ".join([re.split(r"[:;|]", number.before)[-1], number.line[number.start :]]).lower()
    is_named = any(name in words for name in [*map(str.lower, kernels), "naive", "наивн", "naiwn"])
    if len(kernels) != 2 or len(others) != 1 or is_named:
        return None
    return kernels[others[0]]


def _length(reading: Reading) -> float:
    return max(1.0, reading.span.nanoseconds) / reading.parts
