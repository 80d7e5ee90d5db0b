"""Why an output is wrong: its first wrong element, who wrote it from what, and the rule that all wrong ones follow.

Pure functions of one small launch that went wrong; they know no lab.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec
import numpy as np

from grader.diagnosis.patterns import Outcome, value_pattern
from grader.diagnosis.regions import region_pattern
from grader.diagnosis.text import Circumstances, sentences
from grader.lab.compare import Array, Index, Mask, compare, is_sentinel, wrong_elements
from grader.lab.expected import boxes
from grader.lab.records import Sizes, Tolerance
from grader.launching.backend import Trace
from grader.measured import Diagnosis, Element, ElementRange, ElementRead, ElementWriter, WrongPattern
from grader.message import msg, number
from grader.ptx.records import Hazard, Read, Write

MAX_READS = 64
MAX_RANGES = 64
MAX_SOURCES = 8
MAX_PICTURE = 128 * 128
"""Elements of an output that is still shown as a picture."""
SELDOM_BYTES = 4
"""Values so wide or wider are hardly ever by chance, bit for bit, what memory has which nobody wrote."""
LEAST_SHARE = 16
"""Narrower values are no chance where at least one of this many wrong elements holds what nobody wrote."""

MAX_CHANGED = 12
"""Input elements that are changed one by one to see whether a value is made of them."""

MAX_LOOKED_AT = 8
"""Elements behind the first that are looked at for one that is no border's."""

LEAST_ROW = 4
"""Elements along an axis of which all but one are taken for a whole row."""

Needs = Callable[[Index], Mapping[str, Mask] | None]
Depends = Callable[[Index, Mapping[str, Mask]], bool]


@dataclass(frozen=True, slots=True)
class WrongCase:
    """One launch with a wrong output.

    tile: elements that one block covers along each axis of the output, () when unknown.
    trace: the launch's history, None when there is none.
    dims: of other arrays that the history may name (shared ones), by name.
    element_bytes: how large an element of such an array is, where that is known: a part of a float4 is none.
    needs: which input elements an output element depends on, where that can be found out.
    depends: whether what the kernel stores in an output element is another value with other values in some input
      elements; None where it cannot be run again.
    axes: how many axes the blocks and threads are numbered along.
    hazards: what else went wrong in the launch.
    """

    sizes: Sizes
    output: str
    got: Array
    expected: Array
    tolerance: Tolerance
    inputs: Mapping[str, Array]
    tile: tuple[int, ...] = ()
    trace: Trace | None = None
    dims: Mapping[str, Sequence[int]] = field(default_factory=dict)
    needs: Needs | None = None
    axes: int = 3
    hazards: tuple[Hazard, ...] = ()
    depends: Depends | None = None
    is_on_host: bool = False
    element_bytes: Mapping[str, int] = field(default_factory=dict)

    @property
    def outside_lines(self) -> tuple[int, ...]:
        """Lines at which threads read outside an array (the emulator gives them 0)."""
        return tuple(h.line for h in self.hazards if h.kind == "out_of_bounds" and h.op == "load")


def _is_share(part: Mask, whole: Mask) -> bool:
    """Whether so many are no chance."""
    return LEAST_SHARE * int(np.count_nonzero(part)) >= int(np.count_nonzero(whole))


def diagnose(case: WrongCase) -> Diagnosis:
    """All that can be told about the case, with its sentences as messages.

    Raises ValueError when nothing is wrong.
    """
    difference = compare(case.output, case.got, case.expected, case.tolerance, case.inputs)
    if difference.first is None:
        raise ValueError(f"{case.output}: nothing is wrong")
    wrong = wrong_elements(case.got, case.expected, case.tolerance)
    trace = case.trace if case.trace is not None and case.trace.complete else None
    filling = unwritten = is_sentinel(case.got) & (case.got != case.expected)
    if trace is not None:
        unwritten = filling & ~trace.written(case.output, case.got.nbytes).reshape(*case.got.shape, -1).any(axis=-1)
    if trace is not None or case.got.dtype.itemsize >= SELDOM_BYTES:
        # What memory has that nobody wrote is wrong also where it comes near the right value.
        wrong = wrong | unwritten
    filling, unwritten = filling & wrong, unwritten & wrong
    if trace is None and case.got.dtype.itemsize < SELDOM_BYTES and not _is_share(unwritten, wrong):
        # A byte is what memory has that nobody wrote by chance, too.
        filling = unwritten = np.zeros_like(wrong)
    told = _told(case, wrong, unwritten, tuple(difference.first)) if trace is not None else difference.first
    if told != difference.first:
        difference = compare(case.output, case.got, case.expected, case.tolerance, case.inputs, at=told)
    outcome = Outcome(
        case.got,
        case.expected,
        wrong,
        unwritten,
        filling,
        case.inputs,
        case.tile,
        lambda a, b: ~wrong_elements(np.ascontiguousarray(a), np.ascontiguousarray(b), case.tolerance),
    )
    diagnosis = Diagnosis(
        size=dict(case.sizes),
        output=case.output,
        shape=list(case.got.shape),
        total=difference.total,
        wrong=int(np.count_nonzero(wrong)),
        unwritten=int(np.count_nonzero(unwritten)),
        first=list(told),
        expected=_number(difference.expected),
        got=_number(difference.got),
        tile=list(case.tile),
        inputs={name: list(array.shape) for name, array in case.inputs.items()},
        expected_at=_element(difference.belongs_at),
        got_at=_element(difference.found_at),
        values=_values(case, outcome),
        region=region_pattern(wrong, case.tile),
        picture=_picture(wrong, unwritten) if wrong.size <= MAX_PICTURE else [],
    )
    is_told = True
    if trace is not None:
        diagnosis, is_told = _traced(case, trace, diagnosis)
    race = next((h for h in case.hazards if h.kind == "race" and h.detail != "write_write_same_value"), None)
    if race is not None and race.detail == "unfinished_copy":
        # It read before the copy had come: what that brings is not what the value was made of.
        diagnosis = msgspec.structs.replace(diagnosis, reads=[], read=[], missing=[], surplus=[], compared=False)
    around = Circumstances(
        case.axes,
        case.outside_lines,
        race=race,
        unwritten=bool(unwritten[told]),
        copied=_copied(case, wrong),
        is_on_host=case.is_on_host,
        is_unknown=not is_told,
    )
    if filling[told] and diagnosis.writer is not None:
        around = replace(around, got=msg("diagnosis.garbage"))
        if len(diagnosis.reads) < MAX_READS and all(read.origin != "nothing" for read in diagnosis.reads):
            # What other memory holds was not in it: where a value goes through a thread's own, its origin is a guess.
            diagnosis = msgspec.structs.replace(diagnosis, reads=[], read=[], missing=[], surplus=[], compared=False)
            around = replace(around, is_own=True)
    elif diagnosis.got is None:
        around = replace(around, got=number(difference.got))
    return msgspec.structs.replace(diagnosis, sentences_said=sentences(diagnosis, around))


def _told(case: WrongCase, wrong: Mask, unwritten: Mask, first: Index) -> Index:
    """The wrong element that is told of: the first, but where most are written and it is not, the first that is; and
    where all are wrong and it is made of less than others, as at a border, one that is made of as much as those."""
    written = wrong & ~unwritten
    if unwritten[first] and 2 * int(np.count_nonzero(written)) > int(np.count_nonzero(wrong)):
        return _place(int(np.argmax(written)), wrong)
    if not written.all() or case.needs is None:
        return first
    middle = _place(wrong.size // 2, wrong)
    most = _needed(case, middle)
    if _needed(case, first) >= most:
        return first
    nearby = (_place(k, wrong) for k in range(1, min(MAX_LOOKED_AT, wrong.size)))
    return next((index for index in nearby if _needed(case, index) == most), middle)


def _needed(case: WrongCase, index: Index) -> int:
    """How many elements of the inputs an output's element depends on; 0 where that is not known."""
    needed = case.needs(index) if case.needs is not None else None
    return sum(int(np.count_nonzero(mask)) for mask in needed.values()) if needed is not None else 0


def _place(flat: int, wrong: Mask) -> Index:
    return tuple(int(k) for k in np.unravel_index(flat, wrong.shape))


def _copied(case: WrongCase, wrong: Mask) -> str:
    """Return the input that equals the expected value at every wrong element, but not everywhere; "": none."""
    for name, array in case.inputs.items():
        if array.shape == case.expected.shape and array.dtype == case.expected.dtype:
            same = array == case.expected
            if same[wrong].all() and not same.all():
                return name
    return ""


def _values(case: WrongCase, outcome: Outcome) -> WrongPattern | None:
    pattern = value_pattern(outcome)
    # Zeros that the emulator hands out for reads outside an array are nobody's rule.
    return None if pattern is not None and pattern.id == "zero" and case.outside_lines else pattern


def _traced(case: WrongCase, trace: Trace, diagnosis: Diagnosis) -> tuple[Diagnosis, bool]:
    """With who wrote the first wrong element, and what from; whether that is known.

    The history of the memory does not know of what a thread carries along in registers: what it tells holds only
    where changing the inputs shows the same.
    """
    first = tuple(diagnosis.first)
    width = case.got.dtype.itemsize
    offset = int(np.ravel_multi_index(first, case.got.shape)) * width
    writes = trace.writes(case.output, offset, width)
    if not writes:
        return msgspec.structs.replace(diagnosis, traced=True), True
    last = writes[-1]
    # What several threads add up is made from what each of them had read.
    chain = [r for w in (writes if last.op == "atomic" else [last]) for r in trace.reads(w)]
    read, uses = _inputs_read(case, chain)
    right = int.from_bytes(case.expected[first].tobytes(), "little")
    overwritten = [w for w in writes[:-1] if w.bits == right]
    places = [(name, index) for name, mask in read.items() for index in np.argwhere(mask).tolist()]
    # A value that stands in an input by chance has not come from there.
    fields: dict[str, object] = {"got_at": None}
    if len(places) == 1 and case.inputs[places[0][0]][tuple(places[0][1])].tobytes() == case.got[first].tobytes():
        fields["got_at"] = Element(array=places[0][0], index=places[0][1])
    # What nobody wrote spoils a value whatever else it is made of.
    is_spoilt = any(r.origin == "nothing" for r in chain)
    if not is_spoilt and not _is_made_of(case, first, read):
        with_writer = msgspec.structs.replace(
            diagnosis,
            traced=True,
            writer=_writer(last),
            writers=len({(w.block, w.thread) for w in writes}),
            overwritten=_writer(overwritten[-1]) if overwritten else None,
        )
        return with_writer, False
    needed = case.needs(first) if case.needs is not None else None
    if needed is not None:
        single = [(name, index) for name, mask in needed.items() for index in np.argwhere(mask).tolist()[:2]]
        if len(single) == 1 and case.inputs[single[0][0]][tuple(single[0][1])] == case.expected[first]:
            fields["expected_at"] = Element(array=single[0][0], index=single[0][1])
        fields["compared"] = True
        fields["missing"] = _ranges({n: mask & ~read[n] for n, mask in needed.items()})
        fields["surplus"] = _ranges({n: mask & ~_with_holes(needed[n]) for n, mask in read.items()})
    known_of_it = msgspec.structs.replace(
        diagnosis,
        traced=True,
        writer=_writer(last),
        writers=len({(w.block, w.thread) for w in writes}),
        overwritten=_writer(overwritten[-1]) if overwritten else None,
        reads=[_read(case, r) for r in chain[:MAX_READS]],
        read=_ranges(read),
        uses=uses,
        **fields,
    )
    return known_of_it, True


def _with_holes(needed: Mask) -> Mask:
    """The needed elements, and single ones between them: all others along an axis are needed, and this one drops out of
    the sum by its value alone (a body's own mass, times a distance of 0)."""
    filled = needed.copy()
    for axis, extent in enumerate(needed.shape):
        if extent >= LEAST_ROW:
            filled |= np.count_nonzero(needed, axis=axis, keepdims=True) == extent - 1
    return filled


def _is_made_of(case: WrongCase, index: Index, read: Mapping[str, Mask]) -> bool:
    """Whether an output element depends on exactly the elements read, as far as changing inputs shows."""
    if case.depends is None:
        return True
    if case.depends(index, {name: ~mask for name, mask in read.items()}):
        return False
    places = [(name, tuple(place)) for name, mask in read.items() for place in np.argwhere(mask).tolist()]
    for name, place in places[:: max(1, -(-len(places) // MAX_CHANGED))]:
        one = np.zeros(case.inputs[name].shape, np.bool_)
        one[place] = True
        if not case.depends(index, {name: one}):
            return False
    return True


def _inputs_read(case: WrongCase, reads: Sequence[Read]) -> tuple[dict[str, Mask], int]:
    """Return masks of the input elements that reads lead back to, and the number of readings."""
    uses = 0
    masks = {name: np.zeros(array.shape, np.bool_) for name, array in case.inputs.items()}
    pending = list(reads)
    while pending:
        read = pending.pop()
        pending.extend(read.reads)
        array = case.inputs.get(read.array) if read.space == "global" else None
        if array is not None and read.origin == "input":
            masks[read.array].reshape(-1)[read.offset_bytes // array.dtype.itemsize] = True
            uses += 1
    return masks, uses


def _index(case: WrongCase, access: Read | Write) -> list[int]:
    arrays = {**case.inputs, case.output: case.got}
    width, shape = access.width_bytes, tuple(case.dims.get(access.array, ()))
    if access.space == "global" and access.array in arrays:
        array = arrays[access.array]
        width, shape = array.dtype.itemsize, array.shape
    elif access.array in case.element_bytes:
        width = case.element_bytes[access.array]
    flat = access.offset_bytes // width
    if shape and flat < int(np.prod(shape)):
        return [int(i) for i in np.unravel_index(flat, shape)]
    return [flat]


def _read(case: WrongCase, read: Read) -> ElementRead:
    origin: Literal["input", "written", "nothing"]
    origin = "input" if read.origin == "input" else "written" if read.origin == "written" else "nothing"
    put = read.put or read.later
    return ElementRead(
        array=read.array,
        space="shared" if read.space == "shared" else "global",
        index=_index(case, read),
        line=read.line,
        block=read.block,
        thread=read.thread,
        origin=origin,
        put_by=_writer(put) if put else None,
        put_from=[Element(array=r.array, index=_index(case, r)) for r in read.reads[:MAX_SOURCES]],
    )


def _writer(write: Write) -> ElementWriter:
    op: Literal["store", "atomic"] = "atomic" if write.op == "atomic" else "store"
    return ElementWriter(block=write.block, thread=write.thread, line=write.line, op=op)


def _ranges(masks: Mapping[str, Mask]) -> list[ElementRange]:
    ranges = [ElementRange(array=name, ranges=box) for name, mask in masks.items() for box in boxes(mask)]
    return ranges[:MAX_RANGES]


def _element(place: tuple[str, Index] | None) -> Element | None:
    return Element(array=place[0], index=list(place[1])) if place else None


def _number(value: float | int | None) -> float | int | None:
    return value if value is None or np.isfinite(value) else None


def _picture(wrong: Mask, unwritten: Mask) -> list[str]:
    states = np.where(unwritten, "o", np.where(wrong, "x", "."))
    return ["".join(row) for row in states.reshape(-1, states.shape[-1])]
