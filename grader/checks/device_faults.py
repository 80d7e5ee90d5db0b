"""Why a launch on a GPU stopped or was wrong, in words: the hardware tells less than the emulator."""

from __future__ import annotations

from grader.i18n import _


def text(reason: str) -> str:
    """What happened; "" for a reason that is not the GPU's."""
    return {
        "illegal_address": _("on the GPU the kernel used an address that belongs to no array, and was stopped."),
        "misaligned_address": _(
            "on the GPU the kernel used an address that is no multiple of the access's width, and was stopped."
        ),
        "launch_failure": _(
            "on the GPU the kernel was stopped: a trap, a failed assertion or a bad address in shared memory."
        ),
        "repeat_wrong": _(
            "launched alone the kernel is right, but launched again on other data it is not. Either it keeps results "
            "of an earlier launch instead of computing, or the order of its threads decides the result (a race)."
        ),
        "repeat_unwritten": _(
            "launched alone the kernel is right, but launched again it leaves elements of the output unwritten."
        ),
        "repeat_input_changed": _("launched alone the kernel is right, but launched again it writes into an input."),
        "repeat_guard": _("launched again on other data, the kernel writes beside its arrays."),
    }.get(reason, "")


def hint(reason: str) -> str:
    """What usually causes it; "" where nothing is to be said."""
    again = _(
        "A kernel must compute every element from its inputs in every launch. Look for variables declared "
        "__device__ that remember something, and for a missing __syncthreads()."
    )
    address = _(
        "Compute the largest index by hand, from the last thread of the last block, at the size that is named here."
    )
    return {
        "illegal_address": address,
        "misaligned_address": _("A float4 or float2 access needs an index that is a multiple of 4 or 2."),
        "launch_failure": _("Look at the indices into shared memory: are they below the declared sizes?"),
        "repeat_wrong": again,
        "repeat_unwritten": again,
        "repeat_input_changed": again,
        "repeat_guard": address,
    }.get(reason, "")
