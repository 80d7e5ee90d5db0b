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
    "hint_fixed": N_(
        "Along {axis} the number of blocks is the same at every size. Compute it from the size, as "
        "(n + {tile} - 1) / {tile}; with more than one axis hand both over in a dim3."
    ),
}
