"""`correct`: the output is the oracle's, at every size that is a multiple of the tile."""

from __future__ import annotations

from dataclasses import replace

from grader.checks.base import CheckKind, Settings, Verdict, passed
from grader.checks.outcomes import verdict_of_runs
from grader.evidence import Evidence
from grader.i18n import _, ngettext


def judge(evidence: Evidence, settings: Settings) -> Verdict:
    """Fail with the first wrong element of the smallest size that is wrong, and the pattern of all of them."""
    runs = evidence.runs_of("correct", "observe")
    verdict = verdict_of_runs(runs)
    if verdict is None:
        return passed(
            ngettext("Every element is right at {n} size.", "Every element is right at {n} sizes.", len(runs)).format(
                n=len(runs)
            ),
            data={"sizes": len(runs)},
        )
    if verdict.status != "fail":
        return verdict
    hint = verdict.hint or _hint(str(verdict.data.get("pattern", "")))
    return replace(verdict, hint=hint, line=verdict.line or evidence.bound.kernel.line)


def _hint(pattern: str) -> str:
    hints = {
        "untouched": _("Does any thread reach the line that writes the output? Look at the guard before it."),
        "unwritten": _(
            "Some elements have no thread: compare the block's size and the grid's size with the tile, and the step of "
            "the loop with the number of threads."
        ),
        "copy": _("Row and column have to change places between reading and writing."),
        "transposed_tiles": _(
            "The indices inside the tile must change places too: what is written by [y][x] is read by [x][y]."
        ),
        "off_diagonal_blocks": _(
            "On the diagonal blockIdx.x and blockIdx.y are equal, so a slip between them does not show there: they "
            "have to change places when the output's index is made."
        ),
        "constant_columns": _not_used(),
        "constant_rows": _not_used(),
        "first_block_right": _("In the first block blockIdx is 0: look at how blockIdx enters the index."),
        "last_tiles": _("The size is no multiple of the tile: the last tiles need a guard on both indices."),
    }
    return hints.get(
        pattern,
        _(
            "Follow one element by hand: which thread reads it, where it stores it, and who writes it out. The value "
            "that came out instead says where it was taken from."
        ),
    )


def _not_used() -> str:
    return _(
        "One of the two indices has no effect: look for a size or a constant that stands where an index should "
        "(K in place of k), on either side of the barrier."
    )


CHECK = CheckKind("correct", judge, needs=("compiles",))
