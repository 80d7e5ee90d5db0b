"""Where wrong elements lie (ids of `grader/diagnosis/regions.py`), as a part of a sentence.

axes: of the output; with two of them rows and columns are spoken of, with three matrices.
"""

from __future__ import annotations

from collections.abc import Callable

from grader.i18n import _, ngettext
from grader.words.texts import N_, Plural, Texts


def first_rows(axes: int, n: int) -> str:
    """Of the slowest axis."""
    if axes > 2:
        return ngettext("the first {n} matrix", "the first {n} matrices", n).format(n=n)
    return ngettext("the first {n} row", "the first {n} rows", n).format(n=n)


def last_rows(axes: int, n: int) -> str:
    """Of the slowest axis."""
    if axes > 2:
        return ngettext("the last {n} matrix", "the last {n} matrices", n).format(n=n)
    return ngettext("the last {n} row", "the last {n} rows", n).format(n=n)


def one_block(axes: int, **numbers: int) -> str:
    """All of one block; `numbers`: block_0, … along each axis of the output, slowest first."""
    along = [numbers[f"block_{axis}"] for axis in reversed(range(axes))]
    block = str(along[0]) if axes == 1 else f"({', '.join(map(str, along))})"
    return _("the part of block {block}").format(block=block)


def box(axes: int, **ends: int) -> str:
    """The smallest one around them; `ends`: low_0, high_0, … along each axis."""
    ranges = [f"{ends[f'low_{axis}']}…{ends[f'high_{axis}']}" for axis in range(axes)]
    if axes == 2:
        return _("rows {rows}, columns {columns}").format(rows=ranges[0], columns=ranges[1])
    return _("elements {elements}").format(elements=ranges[0] if axes == 1 else "".join(f"[{r}]" for r in ranges))


def strided(text: str) -> Callable[..., str]:
    """A text of every so manieth row, column or element."""

    def words(axes: int, step: int, start: int) -> str:
        return _(text).format(start=start, next=start + step, step=step)

    return words


TEXTS: Texts = {
    "first_row": N_("the first row"),
    "last_row": N_("the last row"),
    "row": N_("row {index}"),
    "first_column": N_("the first column"),
    "last_column": N_("the last column"),
    "column": N_("column {index}"),
    "diagonal": N_("the main diagonal"),
    "off_diagonal": N_("all but the main diagonal"),
    "above_diagonal": N_("everything above the main diagonal"),
    "below_diagonal": N_("everything below the main diagonal"),
    "off_diagonal_blocks": N_("the blocks off the main diagonal"),
    "diagonal_blocks": N_("the blocks on the main diagonal"),
    "all_but_first_block": N_("all blocks but the first"),
    "last_tiles": N_("the last, incomplete tiles"),
    "first_row_of_tiles": N_("the first row of every tile"),
    "last_row_of_tiles": N_("the last row of every tile"),
    "row_of_tiles": N_("row {index} of every tile"),
    "first_column_of_tiles": N_("the first column of every tile"),
    "last_column_of_tiles": N_("the last column of every tile"),
    "column_of_tiles": N_("column {index} of every tile"),
    "first_element_of_tiles": N_("the first element of every tile"),
    "last_element_of_tiles": N_("the last element of every tile"),
    "element_of_tiles": N_("element {index} of every tile"),
    "first_rows_of_tiles": Plural("the first {n} row of every tile", "the first {n} rows of every tile"),
    "last_rows_of_tiles": Plural("the last {n} row of every tile", "the last {n} rows of every tile"),
    "first_columns_of_tiles": Plural("the first {n} column of every tile", "the first {n} columns of every tile"),
    "last_columns_of_tiles": Plural("the last {n} column of every tile", "the last {n} columns of every tile"),
    "first_elements_of_tiles": Plural("the first {n} element of every tile", "the first {n} elements of every tile"),
    "last_elements_of_tiles": Plural("the last {n} element of every tile", "the last {n} elements of every tile"),
    "first_columns": Plural("the first {n} column", "the first {n} columns"),
    "last_columns": Plural("the last {n} column", "the last {n} columns"),
    "first_elements": Plural("the first {n} element", "the first {n} elements"),
    "last_elements": Plural("the last {n} element", "the last {n} elements"),
    "border": N_("the border (width {width})"),
    "interior": N_("all but the border (width {width})"),
    "tile_edges": N_("the edges of every tile (width {width})"),
    "tile_interiors": N_("the inside of every tile (edges of width {width} left out)"),
    "first_rows": first_rows,
    "last_rows": last_rows,
    "one_block": one_block,
    "box": box,
    "every_nth_rows": strided(N_("rows {start}, {next} and so on, every {step} rows")),
    "every_nth_columns": strided(N_("columns {start}, {next} and so on, every {step} columns")),
    "every_nth_elements": strided(N_("elements {start}, {next} and so on, every {step} elements")),
    "all_but_nth_rows": strided(N_("all but rows {start}, {next} and so on, every {step} rows")),
    "all_but_nth_columns": strided(N_("all but columns {start}, {next} and so on, every {step} columns")),
    "all_but_nth_elements": strided(N_("all but elements {start}, {next} and so on, every {step} elements")),
}
