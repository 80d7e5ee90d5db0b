"""What is said of a whole program that was run: calls that failed, copies, launches, and why it did not run."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    # -- calls of the CUDA API
    "call_failed": N_("{call} fails: {error}."),
    "call_failed_unnoticed": N_("{call} fails ({error}), and the program does not look at the error."),
    "launch_unnoticed": N_("The launch of {kernel} fails ({error}), and the program never asks for the error."),
    "launch_refused": N_("The launch of {kernel} is refused: {why}."),
    "launch_impossible": N_("The launch of {kernel} is impossible: {reason}."),
    "grid_limit": N_("grid.{axis} is {size}, allowed are 1 to {limit}"),
    "block_limit": N_("block.{axis} is {size}, allowed are 1 to {limit}"),
    "thread_limit": N_("a block of {block} has {threads} threads, at most 1024 are allowed"),
    "shared_limit": N_("a block would need {bytes} bytes of shared memory, at most {limit} are allowed"),
    "with_smaller_block": N_("The kernel did not run; with a block of {block} it would go wrong: {fault}"),
    "trap": N_("{kernel} stops itself (a failed assertion or a trap)."),
    "endless": N_("{kernel} would never end: threads wait for what cannot come, or a loop does not end."),
    "too_large": N_(
        "{kernel} is too large to be emulated: the launch is recorded, the kernel was not executed, and what the "
        "program prints of its results means nothing."
    ),
    "too_much_memory": N_(
        "{array} is too large to be emulated: it is not filled, and what the program prints of it means nothing."
    ),
    "smaller": N_(
        "The program is too large to be run here. It was run again with {after} in place of {before} ({name}), to see "
        "what it launches."
    ),
    "at_smaller_size": N_("At a smaller size: {fault}"),
    "kernel_unsupported": N_(
        "{kernel} cannot be emulated ({reason}): the launch is recorded, the kernel was not executed, and what the "
        "program prints of its results means nothing."
    ),
    "kernel_host_pointer": N_("{kernel} uses an address of the host's memory, which a GPU cannot reach."),
    "kernel_null_pointer": N_("{kernel} uses a null pointer."),
    "kernel_use_after_free": N_("{kernel} uses {array}, which was freed before the launch."),
    "no_kernel": N_("what is launched is no kernel of the program."),
    # -- memory
    "copy_to_device": N_("{kind}, but the target is a host pointer: the arguments or the direction are swapped."),
    "copy_from_device": N_("{kind}, but the source is a host pointer: the arguments or the direction are swapped."),
    "copy_to_host": N_("{kind}, but the target is a device pointer: the arguments or the direction are swapped."),
    "copy_from_host": N_("{kind}, but the source is a device pointer: the arguments or the direction are swapped."),
    "copy_reads_past": N_("The copy reads {bytes} bytes of {array}, which has {size}."),
    "copy_writes_past": N_("The copy writes {bytes} bytes into {array}, which has {size}."),
    "copy_past_array": N_(
        "The copy reaches to byte {right} of row {bottom} of {array}; it has {height} rows of {width} bytes."
    ),
    "array_without_surface": N_(
        "{array} was made without cudaArraySurfaceLoadStore, so kernels cannot write it through a surface."
    ),
    "copy_unwritten": Plural(
        "Of the {total} bytes copied from {array}, {n} byte was written by nobody.",
        "Of the {total} bytes copied from {array}, {n} bytes were written by nobody.",
    ),
    "memset_host_pointer": N_("cudaMemset of a host pointer."),
    "use_after_free": N_("{array} was freed before."),
    "unknown_pointer": N_("The address belongs to no memory of the device."),
    "no_symbol": N_("What is copied to or from is no __device__ or __constant__ variable."),
    "double_free": N_("{array} is freed twice."),
    "free_pinned": N_("{array} is memory of the host: it is freed with cudaFreeHost."),
    "free_inside": N_("The address freed lies inside an array, not at its start."),
    "free_host": N_("cudaFree of a host pointer."),
    "free_host_device": N_("cudaFreeHost of device memory: it is freed with cudaFree."),
    "free_host_plain": N_("cudaFreeHost of memory that cudaMallocHost did not allocate."),
    "leak": N_("{array} ({bytes} bytes) is never freed."),
    "library_misaligned": N_("The library is given an address that is no multiple of an element's size."),
    "library_pointer": N_("The library is given an address that is no memory of the device."),
    "library_past": N_("The library would reach past the end of {array}."),
    "library_unwritten": N_("The library reads {array}, which nobody has written."),
    # -- order and time
    "stream_race": N_(
        "{array} is used by two streams with nothing to put them in order; the other use is in line {line}."
    ),
    "clock_before_end": N_(
        "A clock is read while {kernel} may still be running: call cudaDeviceSynchronize before reading it."
    ),
    "event_not_recorded": N_("cudaEventElapsedTime of an event that was never recorded."),
    "event_not_reached": N_("cudaEventElapsedTime before the event has been reached: call cudaEventSynchronize first."),
    "time_of_failed_launch": N_("A time is taken of {kernels}, which never ran to its end."),
    "clock_of_failed_launch": N_("The clock times {kernels}, which never ran to its end."),
    # -- why a program does not run, or not to its end
    "needs_threads": N_("The program cannot run here: it uses threads ({header})."),
    "needs_thrust": N_("The program cannot run here: it uses Thrust ({header})."),
    "needs_cub": N_("The program cannot run here: it uses CUB from host code ({header})."),
    "needs_opencv": N_("The program cannot run here: it uses OpenCV ({header})."),
    "needs_mpi": N_("The program cannot run here: it uses MPI ({header})."),
    "needs_windows": N_("The program cannot run here: it uses Windows' own functions ({header})."),
    "needs_library": N_("The program cannot run here: it uses a library that is not served ({header})."),
    "host_error": N_("The host code does not compile: {text}"),
    "device_code": N_("The device code of {file} does not compile: {reason}"),
    "undefined": N_("The program uses functions that are defined nowhere: {names}."),
    "defined_twice": N_("Two files of the program define the same: {names}."),
    "compiler_limit": N_("The compiler used up its limit of time or memory on the host code."),
    "emulator_cannot": N_("The emulator cannot read the device code: {reason}"),
    "unknown_function": N_("The program uses {name}, which is not served here."),
    "not_runnable": N_("The program cannot run here: {reason}"),
    "no_file": N_("{path}: there is no such file"),
    "no_program": N_("{path}: is no program; a .cu file is expected, and the program's own arguments after --"),
    "same_name": N_("two files are called {name}"),
    "segmentation_fault": N_(
        "Segmentation fault: the host code uses an address that is not its own, perhaps a device pointer."
    ),
    "bad_address": N_("Segmentation fault: a call is given an address outside the program's memory ({address})."),
    "stack_overflow": N_("Stack overflow in the host code."),
    "division_by_zero": N_("Integer division by zero in the host code."),
    "aborted": N_("The program aborts: a failed assertion, abort(), or an exception that nobody catches."),
    "crash": N_("The program crashes: {reason}"),
    "too_long": N_("The host code did not end within {limit} billion instructions."),
    "hangs": N_("The program did not end within {seconds} s."),
    "no_host_memory": N_(
        "The program asks for {bytes} bytes of host memory; {limit} GiB are allowed here. Run it with a smaller size."
    ),
    "too_much_copied": N_("The program copies more than can be emulated."),
    "too_much_output": N_("The program prints more than {limit} MiB."),
    "too_many_allocations": N_("The program allocates device memory more often than can be emulated."),
    "too_many_calls": N_("The program calls the CUDA API more often than can be emulated."),
    # -- ours
    "no_toolchain": N_(
        "the compiler of host code is missing; install it with: pip install ziglang=={version} wasmtime"
    ),
    "cannot_build": N_("the C++ library for programs cannot be built ({reason})"),
    "process_failed": N_("the process of the program failed ({reason})"),
    "process_died": N_("The process of the program ended without a word ({reason})."),
}
