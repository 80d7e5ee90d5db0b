"""Why a point of a sweep has no values, and why a kernel is not swept."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "too_long": N_("the kernel takes too long"),
    "not_compiled": N_("it does not compile: {error}"),
    "outside": N_("the kernel accesses memory outside its arrays there"),
    "wrong": N_("the result is wrong there"),
    "file_too_long": N_("its file is too long"),
    "no_kernel": N_("no kernel"),
    "not_run": N_("it was not run"),
    "results_wrong": N_("its results are wrong"),
    "has_halo": N_("its input carries a halo, which those of the sweep do not"),
    "works_outside": N_("it accesses memory outside its arrays"),
    "sizes_written": N_("its sizes are hard-coded"),
    "endless": N_("the kernel never ends"),
    "deadlock": N_("threads wait at a barrier forever"),
    "trap": N_("the kernel stops with an error"),
    "unrecognised": N_("with this value the kernel is no longer recognised"),
    "unrolled_by_hand": N_("unrolled by hand, {count} steps at a time"),
    "no_loop": N_("the kernel has no loop to unroll"),
    "unchangeable": N_("the kernel's text cannot be changed"),
    "size_written": N_("{size} = {value} is hard-coded in the program"),
    "square_only": N_("the kernel takes square arrays only"),
    "multiples_only": N_("the kernel needs multiples of its block"),
    "empty_grid": N_("the grid would be empty"),
    "gpu_memory": N_("{needed:.1f} GiB of GPU memory are needed, {most:.1f} GiB are available"),
    "memory_not_free": N_("not enough GPU memory is free"),
    "throttled": N_("the GPU ran below its usual clock rate"),
    "no_such_memory": N_("the device has no such memory"),
    "refused": N_("the device rejects the launch ({reason})"),
}
