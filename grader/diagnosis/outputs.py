"""How an output differs from what is expected, as messages."""

from __future__ import annotations

from collections.abc import Sequence

from grader.message import Message, joined, msg, number
from grader.oracle.compare import Difference

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")

_EXTENTS = {"unwritten": msg("outputs.only_unwritten"), "all": msg("diagnosis.every_element")}


def element(array: str, index: Sequence[int]) -> str:
    """An element as C writes it: out[0][1]."""
    return array + "".join(f"[{i}]" for i in index)


def difference_msg(difference: Difference) -> Message:
    """How many elements are wrong, the first of them, and whether it is all of them."""
    if difference.extent == "untouched":
        return msg("outputs.untouched", name=difference.name)
    wrong = msg("outputs.wrong", n=difference.mismatches, total=difference.total)
    if difference.first is None:
        return wrong
    where = element(difference.name, difference.first)
    expected = _value(difference.expected, difference.belongs_at)
    if difference.extent == "unwritten":
        first = msg("outputs.first_unwritten", where=where, expected=expected)
    else:
        got = _value(difference.got, difference.found_at)
        first = msg("outputs.first", where=where, expected=expected, got=got)
    return joined(wrong, first, _EXTENTS.get(difference.extent)) or wrong


def projections_msg(difference: Difference) -> Message | None:
    """How a right output was told to be right, where not by comparing every element."""
    n = difference.projections
    return msg("outputs.projections", n=n, power=str(n).translate(_SUPERSCRIPT)) if n else None


def _value(value: float | int | None, place: tuple[str, Sequence[int]] | None) -> Message:
    said = number(value)
    return msg("outputs.value_at", value=said, element=element(*place)) if place else said
