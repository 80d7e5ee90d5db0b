"""Sizes, indices and faults in words, as every check and the report say them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.i18n import _, decimal, ngettext
from grader.oracle.compare import Difference


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
