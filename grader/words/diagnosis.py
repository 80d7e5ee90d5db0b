"""Why an output is wrong: where its wrong elements lie, the rule of their values, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from grader.i18n import _, ngettext
from grader.words import N_, Plural, Texts


def number(value: float | int | str | None) -> str:
    """A number as short as it is exact enough to tell: 17, 0.25, 1.5e-30."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.7g}"
    return str(value)


def sizes(**sizes: int) -> str:
    """{"rows": 33, "cols": 31} as "rows = 33, cols = 31"."""
    return ", ".join(f"{name} = {value}" for name, value in sizes.items())


def sentences(parts: list[str]) -> str:
    """Join sentences; a compiler's text gets the full stop that it lacks before the next sentence."""
    kept = [part for part in parts if part]
    stops = ["." if after[0].isupper() and part[-1].isalnum() else "" for part, after in pairwise(kept)]
    return " ".join(part + stop for part, stop in zip(kept, [*stops, ""], strict=False))


def listed(items: list[str], more: bool) -> str:
    """The first of some things, and whether there are more."""
    return ", ".join(items) + (", …" if more else "")


def verbatim(text: str) -> str:
    return text


def turned_away(line: int, n: int, right: int) -> str:
    """Return how many of the n elements that a condition keeps from being written are right without it."""
    if right == n:
        return ngettext(
            "The condition in line {line} turns away the thread that should write the {n} unwritten element: without "
            "the condition it is right.",
            "The condition in line {line} turns away the threads that should write the {n} unwritten elements: without "
            "the condition all of them are right.",
            n,
        ).format(line=line, n=n)
    return ngettext(
        "The condition in line {line} turns away threads that should write unwritten elements: without the condition "
        "{right} of {n} is right.",
        "The condition in line {line} turns away threads that should write unwritten elements: without the condition "
        "{right} of {n} are right.",
        right,
    ).format(line=line, n=n, right=right)


PIECES: Texts = {
    "number": number,
    "sizes": sizes,
    "sentences": sentences,
    "listed": listed,
    "verbatim": verbatim,
    "thread": N_("thread {thread} of block {block}"),
    "Thread": N_("Thread {thread} of block {block}"),
    "global_memory": N_("global memory"),
    "shared_memory": N_("shared memory"),
    "of_global_memory": N_("of global memory"),
    "of_shared_memory": N_("of shared memory"),
    "local_memory": N_("the thread's local memory"),
    "of_local_memory": N_("of the thread's local memory"),
    "of_array": N_("of {array}"),
    "in_line": N_("{name} (line {line})"),
}


def value_at(value: str, element: str) -> str:
    """A value, and the element of an input that it is."""
    return f"{value} ({element})"


OUTPUTS: Texts = {
    "value_at": value_at,
    "untouched": N_("The kernel wrote nothing to {name}."),
    "only_one": N_("{name} is wrong."),
    "wrong": Plural("{n} of {total} elements is wrong.", "{n} of {total} elements are wrong."),
    "first_unwritten": N_("The first: {where} should be {expected}, but no thread wrote it."),
    "first": N_("The first: {where} should be {expected}, got {got}."),
    "first_kept": N_("The first: {where} should be {expected}, but still has its old value, {got}."),
    "input_changed": N_("The kernel writes to its input {name}."),
    "hint_input_changed": N_("The input must not change: declare it const, and check which pointer is written to."),
    "no_file": N_("The program leaves no file {file}."),
    "no_file_left": N_("The program leaves no file {file}; it ends with exit code {code}."),
    "too_long": Plural(
        "{file} is far longer than {expected} number takes.",
        "{file} is far longer than {expected} numbers take.",
        "expected",
    ),
    "bytes": N_("{file} has {got} bytes instead of {expected}."),
    "header": N_("{file} begins with the numbers {got} instead of {expected}."),
    "magic": N_("{file} is no {format}: it begins with {got} instead of {expected}."),
    "picture_header": N_("In {file}, width, height and 255 do not follow the first two letters as numbers."),
    "numbers": N_("{file}: {got} numbers instead of {expected}."),
    "printed": N_(
        "{file}: {got} numbers instead of {expected}, beginning with {shown}. Every number that is printed counts, "
        "except times and speeds."
    ),
    "not_whole": N_("{file}: {got} is no number of the type {dtype}."),
    "no_label": N_("The program prints no number behind “{label}”."),
    "not_copied": N_("No array {name} of {bytes} bytes was copied back from the device."),
    "only_unwritten": N_("All wrong elements were written by no thread."),
    "constant_columns": N_("All elements of a column are the same."),
    "constant_rows": N_("All elements of a row are the same."),
    "projections": Plural(
        "checked by {n} random projection; it misses a wrong row with a probability of at most 2⁻{power}",
        "checked by {n} random projections; they miss a wrong row with a probability of at most 2⁻{power}",
    ),
}


# Where wrong elements lie (ids of `grader/diagnosis/regions.py`), as a part of a sentence.
#
# axes: of the output; with two of them rows and columns are spoken of, with three matrices.


def first_rows(axes: int, n: int) -> str:
    """The first or last places along the slowest axis."""
    if axes > 2:
        return ngettext("the first {n} matrix", "the first {n} matrices", n).format(n=n)
    return ngettext("the first {n} row", "the first {n} rows", n).format(n=n)


def last_rows(axes: int, n: int) -> str:
    """The first or last places along the slowest axis."""
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
    pairs = [(ends[f"low_{axis}"], ends[f"high_{axis}"]) for axis in range(axes)]
    ranges = [str(low) if low == high else f"{low}…{high}" for low, high in pairs]
    if axes == 2:
        rows = _("row {index}") if pairs[0][0] == pairs[0][1] else _("rows {index}")
        columns = _("column {index}") if pairs[1][0] == pairs[1][1] else _("columns {index}")
        return f"{rows.format(index=ranges[0])}, {columns.format(index=ranges[1])}"
    elements = _("element {index}") if all(low == high for low, high in pairs) else _("elements {index}")
    return elements.format(index=ranges[0] if axes == 1 else "".join(f"[{one}]" for one in ranges))


def strided(text: str) -> Callable[..., str]:
    """Return the words for every n-th row, column or element."""

    def words(axes: int, step: int, start: int) -> str:
        return _(text).format(start=start, next=start + step, step=step)

    return words


REGIONS: Texts = {
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


# The rule that wrong values follow (ids of `grader/diagnosis/patterns.py`), as the end of "in all wrong elements …".
#
# axes: of the output; with two of them rows and columns are spoken of.


def constant(axes: int, value: float) -> str:
    """One value."""
    return _("the result is {value}").format(value=number(value))


def offset(axes: int, value: float) -> str:
    """Too large by a value, or too small."""
    if value < 0:
        return _("the result is the right value minus {value}").format(value=number(-value))
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
    """Values scaled by a factor, or by the divisor where that is a whole number."""
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


RULES: Texts = {
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


def value_of(element: str, value: str) -> str:
    """An element of an input and the value that it has."""
    return f"{element} = {value}"


DIAGNOSIS: Texts = {
    "every_element": N_("Every element is wrong."),
    "unwritten": Plural(
        "{n} of the wrong elements was written by no thread.", "{n} of the wrong elements were written by no thread."
    ),
    "race": N_("Data race in line {line}: {fault}"),
    "first_unwritten": N_("{where} should be {expected}, but no thread wrote it."),
    "first_unset": N_("{where} should be {expected}, but nothing was stored or copied there."),
    "unset": Plural(
        "Nothing was stored in {n} of the wrong elements, or copied there.",
        "Nothing was stored in {n} of the wrong elements, or copied there.",
    ),
    "first": N_("{where} should be {expected}, got {got}."),
    "first_kept": N_("{where} should be {expected}, but still has its old value, {got}."),
    "first_added": N_(
        "{where} should be {expected}, but is {got} after {who} was the last to add to it in line {line}."
    ),
    "first_written": N_("{where} should be {expected}, but {who} wrote {got} there in line {line}."),
    "overwritten": N_("The right value was there: {who} had written it in line {line}, and it was overwritten."),
    "writers": Plural(
        "{n} thread writes this element; the last one's value stays.",
        "{n} threads write this element; the last one's value stays.",
    ),
    "made_from": N_("The value was computed from {elements}."),
    "by_way_of": N_("They came through {arrays}."),
    "made_from_alone": N_("The value was computed from {elements} alone, not from any input element."),
    "read_outside": N_("It came from no element of the inputs; in line {line} threads read outside an array."),
    "read_nothing": N_("This value was computed without reading any input element."),
    "missing": N_("Missing from it: {elements}."),
    "surplus": N_("Not needed in it: {elements}."),
    "right_elements_again": N_("These are the right elements; some were read more than once, which may be meant."),
    "right_elements": N_("These are the right elements, so check what is computed from them."),
    "through_own": N_(
        "It came from {place} (line {line}), where the same thread had stored {source} in line {put_line}."
    ),
    "through_other": N_("It came from {place} (line {line}), where {other} had stored {source} in line {put_line}."),
    "filled_at": Plural("{array} (filled in line {lines})", "{array} (filled in lines {lines})"),
    "adds_to_unset": N_("It adds to {place}, which was never given an initial value (line {line})."),
    "read_never_written": N_("It read {place} in line {line}, which no thread ever writes."),
    "own_unset": N_("It is what a variable or an array of the thread's own held before anything was stored there."),
    "read_too_early": N_("It read {place} in line {line} too early: {other} writes it only later, in line {put_line}."),
    "value_of": value_of,
    "garbage": N_("uninitialised memory"),
    "copied": N_("There the right value is the element of {array} at the same index, as it is."),
    "one_follows": N_("There {rule}."),
    "all_follow": N_("In all wrong elements {rule}."),
    "most_follow": N_("In {holds} of {of} wrong elements {rule}."),
    "exactly": N_("Exactly these elements are wrong: {region}."),
    "within": N_("All {n} wrong elements are among the {size} of this part: {region}."),
}


REMEDIES: Texts = {
    "pitch": N_("A row of {array} has {right} elements."),
    "formula_again": N_(
        "The right elements are read: the fault is in what is computed from them, or some are used more often than "
        "they should be."
    ),
    "formula": N_("The right elements are read, so the fault is in what is computed from them."),
    "shared_unset": N_(
        "Shared memory holds whatever the previous block left there. Every element that is read must first be written "
        "by some thread of this block, also where the data has ended."
    ),
    "divided": N_("{n} elements are summed, and the result is as if their sum were divided by {by} instead of {n}."),
    "added": N_(
        "Divided by {factor} these values would be right: perhaps {factor} threads add the same, or a sum is stored "
        "where its mean is asked for."
    ),
    "scaled": N_(
        "Divided by {factor} these values would be right: perhaps a sum is stored where its mean is asked for."
    ),
    "copied_unwritten": N_(
        "Line {line} copies elements of {name} that nothing has written, and what they hold is undefined: every "
        "element has to be stored by a kernel, or set by a copy or cudaMemset() beforehand."
    ),
    "set_bytes": N_(
        "Line {line} sets each byte of {name} to {byte}: an element of that memory is then {value}, and that has come "
        "into the result. A call of cudaMemset() sets bytes; other values have to be stored by a kernel, or copied."
    ),
    "onto_unset": N_("Sum in a variable that starts at 0 and store it once, or set the output to 0 first."),
    "two_writers": N_("Two threads write to the same element: only the one that makes its value may write it."),
}

OTHER_STREAM: Texts = {
    "copy": N_(
        "{array} is used here while the copy into it in line {line} may still be under way: the "
        "cudaStreamSynchronize() in line {waited} waits for another stream than that of the copy."
    ),
    "copy_somewhere": N_(
        "The host uses {array} while this copy into it may still be under way: the cudaStreamSynchronize() in line "
        "{waited} waits for another stream than that of the copy."
    ),
    "kernel": N_(
        "{array} is used here while {kernel}, launched in line {line}, may still be writing to it: the "
        "cudaStreamSynchronize() in line {waited} waits for another stream than the kernel's."
    ),
    "kernel_somewhere": N_(
        "The host uses {array} while {kernel} may still be writing to it: the cudaStreamSynchronize() in line {waited} "
        "waits for another stream than the kernel's."
    ),
}


AREAS: dict[str, Texts] = {
    "programs.read_before_other": OTHER_STREAM,
    "pieces": PIECES,
    "outputs": OUTPUTS,
    "regions": REGIONS,
    "rules": RULES,
    "diagnosis": DIAGNOSIS,
    "remedies": REMEDIES,
}
"""Texts by the first parts of their ids."""
