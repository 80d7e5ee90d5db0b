"""Sizes, indices and faults in words, as every check and the report say them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.i18n import _, decimal, ngettext
from grader.oracle.compare import Difference
from grader.ptx.records import Hazard


def sizes_text(sizes: Mapping[str, int]) -> str:
    """{"rows": 33, "cols": 31} as "rows = 33, cols = 31"."""
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def index_text(index: Sequence[int]) -> str:
    """(3, 5) as C writes it: "[3][5]"."""
    return "".join(f"[{i}]" for i in index)


def value_text(value: float | int | None) -> str:
    """A number as short as it is exact enough to tell: 17, 0.25, 1.5e-30."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{decimal(value):.7g}"
    return str(value)


def thread_text(thread: Sequence[int], block: Sequence[int]) -> str:
    """Which thread of which block."""
    return _("thread {thread} of block {block}").format(thread=tuple(thread), block=tuple(block))


def difference_text(difference: Difference) -> str:
    """How many elements are wrong, the first of them, and the pattern of them all."""
    if difference.pattern == "untouched":
        return _("The kernel wrote nothing into {name}.").format(name=difference.name)
    wrong = ngettext(
        "{n} of {total} elements is wrong.", "{n} of {total} elements are wrong.", difference.mismatches
    ).format(n=difference.mismatches, total=difference.total)
    if difference.first is None:
        return wrong
    where = f"{difference.name}{index_text(difference.first)}"
    expected = value_text(difference.expected)
    if difference.belongs_at:
        name, index = difference.belongs_at
        expected += f" ({name}{index_text(index)})"
    if difference.unwritten and difference.pattern == "unwritten":
        first = _("The first: {where} should be {expected}, but no thread wrote it.").format(
            where=where, expected=expected
        )
    else:
        got = value_text(difference.got)
        if difference.found_at:
            name, index = difference.found_at
            got += f" ({name}{index_text(index)})"
        first = _("The first: {where} should be {expected}, got {got}.").format(where=where, expected=expected, got=got)
    return " ".join(part for part in (wrong, first, pattern_text(difference.pattern)) if part)


def changed_text(name: str) -> str:
    """An input that the kernel wrote to."""
    return _("The kernel writes into its input {name}.").format(name=name)


def pattern_text(pattern: str) -> str:
    """The pattern of the wrong elements in words; "" where there is none to tell."""
    return {
        "unwritten": _("All wrong elements are elements that no thread wrote."),
        "copy": _("The output is the input, element for element: nothing was rearranged."),
        "transposed_tiles": _("Every tile stands in its place, but is transposed within itself."),
        "off_diagonal_blocks": _("All wrong elements lie in blocks off the main diagonal."),
        "constant_columns": _("All elements of a column are the same."),
        "constant_rows": _("All elements of a row are the same."),
        "first_block_right": _("Only the elements of the first block are right."),
        "last_tiles": _("All wrong elements lie in the last, incomplete tiles."),
        "all": _("Every element is wrong."),
    }.get(pattern, "")


def hazard_text(hazard: Hazard) -> str:
    """One fault in one sentence: who did what; the line is the hazard's own."""
    who = _("Thread {thread} of block {block}").format(thread=hazard.thread, block=hazard.block)
    match hazard.kind:
        case "out_of_bounds":
            return _out_of_bounds(hazard, who)
        case "uninitialized":
            return _("{who} reads {array}, byte {offset}, which nothing had written.").format(
                who=who, array=array_text(hazard), offset=hazard.offset_bytes
            )
        case "race":
            return _race(hazard, who)
        case "barrier_divergence" if hazard.detail == "different_barriers" and hazard.other_line:
            return _("{who} waits at this barrier, while others of its block wait at the one in line {line}.").format(
                who=who, line=hazard.other_line
            )
        case "barrier_divergence":
            return _("{who} waits at a barrier that other threads of its block never reach.").format(who=who)
    return _("{who} names lanes in a warp mask that do not take part.").format(who=who)


def array_text(hazard: Hazard) -> str:
    """The array's name, or what kind of memory it is when it has none."""
    if hazard.array:
        return hazard.array
    return _("shared memory") if hazard.space == "shared" else _("global memory")


def _out_of_bounds(hazard: Hazard, who: str) -> str:
    words = {"who": who, "array": array_text(hazard), "size": hazard.array_bytes}
    if hazard.detail == "beside":
        # Seen on a GPU by guard zones, which do not tell who it was.
        return _("The kernel writes outside {array}: on the GPU bytes beside it have changed.").format(**words)
    if hazard.detail == "misaligned":
        return _("{who} uses an address in {array} that is no multiple of {width} bytes.").format(
            **words, width=hazard.width_bytes
        )
    if hazard.detail in ("before", "after") and _is_whole(hazard):
        return _element_outside(hazard, who)
    if hazard.detail == "before":
        return _access(hazard).format(**words, distance=_bytes(-hazard.offset_bytes), side=_("before the start"))
    if hazard.detail == "after":
        past = hazard.offset_bytes + hazard.width_bytes - hazard.array_bytes
        return _access(hazard).format(**words, distance=_bytes(past), side=_("past the end"))
    if hazard.op == "load":
        return _("{who} reads at an address that belongs to no array.").format(**words)
    return _("{who} writes at an address that belongs to no array.").format(**words)


def _is_whole(hazard: Hazard) -> bool:
    """Whether the access falls on a place where an element of its width would be."""
    width = hazard.width_bytes
    return width > 0 and hazard.offset_bytes % width == 0 and hazard.array_bytes % width == 0


def _element_outside(hazard: Hazard, who: str) -> str:
    """Counted in elements, as the program counts: a student can compare that with the index in the line."""
    width = hazard.width_bytes
    if hazard.op == "load":
        text = _("{who} reads element {index} {of_array}; there are elements 0 to {last} ({width} bytes each).")
    else:
        text = _("{who} writes element {index} {of_array}; there are elements 0 to {last} ({width} bytes each).")
    index, last = hazard.offset_bytes // width, hazard.array_bytes // width - 1
    return text.format(who=who, index=index, of_array=_of_array(hazard), last=last, width=width)


def _of_array(hazard: Hazard) -> str:
    if hazard.array:
        return _("of {array}").format(array=hazard.array)
    return _("of shared memory") if hazard.space == "shared" else _("of global memory")


def _access(hazard: Hazard) -> str:
    if hazard.op == "load":
        return _("{who} reads {distance} {side} of {array} ({size} bytes).")
    return _("{who} writes {distance} {side} of {array} ({size} bytes).")


def _bytes(count: int) -> str:
    return ngettext("{n} byte", "{n} bytes", count).format(n=count)


def _race(hazard: Hazard, who: str) -> str:
    words = {
        "who": who,
        "of_array": _of_array(hazard),
        "other": thread_text(hazard.other_thread or (0, 0, 0), hazard.other_block or hazard.block),
        "other_line": hazard.other_line,
    }
    if hazard.detail.startswith("write_write"):
        text = _("{who} writes the element {of_array} that {other} writes too (line {other_line}).")
    elif hazard.op == "load":
        text = _(
            "{who} reads the element {of_array} that {other} writes (line {other_line}), with no barrier between them."
        )
    else:
        text = _(
            "{who} writes the element {of_array} that {other} reads (line {other_line}), with no barrier between them."
        )
    return text.format(**words)
