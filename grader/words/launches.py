"""Launches that did not end well: why, what usually causes it, and at which sizes it was seen."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "illegal_address": N_("on the GPU the kernel used an address that belongs to no array, and was stopped."),
    "misaligned_address": N_(
        "on the GPU the kernel used an address that is no multiple of the access's width, and was stopped."
    ),
    "launch_failure": N_(
        "on the GPU the kernel was stopped: a trap, a failed assertion or a bad address in shared memory."
    ),
    "repeat_wrong": N_(
        "launched alone the kernel is right, but launched again on other data it is not. Either it keeps results "
        "of an earlier launch instead of computing, or the order of its threads decides the result (a race)."
    ),
    "repeat_unwritten": N_(
        "launched alone the kernel is right, but launched again it leaves elements of the output unwritten."
    ),
    "repeat_input_changed": N_("launched alone the kernel is right, but launched again it writes into an input."),
    "repeat_guard": N_("launched again on other data, the kernel writes beside its arrays."),
    "too_large": N_(
        "its blocks cover so many elements that the smallest size which is a multiple of them is too large to be run."
    ),
    "hint_too_large": N_(
        "Look at the tile: its side is a number like 16 or 32. Where a block covers less than the grader has read, say "
        "so in submission.yaml (tile)."
    ),
    "hint_repeat": N_(
        "A kernel must compute every element from its inputs in every launch. Look for variables declared "
        "__device__ that remember something, and for a missing __syncthreads()."
    ),
    "hint_address": N_(
        "Compute the largest index by hand, from the last thread of the last block, at the size that is named here."
    ),
    "hint_misaligned": N_("A float4 or float2 access needs an index that is a multiple of 4 or 2."),
    "hint_shared_index": N_("Look at the indices into shared memory: are they below the declared sizes?"),
    "hint_deadlock": N_("A barrier must be reached by every thread of the block: take it out of the if or the loop."),
    "hint_endless": N_("Look at the loop's condition: does every thread change what it tests?"),
    "hint_last_error": N_("Call cudaGetLastError() after every launch to see such errors yourself."),
    "no_size": N_("No size was run."),
    "unsupported": N_("This machine cannot run the kernel: {reason}"),
    "seen_at": N_("{what} Seen at {sizes}."),
    "explained": N_("{explanation} The smallest size that goes wrong: {sizes}."),
    "deadlock": N_("the kernel never ends: threads wait at line {line} for others that never come."),
    "endless": N_("the kernel never ends: the loop at line {line} changes nothing that could end it."),
    "limit": N_("the kernel does not end in reasonable time; it was stopped at line {line}."),
    "trap": N_("the kernel stopped itself (trap or failed assertion) at line {line}."),
    "memory": N_("variables take more memory than the emulator has for a kernel; see line {line}."),
    "hint_memory": N_("Make arrays that every thread has for itself, and arrays in device memory, smaller."),
    "invalid": N_("the inline assembly at line {line} is not PTX: the assembler would refuse it."),
    "hint_invalid": N_("Compile with nvcc: ptxas says what is wrong with the instruction."),
    "impossible": N_("the launch is impossible: {reason}"),
    "failed": N_("the kernel failed: {reason}"),
    "not_compiled_gpu": N_("the program does not compile for this GPU: {error}"),
    "not_compiled_as": N_("the program does not compile as {expression} with {constants}"),
    "process_ended": N_("the GPU process ended without an answer"),
    "no_answer": N_("the GPU does not answer any more"),
    "unreadable_ptx": N_("the emulator cannot read what the compiler made: {reason}"),
    "emulator_slow": N_("the emulator did not finish within {seconds:g} s"),
    "emulator_failed": N_("the emulator failed ({kind}: {text})"),
    "own_constants": N_("its own constants"),
    "threads": N_("{threads} threads a block, at most {limit} are possible"),
    "no_blocks": N_("the grid has no blocks"),
    "shared_bytes": N_("{bytes} bytes of shared memory a block, at most {limit} are possible"),
}
