"""The words of the checks of what was counted and measured: memory, races, bank conflicts, coalescing, speed."""

from __future__ import annotations

from grader.i18n import _, decimal, form_of, ngettext
from grader.words import N_, Plural, Texts

FEW_LANES: Texts = {
    "found": N_(
        "Only a few lanes are active in the requests of line {line}: {requests} requests, where full "
        "warps need {needed}."
    ),
    "hint_block": N_(
        "A block of {x}×{y} threads leaves most of its warp idle: a warp has 32 lanes, and a request "
        "costs the same whether one of them is active or all. Launch blocks of at least 32 threads, "
        "ideally a multiple of 32."
    ),
    "hint_turns": N_(
        "A request costs the same whether one lane of a warp is active or all 32. Let all threads of a "
        "warp execute this line together: no loop in which they take turns or which takes more steps for some of "
        "them, no if that picks one thread."
    ),
}


FAULTS: Texts = {
    "uninitialized": N_("{who} reads {array}, byte {offset}, which was never written."),
    "unset_element": N_("{who} reads element {index} {of_array}, which was never written."),
    "different_barriers": N_("{who} waits at this barrier, while others of its block wait at the one in line {line}."),
    "barrier": N_("{who} waits at a barrier that other threads of its block never reach."),
    "no_texture": N_("{who} reads through a texture object that does not exist."),
    "no_surface": N_("{who} uses a surface object that does not exist."),
    "outside_surface": N_("{who} reaches outside the surface (x counts bytes, y rows)."),
    "warp_mask": N_("{who} passes a warp mask with lanes that do not take part."),
    "warp_mask_without_caller": N_("{who} passes a warp mask that leaves its own lane out."),
    "warp_source": N_("{who} takes its value in a shuffle from a lane that does not take part in it."),
    # Seen on a GPU by guard zones, which do not tell who it was.
    "beside": N_("The kernel writes outside {array}: on the GPU, bytes next to it have changed."),
    "frees_foreign": N_("{who} frees a pointer that neither malloc() nor new returned."),
    "frees_twice": N_("{who} frees memory that has been freed already."),
    "uses_freed": N_("{who} uses memory that has been freed."),
    "misaligned": N_(
        "{who} accesses {array} at an address that is not a multiple of {width} bytes, as an access of that width "
        "requires."
    ),
    # Counted in elements, as the program counts: a student can compare that with the index in the line.
    "reads_element": N_("{who} reads element {index} {of_array}, which has elements 0 to {last} ({width} bytes each)."),
    "writes_element": N_(
        "{who} writes element {index} {of_array}, which has elements 0 to {last} ({width} bytes each)."
    ),
    "reads_empty": N_("{who} reads element {index} {of_array}, which has no elements at all."),
    "writes_empty": N_("{who} writes element {index} {of_array}, which has no elements at all."),
    "reads_bytes": N_("{who} reads {distance} {side} of {array} ({size} bytes)."),
    "writes_bytes": N_("{who} writes {distance} {side} of {array} ({size} bytes)."),
    "before_start": N_("before the start"),
    "past_end": N_("past the end"),
    "bytes": Plural("{n} byte", "{n} bytes"),
    "reads_nowhere": N_("{who} reads at an address that belongs to no array."),
    "writes_nowhere": N_("{who} writes at an address that belongs to no array."),
    "reads_null": N_("{who} reads through a null pointer."),
    "writes_null": N_("{who} writes through a null pointer."),
    "reads_null_of": N_("{who} reads through {name}, which is a null pointer."),
    "writes_null_of": N_("{who} writes through {name}, which is a null pointer."),
    "write_write": N_("{who} writes the element {of_array} that {other} writes too (line {other_line})."),
    "read_write": N_(
        "{who} reads the element {of_array} that {other} writes (line {other_line}), with no barrier between them."
    ),
    "write_read": N_(
        "{who} writes the element {of_array} that {other} reads (line {other_line}), with no barrier between them."
    ),
    "reads_copied": N_(
        "{who} reads the element {of_array} that is still being copied: {other} began the asynchronous copy in line "
        "{other_line} and has not waited for it."
    ),
    "writes_copied": N_(
        "{who} writes the element {of_array} that is still being copied: {other} began the asynchronous copy in line "
        "{other_line} and has not waited for it."
    ),
    "reads_own_copy": N_(
        "{who} reads the element {of_array} that it is still copying: it began the asynchronous copy in line "
        "{other_line} and has not waited for it."
    ),
    "writes_own_copy": N_(
        "{who} writes the element {of_array} that it is still copying: it began the asynchronous copy in line "
        "{other_line} and has not waited for it."
    ),
    "late_copy": N_(
        "{who} reads the element {of_array} that {other} has copied asynchronously (line {other_line}), with no "
        "barrier between that thread's wait for the copy and this access."
    ),
    "scope": N_(
        "{who} and {other} access the same element {of_array} (line {other_line}), but one of the two accesses is "
        "atomic only within its own block."
    ),
}


MEMORY_SAFETY: Texts = {
    "title": N_("memory safety"),
    "fault": N_("access outside an array"),
    "fault_uninitialized": N_("read of uninitialised memory"),
    "fault_unset_element": N_("read of uninitialised memory"),
    "fault_misaligned": N_("misaligned access"),
    "passed": N_("Every access is within its array, and nothing is read before it is written."),
    "elsewhere": N_(
        "At sizes that are multiples of the tile every access is within its array, and nothing is read before it is "
        "written; at {sizes} that does not hold: see “{check}”."
    ),
    "more_lines": Plural("({n} more line does the same.)", "({n} more lines do the same.)"),
    "hint_dynamic": N_(
        "At {sizes} the launch gives the array {array} a size of {bytes} bytes. The third argument of "
        "<<<grid, block, bytes>>> counts bytes, not elements: it is the number of elements that the whole block stores "
        "there times the size of one."
    ),
    "hint_dynamic_none": N_(
        "At {sizes} the launch gives the array {array} no memory. The third argument of <<<grid, block, bytes>>> says "
        "how many bytes it gets: the number of elements that the whole block stores there times the size of one."
    ),
    "hint_dynamic_unread": N_(
        "How many bytes {array} gets could not be read in the program, so it was given {bytes}. If it needs more, say "
        "so in submission.yaml: shared_bytes, beside the kernel's name."
    ),
    "hint_dynamic_short": N_(
        "At {sizes} the launch gives the array {array} a size of {bytes} bytes. Work out by hand the largest index "
        "with which a thread of the block uses it there: it has to be below the number of elements that these bytes "
        "hold."
    ),
    "hint_shared_unset": N_(
        "Shared memory holds whatever the previous block left there. Every element that is read must "
        "first be written by some thread of this block, with a barrier between the two."
    ),
    "hint_shared_unwritten": N_(
        "Shared memory holds whatever the previous block left there. Work out by hand which elements the lines above "
        "store, and which this line reads: every one that is read must have been stored by some thread of this block."
    ),
    "hint_unset": N_("Every element that is read must be written first: copied by the host or stored by the kernel."),
    "hint_freed": N_(
        "What one malloc() or new returns is freed once, after its last use; where several threads share it, by one of "
        "them, behind a barrier."
    ),
    "hint_misaligned": N_(
        "A float4 or float2 access needs an index that is a multiple of 4 or 2, and an array aligned the same way."
    ),
    "hint_before": N_(
        "The index is negative there. Compute its smallest value by hand, for the first threads of a block and the "
        "first pass of the loop: it must not be below 0."
    ),
    "hint_shared": N_(
        "Compare the largest value of the index with the declared size: the index that blockDim and the "
        "last pass of the loop lead to must be smaller than it, in each dimension."
    ),
    "hint_null": N_(
        "The launch hands over a pointer that points to nothing: hand over what cudaMalloc gave, and look whether that "
        "call comes first and succeeds."
    ),
    "hint_global": N_(
        "Work out this index by hand for the thread named here: which of the values in it is not what it should be? On "
        "a GPU such an access may go unnoticed, overwrite another array, or stop the program."
    ),
}


RACES: Texts = {
    "title": N_("no data races"),
    "fault": N_("data race"),
    "fault_barrier": N_("barrier not reached by all threads"),
    "fault_different_barriers": N_("barrier not reached by all threads"),
    "fault_ended": N_("barrier not reached by all threads"),
    "fault_ended_around": N_("barrier not reached by all threads"),
    "fault_warp_mask": N_("wrong warp mask"),
    "none": N_("No data races, and every thread reaches every barrier."),
    "elsewhere": N_(
        "At sizes that are multiples of the tile there are no data races and every thread reaches every barrier; at "
        "{sizes} that does not hold: see “{check}”."
    ),
    "hint_barrier": N_(
        "__syncthreads() inside an if or a loop that not every thread of the block enters is undefined behaviour: "
        "every thread of the block has to reach it."
    ),
    "hint_warp_mask": N_("The mask of a _sync function must name exactly the lanes that call it."),
    "hint_warp_source": N_(
        "A shuffle hands over values only of lanes that its mask names and that call it: check the mask (0xffffffff "
        "names all 32) and whether all of these lanes come to this line."
    ),
    "hint_global": N_(
        "Nothing orders the threads of different blocks: let each thread write its own elements. An atomic operation "
        "helps only where they add to one element."
    ),
    "hint_global_read": N_(
        "One thread reads here what another writes in the same launch, and nothing orders the two. Where each element "
        "is one thread's own, two have come to the same one: check the index and the step of the loop. Where several "
        "add to one, use an atomic operation. Where threads need each other's elements, read them from an array that "
        "nobody writes in this launch, or in the next launch."
    ),
    "hint_global_block": N_(
        "Two threads of a block write the same element, and nothing orders them: let each element be written by one "
        "thread. An atomic operation helps only where they add to it."
    ),
    "hint_copy": N_(
        "An asynchronous copy goes on by itself, past every barrier, until the thread that began it waits for it: "
        "__pipeline_commit() and __pipeline_wait_prior(0), cp.async.commit_group and cp.async.wait_group 0, "
        "cg::wait(), or the wait of the cuda::pipeline or cuda::barrier that it was given. Wait first, then "
        "__syncthreads(). A wait for all but the last N groups leaves these on their way, and what was not committed "
        "as well."
    ),
    "hint_scope": N_(
        "An atomic operation of block scope (atomicAdd_block(), cuda::thread_scope_block, .cta) is one only to threads "
        "of its own block: among blocks use device scope (atomicAdd(), cuda::thread_scope_device, .gpu)."
    ),
    "hint_write_write": N_(
        "Two threads write the same element of shared memory, and nothing orders them: on a GPU luck decides which "
        "value stays."
    ),
    "ended": Plural(
        "{n} thread has ended before the barrier in line {line}: the task asks for one that all threads come to.",
        "{n} threads have ended before the barrier in line {line}: the task asks for one that all threads come to.",
    ),
    "ended_around": Plural(
        "The barrier in line {line} stands inside the if of line {branch}, and {n} thread has passed it by: the task "
        "asks for one that all threads come to.",
        "The barrier in line {line} stands inside the if of line {branch}, and {n} threads have passed it by: the task "
        "asks for one that all threads come to.",
    ),
    "hint_ended": N_(
        "Let only the accesses stand under the condition, the barrier outside of it, and return behind it alone. Since "
        "compute capability 7.0 a barrier waits for the threads that have not ended; CUDA's guide still requires that "
        "all of a block reach it."
    ),
    "hint_one_line": N_(
        "Both writes stand in line {line}: work out by hand to which element it leads for {one} and for {other}. Where "
        "they come to the same one in the same pass, no barrier helps: the index has to differ from thread to thread."
    ),
    "hint_within_warp": N_(
        "Nothing orders these two accesses, and since Volta not even the threads of one warp run in step: on a GPU the "
        "result depends on luck. __syncwarp() orders the threads of one warp, __syncthreads() those of the block."
    ),
    "hint_between_warps": N_(
        "Nothing orders these two accesses, and the warps of a block run in any order: on a GPU the result depends on "
        "luck."
    ),
}


def failed(conflict: str, also: str | None, efficiency: str | None) -> str:
    """The worst conflict, other lines with some, the efficiency that it comes to."""
    return conflict + (f", {also}" if also else "") + (f"; {efficiency}" if efficiency else "") + "."


BANK_CONFLICTS: Texts = {
    "title": N_("bank conflicts"),
    "no_shared": N_("The kernel does not use shared memory, so there is no conflict to resolve."),
    "none_used": N_("No kernel uses shared memory, so there are no bank conflicts to judge."),
    "passed": N_("No bank conflicts: {requests} requests in {wavefronts} wavefronts, the fewest possible."),
    "failed": failed,
    "conflict": N_("{ways}-way bank conflict in line {line} (excess wavefronts per request: {excess:g})"),
    "also": Plural("also in line {lines}", "also in lines {lines}"),
    "efficiency": N_("efficiency of shared memory {pct:.2f} %"),
    "hint_lanes": N_(
        "Lanes {lane_a} and {lane_b} of a warp access words {word_a} and {word_b} of shared memory; "
        "both are in bank {bank} (word mod 32), which serves one word at a time."
    ),
    "hint_words": N_("In total {n} different words of that bank are accessed at once."),
    "hint_rows_pad": N_(
        "In a block {width} threads wide a warp spans {rows} rows of threads, so one request touches "
        "{rows} rows of the tile, and padding by one element is not enough to separate them."
    ),
    "hint_rows": N_(
        "In a block {width} threads wide a warp spans {rows} rows of threads, so one request touches "
        "{rows} rows of the tile."
    ),
    "hint_block": N_(
        "Use a block 32 threads wide (32×32, or 32×8 with a loop) and a [32][32 + 1] tile: every warp "
        "then works on one row or one column of it."
    ),
    "hint_column": N_(
        "Rows of {name} are {pitch} words apart, so the elements of a column share banks. Declare it "
        "with one extra column, {name}[{rows}][{pitch} + 1]: a column then spans all 32 banks. The "
        "extra column is never used."
    ),
    "hint_longer": N_(
        "With rows of one element more, {name}[{rows}][{pitch} + 1], these words lie in banks of their own. The extra "
        "column is never used."
    ),
    "hint_odd": N_(
        "Make the distance between the words of neighbouring lanes odd: pad every row of the tile by one element, "
        "and count that element in every index of the tile."
    ),
}


# `coalescing` in words: its title, what it found, how to fix it.


def ideal_figure(sectors: float) -> str:
    """Sectors a request, as few as can be."""
    return f"{sectors:g}"


def hint(sectors: float, ideal: float) -> str:
    """How many sectors a request touches and needs."""
    text = _(
        "Memory is accessed in 32-byte sectors: here one request of a warp touches {touched}, while {ideal} would hold "
        "all its bytes."
    )
    return text.format(touched=_sectors(sectors), ideal=f"{decimal(ideal):g}")


def hint_narrow(sectors: float, ideal: float, width: int, rows: int) -> str:
    """The same of a block so narrow that a warp takes pieces of several rows."""
    text = _(
        "Memory is accessed in 32-byte sectors: here one request of a warp touches {touched}, while {ideal} would hold "
        "all its bytes. In a block {width} threads wide a warp spans {rows} rows of threads, so a request is made of "
        "short pieces of {rows} rows, each of which begins and ends within a sector. Use a block whose width is a "
        "multiple of 32."
    )
    return text.format(touched=_sectors(sectors), ideal=f"{decimal(ideal):g}", width=width, rows=rows)


def hint_narrow_or_strided(sectors: float, ideal: float, width: int) -> str:
    """The same of a block whose rows are as wide as a sector, where counts do not tell why."""
    text = _(
        "Memory is accessed in 32-byte sectors: here one request of a warp touches {touched}, while {ideal} would hold "
        "all its bytes. Two things do that in a block {width} threads wide: an index in which threadIdx.x is "
        "multiplied by the row length, or rows that begin within a sector. In the first case add threadIdx.x to the "
        "index as it is, in the second use a block whose width is a multiple of 32."
    )
    return text.format(touched=_sectors(sectors), ideal=f"{decimal(ideal):g}", width=width)


def _sectors(n: float) -> str:
    return ngettext("{n} sector", "{n} sectors", form_of(round(float(n), 5))).format(n=f"{decimal(n):g}")


COALESCING: Texts = {
    "title": N_("coalescing"),
    "fault": N_("uncoalesced accesses"),
    "figures": N_("{loads} sectors per request for loads, {stores} for stores"),
    "passed": N_("Coalesced: {figures}."),
    "passed_one": N_("Coalesced on one side: {figures}."),
    "failed": N_("Not coalesced: {figures}. Line {line} is the worst."),
    "no_access": N_("no"),
    "ideal_figure": ideal_figure,
    "figure": N_("{sectors:g} (best: {ideal:g})"),
    "hint": hint,
    "hint_narrow": hint_narrow,
    "hint_narrow_or_strided": hint_narrow_or_strided,
    "hint_tile": N_(
        "With a tile both sides can be coalesced: swap the block indices for the output and the thread "
        "indices inside the tile."
    ),
    "hint_neighbours": N_(
        "Threads with neighbouring threadIdx.x should use neighbouring addresses: add threadIdx.x to the index as it "
        "is, not multiplied by the row length."
    ),
    "hint_step": N_(
        "If a thread processes several elements, let it step by the number of threads instead of taking "
        "neighbouring ones."
    ),
}


def timed(figures: str, thresholds: str) -> str:
    """What was measured, and what it is measured by."""
    return f"{figures}. {thresholds}"


def classes(rows: list[str]) -> str:
    """What each class of speeds earns."""
    return _("Of the points: {classes}.").format(classes="; ".join(rows))


SPEEDUP: Texts = {
    "title": N_("speedup"),
    "fault": N_("speedup below the requirement"),
    "hint_wrong": N_("A wrong kernel is not timed. Make the result right first."),
    "figures": N_("At {sizes}: {speedup:.2f} times as fast as the reference kernel ({low:.2f} to {high:.2f})"),
    "figures_of": N_(
        "At {sizes}: {speedup:.2f} times as fast as the reference kernel {variant} ({low:.2f} to {high:.2f})"
    ),
    "figures_own": N_("At {sizes}: {speedup:.2f} times as fast as your own kernel {variant} ({low:.2f} to {high:.2f})"),
    "figures_own_predicted": N_(
        "Predicted for {device} at {sizes}: {speedup:.2f} times as fast as your own kernel {variant} "
        "({low:.2f} to {high:.2f})"
    ),
    "figures_predicted": N_(
        "Predicted for {device} at {sizes}: {speedup:.2f} times as fast as the reference kernel {variant} "
        "({low:.2f} to {high:.2f})"
    ),
    "figures_predicted_unsure": N_(
        "Predicted for {device} at {sizes}: speed over that of the reference kernel {variant}: {speedup:.2f} "
        "({low:.2f} to {high:.2f}), which of them is faster is not certain"
    ),
    "hint_predicted": N_("{figures}. No points hang on the prediction."),
    "timed": timed,
    "thresholds": N_("All points from {full:g} on, the first from {minimum:g}."),
    "time": N_("All points up to {full:g} times the time compared with, none from {none:g} times on."),
    "class_time": N_("{pct:g} % up to {time:g} times the time compared with"),
    "class_speed": N_("{pct:g} % from {speedup:g} times the speed on"),
    "classes": classes,
    "own_untimed": N_("Your own kernel {variant}, which this one is compared with, has no time."),
    "undecided": N_("The measurement is not precise enough to tell whether the threshold is reached."),
    "undecided_predicted": N_("The prediction is not precise enough to tell whether the threshold is reached."),
    "unpredicted": N_("The time was neither measured nor predicted: {reason}."),
    "launch_bound": N_(
        "At every size the kernel takes hardly longer than an empty launch: too little to compare speeds."
    ),
    "not_timed": N_("The time was not measured."),
    "hint_bank_conflicts": N_("Bank conflicts cost time here: {n} more wavefronts than needed. Remove them first."),
    "hint_coalescing": N_(
        "Global memory costs time here: {got:g} sectors per request, {ideal:g} at best. Let "
        "neighbouring threads use neighbouring addresses."
    ),
    "hint_occupancy": N_(
        "Few warps fit on a multiprocessor: {pct:g} % of what it can hold. Use fewer registers, less "
        "shared memory per block, or another block size."
    ),
    "hint_work": N_(
        "The memory accesses cannot be improved. Look at the work per thread: fewer threads with "
        "several elements each are often faster."
    ),
}


def _fixed(axis: str, tile: int) -> str:
    if tile == 1:
        return _(
            "Along {axis} the number of blocks is the same at every size, and a block takes one row, column or "
            "element: launch as many as there are."
        ).format(axis=axis)
    return _(
        "Along {axis} the number of blocks is the same at every size. Compute it from the size, as "
        "(n + {tile} - 1) / {tile}; with more than one axis hand both over in a dim3."
    ).format(axis=axis, tile=tile)


GRIDS: Texts = {
    "left_out": N_(
        "Line {line} launches a grid of {grid} blocks at {sizes}: along {axis} it covers {covered} of "
        "{extent} elements, and the rest are not computed."
    ),
    "empty": N_("Line {line} launches a grid of {grid} blocks at {sizes}: without a block the launch fails."),
    "hint": N_(
        "Round the number of blocks up: (n + {tile} - 1) / {tile}. In C++ the integer division n / "
        "{tile} rounds down, even inside ceil(): there one of the two must be a float first. Surplus "
        "threads need a guard, where there is none yet."
    ),
    "hint_one_thread": N_(
        "The number of blocks along {axis} is right for blocks of {step} threads along {axis}, but these have one: a "
        "side that dim3 is not given is 1. Give the block all of its sides where it is defined: dim3({sides})."
    ),
    "hint_one_element": N_(
        "A block has one thread along {axis}, so that it covers one element there: give the block more threads along "
        "{axis}, or launch as many blocks along it as there are elements."
    ),
    "hint_other_extent": N_(
        "The number of blocks is rounded up, but from another extent: there are {extent} elements along this axis, so "
        "that ({extent} + {tile} - 1) / {tile} blocks are needed."
    ),
    "hint_swapped": N_(
        "The axes of the grid are swapped: the kernel's blocks go along x over {x} and along y over {y}, so the grid "
        "has to be dim3(({x} + {tile} - 1) / {tile}, ({y} + {tile} - 1) / {tile}). With equal sizes that goes "
        "unnoticed."
    ),
    "of_one_size": N_(
        "Line {line} launches a grid of {grid} blocks at {sizes}: both of its axes follow from {size}, and a part of "
        "the elements is not computed."
    ),
    "hint_of_one_size": N_(
        "One axis of the grid has to follow from {other} in place of {size}: the one along which the kernel's index is "
        "compared with it. With equal sizes that goes unnoticed."
    ),
    "hint_block_first": N_(
        "The block stands in the place of the grid: write <<<grid, block>>>, and compute the number of blocks from the "
        "size, rounded up."
    ),
    "hint_fixed": _fixed,
}

AREAS: dict[str, Texts] = {
    "checks.grids": GRIDS,
    "few_lanes": FEW_LANES,
    "faults": FAULTS,
    "checks.memory_safety": MEMORY_SAFETY,
    "checks.races": RACES,
    "checks.bank_conflicts": BANK_CONFLICTS,
    "checks.coalescing": COALESCING,
    "checks.speedup": SPEEDUP,
}
"""Texts by the first parts of their ids."""
