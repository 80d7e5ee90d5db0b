"""`memory_safety` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
    "title": N_("memory safety"),
    "passed": N_("Every access is inside its array, and nothing is read before it is written."),
    "more_lines": Plural("({n} more line does so.)", "({n} more lines do so.)"),
    "hint_dynamic": N_(
        "The launch gives {array} {bytes} bytes. Its third argument <<<grid, block, bytes>>> counts bytes, not "
        "elements: the number of elements that the whole block puts there, times sizeof(float)."
    ),
    "hint_shared_unset": N_(
        "Shared memory holds whatever the last block left there. Every element that is read must have been "
        "written by some thread of this block, and a barrier must stand between."
    ),
    "hint_unset": N_(
        "Every element that is read must have been written before: copied in by the host, or by the kernel."
    ),
    "hint_misaligned": N_(
        "A float4 or float2 access needs an index that is a multiple of 4 or 2, and an array that starts so."
    ),
    "hint_shared": N_(
        "Compare the index's largest value with the declared size: what blockDim and the loop's last step reach "
        "must be smaller than the number of rows and columns."
    ),
    "hint_global": N_(
        "Compute the largest index by hand, from the last thread of the last block: is it below the number of "
        "elements? On a GPU such an access may go unnoticed, overwrite another array, or stop the program."
    ),
}
