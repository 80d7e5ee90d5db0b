"""The smallest change that makes a kernel right: where the fault is, of what kind, and what was seen with it mended."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "index": N_("An index in line {line} is wrong."),
    "comparison": N_("A comparison in line {line} is wrong."),
    "guard": N_("The condition in line {line} is wrong."),
    "guard_missing": N_("A condition is missing in line {line}."),
    "guard_removed": N_("The condition in line {line} turns away threads that are needed."),
    "bound": N_("The start, the end or the step of the loop in line {line} is wrong."),
    "barrier": N_("The barrier in line {line} is wrong."),
    "barrier_after": N_("A barrier is missing after line {line}."),
    "barrier_loop_end": N_(
        "A barrier is missing at the end of the loop body, after line {line}: what slower threads still read there, "
        "faster ones already overwrite in the next iteration."
    ),
    "barrier_loop_start": N_("A barrier is missing at the start of the loop body, before line {line}."),
    "barrier_in_branch": N_("The barrier in line {line} is inside a branch: it belongs after it."),
    "barrier_removed": N_("The barrier in line {line} must not be there."),
    "barrier_stronger": N_("__syncwarp() in line {line} orders one warp only: here the whole block has to wait."),
    "padding": N_("The row length of the shared array declared in line {line} is wrong."),
    "array_size": N_("The shared array declared in line {line} has the wrong size."),
    "initial_value": N_("What is set in line {line} starts from the wrong value."),
    "initial_value_missing": N_("An initial value is missing in line {line}."),
    "expression": N_("What is computed in line {line} is wrong."),
    "verified": N_("With one change there the kernel passes every check: this was compiled and run."),
    "verified_partly": N_("With one change there this fault is gone: this was compiled and run."),
    "wavefronts": N_("With this change line {line} takes {after:g} wavefronts per request instead of {before:g}."),
    "sectors": N_("With this change line {line} takes {after:g} sectors per request instead of {before:g}."),
}
