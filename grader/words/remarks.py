"""Remarks: worth knowing, cost nothing."""

from __future__ import annotations

from grader.i18n import _
from grader.words.texts import N_, Plural, Texts


def large(what: str) -> str:
    """What is wrong at a size that is tried beside the others."""
    text = _("{what}. So large a size is tried beside the others and costs no points.")
    return text.format(what=what.rstrip("."))


TEXTS: Texts = {
    "bidi_control": N_("Line {line}: an invisible character changes the order in which the line is shown."),
    "host_function_called": N_(
        "Line {line}: device code calls this function, which lacks __device__: nvcc would refuse that. Here it "
        "was compiled for the device all the same."
    ),
    "unknown_lab": N_("submission.yaml, line {line}: there is no lab of that name; what stands there was not used."),
    "block_contradicted": N_(
        "Line {line}: this launch has another block than submission.yaml says; the kernel was graded with the block "
        "of submission.yaml."
    ),
    "exited_before_barrier": Plural(
        "Line {line}: {n} thread had left the kernel before this barrier; allowed since compute capability 7.0.",
        "Line {line}: {n} threads had left the kernel before this barrier; allowed since compute capability 7.0.",
    ),
    "wired_sizes": N_("The kernel works at {sizes} only: the size is a constant of the program. Make it a parameter."),
    "own_sizes": N_(
        "Graded at {sizes} only: with another value of this constant the kernel is wrong, so its value stands in "
        "the program a second time."
    ),
    "large": large,
}
