"""The rule that wrong values follow (ids of `grader/diagnosis/patterns.py`), as the end of "in all wrong elements …".

axes: of the output; with two of them rows and columns are spoken of.
"""

from __future__ import annotations

from grader.i18n import _, ngettext
from grader.words.pieces import number
from grader.words.texts import N_, Texts


def constant(axes: int, value: float) -> str:
    """One value."""
    return _("the result is {value}").format(value=number(value))


def offset(axes: int, value: float) -> str:
    """Too large by a value."""
    return _("the result is the right value plus {value}").format(value=number(value))


def copy(axes: int, array: str) -> str:
    """The input as it was."""
    return _("the result is the element of {array} at the same index: nothing was rearranged").format(array=array)


def output_pitch(axes: int, pitch: int, right: int) -> str:
    """Written with another row length."""
    return _(
        "the result is the value that an index with a row length of {pitch} in place of {right} stores there"
    ).format(pitch=pitch, right=right)


def input_pitch(axes: int, pitch: int, right: int, array: str) -> str:
    """Read with another row length."""
    return _(
        "the result is the element of {array} that an index with a row length of {pitch} in place of {right} finds"
    ).format(array=array, pitch=pitch, right=right)


def scaled(axes: int, factor: float) -> str:
    """By a factor; by the divisor where that is a whole number."""
    divisor = 1 / factor
    if abs(factor) < 1 and abs(divisor - round(divisor)) < 1e-3 * abs(divisor):
        return _("the result is the right value divided by {divisor}").format(divisor=round(divisor))
    return _("the result is the right value times {factor}").format(factor=number(factor))


def mirrored(axes: int, axis: int) -> str:
    """Counted from the other end, along an axis or (-1) all of them."""
    if axes == 2 and axis >= 0:
        if axis == 0:
            return _("the result is the value that belongs in the row counted from the other end")
        return _("the result is the value that belongs in the column counted from the other end")
    return _("the result is the value that belongs at the position counted from the other end")


def shifted(axes: int, axis: int, by: int) -> str:
    """From so many places further on."""
    n = abs(by)
    if axes == 2 and axis == 0:
        if by > 0:
            text = ngettext(
                "the result is the value that belongs {n} row below",
                "the result is the value that belongs {n} rows below",
                n,
            )
        else:
            text = ngettext(
                "the result is the value that belongs {n} row above",
                "the result is the value that belongs {n} rows above",
                n,
            )
    elif axes == 2:
        if by > 0:
            text = ngettext(
                "the result is the value that belongs {n} column to the right",
                "the result is the value that belongs {n} columns to the right",
                n,
            )
        else:
            text = ngettext(
                "the result is the value that belongs {n} column to the left",
                "the result is the value that belongs {n} columns to the left",
                n,
            )
    elif by > 0:
        text = ngettext(
            "the result is the value that belongs {n} element further on",
            "the result is the value that belongs {n} elements further on",
            n,
        )
    else:
        text = ngettext(
            "the result is the value that belongs {n} element earlier",
            "the result is the value that belongs {n} elements earlier",
            n,
        )
    return text.format(n=n)


def scaled_shifted(axes: int, factor: float, axis: int, by: int) -> str:
    """From so many places further on, by a factor."""
    n = abs(by)
    if by > 0:
        text = ngettext(
            "the result is {factor} times the right value of the element {n} place further on",
            "the result is {factor} times the right value of the element {n} places further on",
            n,
        )
    else:
        text = ngettext(
            "the result is {factor} times the right value of the element {n} place earlier",
            "the result is {factor} times the right value of the element {n} places earlier",
            n,
        )
    return text.format(factor=number(factor), n=n)


TEXTS: Texts = {
    "unwritten": N_("nothing was written"),
    "filling": N_("the result is uninitialised memory"),
    "onto_unset": N_("the result is the right value added to uninitialised memory"),
    "nan": N_("the result is NaN"),
    "infinite": N_("the result is infinity"),
    "whole": N_("the result is a whole number: its fraction is lost, in an integer variable or a division of integers"),
    "zero": N_("the result is 0"),
    "constant": constant,
    "copy": copy,
    "transposed_tiles": N_("the result is the value that belongs at the mirrored position of the same tile"),
    "swapped_tiles": N_(
        "the result is the value that belongs at the same position of the tile mirrored across the diagonal"
    ),
    "transposed": N_("the result is the value that belongs at the position mirrored across the main diagonal"),
    "reversed": mirrored,
    "shifted": shifted,
    "output_pitch": output_pitch,
    "input_pitch": input_pitch,
    "scaled": scaled,
    "scaled_shifted": scaled_shifted,
    "offset": offset,
}
