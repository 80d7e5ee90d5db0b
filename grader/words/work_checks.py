"""The words of the checks of what was executed: what is used, idle lanes, work, the order of blocks."""

from __future__ import annotations

from grader.i18n import decimal, ngettext
from grader.words.texts import N_, Texts

USES: Texts = {
    "title": N_("what is used"),
    "fault": N_("not what the task allows"),
    "passed": N_("Everything that the task asks for is used, and nothing that it forbids."),
    "lacks": N_("In no run is this used, which the task asks for: {what}."),
    "forbidden": N_("Line {line} uses what the task forbids: {what}."),
    "forbidden_somewhere": N_("This is used, which the task forbids: {what}."),
    "hint_lacks": N_(
        "What counts is what is executed: declarations, and code that no thread reaches or that the compiler leaves "
        "out because nothing depends on it, do not."
    ),
    "hint_forbidden": N_("Look up in the task what it is to be done with instead."),
    "shared_memory": N_("shared memory"),
    "constant_memory": N_("constant memory"),
    "textures": N_("textures or surfaces"),
    "shuffles": N_("warp shuffles"),
    "votes": N_("warp votes"),
    "atomics": N_("atomic operations"),
    "float_atomics": N_("atomic operations on floating-point numbers"),
    "tensor_cores": N_("tensor cores"),
    "several_launches": N_("more than one launch in a call"),
    "streams": N_("streams other than the default one"),
    "library": N_("a library (Thrust, CUB, cuBLAS, cuRAND)"),
}


DIVERGENCE: Texts = {
    "title": N_("divergence"),
    "fault": N_("too many idle lanes"),
    "passed": N_("{pct:g} % of the lanes are idle on average ({sizes})."),
    "failed": N_(
        "{pct:g} % of the lanes are idle on average, at most {allowed:g} % may be ({sizes}). Most are in line {line}: "
        "of 32 lanes {lanes:g} execute it together."
    ),
    "hint": N_(
        "While some lanes of a warp execute a line, those that took another branch, left the loop earlier or have "
        "returned wait for them. Choose who works so that the 32 threads of a warp go the same way: the first threads "
        "of a block rather than every second one, say."
    ),
}


WORK: Texts = {
    "title": N_("work"),
    "fault": N_("more work than needed"),
    "additions": N_("additions"),
    "instructions": N_("instructions"),
    "each": N_("{what} per element: {each:g}"),
    "growth": N_("from {small} to {large} they grow {got:g} times"),
    "passed": N_("All threads together, {figure} ({sizes})."),
    "passed_growth": N_("All threads together, {figure}; {growth}."),
    "too_much": N_("All threads together, {figure} ({sizes}); at most {needed:g} are needed."),
    "grows": N_("The {what} of all threads grow too fast: {growth}; at most {needed:g} times is needed."),
    "at_line": N_("{message} Line {line} has {share} % of them."),
    "hint_additions": N_(
        "Count the additions of each step by hand, over all threads: log2(n) steps in which each of n threads adds "
        "make n·log2(n), while steps in which half as many add each time make no more than n in all."
    ),
    "hint_instructions": N_(
        "Count by hand how often the line is executed, over all threads and passes of loops, and how that follows from "
        "the sizes."
    ),
}


def differs(element: str, usual: float, other: float, sizes: str, n: int) -> str:
    """One of the elements that differ, with as many digits as tell its values apart."""
    digits = 9 if f"{usual:.9g}" != f"{other:.9g}" else 17
    text = ngettext(
        "The result depends on the order of the blocks and warps: {element} is {usual} in one order and {other} in "
        "another ({sizes}).",
        "The result depends on the order of the blocks and warps: {element} is {usual} in one order and {other} in "
        "another ({sizes}); {n} elements differ.",
        n,
    )
    shown = (f"{decimal(value):.{digits}g}" for value in (usual, other))
    return text.format(element=element, usual=next(shown), other=next(shown), sizes=sizes, n=n)


DETERMINISTIC: Texts = {
    "title": N_("the same result every time"),
    "fault": N_("the result depends on the order of blocks"),
    "not_seen": N_("The result was not seen in other orders of the blocks."),
    "passed": N_("The same bits in {n} orders of the blocks and warps ({sizes})."),
    "differs": differs,
    "hint": N_(
        "CUDA promises no order of blocks and warps. Let each result be made by one thread, or of parts that are put "
        "together in an order that the code itself fixes."
    ),
    "hint_atomics": N_(
        "Floating-point additions round, so their order shows in the result, and the atomic ones in line {line} are "
        "made in whatever order the threads come. Store each block's sum in an element of its own and add these up in "
        "a fixed order: in a second launch, or in the block that finishes last."
    ),
}

AREAS: dict[str, Texts] = {
    "checks.uses": USES,
    "checks.divergence": DIVERGENCE,
    "checks.work": WORK,
    "checks.deterministic": DETERMINISTIC,
}
"""By the first parts of the ids."""
