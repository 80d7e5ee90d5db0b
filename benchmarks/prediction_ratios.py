"""How well ratios of two predicted times agree with measured ones, and their intervals: tables of `prediction.py`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from math import log

import numpy as np

from grader.timing.instructions import Processor
from grader.timing.model import FITTED, ONE_PROGRAM, TWO_PROGRAMS, ratio_spread, time_of
from grader.timing.profile import Profile


@dataclass(frozen=True)
class Row:
    """A launch that was followed and timed."""

    id: str
    family: str
    lab: str
    asked: Profile
    time_us: float


def program_of(row: Row) -> str:
    """The program that a launch of a lab is of: a specimen, or the references of the lab; "" of no lab."""
    parts = row.id.split("/")
    return "/".join(parts[:3]) if parts[1] in ("good", "bad") else row.lab


def size_of(row: Row) -> str:
    """The sizes in the id of a lab's launch, `1024` or `16777216x5`."""
    return next((part for part in row.id.split("/") if re.fullmatch(r"\d+(x\d+)?", part)), "")


def ratios(rows: list[Row], off: np.ndarray, processor: Processor) -> list[str]:
    """Of pairs of launches at one size how many ratios lie in the intervals that the grader shows, and in those whose
    two numbers are fitted with the pair's lab held back; of one program those that differ by more than a quarter, too:
    the share in the right order, and that of ratios right within a quarter."""
    shares = [time_of(row.asked, processor, FITTED)[1] for row in rows]
    found: dict[str, list[tuple[float, float, float, str]]] = {"of one program": [], "of two programs": []}
    for one, two in combinations(range(len(rows)), 2):
        first, second = rows[one], rows[two]
        if first.lab != second.lab or (first.lab and size_of(first) != size_of(second)):
            continue
        is_one = program_of(first) == program_of(second) if first.lab else first.family == second.family
        if not first.lab and not is_one:
            continue
        apart = ratio_spread(shares[one], shares[two], (0.0, 1.0))
        measured = log(first.time_us / second.time_us)
        kind = "of one program" if is_one else "of two programs"
        found[kind].append((off[one] - off[two], apart, measured, first.lab or first.family))
    lines = []
    for (name, pairs_), used in zip(found.items(), (ONE_PROGRAM, TWO_PROGRAMS), strict=True):
        error, apart, measured = (np.array([pair[n] for pair in pairs_]) for n in range(3))
        labs = np.array([pair[3] for pair in pairs_])
        counts = {lab: np.sum(labs == lab) for lab in set(labs)}
        weights = np.array([counts[lab] ** -0.5 for lab in labs])
        widths = np.zeros(len(labs))
        for lab in counts:
            least, more = fit_ratio(np.abs(error[labs != lab]), apart[labs != lab], weights[labs != lab])
            widths[labs == lab] = least + more * apart[labs == lab]
        shown_ = np.mean(np.abs(error) <= used[0] + used[1] * apart)
        quartiles = ", ".join(f"{np.exp(np.quantile(widths, part)):.2f}" for part in (0.25, 0.5, 0.75))
        held = np.mean(np.abs(error) <= widths)
        lines.append(
            f"{len(labs)} pairs {name}: {shown_:.0%} in the intervals shown, {held:.0%} with the lab held back, "
            f"quartiles of the factor {quartiles}; fitted {fit_ratio(np.abs(error), apart, weights)}"
        )
        large = np.abs(measured) > log(1.25)
        of_labs = large & np.array(["/" not in lab for lab in labs])
        close = np.mean(np.abs(np.exp(error[of_labs]) - 1) <= 0.25)
        order = np.mean((measured + error)[of_labs] * measured[of_labs] > 0)
        lines.append(f"of labs, apart by a quarter: {of_labs.sum()}, right order {order:.1%}, within 25 % {close:.1%}")
    return lines


def fit_ratio(error: np.ndarray, apart: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """(least, more) of an interval's logarithm that 85 % of the ratios lie in: a quantile regression over a grid."""

    def loss(least: float, more: float) -> float:
        beyond = error - least - more * apart
        return float((weights * np.where(beyond > 0, 0.85 * beyond, -0.15 * beyond)).sum())

    grid = [(n / 100, m / 20) for n in range(2, 40) for m in range(40)]
    return min(grid, key=lambda pair: loss(*pair))
