"""`races` in words; the race or the barrier itself is told in `words/faults.py`."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "title": N_("no data races"),
    "fault": N_("data race"),
    "fault_barrier": N_("barrier not reached by all threads"),
    "fault_different_barriers": N_("barrier not reached by all threads"),
    "fault_warp_mask": N_("wrong warp mask"),
    "none": N_("No data races, and every thread reaches every barrier."),
    "hint_barrier": N_(
        "__syncthreads() inside an if or a loop that not every thread of the block enters is undefined "
        "behaviour. Move it out: leave only the load and the store under the if."
    ),
    "hint_warp_mask": N_("The mask of a _sync function must name exactly the lanes that call it."),
    "hint_global": N_(
        "Nothing orders the threads of different blocks: let each thread write its own elements, or use an atomic "
        "operation."
    ),
    "hint_write_write": N_(
        "Two threads write the same element of shared memory: each thread needs an index of its own."
    ),
    "hint_within_warp": N_(
        "A thread reads what another thread stored, and since Volta not even the threads of one warp run in step. "
        "Put __syncthreads() between line {first} and line {second}, where every thread reaches it; __syncwarp() "
        "is enough only where no other warp uses these elements."
    ),
    "hint_between_warps": N_(
        "A thread reads what another thread stored, and the warps of a block run in any order: on a GPU the result "
        "depends on luck. Put __syncthreads() between line {first} and line {second}, where every thread reaches it."
    ),
}
