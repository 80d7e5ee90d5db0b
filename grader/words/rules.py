"""The rule that wrong values follow (ids of `grader/diagnosis/patterns.py`), as the end of "in all wrong elements …".

axes: of the output; with two of them rows and columns are spoken of.
"""

from __future__ import annotations

from grader.i18n import _, ngettext
from grader.words.pieces import number
from grader.words.texts import N_, Texts


def constant(axes: int, value: float) -> str:
    """One value."""
    return _("{value} came out").format(value=number(value))


def offset(axes: int, value: float) -> str:
    """Too large by a value."""
    return _("the right value plus {value} came out").format(value=number(value))


def copy(axes: int, array: str) -> str:
    """The input as it was."""
    return _("the element of {array} at the same place came out, nothing was rearranged").format(array=array)


def output_pitch(axes: int, pitch: int, right: int) -> str:
    """Written with another row length."""
    return _("the value came out that an index with {pitch} elements to a row puts there, not {right}").format(
        pitch=pitch, right=right
    )


def input_pitch(axes: int, pitch: int, right: int, array: str) -> str:
    """Read with another row length."""
    return _("the element of {array} came out that an index with {pitch} elements to a row finds, not {right}").format(
        array=array, pitch=pitch, right=right
    )


def scaled(axes: int, factor: float) -> str:
    """By a factor; by the divisor where that is a whole number."""
    divisor = 1 / factor
    if abs(factor) < 1 and abs(divisor - round(divisor)) < 1e-3 * abs(divisor):
        return _("the right value divided by {divisor} came out").format(divisor=round(divisor))
    return _("the right value times {factor} came out").format(factor=number(factor))


def mirrored(axes: int, axis: int) -> str:
    """Counted from the other end, along an axis or (-1) all of them."""
    if axes == 2 and axis >= 0:
        if axis == 0:
            return _("the value came out that belongs in the row counted from the other end")
        return _("the value came out that belongs in the column counted from the other end")
    return _("the value came out that belongs at the place counted from the other end")


def shifted(axes: int, axis: int, by: int) -> str:
    """From so many places further on."""
    n = abs(by)
    if axes == 2 and axis == 0:
        if by > 0:
            text = ngettext(
                "the value came out that belongs {n} row below", "the value came out that belongs {n} rows below", n
            )
        else:
            text = ngettext(
                "the value came out that belongs {n} row above", "the value came out that belongs {n} rows above", n
            )
    elif axes == 2:
        if by > 0:
            text = ngettext(
                "the value came out that belongs {n} column to the right",
                "the value came out that belongs {n} columns to the right",
                n,
            )
        else:
            text = ngettext(
                "the value came out that belongs {n} column to the left",
                "the value came out that belongs {n} columns to the left",
                n,
            )
    elif by > 0:
        text = ngettext(
            "the value came out that belongs {n} element further on",
            "the value came out that belongs {n} elements further on",
            n,
        )
    else:
        text = ngettext(
            "the value came out that belongs {n} element before",
            "the value came out that belongs {n} elements before",
            n,
        )
    return text.format(n=n)


TEXTS: Texts = {
    "unwritten": N_("nothing was written"),
    "filling": N_("the value came out that memory has which nobody wrote"),
    "onto_unset": N_("the right value came out, added to what memory holds that nobody had set"),
    "nan": N_("NaN came out"),
    "infinite": N_("infinity came out"),
    "zero": N_("0 came out"),
    "constant": constant,
    "copy": copy,
    "transposed_tiles": N_("the value came out that belongs at the mirrored place of the same tile"),
    "swapped_tiles": N_("the value came out that belongs at the same place of the tile mirrored at the diagonal"),
    "transposed": N_("the value came out that belongs at the place mirrored at the main diagonal"),
    "reversed": mirrored,
    "shifted": shifted,
    "output_pitch": output_pitch,
    "input_pitch": input_pitch,
    "scaled": scaled,
    "offset": offset,
}
