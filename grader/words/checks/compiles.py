"""`compiles` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("compiles"),
    "fault": N_("does not compile"),
    "fault_missing_entry": N_("kernel missing from the compiled program"),
    "passed": N_("Compiled without errors."),
    "timeout": N_("Compilation was stopped: it took too long."),
    "crashed": N_("Compilation was stopped: the compiler ran out of memory."),
    "missing_entry": N_("The file compiles, but the kernel {kernel} is not in the result."),
    "hint_missing_entry": N_("Look for an #if that removes it, or for a template that nothing instantiates."),
    "hint_endless": N_("Look for a macro or a template that expands without end, or a very large initialised array."),
    "refused": N_("The compiler rejected the file without saying why."),
    "hint_refused": N_("Compile it with nvcc to see the reason."),
    "elsewhere": N_("{file}, line {line}: {message}"),
    "inside": N_("In this kernel, line {line}: {message}"),
    "more": Plural("(and {n} more error)", "(and {n} more errors)"),
    "hint_first": N_(
        "A compiler error stops the whole program: none of its kernels can run. Fix the first error first."
    ),
    "missing_header": N_("The header {header}, included in line {n} of {file}, was not submitted: {message}"),
    "hint_missing_headers": N_("The file includes {headers}, which was not submitted: put it next to the file."),
    "hint_elsewhere": N_("The error is outside this kernel, but in the same program."),
}
