"""What is said of predicted times: the times themselves, why there are none, where they go and what is to be had."""

from __future__ import annotations

from grader.words import N_, Texts

PREDICT: Texts = {
    "for": N_("Predicted for {device} at {sizes}, not measured."),
    "for_beside": N_("Predicted for {device} at {sizes}, beside what was measured on {gpu}."),
    "ratio": N_("{times} as fast as {what} ({low} to {high})"),
    "slower": N_("{times} slower than {what} ({low} to {high})"),
    "ratio_unsure": N_("speed over that of {what}: {ratio} ({low} to {high}), which of them is faster is not certain"),
    "unmeasured": N_("No predicted time was ever compared with a measured one on {device}."),
    "unknown_device": N_("no device {name}; allowed: {allowed}"),
    "device_file": N_("{file}: cannot be read as a GPU's file: {why}"),
    "device_lacks": N_("{file}: {what} is missing"),
    "size": N_("--size {given}: allowed: {allowed}, whole numbers from 1 on"),
    "no_kernel": N_("nothing to predict: no kernel in {path} was found for a variant of the lab {lab}"),
    "sizes": N_("the kernel is not for these sizes"),
    "not_compiled": N_("does not compile: {error}"),
    "does_not_fit": N_("a block takes more registers or shared memory than {device} has"),
    "grid_limit": N_("not predicted: no device launches a grid of {blocks} blocks along {axis}, {most} are the most"),
    "cut_off": N_("not predicted: the parameter that is handed {value} is of a type that cannot hold it"),
    "data_decide": N_("not predicted: values in the arrays decide which addresses it goes to or what it executes"),
    "local_memory": N_(
        "not predicted: an array of its threads lies in local memory, whose way through the caches is not followed"
    ),
    "too_large": N_("not predicted: its arrays take more than {most} GiB"),
    "host_decides": N_("not predicted: without results its host code makes other launches"),
    "not_traced": N_("not predicted: without results its host code does not come to its end at that size"),
    "refused": N_("not predicted: at that size the launch in line {line} is refused"),
    "library": N_("not predicted: a library does part of it"),
    "struct": N_("not predicted: {kernel} is handed a struct that holds pointers"),
    "many_launches": N_("not predicted: it makes more than {most} launches that differ"),
    "too_many_launches": N_("not predicted: it makes {most} launches or more"),
    "no_launch": N_("not predicted: it has the device do nothing"),
    "not_followed": N_("not predicted: a block stops, waits for others or takes more than {most} instructions"),
}
UNITS: Texts = {
    "issue": N_("instructions issued"),
    "arithmetic": N_("arithmetic"),
    "shared": N_("shared memory"),
    "l1": N_("L1 cache"),
    "l2": N_("L2 cache"),
    "dram": N_("memory bandwidth"),
    "atomics": N_("atomics"),
    "barriers": N_("barriers"),
    "block_starts": N_("starts of blocks"),
    "latency": N_("latency"),
    "tail": N_("last blocks"),
    "launch": N_("launch"),
}
"""What time goes to, in a word or two."""
LIMITS: Texts = {
    "issue": N_("The largest part of the time goes to issuing instructions."),
    "arithmetic": N_("The largest part of the time goes to arithmetic."),
    "shared": N_("The largest part of the time goes to accesses to shared memory."),
    "l1": N_("The largest part of the time goes to the L1 cache, which looks up what warps ask for."),
    "l2": N_(
        "The largest part of the time goes to the L2 cache: sectors that are loaded past L1, and all that is stored."
    ),
    "dram": N_("The largest part of the time goes to the bandwidth of the memory: bytes that no cache holds."),
    "atomics": N_("The largest part of the time goes to atomics that wait for each other at the same addresses."),
    "barriers": N_("The largest part of the time goes to barriers."),
    "block_starts": N_("The largest part of the time goes to starting blocks: each of them does little."),
    "latency": N_(
        "The largest part of the time goes by while warps wait for their own results and loads, and too few others "
        "hide it."
    ),
    "tail": N_("The largest part of the time goes by while multiprocessors stand idle until the last blocks end."),
    "launch": N_("The launch itself takes longest: there is little work at this size."),
}
"""The same as what limits a kernel, a sentence each."""
CAUSES: Texts = {
    "bank_conflicts": N_("Bank conflicts take {share} of the predicted time: without them {times} as fast."),
    "uncoalesced": N_(
        "Accesses to global memory that are not coalesced take {share} of the predicted time: with neighbouring "
        "threads at neighbouring addresses {times} as fast."
    ),
    "same_address": N_(
        "Atomics of a warp at one address take {share} of the predicted time: without them {times} as fast."
    ),
}
"""What costs time and need not be there."""

AREAS: dict[str, Texts] = {
    "predict": PREDICT,
    "predict.units": UNITS,
    "predict.limits": LIMITS,
    "predict.causes": CAUSES,
}
"""Texts by the first parts of their ids."""
