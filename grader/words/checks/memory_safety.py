"""`memory_safety` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("memory safety"),
    "fault": N_("access outside an array"),
    "fault_uninitialized": N_("read of uninitialised memory"),
    "fault_unset_element": N_("read of uninitialised memory"),
    "fault_misaligned": N_("misaligned access"),
    "passed": N_("Every access is within its array, and nothing is read before it is written."),
    "more_lines": Plural("({n} more line does the same.)", "({n} more lines do the same.)"),
    "hint_dynamic": N_(
        "The launch gives the array {array} a size of {bytes} bytes. The third argument of <<<grid, block, bytes>>> "
        "counts bytes, not elements: it is the number of elements that the whole block stores there times "
        "sizeof(float)."
    ),
    "hint_shared_unset": N_(
        "Shared memory holds whatever the previous block left there. Every element that is read must "
        "first be written by some thread of this block, with a barrier between the two."
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
    "hint_global": N_(
        "Compute the largest index by hand, for the last thread of the last block: is it below the "
        "number of elements? On a GPU such an access may go unnoticed, overwrite another array, or stop "
        "the program."
    ),
}
