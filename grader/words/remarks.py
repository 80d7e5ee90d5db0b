"""Remarks: worth knowing, cost nothing."""

from __future__ import annotations

from grader.i18n import _
from grader.words.texts import N_, Plural, Texts


def large(what: str) -> str:
    """What is wrong at a size that is tried beside the others."""
    text = _("{what}. This large size is tested in addition and costs no points.")
    return text.format(what=what.rstrip("."))


def _host_code(file: str, line: int, fault: str, lines: str = "") -> str:
    if lines:
        return _("{file}, lines {lines}: {fault}").format(file=file, lines=lines, fault=fault)
    return _("{file}, line {line}: {fault}").format(file=file, line=line, fault=fault)


TEXTS: Texts = {
    "handed_twice": N_(
        "The kernel takes two inputs, {first} and {second}; this task has one, {role}, and the kernel is graded with "
        "it as both."
    ),
    "unset": N_(
        "{variable} is used in line {line} before it has a value. What a variable holds that nothing was assigned to "
        "is undefined; a compiler may even leave out all that is computed from it."
    ),
    "host_code": _host_code,
    "bidi_control": N_("Line {line}: an invisible character changes the order in which the line is displayed."),
    "host_function_called": N_(
        "Line {line}: device code calls this function, which lacks __device__: nvcc would reject that. "
        "Here it was compiled for the device anyway."
    ),
    "unknown_lab": N_("submission.yaml, line {line}: there is no lab of that name; these settings were not used."),
    "swapped_launch": N_(
        "Line {line}: by their names the block is handed in as the grid and the grid as the block; the grid comes "
        "first, <<<grid, block>>>."
    ),
    "block_contradicted": N_(
        "Line {line}: the block of this launch differs from the one in submission.yaml; the kernel was "
        "graded with the block from submission.yaml."
    ),
    "block_overruled": N_(
        "Line {line}: submission.yaml says another block than this launch has; the kernel was graded with the block "
        "that the program launched it with."
    ),
    "exited_before_barrier": Plural(
        "Line {line}: {n} thread had left the kernel before this barrier; allowed since compute capability 7.0.",
        "Line {line}: {n} threads had left the kernel before this barrier; allowed since compute capability 7.0.",
    ),
    "exited_before_barrier_in_if": Plural(
        "Line {line}: this barrier is inside the if of line {branch}; {n} thread had left the kernel before it, which "
        "is allowed since compute capability 7.0.",
        "Line {line}: this barrier is inside the if of line {branch}; {n} threads had left the kernel before it, which "
        "is allowed since compute capability 7.0.",
    ),
    "wired_sizes": N_("The kernel works only at {sizes}: the size is a constant in the program. Make it a parameter."),
    "needs_device": N_(
        "Graded for compute capability {device}: the kernel is right from there on; for older devices it is compiled "
        "to different code, which is wrong."
    ),
    "own_sizes": N_(
        "Graded only at {sizes}: it is a constant of the program, and when the grader gave it another value in the "
        "device code, the kernel was wrong."
    ),
    "other_kernel": N_(
        "{kernel} ({file}:{line}) may be this variant as well. It was graded too and earns {points:g} points at most; "
        "the better one counts."
    ),
    "one_thread": N_("{kernel} ({file}:{line}) is launched with a single thread, so the parallel kernel was graded."),
    "large": large,
}
