"""What is said of what may be had beside marks: predicted times and what takes them; statements that were left out, and
what was mixed up, as repairs put them right; of how programs end, and what their host code does to results; what they
say of their own, and what runs of them did not come to.
"""

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
    "other_block": N_("not predicted: at its largest size the program launches other blocks, of {threads} threads"),
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

CLOCKS: Texts = {
    "clock_before_end": N_(
        "After this launch a clock is read while {kernel} may still run: call cudaDeviceSynchronize() before that."
    ),
    "clock_read_early": N_(
        "The clock is read here while {kernel} may still run: call cudaDeviceSynchronize() before this line."
    ),
    "clock_read_before_wait": N_(
        "The clock is read here while {kernel} may still run: {call}() comes only after it. Read the clock behind that."
    ),
}
"""Clocks of the host that are read too early."""

MIXUPS: Texts = {
    "index_quotients": N_("Division and remainder are in each other's place in line {line}."),
    "index_exchanged_next": N_("Two names in line {line} and in the next one are in each other's place."),
    "index_pointer_step": N_("The pointer in line {line} advances by the wrong number of elements."),
    "index_into_index": N_(
        "In line {line} a number is added to an element where it belongs in the index, or to the index where it "
        "belongs behind the brackets."
    ),
    "guard_as_read": N_("The condition in line {line} tests another index than the one that is read."),
    "guard_other_side": N_(
        "The condition in line {line} tests one side of the border: the other side has to be tested as well."
    ),
    "expression_mask_first": N_(
        "Two arguments of the shuffle in line {line} are in each other's place: the mask comes first."
    ),
    "guard_first_last": N_(
        "The condition in line {line} lets through the first thread instead of the last one, or the other way round."
    ),
    "guard_goes_on": N_(
        "What the branch in line {line} stores is overwritten by the statements after it: they belong in an else."
    ),
    "expression_step_left_out": N_(
        "A step is missing next to line {line}: the numbers there halve or double from line to line, and one of them "
        "is left out."
    ),
    "expression_store_left_out": N_(
        "A store is missing after line {line}: an element that was read to be worked on is never stored."
    ),
    "expression_toggle_left_out": N_(
        "The two buffers are never exchanged: after line {line} the one that was read has to become the one that is "
        "written."
    ),
    "expression_side_left_out": N_(
        "After line {line} a store is missing: the place of the elements on the other side is computed and never used."
    ),
    "expression_power": N_("A power in line {line} has one factor too few or too many."),
    "expression_turned_difference": N_("The two sides of a difference in line {line} are in each other's place."),
    "expression_coefficients": N_("Two factors in line {line} are in each other's place."),
    "initial_value_anew": N_(
        "Line {line} sets {quoted} to 0 in every pass of the loop, so that what was added before is lost."
    ),
    "initial_value_neutral": N_(
        "Where there are no more elements, line {line} puts in a number that is then compared with the elements: put "
        "in one that comes after, or before, all of them."
    ),
    "host_magnitude": N_("Line {line} compares a difference with its sign: take its magnitude."),
    "initial_value_other_end": N_(
        "Line {line} needs the number at the other end of the range: the most negative one instead of the largest, or "
        "the other way round."
    ),
    "host_freed_other": N_("Line {line} frees the wrong array: another one is never freed."),
    "host_inverted": N_("The condition in line {line} is the wrong way round."),
    "host_fraction": N_("The division in line {line} is one of integers, which drops the fraction."),
}

SYMBOLS: Texts = {
    "symbol_too_short": N_(
        "Of the {size} bytes of {array} only {bytes} are copied, and the rest stays zero; {kernel} reads that as well "
        "(line {kernel_line})."
    ),
    "symbol_of_pointer": N_(
        "sizeof({name}) is the size of a pointer: of the {of} bytes of {array} {bytes} are copied."
    ),
}
"""Copies into constant memory."""

HOST_MEMORY: Texts = {
    "copy_freed_from": N_("The copy reads {array}, host memory that the program has already freed."),
    "copy_freed_to": N_("The copy writes to {array}, host memory that the program has already freed."),
    "host_beyond": N_(
        "The host goes beyond the end of the memory that is allocated in line {at}: it has {bytes} bytes, and byte "
        "{offset}, counted from 0, is accessed here."
    ),
    "host_beyond_somewhere": N_(
        "The memory that is allocated here has {bytes} bytes, and the host goes beyond its end: byte {offset}, counted "
        "from 0, is accessed."
    ),
    "host_freed": N_("The host uses memory here that was freed in line {freed}; it was allocated in line {at}."),
    "host_freed_again": N_(
        "The memory that is freed here was already freed in line {freed}; it was allocated in line {at}."
    ),
}
"""What the host does with memory of its own."""

ENDS: Texts = {
    "double_free": N_("{array} is freed twice."),
    "double_free_of": N_("{array} is freed twice: line {at} has already freed it."),
    "double_free_again": N_("{array} is freed twice: this line is executed more than once."),
    "freed_by_copy": N_(
        "{function} takes a {type} by value: the destructor of that copy frees {array} (line {at}), which the original "
        "still holds. Pass a reference (to a kernel, the pointer), and delete the copy constructor of {type}."
    ),
    "freed_by_copy_before_launch": N_(
        "{function} takes a {type} by value: the destructor of that copy frees {array} (line {at}), which the launch "
        "of {kernel} in line {launch_line} still uses. Pass a reference (to a kernel, the pointer), and delete the "
        "copy constructor of {type}."
    ),
    "gave_up": N_(
        "{call} succeeds here, and yet the program ends right after it, with exit code {code}: is the check of its "
        "result the wrong way round?"
    ),
}


OWN_CHECK: Texts = {
    "forgiven": N_(
        "{file} ends at its first error. What it launches was seen in another run, in which no call reported an error."
    ),
    "own_check": N_(
        "The program's own check says “{line}”, but at {sizes}, where it ran, the kernel is right, and no fault was "
        "seen in its launch and its copies. What is left is which elements of the host's arrays are copied, and how "
        "many, or the check itself."
    ),
    "own_check_by": N_(
        "The program's own check says “{line}”, but at {sizes}, where it ran, the kernel is right, and no fault was "
        "seen in its launch and its copies. What is left is which elements of the host's arrays are copied, and how "
        "many, or the check itself: it compares with what {name}() computes (line {at})."
    ),
    "not_launched": N_(
        "{kernel} is launched in none of the runs that were made of the program, though other kernels are, and each "
        "run came to its end: find out what keeps the program from getting to this line."
    ),
    "signed_smaller": N_(
        "The difference is taken with its sign here, so the program's own check finds no result that is too small: "
        "with all of them made far too small it still called them right. Compare its magnitude, with fabsf() or fabs()."
    ),
    "signed_larger": N_(
        "The difference is taken with its sign here, so the program's own check finds no result that is too large: "
        "with all of them made far too large it still called them right. Compare its magnitude, with fabsf() or fabs()."
    ),
    "not_noticed_smaller": N_(
        "The program's own check does not notice results of this launch that are too small: with all of them made far "
        "too small it still called them right, with all of them far too large it did not. Is it the magnitude of the "
        "difference that it compares?"
    ),
    "not_noticed_larger": N_(
        "The program's own check does not notice results of this launch that are too large: with all of them made far "
        "too large it still called them right, with all of them far too small it did not. Is it the magnitude of the "
        "difference that it compares?"
    ),
    "not_noticed_half": N_(
        "The program's own check looks at a part of this launch's results only: with the second half of what is copied "
        "to the host made wrong it still called them right. How many elements does it compare, and which?"
    ),
    "not_noticed_some": N_(
        "The program's own check does not look at all of this launch's results: with three of them made wrong, amid "
        "the others, it still called them right. Does it compare every element, and each by itself?"
    ),
    "not_noticed_nan": N_(
        "The program's own check takes NaN for right: with NaN in place of all results it still called them right. "
        "Every comparison with NaN is false: write !(difference <= tolerance) for an error."
    ),
    "not_noticed_nan_by_max": N_(
        "The program's own check takes NaN for right: with NaN in place of all results it still called them right. "
        "fmax and std::max pass over NaN where the largest difference is looked for: count the elements with "
        "!(difference <= tolerance) instead."
    ),
    "not_noticed_all": N_(
        "The program's own check does not look at this launch's results: with all that is copied to the host made "
        "wrong it still called them right. Which arrays does it compare?"
    ),
    "not_noticed_alone": N_(
        "The program's own check does not look at the results of {kernel}: with these made wrong and those of other "
        "kernels left right it still called them right, with those of all kernels made wrong it did not. Whose results "
        "does it compare?"
    ),
    "hint_own_check": N_(
        "Work out one element by hand: which of the two has it, the kernel's array or the host's? If both do, the "
        "tolerance is too narrow for the rounding of sums, or the comparison takes other elements."
    ),
}


AREAS: dict[str, Texts] = {
    "predict": PREDICT,
    "predict.units": UNITS,
    "predict.limits": LIMITS,
    "predict.causes": CAUSES,
}
"""Texts by the first parts of their ids."""

OF_HOST: Texts = {
    "own_check_in": N_(
        "The program's own check says “{line}”, but at {sizes}, where it ran, the kernel is right, and no fault was "
        "seen in its launch and its copies. What is left is which elements of the host's arrays are copied, and how "
        "many, or the check itself: does it compare the right elements in line {at}?"
    ),
    "zeros_copied": N_(
        "Nothing but zeros is copied to {array} here, and the kernel only reads it: look at how the host fills it. A "
        "quotient of integers drops its fraction: 1 / 5 is 0, and so is rand() / RAND_MAX."
    ),
    "zero_quotient": N_(
        "{code} is a quotient of integers, whose fraction is dropped: it is 0 for all numbers but the largest. Make "
        "one of the two a float first: (float)rand() / RAND_MAX."
    ),
    "elements_for_bytes": N_(
        "{function}() counts in bytes and is given {amount}, a number of elements: it goes through a part of {array} "
        "only. Give it {amount} * sizeof({type})."
    ),
    "other_type": N_(
        "{host} holds numbers of type {other}, while {kernel} takes {array} for {type}: a copy moves bytes and "
        "converts nothing."
    ),
    "cut_difference": N_(
        "The difference of two floating-point numbers is cut to an integer here, so that the program's own check "
        "notices no error below 1."
    ),
    "compared_with_itself": N_(
        "The program's own check compares {array} with itself here, not with what is expected: with all that is copied "
        "to the host made wrong it still called the results right."
    ),
}
