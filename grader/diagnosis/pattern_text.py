"""The rules of wrong elements in words: what came out, and where."""

from __future__ import annotations

from grader.i18n import _, ngettext
from grader.result import WrongPattern
from grader.wording import value_text


def values_text(pattern: WrongPattern, axes: int) -> str:
    """The rule of the wrong values in one sentence."""
    if pattern.id == "constant_columns":
        return _("All elements of a column are the same.")
    if pattern.id == "constant_rows":
        return _("All elements of a row are the same.")
    rule = _rule(pattern, axes)
    if pattern.holds == pattern.of:
        return _("In all wrong elements {rule}.").format(rule=rule)
    return _("In {holds} of {of} wrong elements {rule}.").format(holds=pattern.holds, of=pattern.of, rule=rule)


def _rule(pattern: WrongPattern, axes: int) -> str:
    data = pattern.data
    match pattern.id:
        case "unwritten":
            return _("nothing was written")
        case "filling":
            return _("the value came out that memory has which nobody wrote")
        case "onto_unset":
            return _("the right value came out, added to what memory holds that nobody had set")
        case "nan":
            return _("NaN came out")
        case "infinite":
            return _("infinity came out")
        case "zero":
            return _("0 came out")
        case "constant":
            return _("{value} came out").format(value=value_text(_float(data["value"])))
        case "copy":
            return _("the element of {array} at the same place came out, nothing was rearranged").format(**data)
        case "transposed_tiles":
            return _("the value came out that belongs at the mirrored place of the same tile")
        case "swapped_tiles":
            return _("the value came out that belongs at the same place of the tile mirrored at the diagonal")
        case "transposed":
            return _("the value came out that belongs at the place mirrored at the main diagonal")
        case "reversed":
            return _reversed(int(data["axis"]), axes)
        case "shifted":
            return _shifted(int(data["axis"]), int(data["by"]), axes)
        case "output_pitch":
            return _("the value came out that an index with {pitch} elements to a row puts there, not {right}").format(
                **data
            )
        case "input_pitch":
            return _(
                "the element of {array} came out that an index with {pitch} elements to a row finds, not {right}"
            ).format(**data)
        case "scaled":
            return _scaled(_float(data["factor"]))
    return _("the right value plus {value} came out").format(value=value_text(_float(data["value"])))


def _float(value: int | float | str) -> float:
    return float(value)


def _scaled(factor: float) -> str:
    divisor = 1 / factor
    if abs(factor) < 1 and abs(divisor - round(divisor)) < 1e-3 * abs(divisor):
        return _("the right value divided by {divisor} came out").format(divisor=round(divisor))
    return _("the right value times {factor} came out").format(factor=value_text(factor))


def _reversed(axis: int, axes: int) -> str:
    if axes == 2 and axis >= 0:
        if axis == 0:
            return _("the value came out that belongs in the row counted from the other end")
        return _("the value came out that belongs in the column counted from the other end")
    return _("the value came out that belongs at the place counted from the other end")


def _shifted(axis: int, by: int, axes: int) -> str:
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


def region_text(pattern: WrongPattern, axes: int) -> str:
    """Where the wrong elements lie, in one sentence."""
    region, size = _region(pattern, axes), int(pattern.data["size"])
    if size == pattern.of:
        return _("Exactly these elements are wrong: {region}.").format(region=region)
    return _("All wrong elements lie within this part: {region} ({n} of its {size}).").format(
        region=region, n=pattern.of, size=size
    )


def _region(pattern: WrongPattern, axes: int) -> str:
    data = pattern.data
    number = int(data.get("index", 0))
    plain = {
        "first_row": _("the first row"),
        "last_row": _("the last row"),
        "row": _("row {number}").format(number=number),
        "first_column": _("the first column"),
        "last_column": _("the last column"),
        "column": _("column {number}").format(number=number),
        "diagonal": _("the main diagonal"),
        "off_diagonal": _("all but the main diagonal"),
        "above_diagonal": _("everything above the main diagonal"),
        "below_diagonal": _("everything below the main diagonal"),
        "off_diagonal_blocks": _("the blocks off the main diagonal"),
        "diagonal_blocks": _("the blocks on the main diagonal"),
        "all_but_first_block": _("all blocks but the first"),
        "last_tiles": _("the last, incomplete tiles"),
        "first_row_of_tiles": _("the first row of every tile"),
        "last_row_of_tiles": _("the last row of every tile"),
        "row_of_tiles": _("row {number} of every tile").format(number=number),
        "first_column_of_tiles": _("the first column of every tile"),
        "last_column_of_tiles": _("the last column of every tile"),
        "column_of_tiles": _("column {number} of every tile").format(number=number),
        "first_element_of_tiles": _("the first element of every tile"),
        "last_element_of_tiles": _("the last element of every tile"),
        "element_of_tiles": _("element {number} of every tile").format(number=number),
    }
    return plain.get(pattern.id) or _measured_region(pattern, axes)


def _measured_region(pattern: WrongPattern, axes: int) -> str:
    data = pattern.data
    n, width = int(data.get("n", 0)), int(data.get("width", 0))
    match pattern.id:
        case "first_rows_of_tiles":
            return ngettext("the first {n} row of every tile", "the first {n} rows of every tile", n).format(n=n)
        case "last_rows_of_tiles":
            return ngettext("the last {n} row of every tile", "the last {n} rows of every tile", n).format(n=n)
        case "first_columns_of_tiles":
            return ngettext("the first {n} column of every tile", "the first {n} columns of every tile", n).format(n=n)
        case "last_columns_of_tiles":
            return ngettext("the last {n} column of every tile", "the last {n} columns of every tile", n).format(n=n)
        case "first_elements_of_tiles":
            return ngettext("the first {n} element of every tile", "the first {n} elements of every tile", n).format(
                n=n
            )
        case "last_elements_of_tiles":
            return ngettext("the last {n} element of every tile", "the last {n} elements of every tile", n).format(n=n)
        case "one_block":
            numbers = [int(data[f"block_{axis}"]) for axis in reversed(range(axes))]
            block = str(numbers[0]) if axes == 1 else f"({', '.join(map(str, numbers))})"
            return _("the part of block {block}").format(block=block)
        case "first_rows" if axes > 2:
            return ngettext("the first {n} matrix", "the first {n} matrices", n).format(n=n)
        case "last_rows" if axes > 2:
            return ngettext("the last {n} matrix", "the last {n} matrices", n).format(n=n)
        case "first_rows":
            return ngettext("the first {n} row", "the first {n} rows", n).format(n=n)
        case "last_rows":
            return ngettext("the last {n} row", "the last {n} rows", n).format(n=n)
        case "first_columns":
            return ngettext("the first {n} column", "the first {n} columns", n).format(n=n)
        case "last_columns":
            return ngettext("the last {n} column", "the last {n} columns", n).format(n=n)
        case "first_elements":
            return ngettext("the first {n} element", "the first {n} elements", n).format(n=n)
        case "last_elements":
            return ngettext("the last {n} element", "the last {n} elements", n).format(n=n)
        case "border":
            return _("the border (width {n})").format(n=width)
        case "interior":
            return _("all but the border (width {n})").format(n=width)
        case "tile_edges":
            return _("the edges of every tile (width {n})").format(n=width)
        case "tile_interiors":
            return _("the inside of every tile (edges of width {n} left out)").format(n=width)
        case "box":
            return _box(pattern, axes)
    words = {"step": int(data["step"]), "start": int(data["start"]), "next": int(data["start"]) + int(data["step"])}
    strided = {
        "every_nth_rows": _("rows {start}, {next} and so on, every {step} rows"),
        "every_nth_columns": _("columns {start}, {next} and so on, every {step} columns"),
        "every_nth_elements": _("elements {start}, {next} and so on, every {step} elements"),
        "all_but_nth_rows": _("all but rows {start}, {next} and so on, every {step} rows"),
        "all_but_nth_columns": _("all but columns {start}, {next} and so on, every {step} columns"),
        "all_but_nth_elements": _("all but elements {start}, {next} and so on, every {step} elements"),
    }
    return strided[pattern.id].format(**words)


def _box(pattern: WrongPattern, axes: int) -> str:
    ranges = [f"{pattern.data[f'low_{axis}']}…{pattern.data[f'high_{axis}']}" for axis in range(axes)]
    if axes == 2:
        return _("rows {rows}, columns {columns}").format(rows=ranges[0], columns=ranges[1])
    return _("elements {elements}").format(elements=ranges[0] if axes == 1 else "".join(f"[{r}]" for r in ranges))
