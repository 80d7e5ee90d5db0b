"""Whether a change of the code changed any grading: `python scripts/compare_gradings.py [REVISION]`.

Grades every sample submission and every kernel with a known verdict twice, by the code of REVISION (HEAD when not
given) and by that of the working tree, and prints in what the results differ: verdicts, points, counters, lines, data.
Texts are left out, and so are fields that only the new results have.  Ends with 1 where something differs.

The files graded are those of the working tree; labs, oracles and reference kernels are each side's own.  What an older
revision said is kept in the user's cache folder, as it does not change any more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TEXTS = frozenset(
    [
        "message",
        "hint",
        "sentences",
        "remarks",
        "reason",
        "left_out",
        "text",
        "notes",
        "title",
        "words",
        "schema_version",
        "grader",
        "picture",
        "sources",
    ]
)
"""Keys of texts, which may change; and of what says nothing about a grading."""

NAMES: tuple[tuple[str, ...], ...] = (
    ("id",),
    ("kind", "backend", "size"),
    ("line", "space", "op"),
    ("kind", "line", "detail"),
    ("variant", "of", "x", "line"),
    ("file",),
)
"""What tells the records of a list from one another; lists of records without any of these are compared in order."""

MOST_TOLD = 40
LIKE = 3
"""The same difference in more files than this is told once."""


class Job(NamedTuple):
    """A file or folder to be graded for a lab."""

    path: Path
    lab: str

    @property
    def name(self) -> str:
        """How differences name it."""
        return f"{self.path.relative_to(ROOT)} ({self.lab})"


class Difference(NamedTuple):
    """A place in a result where two gradings differ; `place` is a path of keys."""

    place: str
    old: str
    new: str


def jobs() -> list[Job]:
    """Every sample submission for each lab that it has work for, and every kernel with a known verdict."""
    labs = [folder.name for folder in sorted((ROOT / "assignments").iterdir()) if (folder / "lab.yaml").exists()]
    found = []
    for student in sorted((ROOT / "submissions").iterdir()):
        found += [Job(student, lab) for lab in labs if (student / lab).exists() or (student / f"{lab}.cu").exists()]
    for lab in labs:
        found += [Job(file, lab) for file in sorted((ROOT / "tests" / "kernels" / lab).rglob("*.cu"))]
    return found


# The side that grades: run with the code of either revision, so it must get along with both.


def grade_all(code: Path, sweeps: bool) -> None:
    """Grade what standard input names, a JSON list a line, by the package in `code`; a result a line."""
    sys.path.insert(0, str(code))
    results = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    import grader

    assert Path(grader.__file__).is_relative_to(code), f"{grader.__file__} is not in {code}"
    for line in sys.stdin:
        path, lab = json.loads(line)
        try:
            result = _grade(path, lab, sweeps)
        except Exception as error:
            result = {"failed": f"{type(error).__name__}: {error}".replace(str(code), "")}
        print(json.dumps(result), file=results, flush=True)


def _grade(path: str, lab_id: str, sweeps: bool) -> Any:
    from dataclasses import replace
    from importlib import import_module
    from importlib.util import find_spec
    from inspect import signature

    from grader.grading import pipeline
    from grader.result import encode

    # Until labs had one package, files of labs were read by another.
    labs = import_module("grader.lab.labs" if find_spec("grader.lab.labs") else "grader.lab_files.labs")
    lab = labs.find(lab_id)
    if not sweeps:
        lab = replace(lab, sweeps=())
    asked: dict[str, Any] = {"backend": "emulator"}
    # Until options came as one record, each was a parameter.
    if "options" in signature(pipeline.grade).parameters:
        asked = {"options": import_module("grader.grading.options").GradeOptions(backend="emulator")}
    return json.loads(encode(pipeline.grade(Path(path), lab, **asked)))


# The side that compares.


def gradings(code: Path, wanted: list[Job], sweeps: bool, processes: int) -> dict[Job, Any]:
    """The results of some jobs by the package in `code`."""
    shares = [wanted[index::processes] for index in range(processes)]
    with ThreadPoolExecutor(processes) as pool:
        parts = list(pool.map(lambda share: _gradings_of_one(code, share, sweeps), shares))
    return {job: result for part in parts for job, result in part.items()}


def _gradings_of_one(code: Path, share: list[Job], sweeps: bool) -> dict[Job, Any]:
    command = [sys.executable, __file__, "--grade-with", str(code), *(["--sweeps"] if sweeps else [])]
    lines = "".join(json.dumps([str(job.path), job.lab]) + "\n" for job in share)
    process = subprocess.run(command, input=lines, stdout=subprocess.PIPE, cwd=code, encoding="utf-8", check=False)
    results = [json.loads(line) for line in process.stdout.splitlines()]
    if len(results) != len(share):
        lost = share[len(results)].name
        raise SystemExit(f"{code}: the grading process ended with status {process.returncode} at {lost}")
    return dict(zip(share, results, strict=True))


def of_revision(revision: str, wanted: list[Job], sweeps: bool, processes: int) -> dict[Job, Any]:
    """The results of some jobs by the code of a revision, from the cache where they are in it."""
    commit = _git("rev-parse", f"{revision}^{{commit}}")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cuda-lab-grader" / "gradings"
    files = {job: cache / f"{commit}-{_digest(job, sweeps)}.json" for job in wanted}
    missing = [job for job, file in files.items() if not file.exists()]
    if missing:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as folder:
            code = Path(folder).resolve() / "code"
            _git("worktree", "add", "--detach", "--force", str(code), commit)
            try:
                for job, result in gradings(code, missing, sweeps, processes).items():
                    # Two of these may run at the same time.
                    part = files[job].with_suffix(f".{os.getpid()}")
                    part.write_text(json.dumps(result), encoding="utf-8")
                    part.replace(files[job])
            finally:
                _git("worktree", "remove", "--force", str(code))
    return {job: json.loads(file.read_text(encoding="utf-8")) for job, file in files.items()}


def _digest(job: Job, sweeps: bool) -> str:
    digest = hashlib.sha256(f"{job.name} {sweeps}".encode())
    for file in sorted(job.path.rglob("*")) if job.path.is_dir() else [job.path]:
        if file.is_file():
            digest.update(f"{file.name} {file.stat().st_size}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:24]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def differences(old: Any, new: Any, place: str = "") -> Iterator[Difference]:
    """In what `new` is not as `old`; records of lists are matched by their names."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            if key in TEXTS or key.endswith("_said"):
                continue
            where = f"{place}.{key}" if place else key
            if key in new:
                yield from differences(old[key], new[key], where)
            elif old[key] not in (None, "", [], {}, 0, False):
                yield Difference(where, _short(old[key]), "(no such field)")
    elif isinstance(old, list) and isinstance(new, list):
        keys = next((k for k in NAMES if all(_has(row, k) for row in [*old, *new])), None) if old or new else None
        yield from _in_order(old, new, place) if keys is None else _by_name(old, new, keys, place)
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield Difference(place, _short(old), _short(new))


def _has(row: Any, keys: tuple[str, ...]) -> bool:
    return isinstance(row, dict) and all(key in row for key in keys)


def _in_order(old: list[Any], new: list[Any], place: str) -> Iterator[Difference]:
    if len(old) != len(new):
        yield Difference(place, _short(old), _short(new))
        return
    for index, (a, b) in enumerate(zip(old, new, strict=True)):
        yield from differences(a, b, f"{place}[{index}]")


def _by_name(old: list[Any], new: list[Any], keys: tuple[str, ...], place: str) -> Iterator[Difference]:
    def named(rows: list[Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for row in rows:
            name = " ".join(_short(row[key]) for key in keys)
            found[name if name not in found else f"{name} #{len(found)}"] = row
        return found

    before, after = named(old), named(new)
    for name, row in before.items():
        if name in after:
            yield from differences(row, after[name], f"{place}[{name}]")
        else:
            yield Difference(f"{place}[{name}]", _short(row), "(none)")
    for name, row in after.items():
        if name not in before:
            yield Difference(f"{place}[{name}]", "(none)", _short(row))
    common = [name for name in before if name in after]
    if common != [name for name in after if name in before]:
        yield Difference(f"{place} order", _short(common), _short([name for name in after if name in before]))


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 160 else text[:157] + "…"


def tell(found: dict[str, list[Difference]]) -> Iterable[str]:
    """Lines that say what differs: verdicts and points first, what is the same in many files once."""
    where: dict[Difference, list[str]] = defaultdict(list)
    for name, rows in found.items():
        for row in rows:
            where[row].append(name)
    for row, names in sorted(where.items(), key=lambda item: (_rank(item[0].place), item[1])):
        more = f" and {len(names) - LIKE} more" if len(names) > LIKE else ""
        yield f"{', '.join(names[:LIKE])}{more}:\n    {row.place}: {row.old} → {row.new}"


def _rank(place: str) -> int:
    order = ("failed", "status", "score", "checks", "variants")
    return next((index for index, key in enumerate(order) if place.startswith(key)), len(order))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?", default="HEAD", help="what to compare with; HEAD when not given")
    parser.add_argument("--only", default="", metavar="TEXT", help="what has this in its path or lab")
    parser.add_argument("--sweeps", action="store_true", help="run the labs' sweeps too: several minutes")
    parser.add_argument("--all", action="store_true", help=f"print all differences, not the first {MOST_TOLD}")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes; one per core")
    parser.add_argument("--grade-with", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.grade_with:
        grade_all(options.grade_with.resolve(), options.sweeps)
        return 0
    wanted = [job for job in jobs() if options.only in job.name]
    old = of_revision(options.revision, wanted, options.sweeps, options.jobs)
    new = gradings(ROOT, wanted, options.sweeps, options.jobs)
    found = {job.name: list(differences(old[job], new[job])) for job in wanted}
    lines = list(tell(found))
    for line in lines if options.all else lines[:MOST_TOLD]:
        print(line)
    if len(lines) > MOST_TOLD and not options.all:
        print(f"and {len(lines) - MOST_TOLD} more (--all)")
    changed = sum(bool(rows) for rows in found.values())
    print(f"{len(wanted)} gradings, {changed} differ" if changed else f"{len(wanted)} gradings, none differs")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
