"""Why an output is wrong, told of its first wrong element; rules and regions of all of them in files of their own."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts


def value_of(element: str, value: str) -> str:
    """An element of an input and the value that it has."""
    return f"{element} = {value}"


TEXTS: Texts = {
    "every_element": N_("Every element is wrong."),
    "unwritten": Plural(
        "{n} of the wrong elements was written by no thread.", "{n} of the wrong elements were written by no thread."
    ),
    "race": N_("Data race in line {line}: {fault}"),
    "first_unwritten": N_("{where} should be {expected}, but no thread wrote it."),
    "first": N_("{where} should be {expected}, got {got}."),
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
    "all_follow": N_("In all wrong elements {rule}."),
    "most_follow": N_("In {holds} of {of} wrong elements {rule}."),
    "exactly": N_("Exactly these elements are wrong: {region}."),
    "within": N_("All wrong elements are in this part: {region} ({n} of its {size})."),
}
