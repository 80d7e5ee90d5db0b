"""`present` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("kernel found"),
    "fault": N_("parameters do not fit the task"),
    "fault_no_candidate": N_("kernel not found"),
    "fault_no_kernels": N_("no kernel in the program"),
    "fault_empty": N_("empty kernel"),
    "found": N_("Found: kernel {kernel}."),
    "no_candidate": N_("No kernel for this variant was found."),
    "no_kernels": N_("The program has no kernel: no function is declared __global__."),
    "hint_no_kernels": N_(
        "Write each kernel as a function __global__ void name(…), as the starter file shows, and launch it from main."
    ),
    "kernels_are": N_("The file has: {kernels}."),
    "hint_name": N_(
        "Give the kernel a name that says which variant it is, or name it in submission.yaml: labs: {{{lab}: "
        "{{variants: {{{variant}: name_of_the_kernel}}}}}}"
    ),
    "unknown_parameter": N_("The kernel {kernel} has a parameter {type} {parameter}, which is not in this task."),
    "arrays": Plural(
        "The kernel {kernel} takes {got} array; this task has {expected}.",
        "The kernel {kernel} takes {got} arrays; this task has {expected}.",
        by="got",
    ),
    "parameters": N_("The parameters of the kernel {kernel} do not fit this task."),
    "hint_parameters": N_(
        "A kernel of this task takes {parameters}; the sizes may be omitted. If your parameters are in "
        "an unusual order, state it in submission.yaml."
    ),
    "empty": N_("The kernel {kernel} has an empty body."),
    "hint_empty": N_("Write the body of the kernel: the starter file only gives its name."),
}
