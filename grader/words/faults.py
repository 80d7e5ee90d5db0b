"""Faults that the emulator sees while a kernel runs: an access outside an array, a race, a barrier not reached."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
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
    "misaligned": N_("{who} uses an address in {array} that is not a multiple of {width} bytes."),
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
