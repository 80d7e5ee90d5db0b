"""The words of the checks of text and results: title, what was found, how to fix it; first those of any check."""

from __future__ import annotations

from grader.words import N_, Plural, Texts

CHECKS: Texts = {
    "blocked": N_("Not graded: the check “{check}” failed."),
    "not_judged": N_("Not graded: the check “{check}” could not be completed."),
    "not_counted": N_("Memory accesses were not counted."),
    "hint_stage": N_(
        "Load a tile into a __shared__ array, call __syncthreads(), then write the output from the array."
    ),
}


PRESENT: Texts = {
    "title": N_("kernel found"),
    "fault": N_("kernel not found"),
    "fault_unknown_parameter": N_("parameters do not fit the task"),
    "fault_arrays": N_("parameters do not fit the task"),
    "fault_parameters": N_("parameters do not fit the task"),
    "fault_in_place": N_("parameters do not fit the task"),
    "in_place": N_(
        "The kernel {kernel} works in place: it stores its results in {own}, which it reads. In this task they have an "
        "array of their own ({arrays})."
    ),
    "hint_in_place": N_(
        "Take the output as one more array. In place, a thread may store where others have yet to read, which no "
        "barrier of a block prevents between blocks."
    ),
    "fault_rows": N_("parameters do not fit the task"),
    "fault_handle": N_("parameters do not fit the task"),
    "fault_two_inputs": N_("another task"),
    "two_inputs": N_(
        "The program solves another task: it hands the kernel {kernel} two different inputs, {first} and {second}. "
        "This task has one, which is used with itself."
    ),
    "hint_two_inputs": N_("Is this the right file? For this task {first} and {second} are the same array."),
    "fault_rows_and_columns": N_("another task"),
    "rows_and_columns": N_(
        "The kernel {kernel} goes through the rows and columns of an image or a matrix; this task's arrays are "
        "vectors, with one index."
    ),
    "hint_rows_and_columns": N_("Is this the right file? Hand in the kernels that work on a vector."),
    "fault_unequal_lengths": N_("another task"),
    "unequal_lengths": N_(
        "The program hands the kernel {kernel} arrays of different lengths, {first} and {second}; this task's input "
        "and output are of one length."
    ),
    "hint_unequal_lengths": N_("Is this the right file? Hand in the kernels whose output is as long as their input."),
    "fault_place_by_place": N_("another task"),
    "place_by_place": N_(
        "The kernel {kernel} makes each element of the elements in the same place of its inputs. In this task an "
        "element of the result takes others as well."
    ),
    "hint_place_by_place": N_(
        "Is this the right file? Work out by hand which elements of the inputs one element of the result is made of."
    ),
    "fault_unreadable": N_("kernel cannot be read"),
    "fault_declared": N_("kernel without a body"),
    "fault_declared_elsewhere": N_("kernel without a body"),
    "fault_cut_macro": N_("macro cut short"),
    "fault_missing_header": N_("header missing"),
    "fault_commented": N_("kernel commented out"),
    "fault_inactive": N_("kernel not compiled"),
    "fault_no_global": N_("no kernel in the files"),
    "fault_misspelt_global": N_("no kernel in the files"),
    "declared": N_("The kernel {kernel} is only declared ({file}:{line}); its body is in none of the files."),
    "hint_declared": N_("Submit the file with the body of {kernel}, or write it."),
    "declared_elsewhere": N_(
        "The kernel {kernel} is only declared ({file}:{line}); its body may be in {header}, which was not submitted."
    ),
    "hint_declared_elsewhere": N_("Submit {header} too."),
    "cut_macro": N_("The macro that ends in line {line} of {file} is cut short: a brace that it opens is not closed."),
    "hint_cut_macro": N_("End every line of a macro but the last with a backslash, and put nothing after it."),
    "missing_header": N_("The files have no kernel, and {header} ({file}:{line}) was not submitted."),
    "hint_missing_header": N_("Submit {header} too."),
    "commented": N_("The files have no kernel: the one in line {line} of {file} is commented out."),
    "hint_commented": N_("Take the kernel out of the comment."),
    "inactive": N_(
        "The files have no kernel: the one in line {line} of {file} is excluded by an #if, or cannot be read."
    ),
    "unreadable": N_("The kernel in line {start} cannot be read; the compiler says of line {line}: {message}"),
    "hint_unreadable": N_("Until that is fixed no kernel of the file can be found."),
    "hint_inactive": N_("Look at the #if around it, and at the line before it."),
    "misspelt_global": N_("There is no __global__ function: line {line} of {file} has {word}."),
    "hint_misspelt_global": N_(
        "Two underscores stand before and behind: __global__, __device__, __shared__. Text that was copied from a page "
        "or a document may have lost them."
    ),
    "no_global": N_("There is no __global__ function."),
    "hint_no_global": N_("A kernel is a function that begins with __global__ void. Is this the right file?"),
    "fault_empty": N_("empty kernel"),
    "found": N_("Found: kernel {kernel}."),
    "function_found": N_("Found: function {name}."),
    "no_main": N_("The files have no program: main is not defined."),
    "hint_no_main": N_("The task asks for a whole program; hand in the file with its main."),
    "several_mains": N_("The files have several programs: main is defined in {files}."),
    "hint_several_mains": N_("Hand in one program, or name its file in submission.yaml."),
    "no_function": N_("No function {name} is defined."),
    "hint_no_function": N_("The task asks for {signature}; define it with exactly this name and these parameters."),
    "function_is_kernel": N_("{name} in line {line} is a kernel; a host function that launches kernels is asked for."),
    "hint_function_is_kernel": N_("Give the kernel another name and launch it from {signature}."),
    "function_is_no_kernel": N_("{name} in line {line} is no kernel; a kernel is asked for, which the lab launches."),
    "hint_function_is_no_kernel": N_("Define it as {signature}."),
    "function_is_template": N_("{name} in line {line} is a template, so no other file can call it."),
    "hint_function_is_template": N_("Define it as {signature}; it may call a template."),
    "function_in_namespace": N_(
        "{name} in line {line} is inside the namespace {namespace}, so it has another full name."
    ),
    "hint_function_in_namespace": N_("Define {signature} outside of every namespace."),
    "function_hidden": N_("{name} in line {line} is declared {word}, so no other file can call it."),
    "hint_function_hidden": N_("Define it without {word}: {signature}."),
    "function_count": N_("{name} in line {line} has {got} parameters instead of {expected}."),
    "hint_function_count": N_("The task asks for {signature}."),
    "function_parameter": N_(
        "Parameter {number} of {name} in line {line}, {parameter}, is of type {got} instead of {expected}."
    ),
    "hint_function_parameter": N_("The task asks for {signature}."),
    "function_returns": N_("{name} in line {line} returns {got} instead of {returns}."),
    "hint_function_returns": N_("The task asks for {signature}."),
    "no_candidate": N_("No kernel for this variant was found."),
    "kernels_are": N_("The file has: {kernels}."),
    "launched_twice": N_("Lines {lines} all launch {kernel}: none of them is of this variant."),
    "hint_name": N_(
        "Write it. If it is there, give it a name that says which variant it is, or name it in submission.yaml: labs: "
        "{{{lab}: {{variants: {{{variant}: name_of_the_kernel}}}}}}"
    ),
    "hint_launched_twice": N_(
        "If one of these lines is meant for it, launch its kernel there, or the template with the argument that makes "
        "it this variant. If it is among the others, name it in submission.yaml: labs: "
        "{{{lab}: {{variants: {{{variant}: name_of_the_kernel}}}}}}"
    ),
    "unknown_parameter": N_("The kernel {kernel} has a parameter {type} {parameter}, which is not in this task."),
    "arrays": Plural(
        "The kernel {kernel} takes {got} array ({own}); this task has {expected} ({arrays}).",
        "The kernel {kernel} takes {got} arrays ({own}); this task has {expected} ({arrays}).",
        by="got",
    ),
    "hint_arrays": N_(
        "Is this the right file? A kernel that works on other arrays solves another task; one of this task takes "
        "{parameters}, and may omit the sizes."
    ),
    "rows": N_(
        "The kernel {kernel} takes {type} {parameter}, an array of pointers to rows; this task's arrays are plain "
        "ones, an element after the other."
    ),
    "hint_rows": N_(
        "Take a plain pointer and compute the index: a[row * n + column]. An array of row pointers costs another read "
        "for each element, and its rows have to be allocated and copied one by one: a pointer that malloc returned "
        "means nothing on the device."
    ),
    "handle": N_(
        "The kernel {kernel} takes {type} {parameter}, a pointer to a struct that holds the array's address: such a "
        "kernel cannot be called from outside of its program."
    ),
    "hint_handle": N_(
        "Hand the struct over by value, without the asterisk, or the pointer and the sizes by themselves: each thread "
        "then has them at hand and need not read them from global memory first."
    ),
    "parameters": N_("The parameters of the kernel {kernel} do not fit this task."),
    "hint_parameters": N_(
        "A kernel of this task takes {parameters}; the sizes may be omitted. If your parameters are in "
        "an unusual order, state it in submission.yaml."
    ),
    "empty": N_("The kernel {kernel} has an empty body."),
    "fault_all_empty": N_("parameters do not fit the task"),
    "all_empty": N_(
        "No kernel of the file has a body ({kernels}), and none takes the arrays and numbers of this task "
        "({parameters})."
    ),
    "hint_all_empty": N_("Is this the right file? A kernel of this task takes {parameters}; the sizes may be omitted."),
    "hint_empty": N_("Write the body of the kernel: the starter file only gives its name."),
}


COMPILES: Texts = {
    "title": N_("compiles"),
    "fault": N_("does not compile"),
    "fault_missing_entry": N_("kernel missing from the compiled program"),
    "passed": N_("Compiled without errors."),
    "timeout": N_("Compilation was stopped: it took too long."),
    "crashed": N_("Compilation was stopped: the compiler ran out of memory."),
    "missing_entry": N_("The file compiles, but the kernel {kernel} is not in the result."),
    "hint_missing_entry": N_("Look for an #if that removes it, or for a template that nothing instantiates."),
    "hint_endless": N_("Look for a macro or a template that expands without end, or a very large initialised array."),
    "refused": N_("The compiler rejected the file without saying why."),
    "hint_command_line": N_(
        "{name} is expected from the compiler's command line (-D{name}=…), which is not handed in with the "
        "file: replace #error by a definition of it."
    ),
    "hint_refused": N_("Compile it with nvcc to see the reason."),
    "elsewhere": N_("{file}, line {line}: {message}"),
    "inside": N_("In this kernel, line {line}: {message}"),
    "more": Plural("(and {n} more error)", "(and {n} more errors)"),
    "hint_first": N_(
        "A compiler error stops the whole program: none of its kernels can run. Fix the first error first."
    ),
    "missing_header": N_("The header {header}, included in line {n} of {file}, was not submitted: {message}"),
    "needs_header": N_(
        "The kernel {kernel} cannot be compiled: the header {header}, included in line {n} of {file}, was not "
        "submitted."
    ),
    "hint_missing_headers": N_("The file includes {headers}, which was not submitted: put it next to the file."),
    "hint_elsewhere": N_("The error is outside this kernel, but in the same program."),
}


LAUNCH: Texts = {
    "title": N_("launch configuration"),
    "fault": N_("wrong launch"),
    "no_launch": N_("No launch of this kernel could be read from the host code."),
    "function_launches_none": N_("{name} launches no kernel."),
    "hint_function_launches": N_("The work is to be done on the device: launch a kernel from the function."),
    "function_not_seen": N_("Not judged: {name} was not seen to return, so its launches are not all known."),
    "function_passed": Plural(
        "At the observed size a call of {name} makes {n} launch; none is refused at any size.",
        "At the observed size a call of {name} makes {n} launches; none is refused at any size.",
    ),
    "program_launches_none": N_("The program launches no kernel."),
    "hint_program_launches": N_("The work is to be done on the device, by kernels."),
    "program_not_seen": N_(
        "Not judged: the program was not seen to come to its end, so its launches are not all known."
    ),
    "program_passed": Plural(
        "At the observed size the program makes {n} launch; none is refused at any size.",
        "At the observed size the program makes {n} launches; none is refused at any size.",
    ),
    "impossible_side": N_(
        "A block of {shape} threads is impossible: its sides must be at least 1 and at most {limit}."
    ),
    "shared_bytes": Plural(
        "The launch asks for {n} byte of dynamic shared memory; {limit} are allowed.",
        "The launch asks for {n} bytes of dynamic shared memory; {limit} are allowed.",
    ),
    "shared_bytes_at": N_(
        "At {sizes} the launch asks for {n} bytes of dynamic shared memory; {limit} are allowed. It fails there."
    ),
    "hint_fewer_threads": N_("Use a smaller block at such sizes."),
    "hint_fewer_or_opt_in": N_(
        "Use a smaller block at such sizes, or raise the limit: cudaFuncSetAttribute(kernel, "
        "cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)."
    ),
    "hint_shared_bytes": N_("Use a smaller tile, or raise the limit with cudaFuncSetAttribute."),
    "impossible_grid": N_(
        "The launch has a grid of {grid} blocks: along {axis} {size}, where 1 to {limit} are allowed."
    ),
    "one_thread": N_("The kernel is launched with one block of one thread, which does all the work alone."),
    "hint_one_thread": N_(
        "Give each thread an element of its own, by blockIdx, blockDim and threadIdx, and launch as many threads as "
        "there are elements."
    ),
    "ended_before": N_("The program ends because of this, before it launches {kernel}."),
    "never_launched": N_("The program never launches {kernel}."),
    "hint_never_launched": N_(
        "Nothing that the program prints or measures comes of this kernel. Launch it, and check its result."
    ),
    "launched_instead": N_(
        "The program never launches {kernel}: line {line} launches {other}, which line {before} launches, too."
    ),
    "hint_launched_instead": N_(
        "Line {line} stands where {kernel} is expected. Launch it there, with the block and the shared memory that it "
        "is written for; what comes of that line now is the work of {other}."
    ),
    "swapped": N_(
        "The launch of {kernel} has {grid} as its grid and {block} as its block: {block} is a number of blocks, so "
        "that these two are in each other's place."
    ),
    "hint_swapped": N_(
        "Exchange the two: the grid comes first, <<<grid, block>>>. The kernel itself was graded with both in their "
        "places."
    ),
    "exchanged": N_(
        "The launch of {kernel} has {first_given} for {first} and {second_given} for {second}: these two are in each "
        "other's place."
    ),
    "exchanged_fields": N_(
        "Of {variable}, which the launches hand over, {first} is {first_given} and {second} is {second_given} in line "
        "{line}: these two are in each other's place."
    ),
    "hint_exchanged_fields": N_("Swap the two in line {line}. The kernels were graded with both in their places."),
    "instance": N_("{kernel} is launched here on arrays for {size} = {value}, while it works on {size} = {got}."),
    "places": N_(
        "{kernel} is handed {first} from element {first_at} on and {second} from element {second_at} on; both have the "
        "same shape, so that what belongs together begins at the same element of both."
    ),
    "hint_exchanged": N_("Exchange the two arguments. The kernel itself was graded with both in their places."),
    "own_check": N_("The program's own check shows it: “{line}”."),
    "short_of_bytes": N_(
        "At {sizes} the launch gives the array {array} in shared memory {bytes} bytes, fewer than the kernel uses."
    ),
    "hint_of_program": N_("The kernel itself was graded as if it were launched rightly."),
    "passed": Plural("A block of {shape} threads ({n} thread).", "A block of {shape} threads ({n} threads)."),
    "too_large": N_(
        "The program launches {shape} = {threads} threads per block; the limit is {limit}. The launch "
        "fails, so this kernel never runs."
    ),
    "failed_time": N_("Any time that the program prints for it is the time of a failed launch."),
    "hint_too_large": N_(
        "The limit is on all threads of a block together: {shape} is {threads} threads, {allowed} is "
        "{n}. Use a block of {allowed} threads and divide the grid by the same numbers."
    ),
    "hint_other_block": N_(
        "It was run with blocks of {block} threads, since {asked} are impossible: if the kernel counts on {asked}, it "
        "may be wrong for that reason alone. Fix the launch first."
    ),
    "hint_graded_with": N_("The kernel is graded with the lab's block instead."),
    "hint_never_ran": N_("Call cudaGetLastError() after every launch: it would have reported the error."),
}


CORRECT: Texts = {
    "title": N_("correct result"),
    "fault": N_("wrong result"),
    "fault_endless": N_("kernel never ends"),
    "fault_deadlock": N_("kernel never ends"),
    "fault_limit": N_("kernel does not finish"),
    "fault_impossible": N_("impossible launch"),
    "fault_illegal_address": N_("invalid memory access"),
    "fault_trap": N_("kernel stops with an error"),
    "fault_other_task": N_("another task"),
    "other_task": N_(
        "The program solves another task: the kernel reads {array}, which the host fills with {values} (line {line}), "
        "and this task has no such input."
    ),
    "not_filled": N_(
        "Not judged: the kernel reads {array} (line {line}), which the host code fills; the program was not run, so "
        "that nothing did. This task has no such input."
    ),
    "hint_other_task": N_("Is this the right file? A kernel of this task works on {inputs} alone."),
    "own_says": N_("The program's own check says: “{line}”."),
    "own_wrong": N_(
        "The program's own check says “{line}”, but at {sizes}, where it ran, the kernel is right. What is wrong lies "
        "outside of it: in what its launch hands over (which array, from which element), in the copies to the device "
        "and back (how much, from where, when), or in the check itself (its reference, its tolerance, the arrays that "
        "it compares)."
    ),
    "own_sees": N_("The program's own check sees it at {sizes}, too: “{line}”."),
    "own_right": N_("The program's own check says “{line}”: it ran at {sizes}, and there the kernel is indeed right."),
    "own_exchanged": N_(
        "The program's own check says “{line}”. At {sizes}, where it ran, the kernel is right with the two matrices in "
        "each other's place: a product that reads its matrices by columns is right so. The lab's lie row by row."
    ),
    "own_misses": N_(
        "The program's own check says “{line}”, but the kernel is wrong at {sizes}, where it ran, as well: the check "
        "does not notice."
    ),
    "passed": Plural("Every element is right at {n} tested size.", "Every element is right at {n} tested sizes."),
    "luck": N_("The result depends on the order in which the threads run. {what}"),
    "hint_columns_made": N_("Only the first {made} columns are computed, as many as the block has threads."),
    "hint_rows_made": N_("Only the first {made} rows are computed, as many as the block has threads."),
    "hint_loop_on": N_(
        "Let every thread take several of them, in a loop whose step is the number of threads: for (int "
        "j = threadIdx.x; j < n; j += blockDim.x)."
    ),
    "hint_start_anew": N_(
        "Every element is written, but not all rightly: look at what a thread keeps from one element to the next that "
        "it takes, as a sum that has to start anew."
    ),
    "smaller_block": Plural(
        "The kernel is right only while the block has a thread for each element. With a block of {n} thread: {what}",
        "The kernel is right only while the block has a thread for each element. With a block of {n} threads: {what}",
    ),
    "hint_smaller_block": N_(
        "A block has at most 1024 threads, so a row or column may have more elements than the block has threads."
    ),
    "hint_drawn": N_(
        "With the lab's own sizes and data the result is right. This case is drawn at random for every "
        "submission: the kernel has to work for any size and any data, so look for what it assumes "
        "about them."
    ),
    "hint_narrow_parameter": N_(
        "The parameter {name} is of type {type}, which cannot hold {value}: the kernel receives {held}. Make it an int."
    ),
    "hint_constants_first": N_("The kernel was run with {name} as the host fills it: correct line {line} first."),
    "hint_uncombined": N_(
        "With one block the result is right, with {blocks} it is wrong: nothing combines the results of the blocks "
        "into one. A second launch or an atomic operation has to do it."
    ),
    "hint_one_block": N_(
        "Line {line} launches {kernel} with one block of {threads} threads, and {name} = {value} there. Where {name} "
        "is no more than the number of threads the result is right, where it is more it is wrong: the block has to "
        "handle the rest as well, in a loop, or there have to be more blocks."
    ),
    "hint_unset_variable": N_(
        "{name} is used in line {line} before it has a value, and what is computed from it is undefined: give it one "
        "where it is declared."
    ),
    "right_at_squares": N_("It is right at squares, wrong at rectangles ({sizes})."),
    "right_at_some": Plural(
        "Of the {total} sizes of this check it is right at {n}: {sizes}.",
        "Of the {total} sizes of this check it is right at {n}, for instance at {sizes}.",
    ),
    "hint_unwritten": N_(
        "Take an element that no thread wrote, work out which thread should write it, and follow that thread: is there "
        "such a thread in the launch, does a condition or a loop turn it away, or does its index lead elsewhere?"
    ),
    "hint_uncopied": N_("Either no thread computes these elements, or no copy brings them back: check both."),
    "hint_few_threads": N_(
        "The result is right only where the block has a thread for each element of a row or column: no thread "
        "computes the rest."
    ),
    "hint_few_load": N_(
        "The result is right only where the block has a thread for each element of a row or column: no thread stores "
        "the rest in {array}."
    ),
    "hint_memory_first": N_("Fix the faulty memory access first: it may be what makes the result wrong."),
    "hint_race_first": N_("Fix the data race first: it may be what makes the result wrong."),
    "hint_by_hand": N_(
        "Follow one element by hand: which thread makes it, what that thread reads for it, and where it stores it."
    ),
    "hint_reads_nothing": N_(
        "This thread stores its result without having read anything for it: find out by hand which loops and "
        "conditions it should pass on the way."
    ),
    "hint_missing": N_(
        "Work out by hand what this thread reads for the element, pass by pass where it has a loop: what is missing is "
        "either never read, or read and then lost."
    ),
    "hint_surplus": N_(
        "Work out by hand what this thread reads for the element, pass by pass where it has a loop: what is not needed "
        "is either read too, or left over from what it computed before."
    ),
    "hint_other_reads": N_(
        "Work out by hand where the indices lead for this thread: other elements are read than the result needs."
    ),
    "hint_indices": N_("Work out by hand where the indices in that line lead for this thread."),
    "hint_follow": N_(
        "Follow one element by hand: which thread reads it, where it stores it, and which thread writes "
        "the result. The value you got instead shows where it was taken from."
    ),
}


RAGGED_SIZES: Texts = {
    "title": N_("sizes not divisible by the tile"),
    "fault": N_("fault at sizes not divisible by the tile"),
    "fault_right_at_smaller": N_("wrong at large sizes"),
    "fault_right_at_larger": N_("wrong at small sizes"),
    "right_at_smaller": N_("It is right at every smaller size tried, also off the tile, for instance at {sizes}."),
    "right_at_larger": N_("It is right at every larger size tried, also off the tile, for instance at {sizes}."),
    "size_is_constant": N_(
        "The size is a constant of the program, {name}, so only multiples of the tile can be required."
    ),
    "takes_no_size": N_("The kernel does not take the size, so only multiples of the tile can be required."),
    "no_sizes": N_("The lab sets no such sizes for this kernel."),
    "one_size": N_(
        "How the program launches this kernel is known at a size of its own alone, so that no other is asked of it."
    ),
    "passed": Plural("Right at {n} size not divisible by the tile.", "Right at {n} sizes not divisible by the tile."),
    "hint_guard": N_(
        "At such a size the last blocks have threads outside the data, and some threads have less to do than others: "
        "no access of theirs may leave its array."
    ),
}


AREAS: dict[str, Texts] = {
    "checks": CHECKS,
    "checks.present": PRESENT,
    "checks.compiles": COMPILES,
    "checks.launch": LAUNCH,
    "checks.correct": CORRECT,
    "checks.ragged_sizes": RAGGED_SIZES,
}
"""Texts by the first parts of their ids."""
