"""A whole program, run with files and numbers of ours: how it is started, what it reads and what it writes.

Every word of its command line is a number and the name of a file at once; which of them it opens says what it is. What
a file holds is tried format by format: the right one is that whose numbers the program was seen to copy to the device.
What it prints is a result where it changes with the data, and is none of the sizes.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

import numpy as np

from grader.errors import FileError
from grader.lab.interfaces import is_size_name
from grader.lab.parameters import DTYPES, Argument, Signature, argument_of
from grader.message import msg
from grader.programs.execution import run_calls
from grader.programs.records import FunctionCall, Observation, RunLimits, Start
from grader.programs.sources import read_program
from grader.proposing import contents
from grader.proposing.probing import ProbedFunction
from grader.proposing.solution import CandidateFunction, Solution
from grader.running.function_runs import LIMITS

Steps = Generator[Start, Observation, None]

STDIN = "/dev/stdin"
VALUES = (
    (64, 32, 128, 16, 256, 48, 96, 80, 24),
    (32, 128, 64, 256, 16, 80, 48, 96, 160),
    (29, 45, 51, 17, 23, 31, 37, 41, 19),
)
"""What numbers that may be sizes are set to, in turn: two rows of which products tell them apart, and one of no
multiples."""
SMALL = ((2, 3, 4, 5, 6, 7), (3, 5, 2, 7, 4, 6), (5, 2, 7, 3, 4, 6))
"""Values of numbers that are no sizes: radii, steps, iterations."""
MOST_WORDS = 6
LONGEST = 1 << 20
_ARGUMENT = re.compile(r"\bargv\s*\[\s*(\d)\s*\]")
_QUOTED = re.compile(r"\"([\w./-]{1,60}\.(?:txt|csv|dat|bin|raw|pgm|ppm))\"")
_HELD = r"\b(\w+)\s*=[^;=]{{0,40}}\bargv\s*\[\s*{}\s*\]"
_MAGIC = {"ppm": "P6", "pgm": "P5"}
"""Which a program that reads such a picture looks at, as a rule."""
_WHOLE = re.compile(r"\d{1,9}")
C_TYPES = {dtype: name for name, dtype in reversed(DTYPES.items())}


@dataclass
class ProgramPlan:
    """How a program is started and judged, as a lab file says it.

    places: of an array what stands behind its shape.  unknown: what could not be told of it, as comments.
    """

    arguments: list[str] = field(default_factory=list)
    stdin: str = ""
    places: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Tried:
    """A run: with which words, sizes and data, and what came of it.  opened: what was done with which place first."""

    texts: Sequence[str]
    values: contents.Values
    data: Mapping[str, contents.Array]
    observation: Observation
    opened: Mapping[str, str]

    def left(self, place: str) -> bytes:
        """What stands in a file at the end."""
        return self.observation.files.get(self.texts[int(place[1:])] if place[0] == "#" else place, b"")


class ProgramProbe:
    """Runs of one program.  run: what stands behind its name where it is started, "" where nobody says."""

    def __init__(self, solution: Solution, run: str = "") -> None:
        source = solution.source
        self.solution = solution
        count = max((int(number) for number in _ARGUMENT.findall(source.text)), default=0)
        words = shlex.split(run.partition("<")[0]) if run else ["0"] * min(count, MOST_WORDS)
        self._words = [word.split(",") for word in words]
        self._parts = [part for word in self._words for part in word]
        self._named = list(dict.fromkeys(_QUOTED.findall(source.text)))
        self._program = read_program([source.path], (), {source.file: source.text}, source.root)
        self._layouts: dict[str, contents.Layout] = {}
        self._runs: list[Tried] = []
        self._arrays: list[contents.Read] = []
        self._unread: set[str] = set()

    def run(self) -> tuple[CandidateFunction, ProbedFunction, ProgramPlan]:
        """What the runs tell: the program as a function of its arrays and numbers, and how it is started.

        Raises FileError: it launched no kernel however it was started.  Raises InternalError: no program can be run
        here.
        """
        steps = self._steps()

        def after(observations: Sequence[Observation]) -> tuple[Start, RunLimits] | None:
            try:
                return steps.send(observations[-1]), LIMITS
            except StopIteration:
                return None

        run_calls(self._program, next(steps), LIMITS, after)
        path = self.solution.source.path
        if not self._runs:
            names = ", ".join(self._shown(place) for place in sorted(self._unread))
            why = msg("proposing.unknown_format", names=names) if names else msg("proposing.not_started")
            raise FileError(why, path)
        candidate, probed, plan = self._described()
        if not probed.sizes:
            raise FileError(msg("proposing.takes_nothing"), path)
        return candidate, probed, plan

    # -- what is run -------------------------------------------------------------------------

    def _steps(self) -> Steps:
        for rows in (VALUES, SMALL):
            first = yield from self._tried(rows[0], 0, {}, 0)
            reads = [place for place, what in first.opened.items() if what != "written"]
            ways, best = deque(self._ways(reads)), -1
            while ways:
                layouts = ways.popleft()
                tried = yield from self._tried(rows[0], 0, layouts, 0)
                # Files that are opened once the first one was right.
                more = [place for place, what in tried.opened.items() if what != "written" and place not in reads]
                if more:
                    reads += more
                    ways = deque(self._ways(reads))
                    continue
                arrays = self._matched(tried, layouts)
                if arrays is None and tried.observation.launches:
                    self._unread |= set(layouts)
                copied = {array.place for array in arrays or () if array.is_copied}
                if arrays is not None and len(copied) > best:
                    self._layouts, self._arrays, self._runs, best = dict(layouts), arrays, [tried], len(copied)
                if len(copied) == len(reads) and arrays is not None:
                    break
            if self._runs:
                yield from self._again_at(rows)
                return

    def _again_at(self, rows: Sequence[Sequence[int]]) -> Steps:
        for row, seed in ((1, 1), (1, 2), (2, 3)):
            tried = yield from self._tried(rows[row], row, self._layouts, seed)
            if row == 1 and tried.observation.exit != 0 and self._layouts:
                # Its numbers may be no sizes, of which another one makes no sense.
                rows = [rows[0]] * 3
                tried = yield from self._tried(rows[0], row, self._layouts, seed)
            self._runs.append(tried)

    def _file_name(self, place: str) -> str:
        """Return a file's name as the command line or the text has it."""
        return self._parts[int(place[1:])] if place[0] == "#" else place

    def _shown(self, place: str) -> str:
        """Return a file's name for people; the argument where it has no name."""
        name = self._file_name(place)
        return f"argv[{int(place[1:]) + 1}]" if name.isdigit() else "stdin" if place == STDIN else name

    def _ways(self, reads: Sequence[str]) -> Iterator[dict[str, contents.Layout]]:
        """Yield the layouts that each file read may have."""
        if not reads:
            yield {}
        suffixes = {PurePosixPath(self._file_name(place)).suffix.lower() for place in reads}
        formats = {kind for kind, ending in contents.ENDINGS.items() if ending in suffixes}
        for layout in contents.LAYOUTS if reads else ():
            if (formats and layout.format not in formats) or (STDIN in reads and layout.format not in ("text", "csv")):
                continue
            if len(reads) > 1 and len(layout.slots) == 2:
                # Factors of a product: the second has as many rows as the first one has columns.
                yield dict.fromkeys(reads, layout) | {reads[1]: replace(layout, first=1)}
            yield dict.fromkeys(reads, layout)

    def _tried(
        self, numbers: Sequence[int], row: int, layouts: Mapping[str, contents.Layout], seed: int
    ) -> Generator[Start, Observation, Tried]:
        """Run the program once.  numbers: of the command line.  row: of `VALUES`, for the sizes that files have."""
        texts = [str(numbers[i]) if _WHOLE.fullmatch(part) else part for i, part in enumerate(self._parts)]
        values = {
            f"#{i}": int(text) for i, text in enumerate(texts) if _WHOLE.fullmatch(text) and f"#{i}" not in layouts
        }
        has_numbers, free = bool(values), VALUES[row][-3:]
        data, files, stdin = {}, {}, b""
        for index, (place, layout) in enumerate(layouts.items()):
            slots = layout.slots or ([] if has_numbers else ["size0"])
            values |= {slot: free[int(slot[4:])] for slot in slots}
            own = [values[slot] for slot in slots]
            body = contents.body_of(layout, own, values if has_numbers or layout.header else {}, [seed, row, index])
            content = contents.content_of(layout, own, body)
            data[place] = body
            if place == STDIN:
                stdin = content
            else:
                files[texts[int(place[1:])] if place[0] == "#" else place] = content
        at = iter(texts)
        observation = yield Start(
            [",".join(next(at) for _part in word) for word in self._words],
            stdin,
            [FunctionCall([], on_device=False, is_whole=True)],
            files,
            dict.fromkeys((*texts, *self._named), LONGEST),
        )
        opened = {f"#{texts.index(name)}" if name in texts else name: what for name, what in observation.opened.items()}
        return Tried(texts, values, data, observation, opened)

    # -- what it read ------------------------------------------------------------------------

    def _matched(self, tried: Tried, layouts: Mapping[str, contents.Layout]) -> list[contents.Read] | None:
        """Return the arrays copied to the device; None where the program did not read what the files hold."""
        observation = tried.observation
        if (
            observation.exit != 0
            or not observation.launches
            or any(launch.status != "ran" for launch in observation.launches)
        ):
            return None
        copied = {
            argument.digest: (argument.name, _dtype(argument.type_text))
            for launch in reversed(observation.launches)
            for argument in launch.arguments
            if argument.digest and "copied" in argument.origins
        }
        arrays: list[contents.Read] = []
        unread = 0
        for place, layout in layouts.items():
            body = tried.data[place].ravel()
            at = 0
            exact = tuple(layout.slots) if place != STDIN else ()
            while (one := contents.array_at(body, at, place, layout, copied, tried.values)) is not None:
                if exact and one.formulas[0] != (*exact, *("3",) * (layout.format == "ppm")):
                    break
                arrays.append(one)
                at += one.count
                if place != STDIN:
                    break
            if at:
                continue
            if _MAGIC.get(layout.format, "\0") in self.solution.source.text:
                # Its first bytes tell a picture; what is made of it before it is copied, nothing.
                formula: contents.Formula = (*layout.slots, *(["3"] if layout.format == "ppm" else []))
                arrays.append(contents.Read("in", place, "uint8", 0, body.size, (formula,), layout, is_copied=False))
                continue
            handed = {a.value for launch in observation.launches for a in launch.arguments}
            sizes = [tried.values[slot] for slot in layout.slots]
            unread += not sizes or not handed.issuperset(sizes) or bool(copied)
        return arrays if arrays or not unread else None

    # -- what is told ------------------------------------------------------------------------

    def _described(self) -> tuple[CandidateFunction, ProbedFunction, ProgramPlan]:
        first, second = self._runs[0], self._runs[1]
        names = self._names()
        plan = ProgramPlan()
        self._arrays = [replace(a, name=name) for a, name in zip(self._arrays, _unlike(self._arrays), strict=True)]
        written = [place for place, what in first.opened.items() if what == "written"]
        results = contents.results_of(
            {place: [(t.values, t.left(place)) for t in self._runs] for place in written}
            | {"stdout": [(t.values, t.observation.stdout) for t in self._runs]},
            [
                contents.Returned(a.name, _dtype(a.type_text), a.buffer_bytes)
                for launch in first.observation.launches
                for a in launch.arguments
                if a.read_back
            ],
            {*names.values(), *(a.name for a in self._arrays)},
        )
        shapes = {a.name: self._again(a, second) or a.formulas[0] for a in self._arrays}
        shapes |= {result.name: result.shape for result in results}
        used = {s for shape in shapes.values() for s in shape}
        used |= {slot for layout in self._layouts.values() for slot in layout.slots}
        used |= {s for result in results for s in result.header}
        numbers = [s for s in first.values if s in names]
        sizes = [s for s in numbers if s in used] or [s for s in numbers if is_size_name(names[s])] or numbers[:1]
        scalars = [s for s in numbers if s not in sizes]
        named = {name: tuple(names.get(s, s) for s in shape) for name, shape in shapes.items()}
        probed = ProbedFunction("host", tuple(names[s] for s in sizes), named, is_any_size=self._is_any_size(results))
        probed.kinds = {a.name: "input" for a in self._arrays} | {r.name: "output" for r in results}
        probed.absolute = max((r.absolute for r in results), default=probed.absolute)
        for index, tried in enumerate(self._runs):
            if any(index >= len(result.elements) or result.elements[index] is None for result in results):
                continue
            given = {names[s]: np.asarray(tried.values[s]) for s in numbers}
            given |= {a.name: self._part_of(a, tried, shapes[a.name]) for a in self._arrays}
            got = {r.name: array for r in results if (array := r.elements[index]) is not None}
            probed.samples.append(({names[s]: tried.values[s] for s in sizes}, given, got))
        self._plan(plan, names, {name: list(shape) for name, shape in named.items()}, results)
        arguments = [Argument(a.name, C_TYPES[a.dtype], 1, is_const=True) for a in self._arrays]
        arguments += [Argument(r.name, C_TYPES[r.dtype], 1) for r in results]
        types = {a.name: a.type_text for launch in first.observation.launches for a in launch.arguments}
        reals = {names[s] for s in scalars if types.get(names[s]) in ("float", "double")}
        arguments += [Argument(names[s], types[names[s]] if names[s] in reals else "int") for s in (*sizes, *scalars)]
        values = {names[s]: float(first.values[s]) for s in scalars}
        signature = Signature("program", "int", tuple(arguments))
        return CandidateFunction(signature, self.solution.source, values=values, counts={}), probed, plan

    def _again(self, array: contents.Read, tried: Tried) -> contents.Formula | None:
        """Return the formula of its number of elements that also holds in another run."""
        arrays = self._matched(tried, self._layouts) or []
        same = next(
            (o for o in arrays if (o.place, o.dtype) == (array.place, array.dtype) and (o.at > 0) == (array.at > 0)),
            None,
        )
        return next((f for f in array.formulas if same is not None and f in same.formulas), None)

    def _part_of(self, array: contents.Read, tried: Tried, shape: contents.Formula) -> contents.Array:
        body = tried.data[array.place].ravel()
        before = [a for a in self._arrays if a.place == array.place]
        at = 0
        for other in before[: before.index(array)]:
            at += math.prod(contents.extents_of(self._again(other, self._runs[1]) or other.formulas[0], tried.values))
        return body[at : at + math.prod(contents.extents_of(shape, tried.values))].astype(array.dtype)

    def _is_any_size(self, results: Sequence[contents.Result]) -> bool:
        """Whether the run at sizes that are no multiples ended with nothing touched out of bounds."""
        observation = self._runs[-1].observation
        is_clean = not any(h.kind == "out_of_bounds" for launch in observation.launches for h in launch.hazards)
        return (
            observation.exit == 0
            and is_clean
            and all(len(r.elements) > 3 and r.elements[3] is not None for r in results)
        )

    def _names(self) -> dict[str, str]:
        """Name the numbers as the kernels or the program do; words that are files have none."""
        first, second = self._runs[0], self._runs[1]

        def handed(value: int, tried: Tried) -> list[str]:
            return [a.name for x in tried.observation.launches for a in x.arguments if a.value == value and a.name]

        names: dict[str, str] = {}
        spare = iter(name for name in ("n", "m", "k", "l", "p", "q", "r", "s"))
        for slot in first.values:
            if slot in first.opened:
                continue
            both = [n for n in handed(first.values[slot], first) if n in handed(second.values[slot], second)]
            held = re.search(_HELD.format(int(slot[1:]) + 1), self.solution.source.text) if slot[0] == "#" else None
            wanted = [*both, *([held[1]] if held else []), *(n for n in (next(spare, ""),))]
            names[slot] = next(n for n in (*wanted, f"n{len(names)}") if n.isidentifier() and n not in names.values())
        return names

    def _plan(
        self,
        plan: ProgramPlan,
        names: Mapping[str, str],
        shapes: Mapping[str, list[str]],
        results: Sequence[contents.Result],
    ) -> None:
        arrays: dict[str, str] = {}
        for a in self._arrays:
            arrays.setdefault(a.place, a.name)
        arrays |= {r.place: r.name for r in results if r.place != "stdout"}
        texts = self._runs[0].texts
        words = [
            f"{{{arrays[f'#{i}']}}}" if f"#{i}" in arrays else f"{{{names[f'#{i}']}}}" if f"#{i}" in names else text
            for i, text in enumerate(texts)
        ]
        at = iter(words)
        plan.arguments = [",".join(next(at) for _part in word) for word in self._words]
        for place, layout in self._layouts.items():
            header = [names[slot] for slot in layout.slots[: layout.header]]
            inside = [a for a in self._arrays if a.place == place]
            if place == STDIN:
                lines = [" ".join(f"{{{name}}}" for name in header), *(f"{{{a.name}}}" for a in inside)]
                plan.stdin = "".join(f"{line}\n" for line in lines if line)
            for a in inside if place != STDIN else ():
                plan.places[a.name] = contents.place_of(
                    a.name, self._file_name(place), layout.format, header, shapes[a.name]
                )
        for r in results:
            label = f", label: '{r.label}'" if r.label else ""
            header = [names.get(s, s) for s in r.header]
            plan.places[r.name] = (
                f", file: stdout{label}"
                if r.place == "stdout"
                else contents.place_of(r.name, self._file_name(r.place), r.format, header, shapes[r.name])
            )
        for place in self._layouts.keys() - {STDIN, *(a.place for a in self._arrays)}:
            named = self._shown(place)
            plan.unknown.append(
                f"{named} is read, and its numbers are not copied to the device: an input with its `file`"
            )
        if not results:
            plan.unknown.append("no result was found in what the program prints or writes: an output")


def _unlike(arrays: Sequence[contents.Read]) -> list[str]:
    names: list[str] = []
    for array in arrays:
        wanted = array.name if array.name.isidentifier() else "in"
        names.append(wanted if wanted not in names else f"{wanted}{len(names) + 1}")
    return names


def _dtype(text: str) -> str:
    """Return the NumPy type behind a pointer type; "" where there is none."""
    argument = argument_of(text)
    return DTYPES.get(argument.type, "") if argument is not None else ""
