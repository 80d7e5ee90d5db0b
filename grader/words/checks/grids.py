"""Grids that leave out part of the data, in words."""

from __future__ import annotations

from grader.words.texts import N_, Texts

TEXTS: Texts = {
    "left_out": N_(
        "Line {line} launches a grid of {grid} blocks at {sizes}: along {axis} it covers {covered} of {extent} "
        "elements, and nobody computes the rest."
    ),
    "empty": N_("Line {line} launches a grid of {grid} blocks at {sizes}: without a block the launch fails."),
    "hint": N_(
        "Round the number of blocks up: (n + {tile} - 1) / {tile}. In C++ n / {tile} of integers is rounded down, and "
        "so it is inside ceil(), where one of the two has to be a float first. Then guard the threads that are too "
        "many."
    ),
}
