"""`correct` in words: its title, what it found, how to fix it."""

from __future__ import annotations

from grader.words.texts import N_, Plural, Texts

TEXTS: Texts = {
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
    "hint_other_task": N_("Is this the right file? A kernel of this task works on {inputs} alone."),
    "own_says": N_("The program's own check says: “{line}”."),
    "own_wrong": N_(
        "The program's own check says “{line}”, but at {sizes}, where it ran, the kernel is right: the check itself is "
        "wrong, in its reference, its tolerance or the arrays that it compares."
    ),
    "own_sees": N_("The program's own check sees it at {sizes}, too: “{line}”."),
    "own_right": N_("The program's own check says “{line}”: at {sizes}, where it ran, the kernel is right indeed."),
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
    "right_at_squares": N_("It is right at squares, wrong at rectangles ({sizes})."),
    "right_at_some": N_("It is right at {n} of {total} sizes, for instance at {sizes}."),
    "hint_unwritten": N_(
        "Take an element that no thread wrote, work out which thread should write it, and follow that thread: is there "
        "such a thread in the launch, does a condition or a loop turn it away, or does its index lead elsewhere?"
    ),
    "hint_few_threads": N_(
        "It is right only where the block has a thread for each element of a row or column: nobody takes the rest."
    ),
    "hint_memory_first": N_("Fix the faulty memory access first: the wrong result may come of it."),
    "hint_race_first": N_("Fix the data race first: the wrong result may come of it."),
    "hint_by_hand": N_(
        "Follow one element by hand: which thread makes it, what that thread reads for it, and where it stores it."
    ),
    "hint_reads_nothing": N_(
        "This thread stores its result without having read anything for it: find out by hand which loops and "
        "conditions it should pass on the way."
    ),
    "hint_missing": N_(
        "Work out by hand what this thread reads for the element in each pass of its loop: what is missing is either "
        "never read, or read and then lost."
    ),
    "hint_surplus": N_(
        "Work out by hand what this thread reads for the element in each pass of its loop: what is not needed is "
        "either read too, or left over from what it computed before."
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
