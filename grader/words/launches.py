"""Launches that did not end well: why, what usually causes it, and at which sizes it was seen."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "illegal_address": N_("on the GPU the kernel accessed an address outside every array and was stopped."),
    "misaligned_address": N_(
        "on the GPU the kernel used a misaligned address (not a multiple of the access width) and was stopped."
    ),
    "launch_failure": N_(
        "on the GPU the kernel was stopped: a trap, a failed assertion or a bad address in shared memory."
    ),
    "repeat_wrong": N_(
        "the first launch gives the right result, but a second one with other data does not. Either the "
        "kernel keeps results of an earlier launch instead of computing them, or the result depends on "
        "the order of threads (a race)."
    ),
    "repeat_unwritten": N_(
        "the first launch gives the right result, but a second one leaves elements of the output unwritten."
    ),
    "repeat_input_changed": N_("the first launch gives the right result, but a second one writes to an input."),
    "repeat_guard": N_("launched again with other data, the kernel writes outside its arrays."),
    "too_large": N_("its blocks cover so many elements that the smallest size divisible by them is too large to run."),
    "hint_too_large": N_(
        "Check the tile: its side is usually 16 or 32. If a block covers fewer elements than the grader "
        "worked out, state it in submission.yaml (tile)."
    ),
    "hint_repeat": N_(
        "A kernel must compute every element from its inputs in every launch, whatever was launched before."
    ),
    "hint_address": N_(
        "Compute the largest index by hand, for the last thread of the last block, at the size given here."
    ),
    "hint_misaligned": N_("A float4 or float2 access needs an index that is a multiple of 4 or 2."),
    "hint_shared_index": N_("Look at the indices into shared memory: are they below the declared sizes?"),
    "hint_deadlock": N_("Every thread of the block must reach the barrier: move it out of the if or the loop."),
    "hint_steps": N_(
        "Count what all threads of the launch do together: work that each of them repeats in full is done as many "
        "times as there are threads."
    ),
    "hint_endless": N_("Check the condition of the loop: does every thread change what it tests?"),
    "hint_last_error": N_("Call cudaGetLastError() after every launch to see such errors yourself."),
    "no_size": N_("The kernel was not run at any size."),
    "hint_no_size": N_(
        "Let the program launch it at sizes that the task asks for, or state its block and tile in submission.yaml."
    ),
    "unsupported": N_("This machine cannot run the kernel: {reason}"),
    "seen_at": N_("{what} Seen at {sizes}."),
    "on_newer": N_(
        "{what} This concerns the kernel as compiled for compute capability {device}, where its code differs from that "
        "for older devices."
    ),
    "explained": N_("{explanation} The smallest size with a wrong result: {sizes}."),
    "deadlock": N_("the kernel never ends: threads wait in line {line} for others that never arrive."),
    "endless": N_("the kernel never ends: the loop in line {line} changes nothing that could end it."),
    "limit": N_("the kernel did not finish in reasonable time; it was stopped in line {line}."),
    "trap": N_("the kernel stopped itself (trap or failed assertion) in line {line}."),
    "grid_sync": N_(
        "the kernel waits for its whole grid in line {line} (grid.sync()), which only a cooperative launch can do."
    ),
    "memory": N_("the variables take more memory than the emulator allows for a kernel; see line {line}."),
    "hint_memory": N_("Make per-thread arrays and arrays in device memory smaller."),
    "impossible": N_("the launch is impossible: {reason}."),
    "failed": N_("the kernel failed: {reason}"),
    "not_compiled_gpu": N_("the program does not compile for this GPU: {error}"),
    "not_compiled_as": N_("the program does not compile as {expression} with {constants}"),
    "process_ended": N_("the GPU process ended without an answer"),
    "no_answer": N_("the GPU no longer responds"),
    "unreadable_ptx": N_("the emulator cannot read what the compiler made: {reason}"),
    "emulator_slow": N_("the emulator did not finish within {seconds:g} s"),
    "emulator_failed": N_("the emulator failed ({kind}: {text})"),
    "own_constants": N_("its own constants"),
    "threads": N_("{threads} threads per block, at most {limit} are allowed"),
    "cooperative": N_("a cooperative launch of {blocks} blocks; at most {limit} can be resident at once"),
    "no_blocks": N_("the grid has no blocks"),
    "shared_bytes": N_("{bytes} bytes of shared memory per block, at most {limit} are allowed"),
}
