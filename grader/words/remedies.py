"""What to do about a wrong output, told from its diagnosis."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "pitch": N_("A row of {array} has {right} elements: that is what the row's number is multiplied by in its index."),
    "integer_division": N_(
        "The right elements are read, and nothing comes of them: an integer division such as 1 / 5 is 0, and an "
        "int drops what stands after the point. Divide by a float, and add up in a float."
    ),
    "not_a_number": N_(
        "The right elements are read, yet what comes out is no number: what is added to holds garbage until it is "
        "set, be it a variable, an element of shared memory or of the output. Begin with float sum = 0, once for "
        "every element of the result."
    ),
    "formula": N_(
        "The right elements are read, so look at what is computed from them: the formula, the divisor, integer "
        "division, a sum that is kept in an int."
    ),
    "no_thread": N_(
        "Some elements have no thread: compare the block's size and the grid's size with the tile, and the step "
        "of the loop with the number of threads."
    ),
    "exchanged_blocks": N_(
        "On the diagonal blockIdx.x and blockIdx.y are equal, so a slip between them does not show there: they "
        "have to change places when the output's index is made."
    ),
    "first_block": N_("In the first block blockIdx is 0: look at how blockIdx enters the index."),
    "unused_index": N_(
        "One of the two indices has no effect: look for a size or a constant that stands where an index should (K "
        "in place of k), on either side of the barrier."
    ),
    "untouched": N_("Does any thread reach the line that writes the output? Look at the guard before it."),
    "copy": N_("Row and column have to change places between reading and writing."),
    "transposed_tiles": N_(
        "The indices inside the tile must change places too: what is written by [y][x] is read by [x][y]."
    ),
    "last_tiles": N_("The size is no multiple of the tile: the last tiles need a guard on both indices."),
    "shifted": N_("An index is off by a constant: look at every + 1 and − 1 in it, and at < against <=."),
    "onto_unset": N_("Add up in a variable that starts at 0, and store it once; or set the output to 0 first."),
    "scaled": N_("All but a factor is right: look at what the result is multiplied or divided by."),
    "offset": N_("All but a constant is right: look at the value that the sum starts with."),
    "tile_edges": N_("The edges of a tile need their neighbours' elements: look at who loads them, and from where."),
    "border": N_("The elements at the border are treated apart: look at the condition that tells them."),
    "barrier": N_("Put __syncthreads() between line {first} and line {second}, where every thread comes by."),
    "unwritten_read": N_("Every element that is read must have been written: compare the indices of line {line}."),
    "two_writers": N_("Two threads write to one element: the index of the output must be another one for each thread."),
    "exchanged_indices": N_(
        "Row and column of {array} are exchanged where it is read: compare its index with the formula."
    ),
    "used_again": N_("Some elements are used again and again in place of others: an index does not follow the loop."),
    "too_few_terms": N_("The loop leaves terms out: look at where it starts, where it ends, and its step."),
    "too_many_terms": N_("The loop takes in too much: look at where it starts and where it ends."),
}
