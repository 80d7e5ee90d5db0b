"""What is said of whole programs: their runs, how they were observed for grading, and what compilers want."""

from __future__ import annotations

from grader.i18n import _
from grader.words import N_, Plural, Texts
from grader.words.advice import CLOCKS, ENDS, HOST_MEMORY, SYMBOLS


def changed(before: str, name: str) -> str:
    """A number as it was, and what the program calls it."""
    return f"{before} ({name})" if name not in ("", before) else before


def smaller(name: str, before: str, after: str) -> str:
    """A program that was run again with one of its numbers made smaller."""
    text = _("The program is beyond the limits of this run: this is a run with {after} in place of {before}.")
    return text.format(after=after, before=changed(before, name))


PROGRAMS: Texts = {
    "not_on_this_system": N_("whole programs are run on Linux only (on Windows in WSL, on macOS in the container)"),
    # -- calls of the CUDA API
    "call_failed": N_("{call} fails: {error}."),
    "call_failed_unnoticed": N_("{call} fails ({error}), and the program does not check the error."),
    "launch_unnoticed": N_("The launch of {kernel} fails ({error}), and the program never checks for the error."),
    "launch_refused": N_("The launch of {kernel} is rejected: {why}."),
    "raised_for_another": N_(
        "The limit of shared memory is raised here for {other}, but {kernel} needs {bytes} bytes: its launch in line "
        "{launch_line} is rejected."
    ),
    "raised_too_little": N_(
        "The limit of shared memory of {kernel} is raised here to {limit} bytes, but its launch in line {launch_line} "
        "asks for {bytes}, and is rejected."
    ),
    "raised_carveout": N_(
        "cudaFuncAttributePreferredSharedMemoryCarveout raises no limit: {kernel} needs {bytes} bytes of shared "
        "memory, and its launch in line {launch_line} is rejected. What raises it is "
        "cudaFuncAttributeMaxDynamicSharedMemorySize."
    ),
    "launch_impossible": N_("The launch of {kernel} is impossible: {reason}."),
    "grid_limit": N_("grid.{axis} is {size}; allowed: 1 to {limit}"),
    "block_limit": N_("block.{axis} is {size}; allowed: 1 to {limit}"),
    "thread_limit": N_("a block of {block} has {threads} threads; at most 1024 are allowed"),
    "cooperative_limit": N_("a cooperative launch of {blocks} blocks; at most {limit} can be resident at once"),
    "shared_limit": N_("a block would need {bytes} bytes of shared memory, at most {limit} are allowed"),
    "with_smaller_block": N_("The kernel did not run; with a block of {block} it would fail: {fault}"),
    "trap": N_("{kernel} stops itself (a failed assertion or a trap)."),
    "grid_sync": N_(
        "{kernel} waits for its whole grid (grid.sync()), but is not launched by cudaLaunchCooperativeKernel: it is "
        "aborted."
    ),
    "endless": N_("{kernel} would never end: threads wait for something that cannot happen, or a loop is endless."),
    "too_large": N_(
        "{kernel} is too large to be emulated: the launch is recorded, the kernel was not executed, and what the "
        "program prints of its results means nothing."
    ),
    "check_limit": N_("What comes next is beyond the emulator's limits, which --limit sets."),
    "check_ended": N_("The program does not come to its end there: {why}"),
    "check_differs": N_("From the launch of {kernel} in line {line} on the program does something else there."),
    "launch_limit": N_(
        "{kernel} takes more than {limit} billion thread-instructions: a limit of this run, no fault of the program's, "
        "which ends here. --limit none runs it to its end, --shrink runs it with a smaller size."
    ),
    "launch_steps": N_(
        "{kernel} takes the emulator longer than a launch may: a limit of this run, which ends here. Whether the "
        "kernel would come to an end is not known."
    ),
    "launch_seconds": N_(
        "{kernel} has not ended within {seconds} s of processor time: a limit of this run, no fault of the program's, "
        "which ends here. --limit none runs it to its end, --shrink runs it with a smaller size."
    ),
    "device_memory": N_(
        "The arrays on the device take more than the {limit} MiB that this machine has for them ({array} is the one "
        "that does not fit): the program ends here. --shrink runs it with a smaller size."
    ),
    "kernel_not_emulated": N_("{kernel} cannot be emulated ({reason}): the program ends here."),
    "kernel_keeps_pointer": N_(
        "{kernel} follows a pointer that is stored in managed or mapped memory, which cannot be emulated: the program "
        "ends here."
    ),
    "kernel_waits_for_host": N_(
        "{kernel} repeats a loop here without changing anything. If it waits for what the host writes to {array} "
        "meanwhile, that cannot be emulated: here the host goes on when a launch has ended. The program ends here."
    ),
    "kernel_waits": N_(
        "{kernel} repeats a loop here without changing anything, unless the host writes to {array} meanwhile: the "
        "launch is recorded, and what the program prints of its results means nothing."
    ),
    "too_much_memory": N_(
        "{array} is too large to be emulated: it is not filled, and what the program prints of it means nothing."
    ),
    "smaller": smaller,
    "kernel_unsupported": N_(
        "{kernel} cannot be emulated ({reason}): the launch is recorded, the kernel was not executed, and what the "
        "program prints of its results means nothing."
    ),
    "kernel_kept_pointer": N_(
        "{kernel} follows a pointer that is stored in managed or mapped memory, which cannot be emulated: the launch "
        "is recorded, and what the program prints of its results means nothing."
    ),
    "kernel_host_pointer": N_("{kernel} uses an address in host memory, which a GPU cannot access."),
    "kernel_use_after_free": N_("{kernel} uses {array}, which was freed before the launch."),
    "host_pointer_launched": N_(
        "{kernel} is handed a pointer to host memory for {name}, which a GPU cannot access: hand over the address that "
        "cudaMalloc gave."
    ),
    "no_kernel": N_("what is launched is not a kernel of the program."),
    # -- memory
    "copy_to_device": N_("{kind}, but the target is a host pointer: the arguments or the direction are swapped."),
    "copy_from_device": N_("{kind}, but the source is a host pointer: the arguments or the direction are swapped."),
    "copy_to_host": N_(
        "{kind}, but the target is a device pointer: CUDA does not define what such a copy does, though the driver "
        "performs it."
    ),
    "copy_from_host": N_(
        "{kind}, but the source is a device pointer: CUDA does not define what such a copy does, though the driver "
        "performs it."
    ),
    "copy_of_array": N_(
        "{array} is a CUDA array: cudaMemcpy2DToArray, cudaMemcpy2DFromArray and cudaMemcpy3D copy into it and out of "
        "it, this call does not."
    ),
    "copy_reads_past": N_("The copy reads {bytes} bytes of {array}, which has {size}."),
    "copy_writes_past": N_("The copy writes {bytes} bytes into {array}, which has {size}."),
    "copy_beyond_from": N_(
        "The copy reads {bytes} bytes starting at {array}, but that host array ends after {left} of them."
    ),
    "copy_beyond_to": N_(
        "The copy writes {bytes} bytes starting at {array}, but that host array ends after {left} of them: "
        "what lies behind it is overwritten."
    ),
    "copy_other_pitch": N_(
        "The rows of {array} are {pitch} bytes apart, as cudaMallocPitch says; the copy takes them as {given} bytes "
        "apart: give it the pitch of {array}."
    ),
    "set_past": N_("{bytes} bytes of {array} are set here; it has {size}."),
    "copy_of_pointer": N_(
        "sizeof({name}) is the size of {name} itself, not of its data: {bytes} bytes are copied; {array} has {of}."
    ),
    "copy_of_count_into": N_(
        "All copies together bring {bytes} of the {size} bytes of {array} to the device, a byte for each of its "
        "elements: the size of a copy is in bytes, so multiply by sizeof."
    ),
    "copy_of_count_out": N_(
        "All copies together bring back {bytes} of the {size} bytes of {array}, a byte for each of its elements: the "
        "size of a copy is in bytes, so multiply by sizeof."
    ),
    "copied_back_short": N_(
        "All copies together bring back {bytes} of the {size} bytes of {array}; the rest of the result never reaches "
        "the host."
    ),
    "copy_too_short": N_(
        "Of the {size} bytes of {array} only {bytes} are copied to the device; {kernel} reads others as well (line "
        "{kernel_line})."
    ),
    "freed_before_launch": N_(
        "{array} is freed here, before the launch of {kernel} in line {launch_line}, which uses it."
    ),
    "count_of_bytes": N_(
        "{array} has {bytes} bytes, which is as many as {kernel} expects elements: cudaMalloc takes a size in "
        "bytes, so multiply by sizeof."
    ),
    "never_read": N_("What {kernel} computes is never read: it is neither copied back nor used by another kernel."),
    "overwritten": N_(
        "{array} is overwritten here: what {kernel} had stored in it is lost before it is read (line {read_line})."
    ),
    "array_without_surface": N_(
        "{array} was created without cudaArraySurfaceLoadStore, so kernels cannot write to it through a surface."
    ),
    "copy_unwritten": Plural(
        "Of the {total} bytes copied from {array}, {n} byte was never written.",
        "Of the {total} bytes copied from {array}, {n} bytes were never written.",
    ),
    "memset_host_pointer": N_("cudaMemset of a host pointer."),
    "use_after_free": N_("{array} was already freed."),
    "unknown_pointer": N_("The address is not in device memory."),
    "null_pointer": N_("A null pointer is copied to or from: was the memory allocated?"),
    "no_symbol": N_("The variable copied to or from is not a __device__ or __constant__ variable."),
    "free_pinned": N_("{array} is host memory: free it with cudaFreeHost."),
    "free_inside": N_("The freed address is inside an array, not at its start."),
    "free_host": N_("cudaFree of a host pointer."),
    "free_host_device": N_("cudaFreeHost of device memory: free it with cudaFree."),
    "free_host_plain": N_("cudaFreeHost of memory that cudaMallocHost did not allocate."),
    "leak": N_("{array} ({bytes} bytes) is never freed."),
    "library_misaligned": N_("The library is given an address that is not a multiple of the element size."),
    "library_pointer": N_("The library is given an address that is not in device memory."),
    "library_past": N_("The library would reach past the end of {array}."),
    "library_unwritten": N_("The library reads {array}, which was never written."),
    # -- order and time
    "host_changed": N_(
        "{array} is changed by the host while this copy may still be under way: what arrives on the device is a matter "
        "of luck. Wait for the copy first, by cudaStreamSynchronize or an event."
    ),
    "read_before_kernel": N_(
        "{array} is used here while {kernel}, launched in line {line}, may still be writing to it. Call "
        "cudaDeviceSynchronize() first."
    ),
    "read_before_kernel_somewhere": N_(
        "The host uses {array} while {kernel} may still be writing to it. Call cudaDeviceSynchronize() first."
    ),
    "read_before_copy": N_(
        "{array} is used here while the copy into it in line {line} may still be under way: into page-locked memory, "
        "an asynchronous copy returns at once. Call cudaStreamSynchronize() first, or wait for an event."
    ),
    "read_before_copy_somewhere": N_(
        "The host uses {array} while this copy into it may still be under way: into page-locked memory, an "
        "asynchronous copy returns at once. Call cudaStreamSynchronize() first, or wait for an event."
    ),
    "returned_before_kernel": N_(
        "The function returns while {kernel} may still be writing to {array}: its caller may read what is not there "
        "yet. Call cudaDeviceSynchronize() before it returns."
    ),
    "returned_before_copy": N_(
        "The function returns while this copy into {array} may still be under way: its caller may read what is not "
        "there yet. Call cudaStreamSynchronize() before it returns."
    ),
    "stream_race": N_("{array} is used by two streams that are not ordered; the other use is in line {line}."),
    "stream_race_with_default": N_(
        "The default stream, which works on {array} here, and the stream that uses it in line {line} do not wait for "
        "each other: that one was created with cudaStreamNonBlocking. Use the same stream for both, or put them in "
        "order with an event."
    ),
    "text_lost": N_(
        "What {kernel} prints is lost: the program ends without having waited for it. Call cudaDeviceSynchronize() "
        "before the end."
    ),
    "event_not_recorded": N_("cudaEventElapsedTime of an event that was never recorded."),
    "event_not_reached": N_("cudaEventElapsedTime before the event has been reached: call cudaEventSynchronize first."),
    "event_of_nothing": N_(
        "The event that ends a time is recorded here right behind the one that begins it (line {line}): no launch and "
        "no copy lies between them, so the time is that of nothing."
    ),
    "event_not_renewed": N_(
        "The time of {kernel} begins with the event that is recorded here, before {before}, so it contains the time of "
        "{before} and all that was done since: record the event anew before the launch of {kernel}."
    ),
    "event_order": N_(
        "cudaEventElapsedTime gives a time below zero: the event that it takes for the end was recorded before the one "
        "that it takes for the beginning."
    ),
    "time_of_failed_launch": N_("The program measures the time of {kernels}, which did not run to completion."),
    "clock_of_failed_launch": N_("The clock measures the time of {kernels}, which did not run to completion."),
    # -- why a program does not run, or not to its end
    "needs_threads": N_("The program cannot run here: it uses threads ({header})."),
    "needs_thrust": N_(
        "The program uses Thrust ({header}), whose headers are not installed: pip install 'cuda-lab-grader[thrust]'."
    ),
    "needs_cub": N_(
        "The program uses CUB ({header}), whose headers are not installed: pip install 'cuda-lab-grader[thrust]'."
    ),
    "needs_opencv": N_("The program cannot run here: it uses OpenCV ({header})."),
    "needs_mpi": N_("The program cannot run here: it uses MPI ({header})."),
    "needs_windows": N_("The program cannot run here: it uses Windows functions ({header})."),
    "needs_library": N_("The program cannot run here: it uses a library that is not available ({header})."),
    "host_error": N_("The host code does not compile: {text}"),
    "device_code": N_("The device code of {file} does not compile: {reason}"),
    "undefined": N_("The program uses undefined functions: {names}."),
    "several_mains": N_("Several of the files have main(): each is a program by itself, to be run by itself."),
    "defined_twice": N_("Defined in two files of the program: {names}."),
    "function_too_long": N_(
        "The host code is not compiled here: with its macros expanded, this function has more than {limit} tokens."
    ),
    "code_too_long": N_(
        "The host code is not compiled here: with its macros expanded, the program has more than {limit} tokens."
    ),
    "reads_beyond": N_(
        "The host code is not compiled here: “{text}” could make the compiler read files of this machine, and its "
        "kernel (without Landlock) would not prevent that."
    ),
    "compiler_limit": N_("The compiler reached its limit of memory on the host code."),
    "compiler_time": N_("The compiler did not finish the host code within {seconds} s of processor time."),
    "compiler_hangs": N_("The compiler did not finish the host code within {seconds} s."),
    "card_cannot": N_("The driver of the GPU does not take the device code: {reason}"),
    "no_gpu": N_("No GPU can be used here ({reason}): without --backend gpu the program is emulated."),
    "not_on_card": N_("{what} cannot be used with --backend gpu yet: without it the program is emulated."),
    "refused_by_card": N_("the GPU refuses it with {error}"),
    "fault_on_card": N_(
        "The GPU has ended {kernel}: {error}. On the emulator, without --backend gpu, the line is told."
    ),
    "pointers_on_card": N_(
        "The GPU has ended {kernel}: {error}. {array} holds the address of memory that both sides use: pointers that "
        "are stored in such memory mean nothing to kernels with --backend gpu, where it has other addresses."
    ),
    "pointers_of_card": N_(
        "The host follows an address that a kernel has stored in {array}: with --backend gpu kernels have other "
        "addresses for memory that both sides use, and those mean nothing to the host."
    ),
    "launches_on_card": N_(
        "Kernels that launch kernels cannot be run with --backend gpu yet: without it the program is emulated."
    ),
    "hangs_on_card": N_("{kernel} has not ended within {seconds} s on the GPU: the program ends here."),
    "emulator_cannot": N_("The emulator cannot read the device code: {reason}"),
    "unknown_function": N_("The program uses {name}, which is not available here."),
    "not_runnable": N_("The program cannot run here: {reason}"),
    "no_file": N_("{path}: no such file"),
    "no_program": N_("{path}: not a program; a .cu file is expected, and the program's own arguments after --"),
    "not_built": N_("not a program that this version of `grade build` has written; build it again"),
    "not_written": N_("{path} cannot be written: {reason}"),
    "built_already": N_("{path} is compiled already; --shrink and -D need the program's own files"),
    "same_name": N_("two files are called {name}"),
    "segmentation_fault": N_(
        "Segmentation fault: the host code accesses an address that does not belong to it, perhaps a device pointer, "
        "or its local arrays are larger than the stack (8 MiB)."
    ),
    "crash_in_free": N_(
        "The program crashes in free(): it is handed memory that malloc() has not given, or whose surroundings were "
        "written over."
    ),
    "crash_in_free_pinned": N_(
        "The program crashes in free(): it is handed memory that malloc() has not given, or whose surroundings were "
        "written over. Memory of cudaMallocHost() and cudaHostAlloc() is given back by cudaFreeHost()."
    ),
    "bad_function": N_(
        "Segmentation fault: the host code calls a function through an invalid pointer; perhaps a file could not be "
        "opened."
    ),
    "bad_address": N_("Segmentation fault: a call is given an address outside the program's memory ({address})."),
    "stack_overflow": N_("Stack overflow in the host code."),
    "division_by_zero": N_("Integer division by zero in the host code."),
    "mismatched_call": N_(
        "{function}() is called with other types than it is defined with, as C allows where a function is not "
        "declared. On a PC such a call may work; the sandbox cannot make it. Declare the function before it is used."
    ),
    "aborted": N_("The program aborts: a failed assertion, abort(), or std::terminate."),
    "uncaught": N_("The program throws an exception that nothing catches: {exception}"),
    "crash": N_("The program crashes: {reason}"),
    "too_long": N_("The host code did not end within {limit} billion instructions."),
    "macro_option": N_(
        "-D {option}: a macro's name is taken, with = and what it stands for; #define one with parameters in the "
        "program."
    ),
    "neither_true_nor_false": N_("{option} takes true or false, not {text}."),
    "bad_limit": N_("--limit takes a number of instructions, as in 50e9, or none, not {text}."),
    "host_limit": N_(
        "The host code takes more than {limit} billion instructions: a limit of this run, no fault of the program's, "
        "which ends here. --limit none runs it to its end, --shrink runs it with a smaller size."
    ),
    "host_memory": N_(
        "The program asks for {bytes} bytes of host memory, and has {used} MiB of the {limit} MiB that this machine "
        "has for it: it ends here. --shrink runs it with a smaller size."
    ),
    "went_on_without_memory": N_("The program goes on to use memory that {call} in line {at} could not get here."),
    "hangs": N_("The program did not end within {seconds} s."),
    "no_host_memory": N_(
        "The program asks for {bytes} bytes of host memory and has {used} MiB of {limit} GiB. Run it at a smaller size."
    ),
    "too_much_copied": N_("The program copies more than can be emulated."),
    "too_much_computed": N_("The program asks a library for more than can be computed here."),
    "output_cut": N_("The program prints more than {limit} MiB: the rest is not shown."),
    "too_many_allocations": N_("The program has more arrays in device memory at once than can be emulated."),
    "mended": N_(
        "The program has « and » in place of << and >>, as in a text copied from a PDF: no compiler "
        "accepts that. Here they are read as << and >>."
    ),
    # -- ours
    "no_toolchain": N_(
        "the compiler of host code is missing; install it with: pip install ziglang=={version} wasmtime"
    ),
    "cannot_build": N_("the C++ library for programs cannot be built ({reason})"),
    "process_failed": N_("the process of the program failed ({reason})"),
    "process_died": N_("The process of the program ended without a message ({reason})."),
}


# Why a submission's program was not run, and what that means for its result.


def read(why: str, line: int, in_file: str = "") -> str:
    """A program that was not run, with the reason as a part of the sentence."""
    return _("The program was not run: {why}. Its launches were read from its text.").format(
        why=_at(why, line, in_file)
    )


def read_file(file: str, why: str, line: int, in_file: str = "") -> str:
    """The same of one file of several."""
    text = _("{file} was not run as a program: {why}. Its launches were read from its text.")
    return text.format(file=file, why=_at(why, line, in_file))


def cut(why: str, line: int, in_file: str = "") -> str:
    """A program whose own code never ends, as far as can be told, though its launches are known."""
    text = _(
        "The program computes for longer than it is run here, so it was stopped: {why}. Its kernels were graded all "
        "the same; what its host code does after that was not looked at."
    )
    return text.format(why=_at(why, line, in_file))


def not_graded(why: str) -> str:
    """The machine's failure, not the program's, where others can run it."""
    text = _("Not graded: this machine could not run the program ({why}). `grade doctor` says what is missing.")
    return text.format(why=_part(why))


def absent(why: str) -> str:
    """The machine's failure, not the program's."""
    text = _(
        "This machine could not run the program ({why}). Its launches were read from its text, so the result may "
        "differ from that of other machines; `grade doctor` says what is missing."
    )
    return text.format(why=_part(why))


def smaller_program(name: str, before: str, after: str) -> str:
    """A program that was run with one of its numbers made smaller."""
    text = _("The program was run with {after} in place of {before}: it is too large to run as it is.")
    return text.format(after=after, before=changed(before, name))


def _at(why: str, line: int, in_file: str) -> str:
    """Return a reason with the line that the program had come to, and its file where that is another one."""
    if line and in_file:
        return _("{why} ({file}, line {line})").format(why=_part(why), file=in_file, line=line)
    return _("{why} (line {line})").format(why=_part(why), line=line) if line else _part(why)


def _part(sentence: str) -> str:
    """Return a sentence as a part of another: without full stop, and no capital but in a name."""
    first, rest = sentence[:1], sentence[1:].rstrip(".")
    return (first.lower() if rest[:1].islower() or rest[:1] == " " else first) + rest


OBSERVATION: Texts = {
    "no_main": N_("there is no main() in it"),
    "no_launch": N_("it ended without launching a kernel"),
    "read": read,
    "read_file": read_file,
    "cut": cut,
    "not_graded": not_graded,
    "absent": absent,
    "smaller": smaller_program,
    "uncommented": N_(
        "{file}, line {line}: {kernel} is launched in a comment only; it was graded as if that launch were there."
    ),
}


COMPILER: Texts = {
    "std_in_device": N_("Device code has a built-in {name}: write it without std::."),
    "std_for_host": N_("The C++ standard library is for host code: a kernel cannot use std::{name}."),
    "host_only": N_("{name} is for host code: a kernel cannot use it."),
    "nested_launch": N_("Kernels are launched from host code here, not from another kernel."),
    "host_function": N_(
        "{name} is called in device code, but line {line} defines it for the host alone: nvcc refuses this."
    ),
    "hint_host_function": N_("Write __device__ before the function in line {line}, or __host__ __device__ for both."),
    "host_variable": N_(
        "A kernel cannot use a variable of the host. Memory that is sized at the launch is declared as extern "
        "__shared__ float name[]; a constant as const or __constant__."
    ),
    "fence": N_("Three backquotes mark program text in a chat or a Markdown file: delete these lines."),
    "pasted": N_("« and » stand in the code, as in a text copied from a PDF: no compiler takes them."),
    "hint_pasted": N_("Type << and >> there, and <<< and >>> around what a kernel is launched with."),
    "semicolon": N_(
        "A semicolon seems to be missing at the end of line {line}: the compiler notices that only at the next word, "
        "in line {noticed}."
    ),
    "bracket": N_(
        "A closing {sign} seems to be missing at the end of line {line}: the compiler notices that only at the next "
        "word, in line {noticed}."
    ),
    "brace_before": N_(
        "A closing brace is missing before line {line}: a function begins there while the brace that opens in line "
        "{opened} is not closed."
    ),
    "never_closed": N_(
        "The brace that opens in line {line} is never closed: count the braces down to the end of the file."
    ),
    "macro_semicolon": N_(
        "The macro {name} ends in a semicolon (line {line}), which lands wherever the macro is used: take it away."
    ),
    "did_you_mean": N_("Nothing here is called {name}. Did you mean {near}?"),
    "refused": N_("NVRTC refused to compile: {reason}"),
    "error_elsewhere": N_(
        "the compiler found an error outside this file: in a header, or in a line it reports under another name"
    ),
    "forbidden_include": N_("{include} cannot be included: only the CUDA device headers can"),
    "static_arrays": N_(
        "the array {array} takes {megabytes} MB; all global arrays of a program together may take at most {limit} MB"
    ),
    "macros": N_("the macro {macro} expands to too much: more than {limit} tokens in the whole program"),
    "too_large": N_("the program becomes {megabytes} MB of PTX; at most {limit} MB are allowed"),
    "short": N_("the compiler cannot run within the limits of this shell ({limits}): {reason}"),
    "ended": N_("the compiler process ended unexpectedly ({ending})"),
    "not_started": N_("the compiler process did not start"),
    "no_toolkit": N_(
        "NVRTC {version} comes without device headers (cuda_fp16.h, cooperative_groups.h, …), and no "
        "CUDA toolkit of that version was found; run: pip install --upgrade nvidia-cuda-nvrtc, or set "
        "CUDA_HOME to a toolkit's folder"
    ),
    "no_headers": N_("NVRTC's headers cannot be unpacked ({reason}); set XDG_CACHE_HOME to a writable folder"),
    "unusable": N_("CUDA's compiler NVRTC cannot be used ({reason}); install it with: pip install nvidia-cuda-nvrtc"),
}

AREAS: dict[str, Texts] = {"observation": OBSERVATION, "compiler": COMPILER}
AREAS["programs"] = {**PROGRAMS, **CLOCKS, **ENDS, **HOST_MEMORY, **SYMBOLS}
"""Texts by the first parts of their ids."""
