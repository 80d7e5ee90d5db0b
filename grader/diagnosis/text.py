"""A diagnosis in messages: hazards, how an output differs, the first wrong element and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from grader.lab.compare import Difference
from grader.measured import Diagnosis, Element, ElementRange, ElementRead, ElementWriter, WrongPattern
from grader.message import Message, joined, msg, number
from grader.ptx.records import Hazard


def thread_msg(thread: Sequence[int], block: Sequence[int]) -> Message:
    """Which thread of which block, within a sentence."""
    return msg("pieces.thread", thread=_triple(thread), block=_triple(block))


def hazard_msg(hazard: Hazard) -> Message:
    """One fault in one sentence."""
    who = msg("pieces.Thread", thread=_triple(hazard.thread), block=_triple(hazard.block))
    match hazard.kind:
        case "out_of_bounds":
            return _out_of_bounds(hazard, who)
        case "uninitialized":
            return _unset(hazard, who)
        case "race":
            return _race(hazard, who)
        case "barrier_divergence" if hazard.detail == "different_barriers" and hazard.other_line:
            return msg("faults.different_barriers", who=who, line=hazard.other_line)
        case "barrier_divergence":
            return msg("faults.barrier", who=who)
    details = {"not_a_member": "warp_mask_without_caller", "inactive_source": "warp_source"}
    return msg(f"faults.{details.get(hazard.detail, 'warp_mask')}", who=who)


def _unset(hazard: Hazard, who: Message) -> Message:
    width = hazard.width_bytes
    if width > 0 and hazard.offset_bytes % width == 0 and hazard.array:
        return msg("faults.unset_element", who=who, index=hazard.offset_bytes // width, of_array=_of_array(hazard))
    return msg("faults.uninitialized", who=who, array=array_name(hazard), offset=hazard.offset_bytes)


def array_name(hazard: Hazard) -> str | Message:
    """The array's name, or what kind of memory it is when it has none."""
    if hazard.space == "local":
        # All of a thread's local arrays are one to the compiler, under a name of its own.
        return msg("pieces.local_memory")
    if hazard.array:
        return hazard.array
    return msg("pieces.shared_memory") if hazard.space == "shared" else msg("pieces.global_memory")


def _triple(index: Sequence[int]) -> str:
    return f"({', '.join(str(i) for i in index)})"


def _out_of_bounds(hazard: Hazard, who: Message) -> Message:
    array = array_name(hazard)
    if hazard.detail in ("no_texture", "no_surface", "outside_surface"):
        return msg(f"faults.{hazard.detail}", who=who)
    if hazard.detail == "beside":
        return msg("faults.beside", array=array)
    if hazard.detail == "not_allocated":
        return msg("faults.frees_foreign", who=who)
    if hazard.detail == "freed":
        return msg("faults.frees_twice", who=who) if hazard.op == "free" else msg("faults.uses_freed", who=who)
    if hazard.detail == "misaligned":
        return msg("faults.misaligned", who=who, array=array, width=hazard.width_bytes)
    if hazard.detail in ("before", "after") and _is_whole(hazard):
        return _element_outside(hazard, who)
    if hazard.detail == "before":
        return _bytes_outside(hazard, who, -hazard.offset_bytes, msg("faults.before_start"))
    if hazard.detail == "after":
        past = hazard.offset_bytes + hazard.width_bytes - hazard.array_bytes
        return _bytes_outside(hazard, who, past, msg("faults.past_end"))
    if hazard.detail == "null":
        return _by_null(hazard, who)
    return msg("faults.reads_nowhere", who=who) if hazard.op == "load" else msg("faults.writes_nowhere", who=who)


def _by_null(hazard: Hazard, who: Message) -> Message:
    how = "reads" if hazard.op == "load" else "writes"
    if hazard.array:
        return msg(f"faults.{how}_null_of", who=who, name=hazard.array)
    return msg(f"faults.{how}_null", who=who)


def _is_whole(hazard: Hazard) -> bool:
    """Whether the access is aligned to where elements of its width would be."""
    width = hazard.width_bytes
    return width > 0 and hazard.offset_bytes % width == 0 and hazard.array_bytes % width == 0


def _element_outside(hazard: Hazard, who: Message) -> Message:
    width = hazard.width_bytes
    index, last = hazard.offset_bytes // width, hazard.array_bytes // width - 1
    if last < 0:
        how = "reads" if hazard.op == "load" else "writes"
        return msg(f"faults.{how}_empty", who=who, index=index, of_array=_of_array(hazard))
    if hazard.op == "load":
        return msg("faults.reads_element", who=who, index=index, of_array=_of_array(hazard), last=last, width=width)
    return msg("faults.writes_element", who=who, index=index, of_array=_of_array(hazard), last=last, width=width)


def _bytes_outside(hazard: Hazard, who: Message, count: int, side: Message) -> Message:
    distance, array, size = msg("faults.bytes", n=count), array_name(hazard), hazard.array_bytes
    if hazard.op == "load":
        return msg("faults.reads_bytes", who=who, distance=distance, side=side, array=array, size=size)
    return msg("faults.writes_bytes", who=who, distance=distance, side=side, array=array, size=size)


def _of_array(hazard: Hazard) -> Message:
    if hazard.space == "local":
        return msg("pieces.of_local_memory")
    if hazard.array:
        return msg("pieces.of_array", array=hazard.array)
    return msg("pieces.of_shared_memory") if hazard.space == "shared" else msg("pieces.of_global_memory")


def _race(hazard: Hazard, who: Message) -> Message:
    of_array, line = _of_array(hazard), hazard.other_line
    other = thread_msg(hazard.other_thread or (0, 0, 0), hazard.other_block or hazard.block)
    if hazard.detail == "unfinished_copy":
        how = "reads" if hazard.op == "load" else "writes"
        if (hazard.other_thread, hazard.other_block or hazard.block) == (hazard.thread, hazard.block):
            return msg(f"faults.{how}_own_copy", who=who, of_array=of_array, other_line=line)
        return msg(f"faults.{how}_copied", who=who, of_array=of_array, other=other, other_line=line)
    if hazard.detail == "late_copy":
        return msg("faults.late_copy", who=who, of_array=of_array, other=other, other_line=line)
    if hazard.detail.startswith("write_write"):
        return msg("faults.write_write", who=who, of_array=of_array, other=other, other_line=line)
    if hazard.detail == "scope":
        return msg("faults.scope", who=who, of_array=of_array, other=other, other_line=line)
    if hazard.op == "load":
        return msg("faults.read_write", who=who, of_array=of_array, other=other, other_line=line)
    return msg("faults.write_read", who=who, of_array=of_array, other=other, other_line=line)


_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

_OF = {False: "outputs", True: "diagnosis"}
"""Where the words for a wrong element are: for the first of several, and for the only one."""
_EXTENTS = {"unwritten": msg("outputs.only_unwritten"), "all": msg("diagnosis.every_element")}


def element(array: str, index: Sequence[int]) -> str:
    """An element as C writes it: out[0][1]."""
    return array + "".join(f"[{i}]" for i in index)


def difference_msg(difference: Difference) -> Message:
    """How many elements are wrong, the first of them, and whether it is all of them."""
    if difference.extent == "untouched":
        return msg("outputs.untouched", name=difference.name)
    is_only = difference.total == 1
    wrong = None if is_only else msg("outputs.wrong", n=difference.mismatches, total=difference.total)
    if difference.first is None:
        return wrong or msg("outputs.only_one", name=difference.name)
    where = element(difference.name, difference.first)
    expected = _value_at(difference.expected, difference.belongs_at)
    if difference.extent == "unwritten":
        first = msg(f"{_OF[is_only]}.first_unwritten", where=where, expected=expected)
    elif difference.found_at == (difference.name, difference.first):
        got = _value_at(difference.got, None)
        first = msg(f"{_OF[is_only]}.first_kept", where=where, expected=expected, got=got)
    else:
        got = _value_at(difference.got, difference.found_at)
        first = msg(f"{_OF[is_only]}.first", where=where, expected=expected, got=got)
    return joined(wrong, first, None if is_only else _EXTENTS.get(difference.extent)) or first


def projections_msg(difference: Difference) -> Message | None:
    """How a right output was told to be right, where not by comparing every element."""
    n = difference.projections
    return msg("outputs.projections", n=n, power=str(n).translate(_SUPERSCRIPT)) if n else None


def _value_at(value: float | int | None, place: tuple[str, Sequence[int]] | None) -> Message:
    said = number(value)
    return msg("outputs.value_at", value=said, element=element(*place)) if place else said


SHOWN_RANGES = 3


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a diagnosis does not hold but its words need.

    axes: how many numbers name a thread.  outside_lines: lines at which threads read outside an array.
    got: what the wrong value is, where it is no finite number.  race: a data race of the launch.
    unwritten: whether nobody wrote the first wrong element.
    is_own: whether the wrong value is what a variable or an array of the thread's own held from the start.
    is_unknown: whether nobody knows what the wrong value was made of.
    is_on_host: whether the output is the host's: what a thread wrote may not have come there.
    copied: the input that has the right value of every wrong element at the same index; "" where none has.
    """

    axes: int = 3
    outside_lines: tuple[int, ...] = ()
    got: Message | None = None
    race: Hazard | None = None
    unwritten: bool = False
    is_on_host: bool = False
    copied: str = ""
    is_own: bool = False
    is_unknown: bool = False


def sentences(diagnosis: Diagnosis, around: Circumstances) -> list[Message]:
    """The explanation, most telling sentence first."""
    if diagnosis.values is not None and diagnosis.values.id == "untouched":
        return [msg("outputs.untouched", name=diagnosis.output)]
    count = msg("outputs.wrong", n=diagnosis.wrong, total=diagnosis.total)
    everything = msg("diagnosis.every_element")
    extent = [] if diagnosis.total == 1 else [everything if diagnosis.wrong == diagnosis.total else count]
    rows = [*extent, *_first(diagnosis, around)]
    if diagnosis.region is not None and diagnosis.region.id != "all" and diagnosis.total > 1:
        rows.append(region_msg(diagnosis.region, len(diagnosis.shape)))
        if around.copied:
            rows.append(msg("diagnosis.copied", array=around.copied))
    if diagnosis.values is not None and not (diagnosis.wrong == 1 and diagnosis.values.id == "unwritten"):
        rows.append(values_msg(diagnosis.values, len(diagnosis.shape)))
        if diagnosis.unwritten and diagnosis.values.id != "unwritten":
            n = diagnosis.unwritten
            rows.append(msg("diagnosis.unset" if around.is_on_host else "diagnosis.unwritten", n=n))
    # That several threads write one element is told already.
    if around.race is not None and diagnosis.writers < 2:
        rows.append(msg("diagnosis.race", line=around.race.line, fault=hazard_msg(around.race)))
    return rows


def thread_name(thread: Sequence[int], block: Sequence[int], axes: int) -> Message:
    """Which thread of which block, with as many numbers as the launch has axes."""

    def numbers(index: Sequence[int]) -> str:
        return str(index[0]) if axes == 1 else f"({', '.join(str(i) for i in index[:axes])})"

    return msg("pieces.thread", thread=numbers(thread), block=numbers(block))


def values_msg(pattern: WrongPattern, axes: int) -> Message:
    """The rule of the wrong values in one sentence, of an output with so many axes."""
    if pattern.id == "constant_columns":
        return msg("outputs.constant_columns")
    if pattern.id == "constant_rows":
        return msg("outputs.constant_rows")
    rule = msg(f"rules.{pattern.id}", axes=axes, **pattern.data)
    if pattern.holds == pattern.of:
        return msg("diagnosis.one_follows" if pattern.of == 1 else "diagnosis.all_follow", rule=rule)
    return msg("diagnosis.most_follow", holds=pattern.holds, of=pattern.of, rule=rule)


def region_msg(pattern: WrongPattern, axes: int) -> Message:
    """Where the wrong elements lie, in one sentence."""
    data = {name: value for name, value in pattern.data.items() if name != "size"}
    region, size = msg(f"regions.{pattern.id}", axes=axes, **data), int(pattern.data["size"])
    if size == pattern.of:
        return msg("diagnosis.exactly", region=region)
    return msg("diagnosis.within", region=region, n=pattern.of, size=size)


# -- the first wrong element -----------------------------------------------------------


def _first(diagnosis: Diagnosis, around: Circumstances) -> list[Message]:
    where = element(diagnosis.output, diagnosis.first)
    expected = _value(number(diagnosis.expected), diagnosis.expected_at)
    got = _value(around.got or number(diagnosis.got), diagnosis.got_at)
    writer = diagnosis.writer
    if writer is None:
        if diagnosis.traced or around.unwritten:
            form = "first_unset" if around.is_on_host else "first_unwritten"
            return [msg(f"diagnosis.{form}", where=where, expected=expected)]
        at = diagnosis.got_at
        if at is not None and (at.array, at.index) == (diagnosis.output, diagnosis.first):
            kept = around.got or number(diagnosis.got)
            return [msg("diagnosis.first_kept", where=where, expected=expected, got=kept)]
        return [msg("diagnosis.first", where=where, expected=expected, got=got)]
    who = thread_name(writer.thread, writer.block, around.axes)
    if writer.op == "atomic":
        row = msg("diagnosis.first_added", where=where, expected=expected, got=got, who=who, line=writer.line)
    else:
        row = msg("diagnosis.first_written", where=where, expected=expected, got=got, who=who, line=writer.line)
    rows = [row]
    if diagnosis.overwritten is not None:
        rows.append(
            msg(
                "diagnosis.overwritten",
                who=thread_name(diagnosis.overwritten.thread, diagnosis.overwritten.block, around.axes),
                line=diagnosis.overwritten.line,
            )
        )
    elif diagnosis.writers > 1 and writer.op == "store":
        rows.append(msg("diagnosis.writers", n=diagnosis.writers))
    return rows + _origin(diagnosis, writer, around)


def _value(said: Message, place: Element | None) -> Message:
    return said if place is None else msg("diagnosis.value_of", element=element(place.array, place.index), value=said)


def _origin(diagnosis: Diagnosis, writer: ElementWriter, around: Circumstances) -> list[Message]:
    if around.race is not None and around.race.detail == "unfinished_copy":
        # The race says it.
        return []
    if around.is_unknown:
        return []
    if around.is_own:
        return [msg("diagnosis.own_unset")]
    empty = next((read for read in diagnosis.reads if read.origin == "nothing"), None)
    if empty is not None:
        return [_empty_read(diagnosis, empty, around.axes)]
    moved = diagnosis.got_at is not None and len(diagnosis.reads) == 1
    rows = _by_way_of(diagnosis.reads[0], writer, around.axes) if moved else []
    if moved:
        return rows
    if diagnosis.read:
        rows.append(msg("diagnosis.made_from", elements=ranges_msg(diagnosis.read)))
        through = _through(diagnosis.reads)
        if through:
            rows.append(msg("diagnosis.by_way_of", arrays=through))
    elif diagnosis.reads:
        rows.append(
            msg(
                "diagnosis.made_from_alone",
                elements=_listed(list(dict.fromkeys(element(r.array, r.index) for r in diagnosis.reads))),
            )
        )
    elif around.outside_lines and diagnosis.got == 0:
        line = around.outside_lines[0]
        rows.append(msg("diagnosis.read_outside", line=line))
        return rows
    else:
        rows.append(msg("diagnosis.read_nothing"))
    if diagnosis.missing:
        rows.append(msg("diagnosis.missing", elements=ranges_msg(diagnosis.missing)))
    if diagnosis.surplus:
        rows.append(msg("diagnosis.surplus", elements=ranges_msg(diagnosis.surplus)))
    if diagnosis.compared and not diagnosis.missing and not diagnosis.surplus:
        rows.append(msg("diagnosis.right_elements_again" if used_again(diagnosis) else "diagnosis.right_elements"))
    return rows


SHOWN_READ = 64
"""Ranges of what was read that a diagnosis has at most."""


def used_again(diagnosis: Diagnosis) -> bool:
    """Whether the writer's value was made from more readings than there are elements: a sum may hold one twice."""
    return len(diagnosis.read) < SHOWN_READ and diagnosis.uses > sum(
        prod(high - low + 1 for low, high in one.ranges) for one in diagnosis.read
    )


def _by_way_of(read: ElementRead, writer: ElementWriter, axes: int) -> list[Message]:
    if read.origin != "written" or read.put_by is None or len(read.put_from) != 1:
        return []
    source = read.put_from[0]
    place, put = element(read.array, read.index), element(source.array, source.index)
    line, put_line = read.line, read.put_by.line
    if (read.put_by.thread, read.put_by.block) == (writer.thread, writer.block):
        return [msg("diagnosis.through_own", place=place, line=line, source=put, put_line=put_line)]
    other = thread_name(read.put_by.thread, read.put_by.block, axes)
    return [msg("diagnosis.through_other", place=place, line=line, other=other, source=put, put_line=put_line)]


def _through(reads: Sequence[ElementRead]) -> Message | None:
    """Return the shared arrays that elements came through, and where they were filled: "p (line 8), q (line 9)"."""
    places = sorted({(r.array, r.put_by.line) for r in reads if r.space == "shared" and r.put_by is not None})
    filled = []
    for array in dict.fromkeys(array for array, _line in places):
        lines = [line for name, line in places if name == array]
        filled.append(
            msg("diagnosis.filled_at", array=array, n=len(lines), lines=", ".join(str(line) for line in lines))
        )
    return _listed(filled) if filled else None


def _empty_read(diagnosis: Diagnosis, read: ElementRead, axes: int) -> Message:
    place = element(read.array, read.index)
    if read.array == diagnosis.output and read.space == "global":
        return msg("diagnosis.adds_to_unset", place=place, line=read.line)
    if read.put_by is None:
        return msg("diagnosis.read_never_written", place=place, line=read.line)
    return msg(
        "diagnosis.read_too_early",
        place=place,
        line=read.line,
        other=thread_name(read.put_by.thread, read.put_by.block, axes),
        put_line=read.put_by.line,
    )


def ranges_msg(ranges: Sequence[ElementRange]) -> Message:
    """Some elements, shortly: "a[0][0…30], b[0…30][0]"."""

    def axis(low: int, high: int) -> str:
        return f"[{low}]" if low == high else f"[{low}…{high}]"

    return _listed([r.array + "".join(axis(*pair) for pair in r.ranges) for r in ranges])


def _listed(items: Sequence[str | Message]) -> Message:
    return msg("pieces.listed", items=items[:SHOWN_RANGES], more=len(items) > SHOWN_RANGES)
