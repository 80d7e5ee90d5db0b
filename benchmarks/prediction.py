"""How well predicted times agree with measured ones: `prediction_launches.py`'s launches, timed by `time_launches.py`.

    python benchmarks/prediction.py --profile PROFILES --times TIMES [--device NAME] [--part K/N]
    python benchmarks/prediction.py --report PROFILES --times TIMES
    python benchmarks/prediction.py --check PROFILES --times TIMES --device NAME

The first follows the launches, the second prints the tables of an H200, its coefficients fitted anew, the third those
of another device, by the coefficients that the grader uses.

Families (a program with all its variants and sizes) are held back together: five folds by a hash of the family's name,
exponents and coefficients fitted on the other four.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import zlib
from dataclasses import asdict, dataclass, fields, replace
from itertools import combinations
from math import log
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import numpy as np  # noqa: E402

from grader.timing.instructions import Processor, read_device  # noqa: E402
from grader.timing.prediction import (  # noqa: E402
    FITTED,
    Coefficients,
    predict,
    why_unpredictable,
)
from grader.timing.profile import Profile, profile, sampled_blocks  # noqa: E402
from grader.timing.trace import Argument, follow  # noqa: E402

FIGURES = ("chain", "chase", "four_ch", "barriers", "shared_reads", "atomics", "empty")
LEAST_US = 7.5
"""Five times what an empty kernel takes on an H200."""
MOST_STEPS = 30_000
"""PTX instructions of the block that is followed to its end; launches of longer ones are left out, and counted."""


def read_times(path: Path) -> dict[str, dict]:
    """Rows of a table of times, by launch."""
    return {row["id"]: row for row in map(json.loads, path.read_text("utf-8").splitlines())}


def _decides(entry: str, data) -> bool:  # type: ignore[no-untyped-def]
    """Whether an array's values decide what is executed or addressed; others are not filled, which takes no time."""
    return data.fill in ("below", "chain", "rising") or entry == "local_sort"


def write_profiles(target: Path, times: dict[str, dict], part: int, parts: int, device: str) -> None:
    """Follow the launches that were timed."""
    from prediction_launches import catalogue
    from prediction_own_launches import Data

    from grader.ptx import parse

    made = catalogue()
    processor = read_device(device)
    modules: dict = {}
    done = set(read_times(target)) if target.exists() else set()
    with target.open("a", encoding="utf-8") as out:
        for launch in made.launches[part::parts]:
            row = times.get(launch.id)
            if launch.id in done or row is None or row["cold_us"] < LEAST_US:
                continue
            if launch.program not in modules:
                modules[launch.program] = parse(made.ptx[launch.program])
            began = time.process_time()
            arguments = [
                Argument(
                    size_bytes=a.elements * np.dtype(a.dtype).itemsize,
                    contents=a.values() if _decides(launch.entry, a) else None,
                )
                if isinstance(a, Data)
                else Argument(number=np.dtype(a.dtype).type(a.value))
                for a in launch.arguments
            ]
            try:
                together, neighbours = sampled_blocks(launch.grid, row["blocks"], processor)
                numbers = [*together, *(n for n in neighbours if n >= 0)]
                blocks = [(numbers[0], MOST_STEPS), *((number, 4000) for number in numbers[1:])]
                traces = follow(
                    modules[launch.program],
                    launch.entry,
                    launch.grid,
                    launch.block,
                    launch.shared_bytes,
                    arguments,
                    blocks,
                )
            except Exception as error:  # a launch that cannot be followed is one line of the report
                out.write(
                    json.dumps(
                        {"id": launch.id, "family": launch.family, "lab": launch.lab, "error": repr(error)[:200]}
                    )
                    + "\n"
                )
                continue
            if not traces or not traces[0].complete or len(traces) < len(numbers):
                out.write(
                    json.dumps(
                        {
                            "id": launch.id,
                            "family": launch.family,
                            "lab": launch.lab,
                            "error": "not followed to its end",
                        }
                    )
                    + "\n"
                )
                continue
            rest = traces[len(together) :]
            beside = [rest.pop(0) if n >= 0 else None for n in neighbours]
            l1 = processor.cache_bytes(row["blocks"], launch.shared_bytes + row["static_shared"])
            found = profile(traces[: len(together)], beside, launch.grid, row["blocks"], l1, processor)
            out.write(
                json.dumps(
                    {
                        "id": launch.id,
                        "family": launch.family,
                        "lab": launch.lab,
                        "cpu_s": time.process_time() - began,
                        **asdict(replace(found, lines={})),
                    }
                )
                + "\n"
            )
            out.flush()


# -- fitting ---------------------------------------------------------------------------------------------------------

LIMITS = {"overlap": (1.2, 6), "alone": (0, 1)} | dict.fromkeys(
    ("issue", "pipes", "lsu", "l2", "dram"), (0.8, 2)
)
"""What fitted coefficients may be; others between 0.005 and 50."""
FIXED = ("dram", "lsu")
"""Coefficients that are not fitted."""
START = Coefficients()
FOLDS = 5


@dataclass(frozen=True)
class Row:
    """A launch that was followed and timed."""

    id: str
    family: str
    lab: str
    asked: Profile
    time_us: float


def told() -> set[str]:
    """The launches that grading gives a time, as far as their text says."""
    from prediction_launches import catalogue

    from grader.ptx import parse

    made = catalogue()
    modules = {program: parse(text) for program, text in made.ptx.items()}
    return {one.id for one in made.launches if why_unpredictable(modules[one.program], one.entry) is None}


def read_rows(profiles: Path, times: dict[str, dict], wanted: set[str]) -> tuple[list[Row], int, int]:
    """Launches above `LEAST_US`, one property's micro-benchmarks left out (a device's figures are read from them); how
    many are not wanted; how many could not be followed."""
    rows, unwanted, lost = [], 0, 0
    for row in read_times(profiles).values():
        if row["id"].split("/")[1].startswith(FIGURES):
            continue
        if row["id"] not in wanted:
            unwanted += 1
            continue
        if "error" in row:
            lost += 1
            continue
        asked = Profile(**{field.name: row[field.name] for field in fields(Profile) if field.name in row})
        if times[row["id"]]["cold_us"] >= LEAST_US:
            rows.append(Row(row["id"], row["family"], row["lab"], asked, times[row["id"]]["cold_us"]))
    return rows, unwanted, lost


def errors(rows: list[Row], fitted: Coefficients, processor: Processor) -> np.ndarray:
    """(n,) logarithms of predicted over measured."""
    return np.array([log(predict(row.asked, processor, fitted).time_us / row.time_us) for row in rows])


def fit(rows: list[Row], processor: Processor, start: Coefficients = START) -> Coefficients:
    """Coefficients of the least absolute error (beyond a factor of e all count alike), families weighted by the root of
    their launches."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.family] = counts.get(row.family, 0) + 1
    weights = np.array([counts[row.family] ** -0.5 for row in rows])

    def loss(fitted: Coefficients) -> float:
        return float((weights * np.minimum(abs(errors(rows, fitted, processor)), 1)).sum() / weights.sum())

    best = start
    least = loss(best)
    step = 1.35
    for _round in range(4):
        for name in (field.name for field in fields(Coefficients) if field.name not in FIXED):
            for factor in (step, 1 / step):
                low, high = LIMITS.get(name, (0.005, 50))
                while low <= getattr(best, name) * factor <= high:
                    tried = replace(best, **{name: getattr(best, name) * factor})
                    got = loss(tried)
                    if got > least - 1e-5:
                        break
                    best, least = tried, got
        step **= 0.6
    return best


def fold_of(family: str) -> int:
    """Which of `FOLDS` a family is held back in."""
    return zlib.crc32(family.encode()) % FOLDS


def held_back(rows: list[Row], processor: Processor, group) -> np.ndarray:  # type: ignore[no-untyped-def]
    """(n,) errors of each row with its group left out of the fit."""
    found = np.zeros(len(rows))
    for held in sorted({group(row) for row in rows}):
        inside = [row for row in rows if group(row) != held]
        outside = [number for number, row in enumerate(rows) if group(row) == held]
        found[outside] = errors([rows[number] for number in outside], fit(inside, processor), processor)
    return found


def roofline(row: Row, processor: Processor) -> float:
    """µs: the larger of bytes over bandwidth and instructions over the issue rate, and an empty launch."""
    asked = row.asked
    memory = (asked.read_bytes + asked.written_bytes) / processor.dram_bytes_per_second * 1e6
    issue = asked.blocks * asked.issued / (4 * processor.multiprocessors * processor.clock_ghz * 1e3)
    return max(memory, issue) + processor.launch_us


def linear(rows: list[Row], processor: Processor) -> np.ndarray:
    """(n,) errors of six coefficients on counts, families held back: instructions, wavefronts, sectors, bytes,
    atomics and an empty launch, none negative, least squares of relative errors."""
    counts = np.array(
        [
            [
                r.asked.issued,
                r.asked.shared + r.asked.tags,
                r.asked.l2_sectors + r.asked.stored_sectors,
                0,
                r.asked.atomic_requests,
                0,
            ]
            for r in rows
        ]
    )
    counts *= np.array([[r.asked.blocks] for r in rows])
    counts[:, 3] = [r.asked.read_bytes + r.asked.written_bytes for r in rows]
    counts[:, 5] = 1
    times = np.array([r.time_us for r in rows])
    scale = np.maximum(1e-30, counts.max(axis=0))
    found = np.zeros(len(rows))
    folds = np.array([fold_of(r.family) for r in rows])
    for fold in range(FOLDS):
        inside = folds != fold
        matrix = (counts / scale / times[:, None])[inside]
        coefficients = np.full(6, 1.0)
        for _step in range(20000):
            # Multiplicative updates keep all of them from falling below 0.
            coefficients *= matrix.T @ np.ones(inside.sum()) / np.maximum(1e-30, matrix.T @ (matrix @ coefficients))
        found[~inside] = np.log(np.maximum(1e-9, (counts / scale)[~inside] @ coefficients) / times[~inside])
    return found


# -- tables ----------------------------------------------------------------------------------------------------------


def line(name: str, found: np.ndarray) -> str:
    """A row of the table of errors."""
    off = np.abs(np.exp(found) - 1)
    return (
        f"| {name} | {len(found)} | {100 * np.median(off):.1f} % | {100 * np.mean(off <= 0.25):.0f} % | "
        f"{100 * np.mean(np.abs(found) <= log(2)):.0f} % |"
    )


def worst(rows: list[Row], found: np.ndarray) -> str:
    """The launches that are farthest off, predicted over measured."""
    return "worst: " + ", ".join(f"{rows[n].id} {np.exp(found[n]):.2f}" for n in np.argsort(-np.abs(found))[:12])


def pairs(rows: list[Row], found: np.ndarray) -> str:
    """Pairs of launches of a lab at one size that differ by more than a quarter: how many, the share in the right order
    and that of ratios right within a quarter, the factor within which 85 % of the ratios lie."""
    right, off = 0, []
    for one, two in combinations(range(len(rows)), 2):
        first, second = rows[one], rows[two]
        if not first.lab or first.lab != second.lab or first.id.split("/")[-1] != second.id.split("/")[-1]:
            continue
        measured = log(first.time_us / second.time_us)
        if abs(measured) <= log(1.25):
            continue
        predicted = measured + found[one] - found[two]
        right += predicted * measured > 0
        off.append(predicted - measured)
    close = np.mean(np.abs(np.exp(off) - 1) <= 0.25)
    factor = np.exp(np.quantile(np.abs(off), 0.85))
    return (
        f"pairs {len(off)}, right order {right / len(off):.1%}, ratio within 25 % {close:.1%}, 85 % within {factor:.2f}"
    )


def report(profiles: Path, times: Path) -> None:
    """Print the tables."""
    processor = read_device("h200")
    wanted = told()
    rows, unwanted, lost = read_rows(profiles, read_times(times), wanted)
    fitted = fit(rows, processor)
    print(f"{len(rows)} launches of {len({row.family for row in rows})} families, {lost} not followed", end=", ")
    print(f"{unwanted} told no time by grading\n{fitted}\n")
    print("| | launches | median error | within 25 % | within 2 times |\n|---|---|---|---|---|")
    by_family = held_back(rows, processor, lambda row: fold_of(row.family))
    print(line("model, families held back", by_family))
    print(line("model, in sample", errors(rows, fitted, processor)))
    print(line("model, nothing fitted", errors(rows, Coefficients(), processor)))
    print(line("six coefficients, families held back", linear(rows, processor)))
    print(line("roofline of two terms", np.array([log(roofline(row, processor) / row.time_us) for row in rows])))
    for lab in sorted({row.lab for row in rows} - {""}):
        inside = [row for row in rows if row.lab != lab]
        outside = [row for row in rows if row.lab == lab]
        print(line(f"model, {lab} left out", errors(outside, fit(inside, processor), processor)))
    print(line("kernels of no lab, families held back", by_family[[not row.lab for row in rows]]))
    for share in (0.8, 0.85, 0.9):
        print(f"{share:.0%} lie within a factor of {np.exp(np.quantile(np.abs(by_family), share)):.2f}")
    print(pairs(rows, by_family))
    print(worst(rows, by_family))


def check(profiles: Path, times: Path, device: str) -> None:
    """The errors of the coefficients in use on a device."""
    timed = read_times(times)
    rows, _unwanted, lost = read_rows(profiles, timed, told())
    every, _unwanted, _lost = read_rows(profiles, timed, set(timed))
    processor = read_device(device)
    off = errors(rows, FITTED, processor)
    print(f"{len({row.family for row in rows})} families, {lost} not followed")
    print(line(device, off))
    for lab in sorted({row.lab for row in rows}):
        print(line(lab or "of no lab", off[[row.lab == lab for row in rows]]))
    print(line("all that were followed", errors(every, FITTED, processor)))
    for share in (0.8, 0.85, 0.9):
        print(f"{share:.0%} lie within a factor of {np.exp(np.quantile(np.abs(off), share)):.2f}")
    print(pairs(rows, off))
    print(worst(rows, off))


def main() -> None:
    """Follow launches, or report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--profile", type=Path, help="file that profiles are added to")
    parser.add_argument("--device", default="h200", help="what they are followed for")
    parser.add_argument("--part", default="0/1", help="every Nth launch, from the Kth on")
    parser.add_argument("--report", type=Path, help="file of profiles")
    parser.add_argument("--times", type=Path, required=True)
    parser.add_argument("--check", type=Path, help="file of profiles for --device")
    given = parser.parse_args()
    if given.profile:
        part, parts = map(int, given.part.split("/"))
        write_profiles(given.profile, read_times(given.times), part, parts, given.device)
    if given.report:
        report(given.report, given.times)
    if given.check:
        check(given.check, given.times, given.device)


if __name__ == "__main__":
    main()
