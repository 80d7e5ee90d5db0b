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
        "__syncthreads() inside an if or a loop that not every thread of the block enters is undefined behaviour: "
        "every thread of the block has to reach it."
    ),
    "hint_warp_mask": N_("The mask of a _sync function must name exactly the lanes that call it."),
    "hint_warp_source": N_(
        "A shuffle hands over values of the lanes that call it: what it takes from any other lane is undefined."
    ),
    "hint_global": N_(
        "Nothing orders the threads of different blocks: let each thread write its own elements, or use an atomic "
        "operation."
    ),
    "hint_global_read": N_(
        "One thread reads here what another writes, and nothing orders the threads of different blocks: read from an "
        "array that nobody writes in this launch, or read in the next launch."
    ),
    "hint_global_block": N_(
        "Two threads of a block write the same element, and nothing orders them: let each element be written by one "
        "thread, or use an atomic operation."
    ),
    "hint_copy": N_(
        "An asynchronous copy goes on by itself, past every barrier, until the thread that began it waits for it: "
        "__pipeline_commit() and __pipeline_wait_prior(0), cp.async.commit_group and cp.async.wait_group 0, "
        "cg::wait(), or the wait of the cuda::pipeline or cuda::barrier that it was given. Wait first, then "
        "__syncthreads(). A wait for all but the last N groups leaves these on their way, and what was not committed "
        "as well."
    ),
    "hint_scope": N_(
        "An atomic operation of block scope (atomicAdd_block(), cuda::thread_scope_block, .cta) is one only to threads "
        "of its own block: among blocks use device scope (atomicAdd(), cuda::thread_scope_device, .gpu)."
    ),
    "hint_write_write": N_(
        "Two threads write the same element of shared memory, and nothing orders them: on a GPU luck decides which "
        "value stays."
    ),
    "hint_within_warp": N_(
        "Nothing orders these two accesses, and since Volta not even the threads of one warp run in step: on a GPU the "
        "result depends on luck."
    ),
    "hint_between_warps": N_(
        "Nothing orders these two accesses, and the warps of a block run in any order: on a GPU the result depends on "
        "luck."
    ),
}
