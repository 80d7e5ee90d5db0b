"""How well predicted times agree with measured ones: `prediction_launches.py`'s launches, timed by `time_launches.py`.

    python benchmarks/prediction.py --profile PROFILES --times TIMES [--device NAME] [--part K/N] [--as-written]
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
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import combinations
from math import log
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import numpy as np  # noqa: E402
from prediction_ratios import Row, ratios  # noqa: E402

from grader.timing.instructions import Processor, read_device  # noqa: E402
from grader.timing.model import FITTED, UNITS, Coefficients, spread_of, time_of  # noqa: E402
from grader.timing.prediction import profiled, why_unpredictable  # noqa: E402
from grader.timing.profile import Profile  # noqa: E402
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


def as_written() -> None:
    """Count PTX as it stands: nothing that the assembler folds, joins or unrolls."""
    from grader.timing import instructions

    instructions._fold = lambda *_block: None  # type: ignore[assignment]
    instructions._joined = lambda _block: frozenset()  # type: ignore[assignment]
    instructions._unrolled = lambda _block: 1  # type: ignore[assignment]


def write_profiles(target: Path, times: dict[str, dict], part: int, parts: int, device: str) -> None:
    """Follow the launches that were timed."""
    from prediction_launches import catalogue
    from prediction_own_launches import Data

    from grader.ptx.frontend.parser import parse

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
            said = {"id": launch.id, "family": launch.family, "lab": launch.lab}
            try:
                asked = profiled(
                    partial(
                        follow,
                        modules[launch.program],
                        launch.entry,
                        launch.grid,
                        launch.block,
                        launch.shared_bytes,
                        arguments,
                    ),
                    launch.grid,
                    row["blocks"],
                    processor.cache_bytes(row["blocks"], launch.shared_bytes + row["static_shared"]),
                    processor,
                    MOST_STEPS,
                )
                if asked is None:
                    said["error"] = "not followed to its end"
                else:
                    said |= {"cpu_s": time.process_time() - began, **asdict(replace(asked, lines={}))}
            except Exception as error:  # a launch that cannot be followed is one line of the report
                said["error"] = repr(error)[:200]
            out.write(json.dumps(said) + "\n")
            out.flush()


# -- fitting ---------------------------------------------------------------------------------------------------------

LIMITS = {"overlap": (1.2, 6), "alone": (0, 1)}
"""What fitted coefficients may be; others between 0.005 and 50."""
GIVEN = ("memory", "slowest", "in_order", "l2", "stores", "hot_cycles", "line_cycles")
"""Coefficients that are not fitted: read from copies (by loops of few threads, by blocks of 1024), and from
transpositions with and without bank conflicts at 1 to 8 blocks a multiprocessor, from products whose rows L1 cannot
hold (10.5 TB/s of L2), from transpositions without their loads, each store of a warp to 32 lines, from atomics of all
warps at one address."""
FOLDS = 5
UNSEEN = ("unseen", "blind")
"""What stands for the lab of launches that nothing is fitted to."""


def told() -> set[str]:
    """The launches that grading gives a time, as far as their text says."""
    from prediction_launches import catalogue

    from grader.ptx.frontend.parser import parse

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
    return np.array([log(time_of(row.asked, processor, fitted)[0] / row.time_us) for row in rows])


def fit(rows: list[Row], processor: Processor) -> Coefficients:
    """Coefficients of the least absolute error (beyond a factor of e all count alike), families weighted by the root of
    their launches."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.family] = counts.get(row.family, 0) + 1
    weights = np.array([counts[row.family] ** -0.5 for row in rows])

    def loss(fitted: Coefficients) -> float:
        return float((weights * np.minimum(abs(errors(rows, fitted, processor)), 1)).sum() / weights.sum())

    best = Coefficients()
    least = loss(best)
    step = 1.35
    for _round in range(4):
        for name in (field.name for field in fields(Coefficients) if field.name not in GIVEN):
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


# -- intervals and parts ---------------------------------------------------------------------------------------------

ALIKE = (("issue", "arithmetic"), ("shared", "barriers"), ("dram", "launch"), ("block_starts", "tail"))
"""Units whose times are known equally well."""


def kinds_of(rows: list[Row], processor: Processor, fitted: Coefficients) -> tuple[list[tuple[str, ...]], np.ndarray]:
    """Kinds of units, and (n, kinds) the share of each launch's time that goes to each."""
    kinds = [*ALIKE, *((unit,) for unit in UNITS if not any(unit in alike for alike in ALIKE))]
    shares = [time_of(row.asked, processor, fitted)[1] for row in rows]
    return kinds, np.array([[sum(one[unit] for unit in kind) for kind in kinds] for one in shares])


def fit_spread(shares: np.ndarray, off: np.ndarray, inside: float = 0.83) -> np.ndarray:
    """(kinds,) logarithms of an interval's factor: the quantile regression of absolute errors on shares."""

    def loss(spread: np.ndarray) -> float:
        beyond = np.abs(off) - shares @ spread
        return float(np.where(beyond > 0, inside * beyond, (inside - 1) * beyond).mean())

    best, step = np.full(shares.shape[1], 0.35), 1.4
    for _round in range(8):
        for kind in range(len(best)):
            for factor in (step, 1 / step):
                tried = best.copy()
                tried[kind] = np.clip(best[kind] * factor, 0.05, 2)
                while loss(tried) < loss(best) - 1e-9:
                    best = tried.copy()
                    tried[kind] = np.clip(best[kind] * factor, 0.05, 2)
        step **= 0.7
    return best


def intervals(rows: list[Row], off: np.ndarray, processor: Processor, fitted: Coefficients) -> str:
    """How many of the held-back launches lie in their intervals, whose widths are fitted to the other families."""
    kinds, shares = kinds_of(rows, processor, fitted)
    folds = np.array([fold_of(row.family) for row in rows])
    widths = np.zeros(len(rows))
    for fold in range(FOLDS):
        widths[folds == fold] = shares[folds == fold] @ fit_spread(shares[folds != fold], off[folds != fold])
    quartiles = ", ".join(f"{100 * (np.exp(np.quantile(widths, part)) - 1):.0f} %" for part in (0.25, 0.5, 0.75))
    by_kind = dict(zip(("/".join(kind) for kind in kinds), fit_spread(shares, off).round(2).tolist(), strict=True))
    return f"{np.mean(np.abs(off) <= widths):.0%} lie within, quartiles of the half-width {quartiles}; {by_kind}"


def without_caches(row: Row) -> Profile:
    """As if all that loads ask for came from memory."""
    asked = row.asked
    read = asked.blocks * asked.loaded_sectors * 32.0
    return replace(asked, l2_sectors=asked.loaded_sectors, read_bytes=max(read, asked.read_bytes))


def without_latency(row: Row) -> Profile:
    """As if nothing waited."""
    return replace(row.asked, path=0.0, path_inside=0.0, barriers=0.0)


def with_equal_blocks(row: Row) -> Profile:
    """As if all blocks had the work of the one in the middle."""
    return replace(row.asked, most_work=1.0, mean_work=1.0)


def without_tail(row: Row, processor: Processor) -> Profile:
    """As if there were as many blocks as fill whole waves, each with its part of the work."""
    asked = row.asked
    wave = processor.multiprocessors * max(1, min(asked.resident, -(-asked.blocks // processor.multiprocessors)))
    whole = -(-asked.blocks // wave) * wave
    part = asked.blocks / whole
    work = ("issued", "shared", "tags", "l2_sectors", "stored_sectors", "barriers", "path", "path_inside")
    less = {name: getattr(asked, name) * part for name in work}
    pipes = {pipe: count * part for pipe, count in asked.by_pipe.items()}
    return replace(asked, blocks=whole, by_pipe=pipes, **less)


def parts(rows: list[Row], processor: Processor) -> list[str]:
    """Lines of the table: families held back, one part of the model switched off and the rest fitted anew."""
    off = {
        "caches: all that is asked for comes from memory": without_caches,
        "latency and barriers": without_latency,
        "tail: work spread over whole waves": partial(without_tail, processor=processor),
        "blocks that have other work than the one in the middle": with_equal_blocks,
    }
    lines = []
    for name, changed in off.items():
        others = [replace(row, asked=changed(row)) for row in rows]
        lines.append(line(f"without {name}", held_back(others, processor, lambda row: fold_of(row.family))))
    return lines


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
    every, unwanted, lost = read_rows(profiles, read_times(times), wanted)
    rows = [row for row in every if row.lab not in UNSEEN]
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
    print(line("model, the coefficients in use", errors(rows, FITTED, processor)))
    print("\n".join(parts(rows, processor)))
    print(intervals(rows, by_family, processor, fitted))
    for share in (0.8, 0.85, 0.9):
        print(f"{share:.0%} lie within a factor of {np.exp(np.quantile(np.abs(by_family), share)):.2f}")
    print(pairs(rows, by_family))
    print("\n".join(ratios(rows, by_family, processor)))
    print(worst(rows, by_family))
    for name in UNSEEN:
        those = [row for row in every if row.lab == name]
        if those:
            off = errors(those, FITTED, processor)
            print(line(f"{name} kernels, the coefficients in use", off))
            print(shown(those, processor), pairs(those, off), worst(those, off), sep="\n")


def shown(rows: list[Row], processor: Processor) -> str:
    """How many launches lie in the intervals that the grader shows."""
    widths = np.array([spread_of(time_of(row.asked, processor, FITTED)[1]) for row in rows])
    held = np.mean(np.abs(errors(rows, FITTED, processor)) <= widths)
    half = 100 * (np.exp(np.median(widths)) - 1)
    return f"{held:.0%} lie in the interval shown, half its width {half:.0f} % at the median"


def check(profiles: Path, times: Path, device: str) -> None:
    """The errors of the coefficients in use on a device."""
    timed = read_times(times)
    rows, _unwanted, lost = read_rows(profiles, timed, told())
    every, _unwanted, _lost = read_rows(profiles, timed, set(timed))
    processor = read_device(device)
    off = errors(rows, FITTED, processor)
    print(shown(rows, processor))
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
    parser.add_argument("--as-written", action="store_true", help="without what the assembler makes of PTX")
    given = parser.parse_args()
    if given.as_written:
        as_written()
    if given.profile:
        part, parts = map(int, given.part.split("/"))
        write_profiles(given.profile, read_times(given.times), part, parts, given.device)
    if given.report:
        report(given.report, given.times)
    if given.check:
        check(given.check, given.times, given.device)


if __name__ == "__main__":
    main()
