"""`host_code` in words; what the runtime told of a program is said in `words/programs.py`."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "title": N_("host code"),
    "none": N_("No host code that feeds the kernels was handed in."),
    "sound": N_(
        "The program was run: launches are checked for errors, copies and times are right, results are compared."
    ),
    "reads_sound": N_("Judging by its text, the host code checks launches for errors and compares results."),
    "data_sound": N_("The program was run: what its kernels work on is copied, filled and freed as it must be."),
    "reads_data_sound": N_("Judging by its text, the host code fills what its kernels read."),
    "unchecked": N_("The program never checks whether the launch of {kernel} failed."),
    "not_compared": N_("The program compares its results with nothing."),
    "never_filled": N_("{kernel} reads {array}, but the program never puts anything into it."),
    "constant_unset": N_("Nothing is ever copied into {name}: constant memory is zero until it is filled."),
    "hint_unfilled": N_(
        "Copy the data to the device before the launch: with cudaMemcpy() into an array, with cudaMemcpyToSymbol() "
        "into constant memory."
    ),
    "hint_unchecked": N_(
        "A launch returns nothing, and a kernel that never ran leaves the output as it was: call cudaGetLastError() "
        "right after it, and check what cudaDeviceSynchronize() or cudaMemcpy() returns."
    ),
    "hint_copy": N_(
        "Check the order of the arguments, the size in bytes and the direction, and what the copy returns."
    ),
    "hint_lifetime": N_(
        "Free each array once, by the function that goes with its allocation, after the last launch and the last copy "
        "that use it."
    ),
    "hint_time": N_(
        "A launch returns before its kernel has ended: call cudaDeviceSynchronize() before the clock is read, or "
        "cudaEventSynchronize() before the time between events is asked for."
    ),
    "hint_not_compared": N_("Compute the result on the CPU as well, and compare every element within a tolerance."),
}
