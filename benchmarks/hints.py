"""How true hints are: every mutation of one place of the good kernels, graded with the search for changes.

    python benchmarks/hints.py [--every N] [--from M] [--lab LAB]

Mutations are made in the text, line by line, by rules of their own (not by the search's): an index, a comparison, a
guard, a barrier, a pad, a zero.  Those with which every check still passes change nothing and are left aside, listed
at the end.  The table says for each kind of fault: how many mutants fail, in how many a change was found that passes
every check (and in how many of these at the mutated line), and of the hints that name a line how many name the mutated
one, or one at which a change was proved to make the kernel right.  `--every N` takes every N-th mutant of the list,
`--from M` begins with the M-th.  What fails in the good kernel already (its host code, say) is nobody's fault here.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path

from grader.grading.options import GradeOptions, Warm
from grader.grading.pipeline import grade
from grader.lab.labs import find
from grader.lab.records import Lab
from grader.result import Result

KERNELS = Path(__file__).parent.parent / "tests" / "kernels"
LABS = ("transpose", "matmul", "box-blur", "batch-square")
KINDS = ("index", "comparison", "guard", "barrier", "pad", "zero")

_SUBSCRIPT = re.compile(r"\[([^\[\]]+)\]")
_PAIR = re.compile(r"\[([^\[\]]+)\]\[([^\[\]]+)\]")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A good kernel with one fault; line: where it was put."""

    lab: str
    file: str
    kind: str
    line: int
    text: str
    was: str
    now: str


def mutants(lab: str, path: Path) -> Iterator[Mutant]:
    """Every mutation of a file's kernels, in order of the text."""
    text = path.read_text("utf-8")
    lines = text.split("\n")
    seen = set()
    for number in _kernel_lines(lines):
        for kind, now in _mutations(lines[number - 1]):
            if now == lines[number - 1] or (number, now) in seen:
                continue
            seen.add((number, now))
            changed = "\n".join([*lines[: number - 1], now, *lines[number:]])
            yield Mutant(lab, path.name, kind, number, changed, lines[number - 1].strip(), now.strip())


def _kernel_lines(lines: list[str]) -> Iterator[int]:
    """Lines in the bodies of functions for the device."""
    depth, inside = 0, False
    for number, line in enumerate(lines, start=1):
        code = line.split("//")[0]
        if depth == 0 and ("__global__" in code or "__device__" in code or code.startswith("KERNEL")):
            inside = not code.rstrip().endswith(";")
        if (inside and depth > 0) or (inside and "{" in code and code.index("{") < len(code.rstrip()) - 1):
            yield number
        depth += code.count("{") - code.count("}")
        if depth == 0 and "}" in code:
            inside = False


def _mutations(line: str) -> Iterator[tuple[str, str]]:
    """A line with one fault each."""
    code = line.split("//")[0]
    if code.lstrip().startswith(("#", "__global__", "template", "KERNEL")) and "{" not in code:
        return
    yield from _of_index(code)
    for found in re.finditer(r"(?<![<>=!+\-*/%])(<=|>=|<|>)(?![<>=])", code):
        if "template" in code or "<<<" in code or "cast<" in code or "(size_t" in code or "<float" in code:
            break
        for other in {"<": ("<=", ">"), "<=": ("<",), ">": (">=",), ">=": (">",)}[found.group()]:
            yield "comparison", _put(code, found.start(), found.end(), other)
    yield from _of_guard(code)
    if "__syncthreads();" in code:
        yield "barrier", code.replace("__syncthreads();", "")
        yield "barrier", code.replace("__syncthreads();", "if (threadIdx.x < 16) __syncthreads();")
    if "__shared__" in code and "[" in code:
        for found in re.finditer(r"\s*\+\s*1\s*\]", code):
            yield "pad", _put(code, found.start(), found.end(), "]")
            yield "pad", _put(code, found.start(), found.end(), " + 2]")
        for found in re.finditer(r"\[(\d+)\]", code):
            size = int(found.group(1))
            yield "pad", _put(code, found.start(), found.end(), f"[{size - 1}]")
    yield from _of_zero(code)


def _of_index(code: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"(threadIdx|blockIdx)\.([xy])", code):
        other = "y" if found.group(2) == "x" else "x"
        yield "index", _put(code, found.start(2), found.end(2), other)
    if "__shared__" in code:
        return
    for found in _PAIR.finditer(code):
        yield "index", _put(code, found.start(), found.end(), f"[{found.group(2)}][{found.group(1)}]")
    for found in _SUBSCRIPT.finditer(code):
        yield "index", _put(code, found.end() - 1, found.end(), " + 1]")
        product = re.fullmatch(r"(\(?[\w. +]+\)?) \* (\w+) \+ ([\w.]+)", found.group(1))
        if product:
            swapped = f"[{product.group(3)} * {product.group(2)} + {product.group(1)}]"
            yield "index", _put(code, found.start(), found.end(), swapped)
    for one, two in (("rows", "cols"), ("width", "height"), ("row", "col"), ("r", "c"), ("i", "j"), ("x", "y")):
        for a, b in ((one, two), (two, one)):
            for found in re.finditer(rf"(?<![\w.]){a}(?!\w)(?=[^\[]*\])", code):
                yield "index", _put(code, found.start(), found.end(), b)


def _of_guard(code: str) -> Iterator[tuple[str, str]]:
    found = re.search(r"\bif \((.*?)\)(?=\s|$)", code)
    if found is None:
        return
    condition = found.group(1)
    parts = [part.strip() for part in condition.split("&&")]
    rest = code[found.end() :].strip()
    if rest.startswith("return") or rest == "":
        yield "guard", _put(code, found.start(1), found.end(1), "false" if rest.startswith("return") else "true")
    else:
        yield "guard", code[: found.start()] + code[found.end() :].lstrip()
    if len(parts) == 2:
        for part in parts:
            yield "guard", _put(code, found.start(1), found.end(1), part)


def _of_zero(code: str) -> Iterator[tuple[str, str]]:
    for found in re.finditer(r"(?<=[\w\]] = )0(\.0?f?)?(?=[;,])", code):
        yield "zero", _put(code, found.start(), found.end(), "1")
    for found in re.finditer(r"\b(?:float|double) (\w+)( = 0(?:\.0?f?)?);", code):
        yield "zero", _put(code, found.start(2), found.end(2), "")
    for found in re.finditer(r": 0(\.0?f?)?(?=[;,)])", code):
        yield "zero", _put(code, found.start(), found.end(), ": 1")
    for found in re.finditer(r" \+= ", code):
        if "for (" not in code:
            yield "zero", _put(code, found.start(), found.end(), " = ")


def _put(code: str, start: int, end: int, text: str) -> str:
    return code[:start] + text + code[end:]


@dataclass(slots=True)
class Row:
    """Counts of a kind of fault."""

    failing: int = 0
    repaired: int = 0
    at_the_place: int = 0
    named: int = 0
    named_right: int = 0


@cache
def lab_of(name: str) -> Lab:
    """A lab, without what takes time and decides nothing here."""
    return replace(find(name, ()), sweeps=(), timing=None)


@cache
def failing(lab: str, file: str) -> frozenset[str]:
    """The checks that fail in a good kernel."""
    path = KERNELS / lab / "good" / file
    result = grade(path, lab_of(lab), GradeOptions(backend="emulator", repairs=False), warm=_warm())
    return frozenset(c.id for c in result.checks if c.status == "fail")


def judged(mutant: Mutant, result: Result, known: frozenset[str]) -> tuple[str, int | None, bool]:
    """What became of a mutant ("equal", "refused", "fails"), the line that its hint names, whether it was mended.

    known: checks that the fault has no part in.
    """
    failed = [c for c in result.checks if c.status == "fail" and c.id not in known]
    if not failed:
        return "equal", None, False
    if any(c.check == "compiles" for c in failed):
        return "refused", None, False
    repaired = next((c.repair for c in failed if c.repair is not None), None)
    if repaired is not None:
        return "fails", repaired.line, True
    for check in failed:
        found = re.search(r"\bline (\d+)", check.hint)
        if found:
            return "fails", int(found.group(1)), False
    return "fails", None, False


def graded(mutant: Mutant, *, repairs: bool = True) -> Result:
    """A mutant's result, with what is kept from students; repairs: with the search for changes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "student" / f"{mutant.lab}.cu"
        path.parent.mkdir()
        path.write_text(mutant.text, "utf-8")
        options = GradeOptions(backend="emulator", answers=True, repairs=repairs)
        return grade(path, lab_of(mutant.lab), options, warm=_warm())


@cache
def _warm() -> Warm:
    """One for all: these are our own files."""
    return Warm().__enter__()


def run(chosen: list[Mutant]) -> tuple[dict[str, Row], list[str], list[str]]:
    """The table, the mutants that change nothing, and those of which the hint names no line or another one."""
    rows = {kind: Row() for kind in KINDS}
    equal, missed = [], []
    for number, mutant in enumerate(chosen, start=1):
        result = graded(mutant)
        what, line, is_repaired = judged(mutant, result, failing(mutant.lab, mutant.file))
        about = f"{mutant.lab}/{mutant.file}:{mutant.line} {mutant.kind}: {mutant.was}  →  {mutant.now}"
        if what == "equal":
            equal.append(about)
        if what != "fails":
            print(f"{number}/{len(chosen)} {what} {about}", flush=True)
            continue
        row = rows[mutant.kind]
        row.failing += 1
        row.repaired += is_repaired
        row.at_the_place += is_repaired and line == mutant.line
        row.named += line is not None
        row.named_right += line is not None and (is_repaired or line == mutant.line)
        if not is_repaired:
            missed.append(f"{about}  (hint: line {line})")
        print(f"{number}/{len(chosen)} {'found' if is_repaired else 'not found'} {line} {about}", flush=True)
    return rows, equal, missed


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--lab", action="append", choices=LABS)
    options = parser.parse_args()
    names = options.lab or LABS
    known = [
        m for name in names for path in sorted((KERNELS / name / "good").glob("*.cu")) for m in mutants(name, path)
    ]
    chosen = known[options.first :: options.every]
    rows, equal, missed = run(chosen)
    total = Row()
    print(f"\n{len(known)} mutants, {len(chosen)} of them graded, {len(equal)} change nothing\n")
    titles = ("failing", "change found", "at the line", "hint names a line", "the right one")
    print(f"{'fault':<12}" + "".join(f"{title:>19}" for title in titles))
    for row in rows.values():
        for field in fields(Row):
            setattr(total, field.name, getattr(total, field.name) + getattr(row, field.name))
    for kind, row in [*rows.items(), ("all", total)]:
        found = [str(row.failing), _share(row.repaired, row.failing), _share(row.at_the_place, row.repaired)]
        found += [_share(row.named, row.failing), _share(row.named_right, row.named)]
        print(f"{kind:<12}" + "".join(f"{text:>19}" for text in found))
    print("\nNo change found:", *missed, sep="\n  ")
    print("\nChange nothing:", *equal, sep="\n  ")


def _share(part: int, whole: int) -> str:
    return f"{part} ({100 * part / whole:.0f} %)" if whole else "–"


if __name__ == "__main__":
    main()
