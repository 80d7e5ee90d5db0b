"""The words of the checks of what was executed, and of what the host asked for: technique, use, work, order; and of
changes that make right kernels faster."""

from __future__ import annotations

from grader.i18n import _, decimal, form_of, language, ngettext
from grader.words import N_, Texts
from grader.words.advice import OF_HOST, OWN_CHECK
from grader.words.programs import changed


def reads(reads: float, allowed: float) -> str:
    """How often an element is read, and how often it need be."""
    shown = float(f"{float(reads):.2g}")
    times = ngettext("{n} time", "{n} times", form_of(shown)).format(n=f"{decimal(shown):g}")
    text = _("Every input element is read from global memory {times}; {allowed} would be enough.")
    return text.format(times=times, allowed=f"{decimal(allowed):g}")


def stopped(line: int = 0) -> str:
    """A program that was not run to its end."""
    if not line:
        return _("The program was stopped before its end; what follows was not looked at.")
    text = _("The program was stopped before its end (line {line}); what follows was not looked at.")
    return text.format(line=line)


def smaller(name: str, before: str, after: str) -> str:
    """A program that came to its end with one of its numbers made smaller alone."""
    text = _("The program was seen to its end only with {after} in place of {before}.")
    return text.format(after=after, before=changed(before, name))


HOST_CODE: Texts = {
    "title": N_("host code"),
    "none": N_("No host code that feeds the kernels was handed in."),
    "function_not_seen": N_("Not judged: {name} was not seen to launch a kernel and return."),
    "function_sound": N_(
        "The function was run: its launches are checked for errors, what they work on is copied and filled correctly."
    ),
    "function_data_sound": N_("The function was run: what its kernels work on is copied and filled correctly."),
    "function_no_fault": N_("The function was run: none of its calls of the runtime was seen to be wrong."),
    "program_no_fault": N_("The program was run: none of its calls of the runtime was seen to be wrong."),
    "program_not_seen": N_("Not judged: the program was not seen to launch a kernel and come to its end."),
    "program_sound": N_(
        "The program was run: its launches are checked for errors, what they work on is copied and filled correctly."
    ),
    "program_data_sound": N_("The program was run: what its kernels work on is copied and filled correctly."),
    "sound": N_(
        "The program was run: launches are checked for errors, copies and times are right, results are compared."
    ),
    "reads_sound": N_("Judging by its text, the host code checks launches for errors and compares results."),
    "data_sound": N_("The program was run: what its kernels work on is copied, filled and freed as it must be."),
    "stopped": stopped,
    "smaller": smaller,
    "partly_data_sound": N_("In what was run, what its kernels work on is copied and filled correctly."),
    "partly_sound": N_("In what was run, no fault was seen in its launches, copies and times."),
    "reads_data_sound": N_("Judging by its text, the host code fills what its kernels read."),
    "unchecked": N_("The program never checks whether the launch of {kernel} failed."),
    "not_compared": N_("The program never compares its results with anything."),
    "fetched_over": N_(
        "The copy stores into {array}, over the results of {other} that were copied there in line {before}: nothing "
        "has read these by then."
    ),
    "not_combined": N_(
        "This memory is called write-combined, and {flag} does not make it that: it is page-locked memory as any "
        "other. Give cudaHostAlloc() the flag cudaHostAllocWriteCombined here."
    ),
    "not_pinned": N_(
        "This memory is called pinned, and cudaHostAllocWriteCombined makes it write-combined, which the host reads "
        "very slowly. Give cudaHostAlloc() the flag cudaHostAllocDefault here."
    ),
    "int_overflow": N_(
        "{code} is computed in int, which ends at 2147483647: with {name} = {value} it would be {amount}. Make the "
        "first factor a double (2.0) for a rate, a size_t for a size or an index."
    ),
    "compared_other": N_("{kernel}'s results are copied into {array} here, which nothing reads: others are compared."),
    "same_array": N_(
        "{kernel} is handed one array, {array}, as {first} and as {second}: it stores over what it reads."
    ),
    "compared_early": N_(
        "The results of {kernel} are copied into {array} only here, but line {read_line} reads that array before: what "
        "is read there is not what the kernel has stored."
    ),
    "never_fetched": N_(
        "What {kernel} stores in {array} here is never copied back: {other}, launched in line {at}, stores its own "
        "results over it."
    ),
    "copied_short": N_(
        "Of the {size} bytes of {array} only {bytes} are copied back to the host: the rest of what {kernel} stores "
        "there never reaches it."
    ),
    "ended_here": N_("The program ends here, before it has fetched what {kernel} has computed."),
    "never_filled": N_("{array} is read by {kernel}, but nothing has been put into it before the launch."),
    "copied_early": N_(
        "{array} is copied back here, before the launch of {kernel} in line {launch_line}: what the kernel stores "
        "there is never copied back."
    ),
    "copied_other": N_(
        "{other} is copied back here; what {kernel}, launched in line {launch_line}, stores is in {array}, which is "
        "never copied back."
    ),
    "filled_late": N_("{array} is filled only here, after the launch in line {launch_line}; it is read by {kernel}."),
    "filled_twice": N_(
        "{other} is filled here a second time, after line {before} and before anything has read it; nothing is ever "
        "copied into {array}, which is read by {kernel}."
    ),
    "filled_alike": N_(
        "{array} is filled here from the same array of the host as {other} in line {before}; both are read by {kernel}."
    ),
    "filled_alike_by": N_(
        "{other} and {array}, which are handed to {kernel}, are both filled here from the same array of the host."
    ),
    "filled_output": N_(
        "The data are copied into {other} here, which is written by {kernel}; nothing is ever copied into {array}, "
        "which it reads."
    ),
    "constant_unset": N_("Nothing is ever copied into {name}: constant memory is zero until it is filled."),
    "freed_otherwise": N_(
        "{array} comes from {made}() in line {at}, and is given back by {call} here: on a machine with a GPU that ends "
        "the program. Free it with {right}()."
    ),
    "overrun": N_(
        "{array} is too small for the launch of {kernel} in line {at}, whose kernel is right: {what} On a GPU this "
        "overwrites or reads what belongs to another array, mostly without an error."
    ),
    "hint_overrun": N_(
        "Compare the size that is allocated with the number of elements that the kernel is told to work on, and with "
        "the sizes of the other arrays."
    ),
    **OWN_CHECK,
    **OF_HOST,
    "hint_unfilled": N_(
        "Copy the data to the device before the launch: with cudaMemcpy() into an array, with cudaMemcpyToSymbol() "
        "into a __device__ or __constant__ variable."
    ),
    "hint_unchecked": N_(
        "A launch returns nothing, and a kernel that never ran leaves the output as it was: call cudaGetLastError() "
        "right after it, and check what cudaDeviceSynchronize() or cudaMemcpy() returns."
    ),
    "hint_symbol": N_("To copy the whole of {name}, copy sizeof({name}) bytes."),
    "hint_set": N_("Compare the number of bytes with what was allocated: which of the two does the array need?"),
    "hint_copy": N_("Check the arguments of the copy, and what it returns."),
    "hint_beyond": N_("Compare the index with the size of the array: which of the two is wrong?"),
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


TECHNIQUE: Texts = {
    "title": N_("technique"),
    "fault": N_("required technique not used"),
    "unused": N_(
        "What is in shared memory does not reach the result: of {sampled} elements traced back, "
        "{through} came through it."
    ),
    "unused_at": N_("At {sizes} the result does not depend on what is in shared memory."),
    "hint_unused": N_("After the barrier take the elements from the tile, not from global memory."),
    "own": N_("Every thread reads from shared memory only what it stored there itself: nothing is shared."),
    "hint_own": N_(
        "A thread can keep a private copy in a register. Let threads use what others have loaded: after "
        "the barrier read the element that the thread needs, whichever thread stored it."
    ),
    "not_unrolled": N_("No inner loop of the kernel is unrolled: each does one step per pass."),
    "hint_unroll": N_(
        "Write {n} or more steps in the body of the inner loop and increase its counter by as many, or "
        "put “#pragma unroll {n}” right before it."
    ),
    "unrolled": N_("The inner loop is unrolled."),
    "uses_shared": N_("The kernel uses shared memory, which this variant must not use."),
    "hint_direct": N_("The other variants are compared with this one: read and write global memory directly."),
    "global_only": N_("Uses global memory only."),
    "left_out": N_("{array} is in shared memory, but the result does not depend on it: the compiler removed it."),
    "hint_left_out": N_("After the barrier take the elements from {array}, not from global memory."),
    "no_shared": N_("The kernel does not use shared memory."),
    "part": N_("Only a part of the data goes through shared memory: {stored} bytes in, {loaded} bytes out."),
    "hint_part": N_("Every element has to be stored in the tile and read from it: {bytes} bytes each way."),
    "reads": reads,
    "hint_reads": N_("Read an element from global memory once, into the tile; after the barrier take it from there."),
    "hint_small_tile": N_(
        "A block computes only {shape} elements here, and every block reads its rows and columns anew. Let a block be "
        "16×16 or 32×32."
    ),
    "passed": N_("All data goes through shared memory."),
    "forwarded": N_(
        "All data goes through {array}, as the code has it; the compiled kernel takes from registers what a thread had "
        "stored there itself."
    ),
}


USES: Texts = {
    "title": N_("what is used"),
    "fault": N_("not what the task allows"),
    "passed": N_("Everything that the task asks for is used, and nothing that it forbids."),
    "lacks": N_("In no run is this used, which the task asks for: {what}."),
    "forbidden": N_("Line {line} uses what the task forbids: {what}."),
    "forbidden_somewhere": N_("This is used, which the task forbids: {what}."),
    "hint_lacks": N_(
        "What counts is what is executed: declarations, and code that no thread reaches or that the compiler leaves "
        "out because nothing depends on it, do not."
    ),
    "hint_forbidden": N_("Look up in the task what it is to be done with instead."),
    "shared_memory": N_("shared memory"),
    "constant_memory": N_("constant memory (__constant__ variables)"),
    "textures": N_("textures or surfaces"),
    "shuffles": N_("warp shuffles"),
    "votes": N_("warp votes"),
    "atomics": N_("atomic operations"),
    "float_atomics": N_("atomic operations on floating-point numbers"),
    "tensor_cores": N_("tensor cores"),
    "several_launches": N_("more than one launch in a call"),
    "streams": N_("streams other than the default one"),
    "library": N_("a library (Thrust, CUB, cuBLAS, cuRAND)"),
}


ATOMICS: Texts = {
    "title": N_("atomic operations"),
    "fault": N_("too many atomic operations"),
    "passed": N_(
        "Atomic operations per element: {of_global:g} on global memory, {of_shared:g} on shared memory; lanes of a "
        "warp at one address: at most {lanes} ({sizes})."
    ),
    "lanes": N_("Lanes of a warp that want the same address at once in line {line}: {limit} ({sizes})."),
    "global": N_("Atomic operations on global memory per element: {limit} ({sizes}). Most are in line {line}."),
    "shared": N_("Atomic operations on shared memory per element: {limit} ({sizes}). Most are in line {line}."),
    "hint": N_(
        "Atomic operations on one address are carried out one after another. Combine first what goes to one address: "
        "within a thread, within a warp by shuffles, within a block in shared memory; or give each warp or block a "
        "copy of its own, and add the copies up at the end."
    ),
}


DIVERGENCE: Texts = {
    "title": N_("divergence"),
    "fault": N_("too many idle lanes"),
    "passed": N_("{pct:g} % of the lanes are idle on average ({sizes})."),
    "few": N_(
        "{pct:g} % of the lanes are idle on average; counting these in, there are {each:g} instructions per element, "
        "and below {below:g} any share may be idle ({sizes})."
    ),
    "share_or_few": N_(
        "{limit}; there is no limit below {below:g} instructions per element, idle lanes included (here {each:g})"
    ),
    "failed": N_(
        "Lanes that are idle on average: {limit} ({sizes}). Most are in line {line}: of 32 lanes {lanes:g} execute it "
        "together."
    ),
    "hint": N_(
        "While some lanes of a warp execute a line, those that took another branch, left the loop earlier or have "
        "returned wait for them. Choose who works so that the 32 threads of a warp go the same way: the first threads "
        "of a block rather than every second one, say."
    ),
}


WORK: Texts = {
    "title": N_("work"),
    "fault": N_("more work than needed"),
    "additions": N_("additions"),
    "instructions": N_("instructions"),
    "each": N_("{what} per element: {each:g}"),
    "growth": N_("from {small} to {large} they grow {got:g} times"),
    "passed": N_("All threads together, {figure} ({sizes})."),
    "passed_growth": N_("All threads together, {figure}; {growth}."),
    "too_much": N_("All threads together, {what} per element: {limit} ({sizes})."),
    "grows": N_(
        "The {what} of all threads grow too fast. How many times as many there are at {large} as at {small}: {limit}."
    ),
    "at_line": N_("{message} Line {line} has {share} % of them."),
    "hint_additions": N_(
        "Count the additions of each step by hand, over all threads: log2(n) steps in which each of n threads adds "
        "make n·log2(n), while steps in which half as many add each time make no more than n in all."
    ),
    "hint_instructions": N_(
        "Count by hand how often the line is executed, over all threads and passes of loops, and how that follows from "
        "the sizes."
    ),
}


LAUNCHES: Texts = {
    "title": N_("launches, memory and copies"),
    "fault": N_("more launches, memory or copies than needed"),
    "passed": N_(
        "One call ({sizes}): launches: {launches}; bytes allocated: {allocated}; bytes copied between host and device: "
        "{copied}; waits: {waits}."
    ),
    "launches": N_("Launches in one call: {limit} ({sizes})."),
    "allocated": N_("Bytes allocated in one call: {limit} ({sizes})."),
    "copied": N_("Bytes copied between host and device in one call: {limit} ({sizes})."),
    "waits": N_("How often the host waits in one call: {limit} ({sizes})."),
    "hint_launches": N_(
        "Every launch takes microseconds, however little it does: let one kernel do more, for more elements or in "
        "several steps within a block."
    ),
    "hint_allocated": N_(
        "Allocating takes long, and memory is scarce: allocate only what has to outlast a kernel; the rest belongs in "
        "registers and shared memory."
    ),
    "hint_copied": N_(
        "The bus between host and device is many times slower than the device's memory: copy each array once, no more "
        "of it than is needed, and leave on the device what the next kernel reads."
    ),
    "hint_waits": N_(
        "What is queued in one stream is carried out in order without the host, and cudaMemcpy() to the host waits by "
        "itself: wait only where the host needs a result."
    ),
}


def figures(kernel: str, device: str, pct: float, blocks: int, threads: int) -> str:
    """How much of a multiprocessor a kernel's blocks fill."""
    text = ngettext(
        "On {device} {n} block of {threads} threads of {kernel} fits on a multiprocessor, {pct} % of its warps",
        "On {device} {n} blocks of {threads} threads of {kernel} fit on a multiprocessor, {pct} % of its warps",
        blocks,
    )
    return text.format(kernel=kernel, device=device, pct=f"{decimal(pct):g}", n=blocks, threads=threads)


OCCUPANCY: Texts = {
    "title": N_("occupancy"),
    "fault": N_("low occupancy"),
    "not_compiled": N_("What the kernel takes on the device is not known."),
    "figures": figures,
    "passed": N_("{figures}."),
    "failed": N_("{figures}: {limit}."),
    "hint_threads": N_(
        "Blocks of {threads} threads do not fill a multiprocessor: beside {blocks} of them there is no room for "
        "another whole one. Choose a block size of which a whole number fills it."
    ),
    "hint_blocks": N_(
        "A multiprocessor holds no more than {blocks} blocks, however small they are. Launch blocks of more threads."
    ),
    "hint_shared": N_(
        "Shared memory is the limit: a block takes {shared_bytes} bytes of it. Use less for each block, or the same "
        "for more threads."
    ),
    "hint_registers": N_(
        "Registers are the limit: a thread takes {registers}. Keep fewer values at a time, in smaller local arrays and "
        "loops that are unrolled less, or bound them by __launch_bounds__()."
    ),
}


OVERLAP: Texts = {
    "title": N_("overlap"),
    "fault": N_("copies and kernels do not overlap"),
    "passed_copies": N_("{pct:g} % of the bytes copied may move while a kernel runs ({sizes})."),
    "passed_kernels": N_("{pct:g} % of the launches may run beside another one ({sizes})."),
    "copies": N_("Share of the bytes copied that may move while a kernel runs: {limit} ({sizes})."),
    "kernels": N_("Share of the launches that may run beside another one: {limit} ({sizes})."),
    "hint_pageable": N_(
        "The copy in line {line} is from or to pageable host memory, which goes through a buffer of the driver's: use "
        "memory of cudaMallocHost() or cudaHostAlloc(), or cudaHostRegister()."
    ),
    "hint_blocking": N_(
        "At the {call}() in line {line} the host waits, so that nothing after it can run beside: use cudaMemcpyAsync() "
        "in a stream."
    ),
    "hint_copies": N_(
        "Divide the arrays into parts, with a stream for each: while one stream computes its part, another copies the "
        "next. Work in one stream never overlaps, nor does work in the default stream with that in streams of "
        "cudaStreamCreate()."
    ),
    "hint_kernels": N_(
        "Launch kernels that do not need each other's results in different streams. Work in one stream never overlaps, "
        "nor does work in the default stream with that in streams of cudaStreamCreate()."
    ),
}


def compared(now: float, allowed: float, at_least: bool, is_share: bool, right: float | None = None) -> str:
    """What was counted, what the lab's own solution has, what is allowed."""
    unit = " %" if is_share else ""
    text = {
        (False, False): _("now {now}, needed at most {allowed}"),
        (False, True): _("now {now}, a right one has {right}, needed at most {allowed}"),
        (True, False): _("now {now}, needed at least {allowed}"),
        (True, True): _("now {now}, a right one has {right}, needed at least {allowed}"),
    }[at_least, right is not None]
    shown = {"now": now, "allowed": allowed, **({} if right is None else {"right": right})}
    # As many digits as bytes have.
    return text.format(**{name: f"{decimal(float(value)):.15g}{unit}" for name, value in shown.items()})


LIMITS: Texts = {"compared": compared}


def differs(element: str, usual: float, other: float, sizes: str, n: int) -> str:
    """One of the elements that differ, with as many digits as tell its values apart."""
    digits = 9 if f"{usual:.9g}" != f"{other:.9g}" else 17
    text = ngettext(
        "The result depends on the order of the blocks and warps: {element} is {usual} in one order and {other} in "
        "another ({sizes}).",
        "The result depends on the order of the blocks and warps: {element} is {usual} in one order and {other} in "
        "another ({sizes}); {n} elements differ.",
        n,
    )
    shown = (f"{decimal(value):.{digits}g}" for value in (usual, other))
    return text.format(element=element, usual=next(shown), other=next(shown), sizes=sizes, n=n)


DETERMINISTIC: Texts = {
    "title": N_("the same result every time"),
    "fault": N_("the result depends on the order of blocks"),
    "not_seen": N_("The result was not seen in other orders of the blocks."),
    "passed": N_("The same bits in {n} orders of the blocks and warps ({sizes})."),
    "differs": differs,
    "hint": N_(
        "CUDA promises no order of blocks and warps. Let each result be made by one thread, or of parts that are put "
        "together in an order that the code itself fixes."
    ),
    "hint_atomics": N_(
        "Floating-point additions round, so their order shows in the result, and the atomic ones in line {line} are "
        "made in whatever order the threads come. Store each block's sum in an element of its own and add these up in "
        "a fixed order: in a second launch, or in the block that finishes last."
    ),
}


def about(en: str, ru: str) -> str:
    """What the lab says of a test that is not passed, in the language in use."""
    return ru if language() == "ru" else en


TESTS: Texts = {
    "title": N_("tests"),
    "named": N_("test “{name}”"),
    "fault_named": N_("test “{name}” not passed"),
    "about": about,
    "passed": N_("Right ({sizes})."),
    "passed_sealed": N_("Right."),
    "wrong": N_("The result is wrong. What this test is made of is not shown."),
    "stopped": N_("It came to no result. What this test is made of is not shown."),
    "unsupported": N_("The grader could not run this test."),
    "later": N_("The result of this test is shown from {when} on."),
    "inapplicable": N_("The program cannot be asked for the sizes of this test."),
}

FASTER: Texts = {
    "padding": N_("{where}: rows of shared arrays an element longer"),
    "axes": N_("{where}: x and y of threads in each other's place"),
    "neighbours": N_("{where}: neighbouring elements for neighbouring threads"),
    "unrolled": N_("{where}: the loop unrolled"),
    "restrict": N_("{where}: pointers declared __restrict__"),
    "elements": N_("{where}: several elements for each thread of a smaller block"),
    "launch": N_("{where}: blocks of another size"),
    "register": N_("{where}: what a loop adds up kept in a variable and stored after the loop"),
    "precision": N_("{where}: float in place of double"),
    "powers": N_("{where}: products and roots in place of powers, or rsqrtf in place of 1 / sqrt"),
    "quotients": N_("{where}: one quotient in place of several with the same divisor"),
    "gain": N_("{variant}: predicted {times} as fast on {device} ({low} to {high})."),
    "unsure": N_(
        "{variant}: predicted {times} as fast on {device}, with an interval of {low} to {high}: only a measurement "
        "tells whether it is faster."
    ),
    "measured": N_(
        "{variant}: {times} as fast, measured on {gpu} ({low} to {high}); predicted {predicted} on {device}."
    ),
    "verified": N_(
        "Each of these changes was compiled and run: every check that was passed before is passed with it. What it "
        "gains was predicted, not measured."
    ),
    "verified_measured": N_(
        "Each of these changes was compiled and run: every check that was passed before is passed with it."
    ),
}
"""Changes that may make a right kernel faster; unsure: the interval of the gain holds 1."""

AREAS: dict[str, Texts] = {
    "checks.host_code": HOST_CODE,
    "checks.tests": TESTS,
    "checks.technique": TECHNIQUE,
    "checks.uses": USES,
    "checks.atomics": ATOMICS,
    "checks.divergence": DIVERGENCE,
    "checks.work": WORK,
    "checks.launches": LAUNCHES,
    "checks.limits": LIMITS,
    "checks.occupancy": OCCUPANCY,
    "checks.overlap": OVERLAP,
    "checks.deterministic": DETERMINISTIC,
    "repairs.faster": FASTER,
}
"""Texts by the first parts of their ids."""
