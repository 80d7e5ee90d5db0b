"""Grids that leave out part of the data, in words."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "left_out": N_(
        "Line {line} launches a grid of {grid} blocks at {sizes}: along {axis} it covers {covered} of "
        "{extent} elements, and the rest are not computed."
    ),
    "empty": N_("Line {line} launches a grid of {grid} blocks at {sizes}: without a block the launch fails."),
    "hint": N_(
        "Round the number of blocks up: (n + {tile} - 1) / {tile}. In C++ the integer division n / "
        "{tile} rounds down, even inside ceil(): there one of the two must be a float first. Then guard "
        "the surplus threads."
    ),
    "hint_other_extent": N_(
        "The number of blocks is rounded up, but from another extent: there are {extent} elements along this axis, so "
        "that ({extent} + {tile} - 1) / {tile} blocks are needed."
    ),
    "hint_swapped": N_(
        "The axes of the grid are swapped: the kernel's blocks go along x over {x} and along y over {y}, so the grid "
        "has to be dim3(({x} + {tile} - 1) / {tile}, ({y} + {tile} - 1) / {tile}). With equal sizes that goes "
        "unnoticed."
    ),
    "of_one_size": N_(
        "Line {line} launches a grid of {grid} blocks at {sizes}: both of its axes follow from {size}, and a part of "
        "the elements is not computed."
    ),
    "hint_of_one_size": N_(
        "One axis of the grid has to follow from {other} in place of {size}: the one along which the kernel's index is "
        "compared with it. With equal sizes that goes unnoticed."
    ),
    "hint_block_first": N_(
        "The block stands in the place of the grid: write <<<grid, block>>>, and compute the number of blocks from the "
        "size, rounded up."
    ),
    "hint_fixed": N_(
        "Along {axis} the number of blocks is the same at every size. Compute it from the size, as "
        "(n + {tile} - 1) / {tile}; with more than one axis hand both over in a dim3."
    ),
}
