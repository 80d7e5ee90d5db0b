"""What is said while a submission is graded: of session, launches, runs and sweeps, and remarks that cost nothing."""

from __future__ import annotations

from grader.i18n import _
from grader.words import N_, Plural, Texts, as_handed_in


def with_bounds(what: str, bounds: str) -> str:
    """What was refused, and what is short."""
    return f"{what} ({bounds})"


SESSION: Texts = {
    "later_tests": N_("Tests not run, since students are not to know their results yet: {tests} (see --view)."),
    "repairs": N_("Smallest changes that make kernels right or faster, for the teacher: {folder}"),
    "refused": as_handed_in,
    "with_bounds": with_bounds,
    "out": N_("--out {path}: {reason}"),
    "grading": N_("grading"),
    "reports": N_("reports"),
    "report": N_("Report: {path}"),
    "pdf": N_("PDF:    {path}"),
    "no_pdf": N_("No PDF: Pango is missing; install it with: apt install {packages}"),
    "unwritable": N_("{student}: the report could not be written: {reason}"),
    "deadline": N_("it took longer than {seconds} s"),
    "signal": N_("its process was ended by {signal}"),
    "not_rendered_why": N_("{student}: the report could not be rendered ({reason}); details are in {log}"),
    "not_rendered": N_("{student}: the report could not be rendered; details are in {log}"),
    "failed_why": N_("{student}: {what}: the grader failed ({error}); details are in {log}"),
    "failed": N_("{student}: {what}: the grader failed; details are in {log}"),
    "no_process": N_("no process can be started: {reason}"),
    "memory": N_("it needs more than {n} GiB of memory"),
    "no_graphs": N_("no graphs"),
    "no_changes": N_("no changes of kernels were looked for"),
    "own_archive": N_("{path}: the folder itself; --archive takes those of other years"),
    "empty_archive": N_("{path}: no submissions of {lab} there to compare with"),
    "no_such_path": N_("{path}: no such file or folder"),
    "results_folder": N_("{path}: holds results of the grader, not graded"),
    "link": N_("a link to {other}, which is graded separately"),
    "same_name": N_("{path} has the same name"),
    "groups": N_("{path}: folders of groups, each with its students' folders in it: {groups}"),
    "passed_over": N_("{path}: not graded; to grade it, name it: grade {path} --lab {lab}"),
    "unknown_backend": N_("unknown backend {backend}; allowed: {allowed}"),
    "no_driver": N_("--backend gpu: there is no NVIDIA driver on this machine; see grade doctor"),
    "no_gpu": N_("--backend gpu: {reason}; see grade doctor"),
    "result_unwritable": N_("graded, but the result could not be written: {reason}"),
    "grader_failed_why": N_("the grader failed ({error}); details are in {log}"),
    "grader_failed": N_("the grader failed; details are in {log}"),
    "unchanged": Plural(
        "{n} submission is unchanged since it was graded; --force grades it again",
        "{n} submissions are unchanged since they were graded; --force grades them again",
    ),
    "each_written": Plural("{n} file {path}", "{n} files {path}"),
    "no_library": N_("{path}: not written, the Python library {library} is missing; install the grader again"),
    "checks_added": N_("{lab}: checks were added to the lab file ({added}); grade the group again"),
    "checks_removed": N_("{lab}: checks were removed from the lab file ({removed}); grade the group again"),
    "checks_exchanged": N_(
        "{lab}: checks were added to the lab file ({added}) and removed from it ({removed}); grade the group again"
    ),
    "left_out": N_("{lab} is left out of the tables of all labs: {reason}"),
    "lab_changed": N_("{lab}: the lab file changed in more than points and thresholds; grade the group again"),
    "grade_again": N_(
        "{student}: the stored results do not decide {checks} of {lab}; no grade is changed, grade the group again"
    ),
    "points_pending": N_("pending: {before} → {after}"),
    "rescored": Plural("{n} grade changed", "{n} grades changed"),
    "other_version": N_("the worker has another version of the grader"),
    "no_dask": N_("--cluster needs Dask: pip install 'cuda-lab-grader[cluster]'"),
    "no_cluster": N_("--cluster {address}: {reason}"),
    "no_workers": N_("--cluster {address}: the scheduler has no workers"),
    "no_gpu_workers": N_("--cluster {address}: no worker there has the resource GPU, which --backend gpu needs"),
    "other_workers": N_("--cluster {address}: no worker there has this version of the grader"),
    "other_worker": N_("{worker}: a worker with another version of the grader, not used"),
    "cluster_gone": N_("--cluster {address}: the scheduler is gone; the same command goes on from here"),
    "deserted": N_("--cluster {address}: no workers are left there; the same command goes on from here"),
    "several_models": N_(
        "Timed on different models of GPU, whose times do not compare: {models}; grade on one of them with --force"
    ),
    "no_group": N_("{path}: no results of a group there"),
    "not_yet": N_("not graded: the run was interrupted or is not finished yet"),
    "not_graded": N_("Not graded: {students}"),
    "one_submission": N_("{path}: a folder of several students; name one student's folder or file"),
    "one_result": N_("{path}: there are {n} results; name one"),
    "which_lab": N_("{path}: which lab is this? Name it with --lab; there are {labs}"),
    "grader_slip": N_("the grader failed"),
    "no_results": N_("{path}: no results of the grader there"),
    "no_result": N_("{path}: not a result of schema version {known}: {reason}"),
    "newer_result": N_(
        "{path}: of schema version {found}, and this version of the grader knows {known}; update it, or grade again"
    ),
    "link_out": N_("the student's folder is a link that leads out of the group's folder; it is not graded"),
    "result_not_plain": N_("{path} is no plain file of at most {limit} MB; grade the student again"),
    "result_gone": N_("{path} is not there any more; grade the group again"),
    "not_graded_here": N_("{path}: {lab} was not graded there; there are {known}"),
    "no_roster": N_("{path}: no list of a group: {reason}"),
    "old_result": N_("{student}: graded by an earlier version; its messages stay in the language of that run"),
    "results": N_("Results and reports: {folder}"),
    "no_utf8": N_("not UTF-8 text"),
    "secret_short": N_("{name}: the secret has {got} characters, at least {least} are needed"),
}


DOCTOR: Texts = {
    "system": N_("operating system"),
    "for_system": N_("what is confined, and what runs at all"),
    "container": N_("{system}, in a container"),
    "advice_windows": N_("WSL confines compilers and runs whole programs: see docs/places.md"),
    "advice_macos": N_("NVRTC is not published for macOS; grade in the container: docs/places.md"),
    "old_gpu": N_("{model}, compute capability {capability}: CUDA 13 no longer compiles for it"),
    "advice_old_gpu": N_("kernels are timed on Turing (7.5) and newer; everything else is graded all the same"),
    "unconfined": N_("not on this system: compilers are not confined to their files, nor bounded in memory"),
    "advice_elsewhere": N_("grade in WSL or in the container what you do not trust"),
    "for_python": N_("runs the grader"),
    "for_nvrtc": N_("compiles kernels"),
    "no_headers": N_("{version}; without cuda_fp16.h, cooperative_groups.h and other device headers"),
    "programs": N_("ziglang and wasmtime"),
    "for_programs": N_("run whole programs; without them launches are only read from the text, and grades may differ"),
    "lacks": N_("{package} is not installed"),
    "for_gpu": N_("measures times; without it speedup stays pending"),
    "gpu": N_("GPU and driver"),
    "advice_gpu": N_(
        "NVIDIA driver 580 or later (apt install nvidia-driver-580 on Ubuntu); everything but timing works without it"
    ),
    "advice_gpu_wsl": N_(
        "NVIDIA driver 580 or later, installed in Windows (not in WSL: a Linux driver would take its place); "
        "everything but timing works without it"
    ),
    "advice_gpu_container": N_(
        "start the container with --device nvidia.com/gpu=all; the host needs NVIDIA driver 580 or later and the "
        "NVIDIA container toolkit; everything but timing works without it"
    ),
    "advice_wsl1": N_("WSL 2 can use a GPU and confines compilers: wsl --set-version DISTRIBUTION 2, in PowerShell"),
    "no_gpu": N_("no NVIDIA GPU"),
    "no_driver": N_("no NVIDIA driver"),
    "driver": N_("driver {version}"),
    "sm_clock": N_("SM clock {now} of {most} MHz"),
    "for_pdf": N_("reports as PDF; without it HTML only"),
    "no_subset": N_("{version}; without libharfbuzz-subset PDFs take twice as long"),
    "found": N_("found"),
    "font": N_("font with Cyrillic"),
    "for_font": N_("Russian text in the PDF"),
    "none": N_("none"),
    "none_in": N_("none found in /usr/share/fonts"),
    "for_counters": N_("hardware counters beside the emulator's"),
    "for_memory": N_("memory and race checks on the GPU"),
    "advice_sanitizer": N_("comes with the CUDA toolkit"),
    "not_installed": N_("not installed"),
    "for_landlock": N_("keeps the compiler from reading other files"),
    "abi": N_("ABI {version}"),
    "advice_landlock": N_("a Linux kernel 5.13 or later started with lsm=landlock,…"),
    "no_landlock": N_("not in this kernel; #include lines are checked instead"),
}


LAUNCHES: Texts = {
    "illegal_address": N_("On the GPU the kernel accessed an address outside every array and was stopped."),
    "misaligned_address": N_(
        "On the GPU the kernel used a misaligned address (not a multiple of the access width) and was stopped."
    ),
    "launch_failure": N_(
        "On the GPU the kernel was stopped: a trap, a failed assertion or a bad address in shared memory."
    ),
    "repeat_wrong": N_(
        "The first launch gives the right result, but a second one with other data does not. Either the "
        "kernel keeps results of an earlier launch instead of computing them, or the result depends on "
        "the order of threads (a race)."
    ),
    "repeat_unwritten": N_(
        "The first launch gives the right result, but a second one leaves elements of the output unwritten."
    ),
    "repeat_input_changed": N_("The first launch gives the right result, but a second one writes to an input."),
    "repeat_guard": N_("Launched again with other data, the kernel writes outside its arrays."),
    "too_large": N_("Its blocks cover so many elements that the smallest size divisible by them is too large to run."),
    "own_sizes": N_(
        "the kernel can be launched at the program's own sizes alone, as far as is known, and these are too large to "
        "be run here"
    ),
    "hint_too_large": N_(
        "Check the tile: its side is usually 16 or 32. If a block covers fewer elements than the grader "
        "worked out, state it in submission.yaml (tile)."
    ),
    "hint_repeat": N_(
        "A kernel must compute every element from its inputs in every launch, whatever was launched before."
    ),
    "hint_address": N_(
        "Work out by hand how far the indices go at the size given here: none of them may lead outside its array."
    ),
    "hint_misaligned": N_("A float4 or float2 access needs an index that is a multiple of 4 or 2."),
    "hint_shared_index": N_("Look at the indices into shared memory: are they below the declared sizes?"),
    "hint_deadlock": N_("Every thread of the block must reach the barrier: move it out of the if or the loop."),
    "hint_steps": N_(
        "Count what all threads of the launch do together: work that each of them repeats in full is done as many "
        "times as there are threads."
    ),
    "hint_endless": N_("Check the condition of the loop: does every thread change what it tests?"),
    "hint_launch_first": N_("Correct the launch first: a kernel that does not start computes nothing."),
    "hint_pointer_first": N_("Correct the launch first: the kernel cannot reach the address that it is handed."),
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
    "explained": N_("{explanation} This was seen at {sizes}."),
    "deadlock": N_("The kernel never ends: threads wait in line {line} for others that never arrive."),
    "endless": N_("The kernel never ends: the loop in line {line} changes nothing that could end it."),
    "limit": N_("The kernel did not finish in reasonable time; it was stopped in line {line}."),
    "limit_nowhere": N_("The kernel did not finish in reasonable time."),
    "trap": N_("The kernel stopped itself (trap or failed assertion) in line {line}."),
    "grid_sync": N_(
        "The kernel waits for its whole grid in line {line} (grid.sync()), which only a cooperative launch can do."
    ),
    "memory": N_("The variables take more memory than the emulator allows for a kernel; see line {line}."),
    "hint_memory": N_("Make per-thread arrays and arrays in device memory smaller."),
    "impossible": N_("The launch is impossible: {reason}."),
    "failed": N_("The kernel failed: {reason}"),
    "not_compiled_gpu": N_("the program does not compile for this GPU: {error}"),
    "not_compiled_as": N_("the program does not compile as {expression} with {constants}"),
    "process_ended": N_("the GPU process ended without an answer"),
    "no_answer": N_("the GPU no longer responds"),
    "unreadable_ptx": N_("the emulator cannot read what the compiler made: {reason}"),
    "emulator_steps": N_(
        "the emulator ended it after as much as a launch may take; whether it would come to an end is not known"
    ),
    "until_then": N_("What was seen up to then, in line {line}: {what}"),
    "emulator_slow": N_("the emulator did not finish within {seconds:g} s"),
    "emulator_failed": N_("the emulator failed ({kind}: {text})"),
    "own_constants": N_("its own constants"),
    "threads": N_("{threads} threads per block, at most {limit} are allowed"),
    "cooperative": N_("a cooperative launch of {blocks} blocks; at most {limit} can be resident at once"),
    "no_blocks": N_("the grid has no blocks"),
    "elements_wrong": Plural(
        "{n} of {total} elements of {name} is wrong.", "{n} of {total} elements of {name} are wrong."
    ),
    "null_pointer": N_("The launch of {kernel} ends with an illegal address, and nothing runs after it: {what}"),
    "second_call": N_("The first call gives the right result, a second one in the same process does not: {what}"),
    "second_call_with": N_(
        "The first call gives the right result, a second one in the same process, with {values}, does not: {what}"
    ),
    "lives_on": Plural("This lives on from the first call: {names}.", "These live on from the first call: {names}."),
    "hint_second_call_with": N_(
        "Either the function is not right for these values, or something lives on from the first call (static and "
        "__device__ variables, memory that is kept) that has to be set anew."
    ),
    "hint_second_call": N_(
        "A second call gets new data. Whatever lives on from call to call (static and __device__ variables, memory "
        "that is kept) must be set anew in each of them."
    ),
    "call_ended": N_("Call {number} of the function did not return: {what}"),
    "hint_call_ended": N_("The program ended inside the function; run it under the same conditions with grade run."),
    "left_early": N_("Call {number} of the function did not return: the program ended in it."),
    "left_before": N_("The function was not called: the program ended before."),
    "hint_left": N_("The function must return to its caller: do not call exit(), and leave nothing to constructors."),
    "freed_array": N_("The function frees {name}, which belongs to its caller."),
    "hint_freed_array": N_("Free only what the function has allocated itself."),
    "by_host": N_("{name} is computed by the host: the inputs are copied to it, and the result from it."),
    "not_of_device": N_(
        "{name} is computed by the host: most of its values, in the order in which they are, were in no array that a "
        "kernel wrote."
    ),
    "hint_by_host": N_("Leave the data on the device and compute every element in a kernel."),
    "undone": N_("{name} is right also when all that the kernels do is undone: the host computes it."),
    "hint_undone": N_("Compute every element in a kernel; what the host makes is for comparison only."),
    "program_ended": N_("The program did not come to its end: {what}"),
    "hint_program_ended": N_("Run the program under the same conditions with grade run."),
    "no_output": N_("The output cannot be read: {what}"),
    "hint_no_output": N_("The task says where the program leaves its results, and in which form."),
    "strayed_before": N_("Host code writes before the beginning of {name}."),
    "strayed_after": N_("Host code writes past the end of {name}."),
    "hint_strayed": N_("Check the indices of host loops and the sizes of copies into this array."),
    "shared_bytes": N_("{bytes} bytes of shared memory per block, at most {limit} are allowed"),
}


RUNS: Texts = {
    "fails_on_gpu": N_("At {sizes} the kernel fails on the GPU: the fault found in it has real consequences."),
    "not_timed": N_("Not measured: speed can only be timed on an NVIDIA GPU."),
    "library_on_host": N_(
        "Not measured: it calls a library that the grader serves on the CPU, and that takes no time of the GPU."
    ),
    "too_much_to_time": N_("Not measured: more launches and copies than the grader can time."),
    "nothing_to_time": N_("Not measured: at this size it has the GPU do nothing."),
    "reference_fails": N_("Not measured: the lab's own solution does not come to its end on the GPU ({what})."),
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


SWEEPS: Texts = {
    "too_long": N_("the kernel takes too long"),
    "not_compiled": N_("it does not compile: {error}"),
    "outside": N_("the kernel accesses memory outside its arrays there"),
    "wrong": N_("the result is wrong there"),
    "file_too_long": N_("its file is too long"),
    "no_kernel": N_("no kernel"),
    "not_run": N_("it was not run"),
    "results_wrong": N_("its results are wrong"),
    "has_halo": N_("its input carries a halo, which those of the sweep do not"),
    "works_outside": N_("it accesses memory outside its arrays"),
    "sizes_written": N_("its sizes are hard-coded"),
    "endless": N_("the kernel never ends"),
    "deadlock": N_("threads wait at a barrier forever"),
    "trap": N_("the kernel stops with an error"),
    "unrecognised": N_("with this value the kernel is no longer recognised"),
    "unrolled_by_hand": N_("unrolled by hand, {count} steps at a time"),
    "no_loop": N_("the kernel has no loop to unroll"),
    "unchangeable": N_("the kernel's text cannot be changed"),
    "size_written": N_("{size} = {value} is hard-coded in the program"),
    "square_only": N_("the kernel takes square arrays only"),
    "multiples_only": N_("the kernel needs multiples of its block"),
    "empty_grid": N_("the grid would be empty"),
    "gpu_memory": N_("{needed:.1f} GiB of GPU memory are needed, {most:.1f} GiB are available"),
    "memory_not_free": N_("not enough GPU memory is free"),
    "throttled": N_("the GPU ran below its usual clock rate"),
    "no_such_memory": N_("the device has no such memory"),
    "refused": N_("the device rejects the launch ({reason})"),
}


def large(what: str) -> str:
    """What is wrong at a size that is tried beside the others."""
    text = _("{what}. This large size is tested in addition and costs no points.")
    return text.format(what=what.rstrip("."))


def _host_code(file: str, line: int, fault: str, lines: str = "") -> str:
    if lines:
        return _("{file}, lines {lines}: {fault}").format(file=file, lines=lines, fault=fault)
    return _("{file}, line {line}: {fault}").format(file=file, line=line, fault=fault)


REMARKS: Texts = {
    "handed_twice": N_(
        "The kernel takes two inputs, {first} and {second}; this task has one, {role}, and the kernel is graded with "
        "it as both."
    ),
    "unset": N_(
        "{variable} is used in line {line} before it has a value. What a variable holds that nothing was assigned to "
        "is undefined; a compiler may even leave out all that is computed from it."
    ),
    "host_code": _host_code,
    "bidi_control": N_("Line {line}: an invisible character changes the order in which the line is displayed."),
    "cell_magic": N_(
        "Line {line} is a notebook's command, left over from the cell that the file was copied from; nvcc stops "
        "there. It was read as a comment."
    ),
    "unknown_lab": N_("submission.yaml, line {line}: there is no lab of that name; these settings were not used."),
    "swapped_launch": N_(
        "Line {line}: by their names the block is handed in as the grid and the grid as the block; the grid comes "
        "first, <<<grid, block>>>."
    ),
    "block_contradicted": N_(
        "Line {line}: the block of this launch differs from the one in submission.yaml; the kernel was "
        "graded with the block from submission.yaml."
    ),
    "block_overruled": N_(
        "Line {line}: submission.yaml says another block than this launch has; the kernel was graded with the block "
        "that the program launched it with."
    ),
    "exited_before_barrier": Plural(
        "Line {line}: {n} thread had left the kernel before this barrier; allowed since compute capability 7.0.",
        "Line {line}: {n} threads had left the kernel before this barrier; allowed since compute capability 7.0.",
    ),
    "returned_in_mask": Plural(
        "Line {line}: {n} lane of the mask had already returned; allowed as long as nothing is read from it.",
        "Line {line}: {n} lanes of the mask had already returned; allowed as long as nothing is read from them.",
    ),
    "exited_before_barrier_in_if": Plural(
        "Line {line}: this barrier is inside the if of line {branch}; {n} thread had left the kernel before it, which "
        "is allowed since compute capability 7.0.",
        "Line {line}: this barrier is inside the if of line {branch}; {n} threads had left the kernel before it, which "
        "is allowed since compute capability 7.0.",
    ),
    "exited_before_barrier_in_loop": N_(
        "Line {line}: this barrier is inside the loop of line {loop}, which begins at the thread's number: where some "
        "threads of a block go through it once more than others, what happens is undefined."
    ),
    "wired_sizes": N_("The kernel works only at {sizes}: the size is a constant in the program. Make it a parameter."),
    "needs_device": N_(
        "Graded for compute capability {device}: the kernel is right from there on; for older devices it is compiled "
        "to different code, which is wrong."
    ),
    "own_sizes": N_(
        "Graded only at {sizes}: this is a constant of the program, and for another value the kernel would have to be "
        "changed elsewhere too."
    ),
    "other_kernel": N_(
        "{kernel} ({file}:{line}) may be this variant as well. It was graded too and earns {points:g} points at most; "
        "the better one counts."
    ),
    "one_thread": N_("{kernel} ({file}:{line}) is launched with a single thread, so the parallel kernel was graded."),
    "large": large,
}

AREAS: dict[str, Texts] = {
    "session": SESSION,
    "doctor": DOCTOR,
    "launches": LAUNCHES,
    "runs": RUNS,
    "sweeps": SWEEPS,
    "remarks": REMARKS,
}
"""Texts by the first parts of their ids."""
