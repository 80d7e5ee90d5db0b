"""`compiles` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("compiles"),
    "passed": N_("Compiled without errors."),
    "timeout": N_("Compiling was stopped: it took too long."),
    "crashed": N_("Compiling was stopped: the compiler ran out of memory."),
    "missing_entry": N_("The file compiles, but the kernel {kernel} is not in the result."),
    "hint_missing_entry": N_("Look for an #if that removes it, or for a template that nothing instantiates."),
    "hint_endless": N_(
        "Look for a macro or a template that expands without end, or for a very large initialised array."
    ),
    "refused": N_("The compiler refused the file without saying why."),
    "hint_refused": N_("Compile it with nvcc to see."),
    "elsewhere": N_("{file}, line {line}: {message}"),
    "more": Plural("(and {n} more error)", "(and {n} more errors)"),
    "hint_first": N_(
        "A compiler error stops the whole program: none of its kernels can run. Mend the first one first."
    ),
    "hint_semicolon": N_("A missing semicolon is noticed at the next word only: look at the end of the line before."),
    "hint_missing_headers": N_("The file includes {headers}, which was not handed in: put it beside the file."),
    "hint_elsewhere": N_("It lies outside this kernel, yet in the same program."),
}
