"""A diagnosis in words: the first wrong element and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.diagnosis.faults import hazard_msg
from grader.diagnosis.pattern_text import region_text, values_text
from grader.i18n import _, ngettext
from grader.ptx.records import Hazard
from grader.result import Diagnosis, Element, ElementRange, ElementRead, ElementWriter
from grader.wording import index_text, value_text
from grader.words import said

SHOWN_RANGES = 3


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a diagnosis does not hold but its words need.

    axes: how many numbers name a thread.  outside_lines: lines at which threads read outside an array.
    got: the wrong value in words, where it is no finite number.  race: a data race of the launch in words.
    unwritten: whether nobody wrote the first wrong element.
    """

    axes: int = 3
    outside_lines: tuple[int, ...] = ()
    got: str = ""
    race: str = ""
    unwritten: bool = False


def sentences(diagnosis: Diagnosis, around: Circumstances) -> list[str]:
    """The explanation, most telling sentence first."""
    if diagnosis.values is not None and diagnosis.values.id == "untouched":
        return [_("The kernel wrote nothing into {name}.").format(name=diagnosis.output)]
    count = ngettext("{n} of {total} elements is wrong.", "{n} of {total} elements are wrong.", diagnosis.wrong).format(
        n=diagnosis.wrong, total=diagnosis.total
    )
    everything = _("Every element is wrong.")
    rows = [everything if diagnosis.wrong == diagnosis.total else count, *_first(diagnosis, around)]
    if diagnosis.region is not None and diagnosis.region.id != "all":
        rows.append(region_text(diagnosis.region, len(diagnosis.shape)))
    if diagnosis.values is not None:
        rows.append(values_text(diagnosis.values, len(diagnosis.shape)))
        if diagnosis.unwritten and diagnosis.values.id != "unwritten":
            rows.append(
                ngettext(
                    "{n} of the wrong elements was written by no thread.",
                    "{n} of the wrong elements were written by no thread.",
                    diagnosis.unwritten,
                ).format(n=diagnosis.unwritten)
            )
    # That several threads write one element is told already.
    if around.race and diagnosis.writers < 2:
        rows.append(around.race)
    return rows


def element_text(array: str, index: Sequence[int]) -> str:
    """An element as C writes it: out[0][1]."""
    return array + index_text(index)


def thread_name(thread: Sequence[int], block: Sequence[int], axes: int = 3) -> str:
    """Which thread of which block, with as many numbers as the launch has axes."""

    def numbers(index: Sequence[int]) -> str:
        return str(index[0]) if axes == 1 else f"({', '.join(str(i) for i in index[:axes])})"

    return _("thread {thread} of block {block}").format(thread=numbers(thread), block=numbers(block))


def race_text(hazard: Hazard) -> str:
    """A data race that may be the cause."""
    return _("A data race at line {line}: {fault}").format(line=hazard.line, fault=said(hazard_msg(hazard)))


# -- the first wrong element -----------------------------------------------------------


def _first(diagnosis: Diagnosis, around: Circumstances) -> list[str]:
    where = element_text(diagnosis.output, diagnosis.first)
    expected = _value(value_text(diagnosis.expected), diagnosis.expected_at)
    got = _value(around.got or value_text(diagnosis.got), diagnosis.got_at)
    writer = diagnosis.writer
    if writer is None:
        if diagnosis.traced or around.unwritten:
            return [_("{where} should be {expected}, but no thread wrote it.").format(where=where, expected=expected)]
        return [_("{where} should be {expected}, got {got}.").format(where=where, expected=expected, got=got)]
    who = thread_name(writer.thread, writer.block, around.axes)
    words = {"where": where, "expected": expected, "got": got, "who": who, "line": writer.line}
    if writer.op == "atomic":
        text = _("{where} should be {expected}, but it is {got} after {who} was the last to add to it at line {line}.")
    else:
        text = _("{where} should be {expected}, but {who} wrote {got} there at line {line}.")
    rows = [text.format(**words)]
    if diagnosis.overwritten is not None:
        rows.append(
            _("The right value was there: {who} had written it at line {line}, and it was overwritten.").format(
                who=thread_name(diagnosis.overwritten.thread, diagnosis.overwritten.block, around.axes),
                line=diagnosis.overwritten.line,
            )
        )
    elif diagnosis.writers > 1 and writer.op == "store":
        rows.append(
            ngettext(
                "{n} thread writes this element; the last one's value stays.",
                "{n} threads write this element; the last one's value stays.",
                diagnosis.writers,
            ).format(n=diagnosis.writers)
        )
    return rows + _origin(diagnosis, writer, around)


def _value(text: str, place: Element | None) -> str:
    return f"{element_text(place.array, place.index)} = {text}" if place is not None else text


def _origin(diagnosis: Diagnosis, writer: ElementWriter, around: Circumstances) -> list[str]:
    """What the writer had made the value from."""
    empty = next((read for read in diagnosis.reads if read.origin == "nothing"), None)
    if empty is not None:
        return [_empty_read(diagnosis, empty, around.axes)]
    moved = diagnosis.got_at is not None and len(diagnosis.reads) == 1
    rows = _by_way_of(diagnosis.reads[0], writer, around.axes) if moved else []
    if moved:
        return rows
    if diagnosis.read:
        rows.append(_("The value was made from {elements}.").format(elements=ranges_text(diagnosis.read)))
        through = _through(diagnosis.reads)
        if through:
            rows.append(_("They came by way of {arrays}.").format(arrays=through))
    elif diagnosis.reads:
        rows.append(
            _("The value was made from {elements} alone, from no element of an input.").format(
                elements=_list_text(dict.fromkeys(element_text(r.array, r.index) for r in diagnosis.reads))
            )
        )
    elif around.outside_lines and diagnosis.got == 0:
        line = around.outside_lines[0]
        rows.append(_("What it read for it, at line {line}, lies outside the array.").format(line=line))
        return rows
    else:
        rows.append(_("The thread had read no element to make it."))
    if diagnosis.missing:
        rows.append(_("Missing from it: {elements}.").format(elements=ranges_text(diagnosis.missing)))
    if diagnosis.surplus:
        rows.append(_("Not wanted in it: {elements}.").format(elements=ranges_text(diagnosis.surplus)))
    if diagnosis.compared and not diagnosis.missing and not diagnosis.surplus:
        rows.append(_("These are the right elements, so look at what is computed from them."))
    return rows


def _by_way_of(read: ElementRead, writer: ElementWriter, axes: int) -> list[str]:
    """The way of a moved element through another array."""
    if read.origin != "written" or read.put_by is None or len(read.put_from) != 1:
        return []
    source = read.put_from[0]
    words = {
        "place": element_text(read.array, read.index),
        "line": read.line,
        "source": element_text(source.array, source.index),
        "put_line": read.put_by.line,
    }
    if (read.put_by.thread, read.put_by.block) == (writer.thread, writer.block):
        text = _("It came from {place} (line {line}), where the same thread had put {source} at line {put_line}.")
    else:
        text = _("It came from {place} (line {line}), where {other} had put {source} at line {put_line}.")
        words["other"] = thread_name(read.put_by.thread, read.put_by.block, axes)
    return [text.format(**words)]


def _through(reads: Sequence[ElementRead]) -> str:
    """The shared arrays that elements came through, and where they were filled: "p (line 8), q (line 9)"."""
    places = {(r.array, r.put_by.line): None for r in reads if r.space == "shared" and r.put_by is not None}
    return _list_text([_("{array} (filled at line {line})").format(array=a, line=n) for a, n in sorted(places)])


def _empty_read(diagnosis: Diagnosis, read: ElementRead, axes: int) -> str:
    place = element_text(read.array, read.index)
    if read.array == diagnosis.output and read.space == "global":
        return _("It adds to what stands in {place}, which nothing had set to a first value (line {line}).").format(
            place=place, line=read.line
        )
    if read.put_by is None:
        return _("It had read {place} at line {line}, which nobody ever writes.").format(place=place, line=read.line)
    return _("It had read {place} at line {line} too early: {other} writes it only later, at line {put_line}.").format(
        place=place,
        line=read.line,
        other=thread_name(read.put_by.thread, read.put_by.block, axes),
        put_line=read.put_by.line,
    )


def ranges_text(ranges: Sequence[ElementRange]) -> str:
    """Some elements, shortly: "a[0][0…30], b[0…30][0]"."""

    def axis(low: int, high: int) -> str:
        return f"[{low}]" if low == high else f"[{low}…{high}]"

    return _list_text([r.array + "".join(axis(*pair) for pair in r.ranges) for r in ranges])


def _list_text(items: Sequence[str] | dict[str, None]) -> str:
    rows = list(items)
    text = ", ".join(rows[:SHOWN_RANGES])
    return text + ", …" if len(rows) > SHOWN_RANGES else text
