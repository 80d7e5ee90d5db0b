"""What runs tell of where a fault may be: the order of changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.diagnosis.text import used_again
from grader.measured import Diagnosis, Element, ElementRange, ElementRead
from grader.ptx.records import Hazard
from grader.repair.function import Change, Function
from grader.repair.nodes import assignment_of, only_leaves, value_of
from grader.repair.symptom import is_collision
from grader.submission.cpp.tree import LOOPS, WORD

if TYPE_CHECKING:
    from tree_sitter import Node

AWAY = 1.3
"""What a change costs more in a line that nothing points to."""
UNLIKELY = 0.7
"""What is left of the weight of lines beside the one that is known to be wrong."""
FADING = 0.6
"""What is left of a line's weight in the lines that its names come from."""

ALIAS = 0.95
"""The same where a name is a pointer into an array: what it is made of is a part of every index."""

EXACT = -1.5
"""What a change costs less that moves an index by just what the values are moved by."""

RIGHT = 0.4
"""How much points to what was seen to bring in nothing wrong."""

CLOSE = 0.02
"""How far from right, as a part of it, a number is that may have lost digits."""

_ORDER = ("race", "barrier_divergence", "warp_sync", "out_of_bounds", "uninitialized")

_BASE = re.compile(r"\[|\.|->")
"""What parts an array, or a struct, from its elements and members."""

# What each symptom makes likelier (less) or less likely (more), by a change's group or kind.
_SHIFTS: Mapping[str, Mapping[str, float]] = {
    "race": {"atomic": -0.6, "barrier": -1.7, "move_barrier": -0.6, "remove_barrier": 1.0, "": 0.8},
    "repeated": {"number": -1.0, "add_term": -0.5, "index": -0.3},
    "collide": {
        "atomic": -1.6,
        "add_term": -1.9,
        "times": -1.7,
        "subtract": -1.2,
        "index": -0.5,
        "axis": -0.5,
        "drop": -0.5,
        "barrier": 0.6,
        "": 0.3,
    },
    "write_write": {"atomic": -1.8, "times": -1.8, "index": -1.0, "axis": -1.0, "barrier": 1.2, "": 0.3},
    "barrier_divergence": {"move_barrier": -0.8, "guard": -0.3, "": 0.6},
    "ended": {"returns": -1.5, "move_barrier": -1.0, "": 0.6},
    "warp_sync": {"barrier": -1.0, "": 0.0},
    "out_of_bounds": {"comparison": -0.8, "guard": -0.5, "bound": -0.5, "array": -0.4, "barrier": 2.5, "zero": 1.5},
    "shared_outside": {"array": -2.0, "comparison": -0.6, "bound": -0.4, "barrier": 2.5, "zero": 1.5},
    "below": {
        "add_term": -2.2,
        "plus": -1.8,
        "bound": -0.6,
        "comparison": -0.4,
        "guard": -0.5,
        "barrier": 2.5,
        "zero": 1.5,
    },
    "uninitialized": {
        "add_term": -0.9,
        "loop": -1.0,
        "subtract": -0.6,
        "times": -0.6,
        "barrier": 0.2,
        "zero": -0.9,
        "reset": -0.3,
        "else_zero": -0.7,
        "assignment": -0.8,
        "bound": -0.3,
    },
    "ragged": {
        "returns": -0.6,
        "guard": -0.8,
        "comparison": -0.6,
        "bound": -0.4,
        "round_up": -0.8,
        "size": -0.7,
        "clip": -1.2,
        "barrier": 1.5,
        "zero": 0.8,
        "axis": 0.4,
    },
    "exact": {"derived_guard": 1.2, "wrap": 1.6, "ternary": 1.4, "return": 1.8, "barrier": 0.9, "array": 1.0},
    "unwritten": {
        "returns": -2.0,
        "index": -0.8,
        "loop": -1.0,
        "comparison": -0.7,
        "guard": -0.4,
        "derived_guard": -1.5,
        # A condition that turns away what is needed goes before its numbers are changed: another one may only happen to
        # be what no input has.
        "drop": -1.6,
        "unguarded": -1.6,
        "barrier": 2.0,
        "ternary": 2.0,
    },
    "misplaced": {"index": -0.7, "exchange": -0.3},
    "garbage": {"returns": -1.2, "not_shared": -1.0, "initial_value": -1.2, "reset": -0.4},
    "exchanged": {"axis": -0.6, "exchange": -0.9, "size": -0.4, "index": -0.3, "barrier": 1.5},
    "pitch": {"size": -1.2, "pointer_step": -0.6},
    "too_many": {"by_one": -1.0, "reset": -0.8, "comparison": -0.4, "number": -0.3},
    "whole": {"type": -1.8, "division": -0.8},
    "off_by_one": {"divisor": -1.6, "number": -0.6, "off_by_one": -1.2, "drop": -0.6, "comparison": -0.3},
    "moved": {"add_term": -2.0, "subtract": -2.0, "surplus_term": -2.2},
    "bank_conflicts": {"array": -1.5, "": 1.5},
    "close": {},
    "again": {"else_zero": -2.0, "reset": -0.8, "bound": -0.6, "comparison": -0.4},
    "coalescing": {"axis": -1.2, "exchange": -0.5, "": 0.8},
}


_OUTSIDE = {"widened": 2.3, "surplus_term": -1.2, "tree": -0.6}
"""What leaving an array makes likelier besides: nothing that lets in more, but one term too many, and the guard that
keeps a thread's partner within."""
_LEAVES_ARRAY = {"out_of_bounds", "shared_outside", "below"}


@dataclass(frozen=True, slots=True)
class Clues:
    """What is known of a fault.

    lines: how much points to a line, 0 to 1.  places: the same of parts of lines, from and to a character of the file:
    one access of several, one declaration of several.  symptoms: names of `_SHIFTS`.
    distances: what is as long as the way by which all values are moved.
    """

    lines: Mapping[int, float]
    places: Sequence[tuple[int, int, float]]
    symptoms: tuple[str, ...]
    distances: frozenset[str] = frozenset()

    def cost(self, change: Change) -> float:
        """Return how late a change is to be tried."""
        shift = 0.0
        for symptom in self.symptoms:
            table = _SHIFTS[symptom]
            shift += table.get(change.group, table.get(change.kind, table.get("", 0.0)))
        if not _LEAVES_ARRAY.isdisjoint(self.symptoms):
            shift += _OUTSIDE.get(change.group, 0.0)
        if change.group in ("add_term", "subtract") and change.edits[0].text.strip("+- ") in self.distances:
            shift += EXACT
        return change.cost + shift + AWAY * (1 - self.weight(change))

    def weight(self, change: Change) -> float:
        """Return how much points to the place of a change, 0 to 1."""
        start, end = min(e.start for e in change.edits), max(e.end for e in change.edits)
        around = [(high - low, weight) for low, high, weight in self.places if low <= start and end <= high]
        return min(around, default=(0, self.lines.get(change.line, 0.0)))[1]


def clues_of(
    functions: Sequence[Function],
    check: str,
    hazards: Iterable[Hazard],
    diagnosis: Diagnosis | None,
    lines: Iterable[int],
    names: Mapping[str, str],
) -> Clues:
    """The clues of a failed check.

    hazards: of the run that shows the fault.  lines: others that the check speaks of.
    names: what the lab's arrays are called in the kernel, by role.
    """
    ordered = sorted(hazards, key=lambda h: (_ORDER.index(h.kind) if h.kind in _ORDER else len(_ORDER), h.line))
    weights: dict[int, float] = dict.fromkeys(lines, 1.0)
    suspects: dict[tuple[int, str], float] = {}
    for hazard in ordered:
        weights[hazard.line] = 1.0
        if hazard.other_line:
            weights[hazard.other_line] = 1.0
    symptoms = ["ragged" if check == "ragged_sizes" else "exact"]
    if check in ("bank_conflicts", "coalescing"):
        symptoms = [check]
    if check == "races" and not ordered:
        # Threads have ended before a barrier: no device goes wrong, the task forbids it.
        symptoms.append("ended")
    if ordered:
        symptoms += dict.fromkeys(_named(h) for h in ordered if h is ordered[0] or h.kind == "out_of_bounds")
    if "race" in symptoms and is_collision(ordered):
        symptoms[symptoms.index("race")] = "collide"
    outside = {(h.line, _name(h.space, h.array, names)): 1.0 for h in ordered if h.kind == "out_of_bounds"}
    if diagnosis is not None:
        by_line, parts = _lines_of(diagnosis, names)
        # What leaves its array comes of that one index, whatever else the wrong value was made from.
        less = FADING if outside else 1.0
        for line, weight in by_line.items():
            weights[line] = max(weights.get(line, 0.0), less * weight)
        suspects |= {} if outside else parts
        symptoms += _symptoms(diagnosis)
        again = {} if outside else _read_again(functions, diagnosis, names) or _stored_again(functions)
        if again:
            weights = {line: UNLIKELY * weight for line, weight in weights.items()}
            weights |= {line: 1.0 for line, _array in again}
            suspects = again
            symptoms.append("repeated")
    suspects |= outside
    if "write_write" in symptoms:
        # Two threads with one index: what is elsewhere comes of it.
        weights = {n: w if n == ordered[0].line else UNLIKELY * w for n, w in weights.items()}
    # What leaves a shared array may be right, and the array too small.
    short = {h.array for h in ordered if h.kind == "out_of_bounds" and h.space == "shared"}
    weights |= dict.fromkeys(_lines_that_declare(functions, short), 1.0)
    if ordered and ordered[0].kind == "uninitialized":
        weights |= dict.fromkeys(_lines_that_fill(functions, ordered[0].array), 1.0)
    traced, places = _traced_back(functions, weights, suspects)
    names_of_symptoms = tuple(dict.fromkeys(s for s in symptoms if s in _SHIFTS))
    return Clues(traced, places, names_of_symptoms, _distances(functions, diagnosis, names))


def _distances(functions: Sequence[Function], diagnosis: Diagnosis | None, names: Mapping[str, str]) -> frozenset[str]:
    """Return names of sizes as long as the way by which the values are moved; a template's size has no known value."""
    if diagnosis is None or diagnosis.values is None or diagnosis.values.id != "shifted":
        return frozenset()
    length = abs(int(diagnosis.values.data["by"]))
    lengths = {names[role] for role, value in diagnosis.size.items() if value == length and role in names}
    for function in functions:
        constants = function.parsed.constants
        sizes = {v.name for v in function.variables if v.role == "size" and v.start == 0}
        lengths |= {name for name in sizes if constants.evaluate(name) in (length, None)}
    return frozenset(lengths)


def _named(first: Hazard) -> str:
    if first.kind == "out_of_bounds" and first.detail == "before":
        return "below"
    if first.kind == "out_of_bounds" and first.space == "shared":
        return "shared_outside"
    # Two writes by one line go to one place because its index is the same, not because a barrier is missing.
    is_one_line = first.kind == "race" and first.detail.startswith("write_write") and first.line == first.other_line
    return "write_write" if is_one_line else first.kind


def _name(space: str, array: str, names: Mapping[str, str]) -> str:
    return names.get(array, array) if space == "global" else array


def _lines_of(diagnosis: Diagnosis, names: Mapping[str, str]) -> tuple[dict[int, float], dict[tuple[int, str], float]]:
    """Lines that made the first wrong element, and accesses in them by line and array that are to blame first.

    Those that filled what it was made from count a little less; far less where only some of the lines that read it
    brought in what does not belong there, since they handed on what is right, and more than the readers where all did.
    """
    wrong = [read for read in diagnosis.reads if _is_wrong(read, diagnosis)]
    filled = {_filled(read) for read in wrong}
    readers = {f: {r.line for r in diagnosis.reads if _filled(r) == f} for f in filled}
    guilty = {f: {r.line for r in wrong if _filled(r) == f} for f in filled}
    lines: dict[int, float] = {}
    suspects: dict[tuple[int, str], float] = {}
    for read in diagnosis.reads:
        name, put, own = _name(read.space, read.array, names), read.put_by, _filled(read)
        is_clean = bool(wrong) and (own not in filled or guilty[own] < readers[own])
        is_filled_so = put is not None and not is_clean and len(readers.get(own, ())) > 1
        if put is not None:
            weight = RIGHT if is_clean else 1.0 if is_filled_so else 0.9
            lines[put.line] = max(lines.get(put.line, 0.0), weight)
            if own in filled and not is_clean:
                suspects[put.line, name] = weight
                suspects |= {(put.line, names.get(source.array, source.array)): weight for source in read.put_from}
        is_guilty = not wrong or (own in filled and read.line in guilty[own])
        weight = UNLIKELY if not is_guilty or is_filled_so else 1.0
        lines[read.line] = max(lines.get(read.line, 0.0), weight)
        if wrong and is_guilty:
            suspects[read.line, name] = max(suspects.get((read.line, name), 0.0), weight)
    has_clean = bool(wrong) and {_filled(read) for read in diagnosis.reads} > filled
    for writer in (diagnosis.writer, diagnosis.overwritten):
        if writer is not None:
            lines[writer.line] = max(lines.get(writer.line, 0.0), UNLIKELY if has_clean else 1.0)
            if any(line == writer.line for line, _array in suspects):
                # What was read is right where it is stored at a wrong place.
                suspects.setdefault((writer.line, names.get(diagnosis.output, diagnosis.output)), UNLIKELY)
    return lines, suspects


def _filled(read: ElementRead) -> tuple[str, int]:
    """Return the array read and the line that filled it: arrays in one block of shared memory have one name."""
    return read.array, read.put_by.line if read.put_by is not None else 0


def _is_wrong(read: ElementRead, diagnosis: Diagnosis) -> bool:
    """Whether a read brought in an element that does not belong here, or one in place of an element that is missing."""
    if diagnosis.surplus:
        return _is_surplus(read, diagnosis.surplus)
    arrays = {one.array for one in diagnosis.missing}
    sources = {source.array for source in read.put_from} or ({read.array} if read.put_by is None else set())
    return bool(arrays) and (not sources or bool(sources & arrays))


def _is_surplus(read: ElementRead, surplus: Sequence[ElementRange]) -> bool:
    sources = read.put_from or [Element(array=read.array, index=read.index)]
    return any(
        one.array == them.array
        and all(low <= i <= high for i, (low, high) in zip(one.index, them.ranges, strict=False))
        for one in sources
        for them in surplus
    )


def _lines_that_fill(functions: Sequence[Function], array: str) -> Iterator[int]:
    for function in functions:
        for node in function.nodes:
            assignment = assignment_of(node)
            name, bracket, _index = (
                function.text(assignment[0]).partition("[") if assignment is not None else ("", "", "")
            )
            if bracket and name == array:
                yield function.line(node)


def _lines_that_declare(functions: Sequence[Function], arrays: Collection[str]) -> Iterator[int]:
    for function in functions:
        for node in function.nodes:
            if node.type == "array_declarator" and _set_by(function, node) in arrays:
                yield function.line(node)


def _read_again(
    functions: Sequence[Function], diagnosis: Diagnosis, names: Mapping[str, str]
) -> dict[tuple[int, str], float]:
    """Accesses to one element by the same text in two lines or more, by line and array, where another element of that
    array is lacking: steps of an unrolled loop that were copied.  The compiler makes one reading of them."""
    if not diagnosis.missing or diagnosis.surplus:
        return {}
    lacking = {one.array for one in diagnosis.missing}
    arrays = {names.get(array, array) for array in lacking}
    arrays |= {read.array for read in diagnosis.reads if lacking & {source.array for source in read.put_from}}
    suspects: dict[tuple[int, str], float] = {}
    for function in functions:
        lines: dict[tuple[str, str], set[int]] = {}
        for access in function.accesses:
            if access.array in arrays:
                text = function.parsed.source.text[access.start : access.end]
                lines.setdefault((access.array, "".join(text.split())), set()).add(access.line)
        suspects |= {(n, array): 1.0 for (array, _text), of in lines.items() if len(of) > 1 for n in of}
    return suspects


def _stored_again(functions: Sequence[Function]) -> dict[tuple[int, str], float]:
    """Return stores to one element by the same text in two statements of a block, by line and array: what the first
    stored is lost, and another element was never given anything."""
    suspects: dict[tuple[int, str], float] = {}
    for function in functions:
        first: dict[tuple[int, str], int] = {}
        for node in function.nodes:
            assignment = assignment_of(node)
            if assignment is None or assignment[1] != "=" or assignment[0].type != "subscript_expression":
                continue
            block = node.parent.parent if node.parent is not None else None
            text = "".join(function.text(assignment[0]).split())
            line = first.setdefault((block.id if block is not None else 0, text), function.line(node))
            if line != function.line(node):
                array = text.partition("[")[0]
                suspects |= {(line, array): 1.0, (function.line(node), array): 1.0}
    return suspects


def _symptoms(diagnosis: Diagnosis) -> list[str]:
    symptoms = []
    rule = diagnosis.values.id if diagnosis.values is not None else ""
    region = diagnosis.region.id if diagnosis.region is not None else ""
    if diagnosis.unwritten and diagnosis.writer is None:
        symptoms.append("unwritten")
    if diagnosis.unwritten and diagnosis.writer is not None:
        # What belongs there was stored where something else belongs.
        symptoms.append("misplaced")
    if rule in ("nan", "filling", "onto_unset") or (diagnosis.got is None and diagnosis.writer is not None):
        symptoms.append("garbage")
    turned = ("copy", "transposed_tiles", "swapped_tiles", "transposed", "output_pitch", "input_pitch")
    if rule in ("output_pitch", "input_pitch"):
        symptoms.append("pitch")
    if rule in (*turned, "constant_columns", "constant_rows") or "diagonal" in region:
        symptoms.append("exchanged")
    if diagnosis.surplus and not diagnosis.missing:
        symptoms.append("too_many")
    if rule == "scaled" and diagnosis.writer is None:
        symptoms.append("too_many")
    if rule in ("shifted", "offset", "scaled"):
        symptoms.append("off_by_one")
    if rule == "shifted":
        symptoms.append("moved")
    expected, got = diagnosis.expected, diagnosis.got
    if expected and got is not None and abs(got - expected) < CLOSE * abs(expected):
        symptoms.append("close")
    if diagnosis.compared and not diagnosis.missing and not diagnosis.surplus and used_again(diagnosis):
        symptoms.append("again")
    if rule in ("whole", "zero"):
        symptoms.append("whole")
    return symptoms


def _traced_back(
    functions: Sequence[Function], weights: Mapping[int, float], suspects: Mapping[tuple[int, str], float]
) -> tuple[dict[int, float], list[tuple[int, int, float]]]:
    """The weights, with those of the lines that names in heavy lines come from, and of the branches around them.

    suspects: accesses that are to blame by line and array; of their lines only the names in their indices count.
    """
    traced = dict(weights)
    places: list[tuple[int, int, float]] = []
    for function in functions:
        own, words = _accesses(function, suspects)
        places += own
        for _round in range(3):
            heavy: dict[str, float] = {}
            for line, weight in traced.items():
                for word in words.get(line, _words(function, line)):
                    heavy[word] = max(heavy.get(word, 0.0), weight)
            for node in function.nodes:
                name = _set_by(function, node)
                if name in heavy:
                    line = function.line(node)
                    fading = ALIAS if _is_alias(function, node, name) else FADING
                    traced[line] = max(traced.get(line, 0.0), fading * heavy[name])
            for node in function.nodes:
                if node.type == "if_statement" or node.type in LOOPS:
                    first, last = node.start_point.row, node.end_point.row + 1
                    if _is_early_end(node) and node.parent is not None:
                        # It decides which threads come to what follows it.
                        last = node.parent.end_point.row + 1
                    inside = [w for n, w in traced.items() if first < n <= last]
                    line = function.line(node)
                    traced[line] = max([traced.get(line, 0.0), *(0.9 * w for w in inside)])
        places += _declarations(function, traced, heavy)
    return traced, places


def _accesses(
    function: Function, suspects: Mapping[tuple[int, str], float]
) -> tuple[list[tuple[int, int, float]], dict[int, set[str]]]:
    """Return the weight of each access in the lines with suspects, and the words of those lines that count."""
    there = {(a.line, a.array) for a in function.accesses}
    # What the text calls otherwise (a pointer into the array) is none of the accesses known here.
    unknown = {line for line, array in suspects if (line, array) not in there}
    exact = [a for a in function.accesses if (a.line, a.array) in suspects and a.line not in unknown]
    words: dict[int, set[str]] = {}
    for access in exact:
        words.setdefault(access.line, {access.array}).update(access.words)
    places = [(a.start, a.end, suspects.get((a.line, a.array), RIGHT)) for a in function.accesses if a.line in words]
    return places, words


def _declarations(
    function: Function, lines: Mapping[int, float], heavy: Mapping[str, float]
) -> Iterator[tuple[int, int, float]]:
    declarators = [n for n in function.nodes if n.type == "init_declarator"]
    count = Counter(function.line(n) for n in declarators)
    for node in declarators:
        line = function.line(node)
        if count[line] > 1 and line in lines:
            weight = FADING * heavy.get(_set_by(function, node), 0.0)
            yield function.at(node.start_byte), function.at(node.end_byte), weight


def _set_by(function: Function, node: Node) -> str:
    """Return the name that a declaration or an assignment gives a value, itself, an element or a member of it, or an
    array its size; "" for other nodes."""
    if node.type in ("init_declarator", "array_declarator"):
        inner = node.child_by_field_name("declarator")
    elif node.type == "assignment_expression":
        inner = node.child_by_field_name("left")
    else:
        return ""
    return _BASE.split(function.text(inner), maxsplit=1)[0].strip("*& ") if inner is not None else ""


def _is_alias(function: Function, node: Node, name: str) -> bool:
    """Whether a declaration makes a pointer of an array and an index: `const float *mine = in + i * size`."""
    value = value_of(node)
    arrays = {v.name for v in function.variables if v.role == "array"}
    return value is not None and name in arrays and bool(function.parsed.words(value) & arrays - {name})


def _words(function: Function, line: int) -> set[str]:
    rows = function.parsed.source.text.split("\n")
    start, end = function.body.start_point.row + 1, function.body.end_point.row + 1
    return set(WORD.findall(rows[line - 1])) if start <= line <= end and line <= len(rows) else set()


def _is_early_end(node: Node) -> bool:
    body = node.child_by_field_name("consequence") if node.type == "if_statement" else None
    return body is not None and node.child_by_field_name("alternative") is None and only_leaves(body)
