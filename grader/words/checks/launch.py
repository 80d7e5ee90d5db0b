"""`launch` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("launch configuration"),
    "fault": N_("impossible launch"),
    "no_launch": N_("No launch of this kernel could be read from the host code."),
    "impossible_side": N_(
        "A block of {shape} threads is impossible: its sides must be at least 1 and at most {limit}."
    ),
    "shared_bytes": Plural(
        "The launch asks for {n} byte of dynamic shared memory; {limit} are allowed.",
        "The launch asks for {n} bytes of dynamic shared memory; {limit} are allowed.",
    ),
    "shared_bytes_at": N_(
        "At {sizes} the launch asks for {n} bytes of dynamic shared memory; {limit} are allowed. It fails there."
    ),
    "hint_fewer_threads": N_("Launch fewer threads in a block where their data take more."),
    "hint_fewer_or_opt_in": N_(
        "Launch fewer threads in a block where their data take more, or raise the limit: cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)."
    ),
    "hint_shared_bytes": N_("Use a smaller tile, or raise the limit with cudaFuncSetAttribute."),
    "impossible_grid": N_(
        "The launch has a grid of {grid} blocks: along {axis} {size}, where 1 to {limit} are allowed."
    ),
    "one_thread": N_("The kernel is launched with one block of one thread, which does all the work alone."),
    "hint_one_thread": N_(
        "Give each thread an element of its own, by blockIdx, blockDim and threadIdx, and launch as many threads as "
        "there are elements."
    ),
    "never_launched": N_("The program never launches {kernel}."),
    "hint_never_launched": N_(
        "Nothing that the program prints or measures comes of this kernel. Launch it, and check its result."
    ),
    "exchanged": N_(
        "The launch of {kernel} has {first_given} for {first} and {second_given} for {second}: these two are in each "
        "other's place."
    ),
    "hint_exchanged": N_("Exchange the two arguments. The kernel itself was graded with both in their places."),
    "own_check": N_("The program's own check shows it: “{line}”."),
    "hint_of_program": N_("The kernel itself was graded as if it were launched rightly."),
    "passed": Plural("A block of {shape} threads ({n} thread).", "A block of {shape} threads ({n} threads)."),
    "too_large": N_(
        "The program launches {shape} = {threads} threads per block; the limit is {limit}. The launch "
        "fails, so this kernel never ran, and any time that the program prints for it is the time of a "
        "failed launch."
    ),
    "hint_too_large": N_(
        "The limit is on all threads of a block together: {shape} is {threads} threads, {allowed} is "
        "{n}. Use a block of {allowed} threads and divide the grid by the same numbers."
    ),
    "hint_other_block": N_(
        "It was run with blocks of {block} threads, since {asked} are impossible: if the kernel counts on {asked}, it "
        "may be wrong for that reason alone. Fix the launch first."
    ),
    "hint_graded_with": N_("The kernel is graded with the lab's block instead."),
    "hint_never_ran": N_("Call cudaGetLastError() after every launch: it would have reported the error."),
}
