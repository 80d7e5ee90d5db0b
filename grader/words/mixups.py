"""What repairs say of statements that were left out, and of what was mixed up."""

from __future__ import annotations

from grader.words import N_, Texts

MIXUPS: Texts = {
    "index_quotients": N_("Division and remainder are in each other's place in line {line}."),
    "index_exchanged_next": N_("Two names in line {line} and in the next one are in each other's place."),
    "index_pointer_step": N_("The pointer in line {line} advances by the wrong number of elements."),
    "index_into_index": N_(
        "In line {line} a number is added to an element where it belongs in the index, or to the index where it "
        "belongs behind the brackets."
    ),
    "guard_as_read": N_("The condition in line {line} tests another index than the one that is read."),
    "guard_other_side": N_(
        "The condition in line {line} tests one side of the border: the other side has to be tested as well."
    ),
    "expression_mask_first": N_(
        "Two arguments of the shuffle in line {line} are in each other's place: the mask comes first."
    ),
    "guard_first_last": N_(
        "The condition in line {line} lets through the first thread instead of the last one, or the other way round."
    ),
    "guard_goes_on": N_(
        "What the branch in line {line} stores is overwritten by the statements after it: they belong in an else."
    ),
    "expression_step_left_out": N_(
        "A step is missing next to line {line}: the numbers there halve or double from line to line, and one of them "
        "is left out."
    ),
    "expression_store_left_out": N_(
        "A store is missing after line {line}: an element that was read to be worked on is never stored."
    ),
    "expression_toggle_left_out": N_(
        "The two buffers are never exchanged: after line {line} the one that was read has to become the one that is "
        "written."
    ),
    "expression_side_left_out": N_(
        "After line {line} a store is missing: the place of the elements on the other side is computed and never used."
    ),
    "expression_power": N_("A power in line {line} has one factor too few or too many."),
    "expression_turned_difference": N_("The two sides of a difference in line {line} are in each other's place."),
    "expression_coefficients": N_("Two factors in line {line} are in each other's place."),
    "initial_value_anew": N_(
        "Line {line} sets {quoted} to 0 in every pass of the loop, so that what was added before is lost."
    ),
    "initial_value_neutral": N_(
        "Where there are no more elements, line {line} puts in a number that is then compared with the elements: put "
        "in one that comes after, or before, all of them."
    ),
    "initial_value_other_end": N_(
        "Line {line} needs the number at the other end of the range: the most negative one instead of the largest, or "
        "the other way round."
    ),
}
