"""What to do about a wrong output, told from its diagnosis."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "pitch": N_("A row of {array} has {right} elements: multiply the row number by this in the index."),
    "integer_division": N_(
        "The right elements are read, but the result is 0: an integer division such as 1 / 5 gives 0, "
        "and an int drops the fraction. Divide by a float, and sum in a float."
    ),
    "not_a_number": N_(
        "The right elements are read, but the result is not a number: a variable or an element of "
        "shared memory or of the output holds garbage until it is set. Start with float sum = 0, for "
        "every element of the result."
    ),
    "formula": N_(
        "The right elements are read, so check what is computed from them: the formula, the divisor, "
        "integer division, a sum kept in an int."
    ),
    "no_thread": N_(
        "Some elements have no thread: compare the block's size and the grid's size with the tile, and the step "
        "of the loop with the number of threads."
    ),
    "exchanged_blocks": N_(
        "On the diagonal blockIdx.x and blockIdx.y are equal, so mixing them up does not show there: "
        "swap them when computing the index of the output."
    ),
    "first_block": N_("In the first block blockIdx is 0: look at how blockIdx enters the index."),
    "unused_index": N_(
        "One of the two indices has no effect: look for a size or a constant in place of an index (K "
        "instead of k), on either side of the barrier."
    ),
    "untouched": N_("Does any thread reach the line that writes the output? Check the condition before it."),
    "copy": N_("Swap row and column between reading and writing."),
    "transposed_tiles": N_(
        "The indices inside the tile must be swapped too: what is written as [y][x] is read as [x][y]."
    ),
    "last_tiles": N_("The size is not a multiple of the tile: the last tiles need a guard on both indices."),
    "shifted": N_("An index is off by a constant: check every + 1 and − 1 in it, and < versus <=."),
    "onto_unset": N_("Sum in a variable that starts at 0 and store it once, or set the output to 0 first."),
    "scaled": N_("The result is off by a constant factor: check what it is multiplied or divided by."),
    "offset": N_("The result is off by a constant: check the initial value of the sum."),
    "tile_edges": N_(
        "The edges of a tile need elements of the neighbouring tiles: check which threads load them, and from where."
    ),
    "border": N_("Elements at the border are handled separately: check the condition that selects them."),
    "barrier": N_("Put __syncthreads() between line {first} and line {second}, where every thread passes."),
    "unwritten_read": N_("Every element that is read must be written first: compare the indices in line {line}."),
    "two_writers": N_("Two threads write to the same element: each thread needs its own index into the output."),
    "exchanged_indices": N_(
        "Row and column of {array} are swapped where it is read: compare its index with the formula."
    ),
    "used_again": N_("Some elements are used repeatedly in place of others: an index does not change with the loop."),
    "too_few_terms": N_("The loop skips terms: check where it starts, where it ends, and its step."),
    "too_many_terms": N_("The loop includes too many terms: check where it starts and where it ends."),
}
