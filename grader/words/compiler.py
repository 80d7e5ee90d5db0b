"""What stands between a program and its compilation: the compiler's surroundings, host code in a kernel."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "std_in_device": N_("Device code has a built-in {name}: write it without std::."),
    "std_for_host": N_("The C++ standard library is for host code: a kernel cannot use std::{name}."),
    "host_only": N_("{name} is for host code: a kernel cannot use it."),
    "nested_launch": N_("Kernels are launched from host code here, not from another kernel."),
    "host_variable": N_(
        "A kernel cannot use a variable of the host. Memory that is sized at the launch is declared as extern "
        "__shared__ float name[]; a constant as const or __constant__."
    ),
    "fence": N_("Three backquotes mark program text in a chat or a Markdown file: delete these lines."),
    "pasted": N_("« and » stand in the code, as in a text copied from a PDF: no compiler takes them."),
    "hint_pasted": N_("Type << and >> there, and <<< and >>> around what a kernel is launched with."),
    "semicolon": N_(
        "A semicolon seems to be missing at the end of line {line}: the compiler notices that only at the next word, "
        "in line {noticed}."
    ),
    "bracket": N_(
        "A closing {sign} seems to be missing at the end of line {line}: the compiler notices that only at the next "
        "word, in line {noticed}."
    ),
    "brace_before": N_(
        "A closing brace is missing before line {line}: a function begins there while the brace that opens in line "
        "{opened} is not closed."
    ),
    "never_closed": N_(
        "The brace that opens in line {line} is never closed: count the braces down to the end of the file."
    ),
    "macro_semicolon": N_(
        "The macro {name} ends in a semicolon (line {line}), which lands wherever the macro is used: take it away."
    ),
    "did_you_mean": N_("Nothing here is called {name}. Did you mean {near}?"),
    "refused": N_("NVRTC refused to compile: {reason}"),
    "error_elsewhere": N_(
        "the compiler found an error outside this file: in a header, or in a line it reports under another name"
    ),
    "forbidden_include": N_("{include} cannot be included: only the CUDA device headers can"),
    "static_arrays": N_(
        "the array {array} takes {megabytes} MB; all global arrays of a program together may take at most {limit} MB"
    ),
    "macros": N_("the macro {macro} expands to too much: more than {limit} tokens in the whole program"),
    "too_large": N_("the program becomes {megabytes} MB of PTX; at most {limit} MB are allowed"),
    "short": N_("the compiler cannot run within the limits of this shell ({limits}): {reason}"),
    "ended": N_("the compiler process ended unexpectedly ({ending})"),
    "not_started": N_("the compiler process did not start"),
    "no_toolkit": N_(
        "NVRTC {version} comes without device headers (cuda_fp16.h, cooperative_groups.h, …), and no "
        "CUDA toolkit of that version was found; run: pip install --upgrade nvidia-cuda-nvrtc, or set "
        "CUDA_HOME to a toolkit's folder"
    ),
    "no_headers": N_("NVRTC's headers cannot be unpacked ({reason}); set XDG_CACHE_HOME to a writable folder"),
    "unusable": N_("CUDA's compiler NVRTC cannot be used ({reason}); install it with: pip install nvidia-cuda-nvrtc"),
}
