"""Why something of a run could not be measured, or does not count."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "fails_on_gpu": N_("At {sizes} the kernel fails on the GPU: the fault found in it has real consequences."),
    "not_timed": N_("Not measured: speed can only be timed on an NVIDIA GPU."),
    "margin": N_(
        "Not judged: in the program {array} is {bytes} bytes larger than its size says, and line {line} works in that "
        "margin, of which the task knows nothing."
    ),
    "halo": Plural(
        "Graded with inputs that carry their halo, as {array} does in the program: {n} element more than there are "
        "results, and no borders.",
        "Graded with inputs that carry their halo, as {array} does in the program: {n} elements more than there are "
        "results, and no borders.",
    ),
    "halo_untimed": N_("Not measured: kernels whose input carries its halo, as {array} does, are not run on the GPU."),
    "hint_margin": N_("Hand the kernel an array without a margin."),
    "gpu_failed": N_("Not measured: the GPU failed ({reason})."),
    "no_timed_sizes": N_("The lab sets no sizes to time at."),
    "gpu_in_use": N_("Not measured: the GPU was busy all the time."),
    "throttled": N_(
        "Not measured: the GPU ran below its usual clock rate in {dropped} of {rounds} rounds; try again later."
    ),
    "found_nothing": N_("nothing was found"),
    "copies_unfollowed": N_(
        "Not measured: for devices with asynchronous copies the kernel is compiled to different code, which the "
        "emulator cannot run ({why})."
    ),
    "emulator_cannot": N_("the emulator cannot run this kernel: {reason}"),
}
