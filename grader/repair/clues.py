"""What the runs tell of where a fault may be, and the order in which changes are tried because of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.ptx.records import Hazard
from grader.repair.change import Change
from grader.repair.function import Function
from grader.result import Diagnosis, Element, ElementRange, ElementRead
from grader.submission.cpp.tree import LOOPS, WORD

AWAY = 1.3
"""What a change costs more in a line that nothing points to."""
UNLIKELY = 0.7
"""What is left of the weight of lines beside the one that is known to be wrong."""
FADING = 0.6
"""What is left of a line's weight in the lines that its names come from."""

_ORDER = ("race", "barrier_divergence", "warp_sync", "out_of_bounds", "uninitialized")

# What each symptom makes likelier (less) or less likely (more), by a change's group or kind.
_SHIFTS: Mapping[str, Mapping[str, float]] = {
    "race": {"barrier": -1.7, "move_barrier": -0.6, "remove_barrier": 1.0, "": 0.8},
    "write_write": {"index": -1.0, "axis": -1.0, "barrier": 1.2, "": 0.3},
    "barrier_divergence": {"move_barrier": -0.8, "guard": -0.3, "": 0.6},
    "warp_sync": {"barrier": -1.0, "": 0.0},
    "out_of_bounds": {"comparison": -0.8, "guard": -0.5, "bound": -0.5, "array": -0.4, "barrier": 2.5, "zero": 1.5},
    "shared_outside": {"array": -2.0, "comparison": -0.6, "bound": -0.4, "barrier": 2.5, "zero": 1.5},
    "uninitialized": {
        "barrier": 0.2,
        "zero": -0.9,
        "reset": -0.3,
        "else_zero": -0.7,
        "assignment": -0.8,
        "bound": -0.3,
    },
    "ragged": {
        "guard": -0.8,
        "comparison": -0.6,
        "bound": -0.4,
        "size": -0.7,
        "barrier": 1.5,
        "zero": 0.8,
        "axis": 0.4,
    },
    "exact": {"derived_guard": 1.2, "wrap": 1.6, "ternary": 1.4, "return": 1.8, "barrier": 0.9, "array": 1.0},
    "unwritten": {"comparison": -0.7, "guard": -0.4, "drop": -0.9, "unguarded": -0.9, "barrier": 2.0, "ternary": 2.0},
    "garbage": {"zero": -0.9, "reset": -0.4, "assignment": -0.6},
    "exchanged": {"axis": -0.6, "exchange": -0.9, "size": -0.4, "index": -0.3, "barrier": 1.5},
    "too_many": {"reset": -0.8, "comparison": -0.4, "number": -0.3},
    "off_by_one": {"number": -0.6, "off_by_one": -1.2, "drop": -0.6, "comparison": -0.3},
    "bank_conflicts": {"array": -1.5, "": 1.5},
    "coalescing": {"axis": -0.6, "exchange": -0.5, "": 0.8},
}


@dataclass(frozen=True, slots=True)
class Clues:
    """What is known of a fault.

    lines: how much points to a line, 0 to 1.  symptoms: names of `_SHIFTS`.
    """

    lines: Mapping[int, float]
    symptoms: tuple[str, ...]

    def cost(self, change: Change) -> float:
        """How late a change is to be tried."""
        shift = 0.0
        for symptom in self.symptoms:
            table = _SHIFTS[symptom]
            shift += table.get(change.group, table.get(change.kind, table.get("", 0.0)))
        return change.cost + shift + AWAY * (1 - self.lines.get(change.line, 0.0))


def clues_of(
    functions: Sequence[Function],
    check: str,
    hazards: Iterable[Hazard],
    diagnosis: Diagnosis | None,
    lines: Iterable[int],
) -> Clues:
    """The clues of a failed check.

    Parameters
    ----------
    hazards : of the run that shows the fault.  lines : others that the check speaks of.
    """
    found = sorted(hazards, key=lambda h: (_ORDER.index(h.kind) if h.kind in _ORDER else len(_ORDER), h.line))
    weights: dict[int, float] = dict.fromkeys(lines, 1.0)
    for hazard in found:
        weights[hazard.line] = 1.0
        if hazard.other_line:
            weights[hazard.other_line] = 1.0
    symptoms = ["ragged" if check == "ragged_sizes" else "exact"]
    if check in ("bank_conflicts", "coalescing"):
        symptoms = [check]
    if found:
        first = found[0]
        symptoms.append(_named(first))
    if diagnosis is not None:
        for line, weight in _lines_of(diagnosis).items():
            weights[line] = max(weights.get(line, 0.0), weight)
        symptoms += _symptoms(diagnosis)
    if "write_write" in symptoms:
        # Two threads with one index: what is elsewhere comes of it.
        weights = {n: w if n == found[0].line else UNLIKELY * w for n, w in weights.items()}
    if found and found[0].kind == "uninitialized":
        weights |= dict.fromkeys(_lines_that_fill(functions, found[0].array), 1.0)
    return Clues(_traced_back(functions, weights), tuple(dict.fromkeys(s for s in symptoms if s in _SHIFTS)))


def _named(first: Hazard) -> str:
    if first.kind == "out_of_bounds" and first.space == "shared":
        return "shared_outside"
    # Two writes by one line go to one place because its index is the same, not because a barrier is missing.
    is_one_line = first.kind == "race" and first.detail.startswith("write_write") and first.line == first.other_line
    return "write_write" if is_one_line else first.kind


def _lines_of(diagnosis: Diagnosis) -> dict[int, float]:
    """Lines that made the first wrong element; those that filled what it was made from count a little less."""
    lines: dict[int, float] = {}
    for read in diagnosis.reads:
        if read.put_by is not None:
            lines[read.put_by.line] = 0.9
    surplus = {read.line for read in diagnosis.reads if _is_surplus(read, diagnosis.surplus)}
    lines |= {read.line: UNLIKELY if surplus and read.line not in surplus else 1.0 for read in diagnosis.reads}
    for writer in (diagnosis.writer, diagnosis.overwritten):
        if writer is not None:
            lines[writer.line] = 1.0
    return lines


def _is_surplus(read: ElementRead, surplus: Sequence[ElementRange]) -> bool:
    """Whether what a read brought in does not belong in the element."""
    sources = read.put_from or [Element(array=read.array, index=read.index)]
    return any(
        one.array == them.array
        and all(low <= i <= high for i, (low, high) in zip(one.index, them.ranges, strict=False))
        for one in sources
        for them in surplus
    )


def _lines_that_fill(functions: Sequence[Function], array: str) -> Iterator[int]:
    """The lines of the assignments to an array's elements."""
    for function in functions:
        for node in function.nodes:
            left = node.child_by_field_name("left") if node.type == "assignment_expression" else None
            if left is not None and function.text(left).partition("[")[0] == array and "[" in function.text(left):
                yield function.line(node)


def _symptoms(diagnosis: Diagnosis) -> list[str]:
    found = []
    rule = diagnosis.values.id if diagnosis.values is not None else ""
    region = diagnosis.region.id if diagnosis.region is not None else ""
    if diagnosis.unwritten and diagnosis.writer is None:
        found.append("unwritten")
    if rule in ("nan", "filling", "onto_unset") or (diagnosis.got is None and diagnosis.writer is not None):
        found.append("garbage")
    turned = ("copy", "transposed_tiles", "swapped_tiles", "transposed", "output_pitch", "input_pitch")
    if rule in (*turned, "constant_columns", "constant_rows") or "diagonal" in region:
        found.append("exchanged")
    if diagnosis.surplus and not diagnosis.missing:
        found.append("too_many")
    if rule in ("shifted", "offset", "scaled"):
        found.append("off_by_one")
    return found


def _traced_back(functions: Sequence[Function], weights: Mapping[int, float]) -> dict[int, float]:
    """The weights, with those of the lines that names in heavy lines come from, and of the branches around them."""
    found = dict(weights)
    for _round in range(3):
        for function in functions:
            heavy: dict[str, float] = {}
            for line, weight in found.items():
                for word in _words(function, line):
                    heavy[word] = max(heavy.get(word, 0.0), weight)
            for node in function.nodes:
                name = ""
                if node.type == "init_declarator":
                    declarator = node.child_by_field_name("declarator")
                    name = function.text(declarator) if declarator is not None else ""
                elif node.type == "assignment_expression":
                    left = node.child_by_field_name("left")
                    name = function.text(left).partition("[")[0] if left is not None else ""
                if name in heavy:
                    line = function.line(node)
                    found[line] = max(found.get(line, 0.0), FADING * heavy[name])
            for node in function.nodes:
                if node.type == "if_statement" or node.type in LOOPS:
                    inside = [w for n, w in found.items() if node.start_point.row < n <= node.end_point.row + 1]
                    line = function.line(node)
                    found[line] = max([found.get(line, 0.0), *(0.9 * w for w in inside)])
    return found


def _words(function: Function, line: int) -> set[str]:
    rows = function.parsed.source.text.split("\n")
    start, end = function.body.start_point.row + 1, function.body.end_point.row + 1
    return set(WORD.findall(rows[line - 1])) if start <= line <= end and line <= len(rows) else set()
