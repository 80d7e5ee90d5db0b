"""`present` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("kernel found"),
    "fault": N_("kernel not found"),
    "fault_unknown_parameter": N_("parameters do not fit the task"),
    "fault_arrays": N_("parameters do not fit the task"),
    "fault_parameters": N_("parameters do not fit the task"),
    "fault_rows": N_("parameters do not fit the task"),
    "fault_handle": N_("parameters do not fit the task"),
    "fault_two_inputs": N_("another task"),
    "two_inputs": N_(
        "The program solves another task: it hands the kernel {kernel} two different inputs, {first} and {second}. "
        "This task has one, which is used with itself."
    ),
    "hint_two_inputs": N_("Is this the right file? For this task {first} and {second} are the same array."),
    "fault_unreadable": N_("kernel cannot be read"),
    "fault_declared": N_("kernel without a body"),
    "fault_declared_elsewhere": N_("kernel without a body"),
    "fault_cut_macro": N_("macro cut short"),
    "fault_missing_header": N_("header missing"),
    "fault_commented": N_("kernel commented out"),
    "fault_inactive": N_("kernel not compiled"),
    "fault_no_global": N_("no kernel in the files"),
    "declared": N_("The kernel {kernel} is only declared ({file}:{line}); its body is in none of the files."),
    "hint_declared": N_("Submit the file with the body of {kernel}, or write it."),
    "declared_elsewhere": N_(
        "The kernel {kernel} is only declared ({file}:{line}); its body may be in {header}, which was not submitted."
    ),
    "hint_declared_elsewhere": N_("Submit {header} too."),
    "cut_macro": N_("The macro that ends in line {line} of {file} is cut short: a brace that it opens is not closed."),
    "hint_cut_macro": N_("End every line of a macro but the last with a backslash, and put nothing after it."),
    "missing_header": N_("The files have no kernel, and {header} ({file}:{line}) was not submitted."),
    "hint_missing_header": N_("Submit {header} too."),
    "commented": N_("The files have no kernel: the one in line {line} of {file} is commented out."),
    "hint_commented": N_("Take the kernel out of the comment."),
    "inactive": N_(
        "The files have no kernel: the one in line {line} of {file} is excluded by an #if, or cannot be read."
    ),
    "unreadable": N_("The kernel in line {start} cannot be read; the compiler says of line {line}: {message}"),
    "hint_unreadable": N_("Until that is fixed no kernel of the file can be found."),
    "hint_inactive": N_("Look at the #if around it, and at the line before it."),
    "no_global": N_("The files have no kernel: there is no __global__ function in them."),
    "hint_no_global": N_("A kernel is a function that begins with __global__ void. Is this the right file?"),
    "fault_empty": N_("empty kernel"),
    "found": N_("Found: kernel {kernel}."),
    "no_candidate": N_("No kernel for this variant was found."),
    "kernels_are": N_("The file has: {kernels}."),
    "hint_name": N_(
        "Write it. If it is there, give it a name that says which variant it is, or name it in submission.yaml: labs: "
        "{{{lab}: {{variants: {{{variant}: name_of_the_kernel}}}}}}"
    ),
    "unknown_parameter": N_("The kernel {kernel} has a parameter {type} {parameter}, which is not in this task."),
    "arrays": Plural(
        "The kernel {kernel} takes {got} array; this task has {expected}.",
        "The kernel {kernel} takes {got} arrays; this task has {expected}.",
        by="got",
    ),
    "rows": N_(
        "The kernel {kernel} takes {type} {parameter}, an array of pointers to rows; this task's arrays are plain "
        "ones, an element after the other."
    ),
    "hint_rows": N_(
        "Take a plain pointer and compute the index: a[row * n + column]. An array of row pointers costs another read "
        "for each element, and its rows have to be allocated and copied one by one: a pointer that malloc returned "
        "means nothing on the device."
    ),
    "handle": N_(
        "The kernel {kernel} takes {type} {parameter}, a pointer to a struct that holds the array's address: such a "
        "kernel cannot be called from outside of its program."
    ),
    "hint_handle": N_(
        "Hand the struct over by value, without the asterisk, or the pointer and the sizes by themselves: each thread "
        "then has them at hand and need not read them from global memory first."
    ),
    "parameters": N_("The parameters of the kernel {kernel} do not fit this task."),
    "hint_parameters": N_(
        "A kernel of this task takes {parameters}; the sizes may be omitted. If your parameters are in "
        "an unusual order, state it in submission.yaml."
    ),
    "empty": N_("The kernel {kernel} has an empty body."),
    "hint_empty": N_("Write the body of the kernel: the starter file only gives its name."),
}
