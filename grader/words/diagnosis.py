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
    "race": N_("A data race at line {line}: {fault}"),
    "first_unwritten": N_("{where} should be {expected}, but no thread wrote it."),
    "first": N_("{where} should be {expected}, got {got}."),
    "first_added": N_(
        "{where} should be {expected}, but it is {got} after {who} was the last to add to it at line {line}."
    ),
    "first_written": N_("{where} should be {expected}, but {who} wrote {got} there at line {line}."),
    "overwritten": N_("The right value was there: {who} had written it at line {line}, and it was overwritten."),
    "writers": Plural(
        "{n} thread writes this element; the last one's value stays.",
        "{n} threads write this element; the last one's value stays.",
    ),
    "made_from": N_("The value was made from {elements}."),
    "by_way_of": N_("They came by way of {arrays}."),
    "made_from_alone": N_("The value was made from {elements} alone, from no element of an input."),
    "read_outside": N_("What it read for it, at line {line}, lies outside the array."),
    "read_nothing": N_("The thread had read no element to make it."),
    "missing": N_("Missing from it: {elements}."),
    "surplus": N_("Not wanted in it: {elements}."),
    "right_elements": N_("These are the right elements, so look at what is computed from them."),
    "through_own": N_("It came from {place} (line {line}), where the same thread had put {source} at line {put_line}."),
    "through_other": N_("It came from {place} (line {line}), where {other} had put {source} at line {put_line}."),
    "filled_at": N_("{array} (filled at line {line})"),
    "adds_to_unset": N_("It adds to what stands in {place}, which nothing had set to a first value (line {line})."),
    "read_never_written": N_("It had read {place} at line {line}, which nobody ever writes."),
    "read_too_early": N_(
        "It had read {place} at line {line} too early: {other} writes it only later, at line {put_line}."
    ),
    "value_of": value_of,
    "garbage": N_("the content of memory that nobody had written"),
    "all_follow": N_("In all wrong elements {rule}."),
    "most_follow": N_("In {holds} of {of} wrong elements {rule}."),
    "exactly": N_("Exactly these elements are wrong: {region}."),
    "within": N_("All wrong elements lie within this part: {region} ({n} of its {size})."),
}
