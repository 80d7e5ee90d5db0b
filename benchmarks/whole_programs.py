"""Whole programs beside what a GPU printed: `python benchmarks/whole_programs.py FOLDER --expected FOLDER`.

FOLDER holds a folder for each program: its files, and `meta.yaml` with `kind`, `files`, `args`, `stdin`, `extra_flags`,
`std`, `includes_common` (folders of `FOLDER/_common`).  The folder of what is expected holds for each, under the same
name, `build.tsv` (the compiler's exit code first), `stdout` and `exit` as nvcc and a GPU made them.  A program that was
not built there is left out; nothing else is.

Each is run in a copy of its folder by `grade run` with its default limits, `--seconds` at most, and counts as the same
when the words of its standard output are equal and its numbers within 1e-3.  Lines that tell times, rates or the device
are left out on both sides, addresses are masked.  Prints a line a program and a table by kind.
"""

from __future__ import annotations

import argparse
import math
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import yaml

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf)\b", re.ASCII)
ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
OF_THE_MACHINE = re.compile(
    r"\b(?:[munµ]?s|[mn]?secs?|(?:milli|micro|nano)?seconds?|time[ds]?|timing|elapsed|duration|took|clock|cycles|"
    r"[kmgt]i?b/s(?:ec)?|[kmgt]?flops?(?:/s)?|bandwidth|throughput|speed-?up|faster|slower|fps|performance|"
    r"nvidia|geforce|tesla|device (?:name|\d)|gpu device|compute capability|driver version)\b|gpu\s*\d+\s*:",
    re.IGNORECASE,
)
"""Lines in which a GPU and an emulator differ by their nature: times, rates, the name of the device."""

OURS = {"nvidia_samples_Common", "book"}
"""Folders of headers that `grade run` brings itself."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a program fared: `same`, `different`, `refused`, `too large`, `timed out`; why: in a few words."""

    name: str
    kind: str
    verdict: str
    why: str = ""


def lines_of(text: str) -> list[str]:
    """The lines that have to be the same, white space folded."""
    lines = (" ".join(ADDRESS.sub("0xADDRESS", line).split()) for line in text.splitlines())
    return [line for line in lines if line and not OF_THE_MACHINE.search(line)]


def same_numbers(ours: str, theirs: str) -> bool:
    """Whether two lines have the same words, and numbers within 1e-3 of each other (relative, below 1 absolute)."""
    if NUMBER.sub("#", ours) != NUMBER.sub("#", theirs):
        return False
    for one, other in zip(map(float, NUMBER.findall(ours)), map(float, NUMBER.findall(theirs)), strict=True):
        near = one == other or abs(one - other) <= 1e-3 * max(1.0, abs(other))
        if not near and not (math.isnan(one) and math.isnan(other)):
            return False
    return True


def difference(ours: str, theirs: str) -> str:
    """The first line that differs; "": none does."""
    for number, (own, other) in enumerate(zip_longest(lines_of(ours), lines_of(theirs)), start=1):
        if own is None or other is None or not same_numbers(own, other):
            return f"line {number}: {(own or '(nothing)')[:60]!r}, a GPU {(other or '(nothing)')[:60]!r}"
    return ""


def command_of(grade: str, meta: dict[str, Any], common: Path) -> list[str]:
    """How a user runs it."""
    folders = meta.get("includes_common") or []
    folders = [folder for folder in folders if folder not in OURS]
    flags = shlex.split(meta.get("extra_flags") or "")
    includes = [f"-I{common / folder}" for folder in folders]
    arguments = [str(argument) for argument in meta.get("args") or []]
    return [grade, "run", "--device", "h200", *meta["files"], *includes, *flags, "--", *arguments]


def run(grade: str, folder: Path, expected: Path, common: Path, seconds: float) -> Outcome:
    """One program, run in a copy of its folder and compared."""
    meta = yaml.safe_load((folder / "meta.yaml").read_text("utf-8"))
    kind = str(meta.get("kind", "")).split("+")[0].strip()
    with tempfile.TemporaryDirectory() as scratch:
        here = Path(scratch) / folder.name
        shutil.copytree(folder, here)
        for made in (expected / "files").rglob("*.ptx"):  # what a step before the program made there
            shutil.copy(made, here)
        stdin = (here / meta["stdin"]).open("rb") if meta.get("stdin") else subprocess.DEVNULL
        try:
            done = subprocess.run(
                command_of(grade, meta, common), cwd=here, stdin=stdin, capture_output=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return Outcome(folder.name, kind, "timed out", f"{seconds:g} s")
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    last = next((line for line in reversed(said) if line.strip()), "")
    if done.returncode == 4:
        return Outcome(folder.name, kind, "too large", last[:160])
    wrong = difference(done.stdout.decode("utf-8", "replace"), (expected / "stdout").read_text("utf-8", "replace"))
    if not wrong:
        return Outcome(folder.name, kind, "same")
    if not done.stdout and done.returncode:
        return Outcome(folder.name, kind, "refused", (said[0] if said else "")[:200])
    return Outcome(folder.name, kind, "different", wrong)


def chosen(folder: Path, expected: Path, every: int, first: int, kind: str) -> Iterator[tuple[Path, Path]]:
    """Programs that were built for the GPU, with what they printed there."""
    programs = sorted(path for path in folder.iterdir() if (path / "meta.yaml").is_file())
    for path in programs[first::every]:
        theirs = expected / path.name
        built = (theirs / "build.tsv").read_text() if (theirs / "build.tsv").is_file() else ""
        wanted = kind in str(yaml.safe_load((path / "meta.yaml").read_text("utf-8")).get("kind"))
        if built.split("\t")[0] == "0" and (theirs / "stdout").is_file() and wanted:
            yield path, theirs


def main() -> int:
    """Run them, print a line each and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", type=Path)
    parser.add_argument("--expected", type=Path, required=True)
    parser.add_argument("--grade", default=str(Path(sys.executable).with_name("grade")))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=0)
    parser.add_argument("--kind", default="")
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    common = (options.programs / "_common").resolve()
    table: dict[str, Counter[str]] = {}
    with ThreadPoolExecutor(options.jobs) as pool:
        jobs = [
            pool.submit(run, options.grade, path, theirs, common, options.seconds)
            for path, theirs in chosen(options.programs, options.expected, options.every, options.first, options.kind)
        ]
        for job in jobs:
            outcome = job.result()
            table.setdefault(outcome.kind, Counter())[outcome.verdict] += 1
            print(f"{outcome.verdict:10} {outcome.name}  {outcome.why}", flush=True)
    verdicts = ("same", "different", "refused", "too large", "timed out")
    print("\n| kind | programs | " + " | ".join(verdicts) + " |\n| --- |" + " --- |" * (len(verdicts) + 1))
    everything: Counter[str] = sum(table.values(), Counter())
    for kind, counts in [*sorted(table.items(), key=lambda row: -row[1].total()), ("all", everything)]:
        print(f"| {kind} | {counts.total()} | " + " | ".join(str(counts[verdict]) for verdict in verdicts) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
