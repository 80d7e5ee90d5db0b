"""The smallest change that makes a kernel right: where the fault is, of what kind, and what was seen with it mended."""

from __future__ import annotations

from grader.i18n import form_of, ngettext
from grader.words import N_, Plural, Texts
from grader.words.advice import MIXUPS
from grader.words.diagnosis import turned_away


def _wavefronts(line: int, before: float, after: float, change: str = "") -> str:
    if change:
        return ngettext(
            "With {change} line {line} takes {after:g} wavefront per request instead of {before:g}.",
            "With {change} line {line} takes {after:g} wavefronts per request instead of {before:g}.",
            form_of(after),
        ).format(change=change, line=line, before=before, after=after)
    return ngettext(
        "With this change line {line} takes {after:g} wavefront per request instead of {before:g}.",
        "With this change line {line} takes {after:g} wavefronts per request instead of {before:g}.",
        form_of(after),
    ).format(line=line, before=before, after=after)


def _sectors(line: int, before: float, after: float) -> str:
    return ngettext(
        "With this change line {line} takes {after:g} sector per request instead of {before:g}.",
        "With this change line {line} takes {after:g} sectors per request instead of {before:g}.",
        form_of(after),
    ).format(line=line, before=before, after=after)


REPAIRS: Texts = {
    "index": N_("An index in line {line} is wrong."),
    "index_limit": N_(
        "Line {line} lets an index reach the size itself: the last element is the one before it, so limit it to the "
        "size minus one."
    ),
    "index_groups": N_(
        "Line {line} takes a number of groups for a number of elements: multiply it by the number of elements in a "
        "group."
    ),
    "index_axes": N_("x and y are swapped in line {line}."),
    "index_axes_next": N_("x and y are swapped in line {line} and in the next one."),
    "index_exchanged": N_("Two indices are in each other's place in the statement in line {line}."),
    "comparison": N_("A comparison in line {line} is wrong."),
    "comparison_overflow": N_(
        "The difference in line {line} overflows where its two values are far apart, and then its sign is wrong: "
        "compare the values instead of subtracting them."
    ),
    "comparison_wrapped": N_(
        "The difference in line {line} is unsigned, so it is never negative: compare the two numbers instead."
    ),
    "guard": N_("The condition in line {line} is wrong."),
    "guard_missing": N_("A condition is missing in line {line}."),
    "guard_missing_around": N_(
        "Conditions are missing in line {line} and after the barrier: threads beyond the data must touch arrays in "
        "neither place."
    ),
    "guard_removed": N_("The condition in line {line} turns away threads that are needed."),
    "guard_else": N_("Line {line} is executed after the condition above it as well: an else is missing."),
    "guard_turned": N_("The condition in line {line} is the wrong way round."),
    "bound_stride": N_(
        "The loop in line {line} starts at the thread's number in the whole grid but goes on by the threads of one "
        "block only, so that several blocks handle the same elements: go on by blockDim.x * gridDim.x."
    ),
    "bound_stride_blocks": N_(
        "The loop in line {line} starts at the thread's number in the whole grid but goes on by the number of blocks "
        "only, so that many threads handle the same elements again: go on by blockDim.x * gridDim.x."
    ),
    "expression_brackets": N_("Parentheses are missing in line {line}: the terms of the sum belong together."),
    "expression_twice": N_("Line {line} repeats the line before it."),
    "expression_turned_values": N_("The two values after the condition in line {line} are in each other's place."),
    "expression_member": N_("Line {line} uses the wrong member of a vector: one of x, y, z and w in place of another."),
    "expression_order": N_(
        "Line {line} uses a value that the statement after it sets: the two are in the wrong order."
    ),
    "expression_order_after": N_(
        "Line {line} overwrites a value that the statement after it still needs: the two are in the wrong order."
    ),
    "guard_one": N_("Every thread executes line {line}, though only one should."),
    "guard_late": N_(
        "Line {line} reads an element before the condition in the statement after it keeps threads from that: the two "
        "are in the wrong order."
    ),
    "expression_all_lanes": N_("The mask in line {line} leaves out lanes that take part: name all 32."),
    "expression_lane": N_(
        "Line {line} needs the thread's number within its warp, threadIdx.x % 32, and takes that within its block."
    ),
    "expression_fraction": N_(
        "The array in line {line} has integers as its elements: what is stored in it loses its fraction."
    ),
    "expression_itself": N_("Line {line} combines a variable with itself, so that the result is 0 every time."),
    "expression_bits": N_(
        "Line {line} compares the bits of floats as whole numbers: these order negative numbers the other way round."
    ),
    "expression_by_distance": N_(
        "In line {line} each lane needs the value of the lane that is further on by the distance: __shfl_down_sync "
        "takes it, while __shfl_xor_sync exchanges the values of two lanes."
    ),
    "expression_by_xor": N_(
        "In line {line} both lanes of a pair need each other's value: __shfl_xor_sync exchanges them, while with "
        "__shfl_down_sync only the lower one gets the other's."
    ),
    "index_other_axis": N_("Line {line} limits an index by the size of the other axis."),
    "index_within_block": N_(
        "Line {line} takes an element's number within the part of its block where its number in the whole array is "
        "meant."
    ),
    "host_pointer": N_("Line {line} takes the size of a pointer, not that of an element."),
    "host_rest": N_(
        "Line {line} divides the elements into equal parts and leaves out what the division leaves over: the last part "
        "has to take it."
    ),
    "host_frees": N_("Line {line} frees memory with a function that does not go with its allocation."),
    "host_twice": N_("Line {line} launches once more what the line before it has launched."),
    "host_parity": N_("The condition in line {line} takes even numbers for odd ones, or odd ones for even ones."),
    "comparison_precedence": N_(
        "In line {line} the comparison comes before &, | or ^: put the bitwise operation in brackets."
    ),
    "host_value": N_("The array is not set to zero in line {line}."),
    "host_swap": N_("The two buffers are not exchanged at the end of the loop, after line {line}."),
    "host_unset_copy": N_(
        "The array allocated in line {line} is never given what the kernel leaves as it is: copy the other buffer into "
        "it first."
    ),
    "guard_clamped": N_(
        "Where there are no more elements, line {line} takes the last one again, and it is counted several times: take "
        "0 there."
    ),
    "guard_warp": N_(
        "The condition in line {line} lets only a part of a warp through, but the shuffle below it names all 32 lanes: "
        "let the whole warp through."
    ),
    "guard_loop": N_(
        "In line {line} each thread handles one element, but there may be more elements than threads in the block: "
        "replace the condition by a loop that advances by the block size."
    ),
    "guard_flattened": N_(
        "The condition in line {line} tests one flattened index: beyond the end of a row it lets in the next row. Row "
        "and column have to be tested each."
    ),
    "guard_break": N_(
        "The break in line {line} ends the loop, but only this iteration is to be left out: use continue."
    ),
    "guard_continues": N_("Remove the condition in line {line} with its continue: what it skips is still needed."),
    "guard_returns": N_("Remove the return in line {line}: the threads that it ends are still needed."),
    "guard_returns_early": N_(
        "The return in line {line} ends threads that are still needed below: let the condition guard the statement "
        "after it alone."
    ),
    "guard_returns_break": N_(
        "The return in line {line} ends threads that are still needed after the loop: use break, which leaves only "
        "the loop."
    ),
    "guard_returns_late": N_(
        "The return in line {line} comes too early: the threads that it ends have to reach the barrier in line "
        "{to_line} first."
    ),
    "guard_returns_around": N_(
        "The return in line {line} comes before the barrier in line {to_line}, which all threads of the block have to "
        "reach: put the condition around what it guards instead."
    ),
    "bound": N_("The start, the end or the step of the loop in line {line} is wrong."),
    "bound_start": N_("The start of the loop in line {line} is wrong."),
    "bound_end": N_("The end of the loop in line {line} is wrong."),
    "bound_step": N_("The step of the loop in line {line} is wrong."),
    "bound_rounded": N_(
        "Line {line} rounds a quotient down: what does not fill a whole part is left out. Round it up."
    ),
    "bound_remainder": N_(
        "Line {line} handles one of the elements that are left over, but there may be several: a loop is needed there."
    ),
    "bound_tail": N_(
        "The loop in line {line} takes several elements at a time and leaves out the last ones where their number is "
        "no multiple of that: a loop for the rest is missing after it."
    ),
    "bound_beyond": N_(
        "The loop in line {line} takes several elements at a time and goes beyond the last one where their number is "
        "no multiple of that: end it before, and handle the rest in a loop after it."
    ),
    "bound_shuffle": N_(
        "The distances of the shuffles in the loop in line {line} do not fit the number of lanes that exchange values: "
        "the largest distance has to be half that number."
    ),
    "barrier": N_("The barrier in line {line} is wrong."),
    "barrier_after": N_("A barrier is missing after line {line}."),
    "barrier_loop_end": N_(
        "A barrier is missing at the end of the loop body, after line {line}: faster threads overwrite in the next "
        "iteration what slower ones are still reading."
    ),
    "barrier_loop_start": N_("A barrier is missing at the start of the loop body, before line {line}."),
    "barrier_loop_both": N_("Two barriers are missing in the loop body: after line {line}, and at its end."),
    "barrier_before_branch": N_("The barrier in line {line} is inside a branch: it belongs before it."),
    "barrier_later": N_("The barrier in line {line} comes too early: it belongs after the statement that follows it."),
    "barrier_too_early": N_(
        "Line {line} reads what other threads store before the barrier that waits for it: it belongs after the barrier "
        "in line {to_line}."
    ),
    "barrier_in_branch": N_("The barrier in line {line} is inside a branch: it belongs after it."),
    "barrier_out_of_loop": N_(
        "The barrier in line {line} is inside a loop that not all threads run equally often: it belongs after the loop."
    ),
    "barrier_removed": N_("The barrier in line {line} must not be there."),
    "barrier_between": N_(
        "Line {line} reads elements that other threads overwrite in the same step: all have to read first, then comes "
        "a barrier, then they store."
    ),
    "barrier_warp": N_(
        "The threads of a warp do not run in step: from line {line} on each step needs __syncwarp() after it."
    ),
    "barrier_stronger": N_("__syncwarp() in line {line} orders one warp only: here the whole block has to wait."),
    "padding": N_("The row length of the shared array declared in line {line} is wrong."),
    "padding_moved": N_(
        "The padding in line {line} makes more rows, not longer ones: the additional element belongs in the last "
        "dimension."
    ),
    "array_size": N_("The shared array declared in line {line} has the wrong size."),
    "initial_value": N_("The initial value set in line {line} is wrong."),
    "initial_value_unset": N_("The loop in line {line} adds to elements that nobody has set: set them to 0 before it."),
    "initial_value_positive": N_(
        "Line {line} starts a maximum from the smallest positive number, which is larger than every negative one. "
        "Start from the most negative number: the largest with a minus sign."
    ),
    "initial_value_zero": N_("In line {line} a maximum starts from 0, which is larger than all negative numbers."),
    "initial_value_stored": N_("Line {line} adds to what is there already: it has to store its value."),
    "initial_value_added": N_("Line {line} replaces what is there already: it has to add to it."),
    "initial_value_else": N_(
        "Where the condition in line {line} fails nothing is stored, and what was there before stays: store 0 there."
    ),
    "initial_value_missing": N_("An initial value is missing in line {line}."),
    "initial_value_goes_on": N_(
        "{quoted} keeps its value from one pass of a loop to the next: set it to 0 before line {line}."
    ),
    "guard_missing_limit": N_("A condition is missing in line {line}: nothing there limits {quoted}."),
    "code": N_("The wrong part there is {quoted}."),
    "code_name": N_("The wrong name there is {quoted}."),
    "code_number": N_("The wrong number there is {quoted}."),
    "code_name_in": N_("The wrong name there is {piece} in {quoted}."),
    "code_number_in": N_("The wrong number there is {piece} in {quoted}."),
    "code_operator_in": N_("The wrong operator there is {piece} in {quoted}."),
    "code_equal": N_("There {quoted} also has to hold where both sides are equal."),
    "code_unequal": N_("There {quoted} must not hold where both sides are equal."),
    "code_exchanged": N_("There two names are in each other's place: {quoted}."),
    "code_lanes": N_("There {quoted} steps over what the 32 lanes of one warp have to do."),
    "expression_unsigned": N_(
        "The variable declared in line {line} is unsigned: it is never negative, and a difference below zero wraps "
        "around."
    ),
    "expression_signed": N_("The bytes in line {line} are read as signed numbers: 128 and above become negative."),
    "expression_integer": N_(
        "The variable declared in line {line} has the type {quoted}: each addition to it drops the fraction."
    ),
    "expression_narrow": N_(
        "The type of the variable declared in line {line} is too small: larger values are truncated."
    ),
    "expression_not_shared": N_(
        "The array declared in line {line} is private to each thread: __shared__ is missing before its type."
    ),
    "expression_lost": N_("One of the sums is missing in what line {line} stores."),
    "expression_atomic": N_(
        "Several threads add to the same element in line {line}, and some of what they add is lost: use atomicAdd()."
    ),
    "expression_chained": N_(
        "Line {line} stores a value in two places, and one of them is still needed as it was: store it in one."
    ),
    "expression_opposite": N_(
        "Line {line} takes the larger of two values where the smaller one is needed, or the other way round."
    ),
    "expression_shuffle_way": N_(
        "The shuffle in line {line} goes the wrong way: __shfl_down_sync brings the value of a lane with a higher "
        "number, __shfl_up_sync that of a lane with a lower one."
    ),
    "expression_wrapped": N_(
        "The difference in line {line} is unsigned: where it should be negative it is a very large number instead."
    ),
    "expression_in_place": N_(
        "Line {line} overwrites elements that later passes of the loop still read: keep the results elsewhere until "
        "all are there."
    ),
    "expression_template": N_("The function called in line {line} is given the wrong template argument."),
    "expression_shuffle_mask": N_(
        "The mask of the shuffle in line {line} names lanes that do not take part in it: only those that the condition "
        "lets in may be in the mask, and be read."
    ),
    "expression_shuffle_width": N_(
        "The width of the shuffle in line {line} is not the number of lanes that exchange values."
    ),
    "expression_cancellation": N_(
        "The difference in line {line} loses digits where its two numbers are nearly equal, since float has only about "
        "7: rearrange the formula, or compute in double."
    ),
    "expression_digits": N_(
        "The sum in line {line} loses digits, since float has only about 7 and each addition rounds: add numbers of "
        "similar size, or compute in double."
    ),
    "expression_division": N_(
        "Line {line} divides one integer by another, and the fraction of the result is lost: one of the two has to be "
        "a floating-point number."
    ),
    "expression_parentheses": N_(
        "The macro defined in line {line} needs parentheses: where it is used, an operator applies to only part of its "
        "value or of one of its arguments."
    ),
    "expression_neighbour": N_("A term is missing in line {line}: the neighbour on the other side."),
    "expression_factor": N_("A factor is missing in line {line}."),
    "expression_unused": N_("Line {line} leaves out a parameter of the function, which is used nowhere."),
    "index_unused": N_(
        "The index in line {line} is wrong: the array of indices that the function is given is used nowhere."
    ),
    "expression": N_("What is computed in line {line} is wrong."),
    "expression_squared": N_("Line {line} multiplies a constant by itself; it is needed once."),
    "expression_shadowed": N_(
        "The variable declared in line {line} hides one of the same name that is declared before it: what the inner "
        "one is given never reaches the outer one."
    ),
    "expression_counted_terms": N_(
        "Line {line} divides by the same number everywhere, but a condition leaves some elements out of the sum: count "
        "those that are added and divide by their number."
    ),
    "expression_stale": N_(
        "Line {line} needs a value that the line above has already overwritten: save the old value in a variable first."
    ),
    "expression_macro": N_("The macro defined in line {line} is wrong."),
    "index_names_next": N_("Line {line} and the next one use the wrong size."),
    "index_tile": N_(
        "In line {line} the tile moves along the wrong axis: rows are taken where columns are meant, or the other way "
        "round."
    ),
    "index_macro": N_("The macro defined in line {line} uses its parameters in the wrong places."),
    "index_macro_name": N_("The macro defined in line {line} uses a wrong name: one size or axis in place of another."),
    "index_threads": N_(
        "In line {line} the axes of the threads are the wrong way round: neighbouring threads, which differ in x, do "
        "not access neighbouring elements."
    ),
    "index_crossed": N_(
        "Line {line} takes rows by x and columns by y: neighbouring threads, which differ in x, then access elements "
        "that lie a row apart. Take columns by x and rows by y, and the grid with them."
    ),
    "index_everything": N_(
        "From line {line} on the axes of the threads are the wrong way round: neighbouring threads, which differ in x, "
        "do not access neighbouring elements."
    ),
    "bound_neighbours": N_(
        "In line {line} each thread takes neighbouring elements: neighbouring threads should take neighbouring "
        "elements, and each thread step by the number of all threads."
    ),
    "constant": N_("The constant set in line {line} has the wrong value."),
    "constant_halved": N_(
        "The loop in line {to_line} halves the number of threads, which leaves one out wherever it is odd: the block "
        "set in line {line} has to be a power of two."
    ),
    "launch_capped": N_(
        "Line {line} limits the number of blocks, and the kernel does not go on beyond them: what they do not cover is "
        "left out."
    ),
    "launch_levels": N_(
        "Line {line} handles no more elements together than one block has threads, and there may be more: do with them "
        "what the function does with its array."
    ),
    "launch_axes": N_("The two axes of the grid are swapped in line {line}."),
    "launch_rounded": N_(
        "Line {line} rounds the number of blocks down: elements that do not fill a whole block are left out."
    ),
    "launch_quotient": N_(
        "Line {line} rounds a quotient down, and the number of blocks is computed from it: what is left over may get "
        "no block. Round it up."
    ),
    "launch_remainder": N_(
        "Line {line} divides by one number and looks at the remainder of another: both have to be the same."
    ),
    "launch_block_axes": N_("The two sides of the block are swapped in line {line}."),
    "launch_block": N_("The block size in line {line} is not the one that the kernel is written for."),
    "launch_flat": N_(
        "The block in line {line} has all of its threads along x, but the kernel numbers them along x and y: "
        "give the block two sides."
    ),
    "launch_size": N_("The block in line {line} has an unfavourable number of threads."),
    "launch_arguments": N_("Two arguments of the launch in line {line} are swapped."),
    "launch_fields": N_("Two values of the struct are swapped in line {line}."),
    "launch_order": N_("The grid and the block are swapped in line {line}: the grid comes first."),
    "launch_bytes": N_(
        "The size of the dynamic shared memory in line {line} is given in elements: it has to be in bytes."
    ),
    "launch_no_bytes": N_("The launch in line {line} gives the kernel no dynamic shared memory."),
    "launch_too_few_bytes": N_(
        "In line {line} the size of the dynamic shared memory is too small for what the block stores there."
    ),
    "launch_shape": N_(
        "With the block of line {line} a warp takes a row of elements whose work differs too much: a narrower block of "
        "as many threads gives it a compact piece."
    ),
    "launch_opt_in": N_(
        "The launch in line {line} needs more dynamic shared memory than a kernel is given by default: call "
        "cudaFuncSetAttribute before it to raise the limit."
    ),
    "launch_opt_in_other": N_(
        "Line {line} raises the limit of dynamic shared memory of another kernel than the one that needs it."
    ),
    "launch_opt_in_less": N_("Line {line} raises the limit of dynamic shared memory by less than the launch asks for."),
    "launch_opt_in_what": N_("Line {line} sets another attribute of the kernel than the limit of its shared memory."),
    "launch_instance": N_("The launch in line {line} uses the wrong template argument."),
    "launch_argument": N_("An argument of the launch in line {line} is wrong."),
    "launch_grid": N_("The launch in line {line} has the wrong number of blocks."),
    "host": N_("The call in line {line} is wrong."),
    "host_stream": N_("Line {line} uses the wrong stream."),
    "host_target": N_("The copy in line {line} goes to the wrong place."),
    "host_source": N_("The copy in line {line} comes from the wrong place."),
    "host_ends": N_("The target and the source of the copy in line {line} are swapped."),
    "host_direction": N_("The copy in line {line} names the wrong direction."),
    "host_directions": N_("Copies in lines {line} to {to_line} name the wrong direction."),
    "host_bytes": N_("The size in line {line} is given in elements: it has to be in bytes."),
    "host_size": N_("The size in line {line} is wrong."),
    "host_pitch": N_("The copy in line {line} is given a pitch that is not the one of its array."),
    "host_earlier": N_("The call in line {line} comes too late: it belongs before line {to_line}."),
    "host_later": N_("The call in line {line} comes too early: it belongs after line {to_line}."),
    "host_extra": N_("The call in line {line} must not be there: {quoted}."),
    "host_freed_early": N_(
        "The call in line {line} comes too early: {quoted} frees memory that is still used. Free it after its last use."
    ),
    "host_given": N_("Line {line} takes another of the program's arguments than the one that is meant."),
    "host_missing": N_("A copy to the device is missing after line {line}."),
    "host_missing_before": N_("A copy to the device is missing before line {line}."),
    "host_wait": N_("Before line {line} the program has to wait for the device."),
    "host_freed": N_(
        "What line {line} frees may be the array of the caller: the pointers were swapped. Free the one that this "
        "function allocated."
    ),
    "host_unset": N_(
        "Before line {line} the array is given no initial value, and the kernel goes on from whatever is in it."
    ),
    "host_reset": N_(
        "The variable declared in line {to_line} lives on from one call to the next: set it back to its first value "
        "before the launch in line {line}."
    ),
    "host_once": N_(
        "The condition in line {line} lets its statements run in the first call only: they are needed in every call."
    ),
    "host_needless": N_("The call in line {line} is not needed."),
    "host_asynchronous": N_(
        "The copies in lines {line} to {to_line} make the host wait: use cudaMemcpyAsync in the stream of the launch."
    ),
    "host_event_wait": N_("Before line {line} the program has to wait for the event that ends the time."),
    "host_events": N_("Line {line} takes the end of the time for its beginning."),
    "host_recorded": N_("The event that begins the time is to be recorded before line {line}."),
    "host_recorded_after": N_("The event that ends the time is to be recorded after line {line}."),
    "host_fetch": N_("A copy of the results to the host is missing after line {line}."),
    "host_break": N_("The case ends in line {line} without a break: what follows for the next case is done as well."),
    "host_kernel": N_("Line {line} launches the wrong kernel."),
    "turned_away": turned_away,
    "turned_away_mended": Plural(
        "The condition in line {line} turns away the thread that should write the {n} unwritten element.",
        "The condition in line {line} turns away the threads that should write the {n} unwritten elements.",
    ),
    "turned_away_wrong": Plural(
        "The condition in line {line} turns away the thread that would write the {n} unwritten element; without the "
        "condition it is written, but with a wrong value.",
        "The condition in line {line} turns away the threads that would write the {n} unwritten elements; without the "
        "condition they are written, but with wrong values.",
    ),
    "other_axes": N_(
        "In the launch in line {line} the grid runs over {x} along x and over {y} along y. With its axes in each "
        "other's place the kernel is right: this was run. Exchange them in the grid, or the sizes that the kernel is "
        "given."
    ),
    "other_blocks": N_(
        "Line {line} launches a grid of {blocks} at {sizes}. With a grid of {more} the kernel is right: this was run. "
        "Either there are too few blocks, or the kernel takes too little with each of them."
    ),
    "other_block_first": N_(
        "In the launch in line {line} the block grows with the size. With the grid and the block in each other's place "
        "the kernel is right: this was run. First comes the grid: <<<grid, block>>>."
    ),
    "guard_protects": N_(
        "It has to be corrected, not removed: without it some threads access memory outside the arrays."
    ),
    "verified": N_("One change there makes the kernel pass every check; it was compiled and run."),
    "either": N_("Change either this or the launch, not both."),
    "verified_together": N_("One change there makes {variants} pass every check; it was compiled and run."),
    "verified_by_own_check": N_(
        "One change there removes this fault, and the program's own check then calls the results right; it was "
        "compiled and run."
    ),
    "verified_by_call": N_("One change there makes every check pass; it was compiled and run."),
    "verified_result": Plural(
        "One change there makes the result right; it was compiled and run. One check then still fails: {checks}.",
        "One change there makes the result right; it was compiled and run. {n} checks then still fail: {checks}.",
    ),
    "verified_by_run": N_("One change there removes this fault; the program was compiled and run."),
    "verified_partly": N_("One change there removes this fault; it was compiled and run."),
    "wavefronts": _wavefronts,
    "sectors": _sectors,
    "instructions": N_("With this change {fewer_pct} % fewer PTX instructions are executed."),
    "accesses": N_("With this change {fewer_pct} % fewer sectors and wavefronts are counted."),
}

AREAS: dict[str, Texts] = {"repairs": {**REPAIRS, **MIXUPS}}
"""Texts by the first parts of their ids."""
