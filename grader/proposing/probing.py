"""A function called with arrays of ours, by which it is told what its parameters are and what it computes.

An array's number of elements is the smallest at which nothing was touched past its end, tried among formulas of the
sizes; what it reads before anything was written there, what it changes and what it leaves as it was say its role. A
relation is a line of NumPy, evaluated as it will stand in the oracle; it is taken where it gives the same as the
function at all calls that were seen, at two sizes.  What matches none of them, nobody guesses.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np
import numpy.typing as npt

from grader.lab import formula
from grader.lab.interfaces import is_size_name
from grader.lab.parameters import DTYPES, Argument
from grader.programs.execution import run_calls
from grader.programs.records import CallArgument, CallLaunch, FunctionCall, Observation, RunLimits, Start
from grader.programs.sources import with_harness
from grader.proposing.solution import CandidateFunction
from grader.running.function_runs import LIMITS
from grader.submission.records import without_main

Array = npt.NDArray[np.generic]
Sizes = Mapping[str, int]
Shape = tuple[str, ...]
Steps = Generator[Start, Observation, None]

PRIMES = (97, 53, 61, 43, 29)
OTHERS = (211, 74, 47, 89, 31)
MULTIPLES = (256, 64, 128, 32, 512)
LARGER = (512, 128, 256, 64, 1024)
"""Values of sizes, all different, so that a number of elements tells which of them it is made of."""
_ATTEMPTS = [(m, *values) for values in ((PRIMES, OTHERS), (MULTIPLES, LARGER)) for m in ("device", "host")]
RELATIVE, ABSOLUTE = 1e-5, 1e-4
"""How far single-precision results may be off what double precision gives, of a few hundred numbers."""
ROOM = 3
"""How many times more an array has than it could need where it is not the one that is tried."""


@dataclass
class ProbedFunction:
    """What is known of a function.

    sizes: its numbers of which shapes are made.  shapes: of its arrays, slowest axis first; none of an array that no
    formula fits.  kinds: of its arrays.  memory: where its pointers lead.  is_any_size: nothing was
    touched out of bounds at sizes that are no multiple of anything.  samples: of calls, what went in and out.
    unchanged: arrays that it could write to, and did not.  absolute: how far what comes out may be off.
    problem: why no call came to its end, "" where one did.
    """

    memory: str = "device"
    sizes: tuple[str, ...] = ()
    shapes: dict[str, Shape] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    is_any_size: bool = False
    samples: list[tuple[dict[str, int], dict[str, Array], dict[str, Array]]] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    absolute: float = ABSOLUTE
    problem: str = ""


class Probe:
    """Calls of one candidate."""

    def __init__(self, candidate: CandidateFunction, extents: Collection[int] = ()) -> None:
        self.candidate = candidate
        self.arguments = candidate.signature.arguments
        self.arrays = [a for a in self.arguments if a.pointers]
        self.probed = ProbedFunction()
        self._constants = sorted({*candidate.counts.values(), *extents, 1})
        source = candidate.source
        types = [argument.spelled for argument in self.arguments]
        self._program = with_harness(
            [source.path], source.root, {source.file: without_main(source)}, candidate.name, types, candidate.is_of_c
        )

    def run(self) -> ProbedFunction:
        """What the calls tell.  Raises InternalError: no program can be run here."""
        whole = [a for a in self.arguments if not a.pointers and np.dtype(DTYPES[a.type]).kind in "iu"]
        names = [a.name for a in whole if is_size_name(a.name)] or [a.name for a in whole[:1]]
        best = self.probed
        for memory, values, other in _ATTEMPTS:
            self.probed = ProbedFunction(memory, tuple(names), is_any_size=values is PRIMES)
            first, second = dict(zip(names, values, strict=False)), dict(zip(names, other, strict=False))
            self._follow(self._steps(first, second))
            if not self.probed.problem and len(self.probed.shapes) == len(self.arrays):
                return self.probed
            if (
                not best.sizes
                or (best.problem and not self.probed.problem)
                or len(self.probed.shapes) > len(best.shapes)
            ):
                best = self.probed
        return best

    def _follow(self, steps: Steps) -> None:
        limits = msgspec.structs.replace(LIMITS, counts_work=True)

        def after(observations: Sequence[Observation]) -> tuple[Start, RunLimits] | None:
            try:
                return steps.send(observations[-1]), limits
            except StopIteration:
                return None

        run_calls(self._program, next(steps), limits, after)

    def _steps(self, first: Sizes, second: Sizes) -> Steps:
        shapes = self._shapes(first)
        room = ROOM * max(math.prod(_extents(shape, first)) for shape in shapes)
        observation = yield self._start(first, dict.fromkeys((a.name for a in self.arrays), room))
        self.probed.problem = _problem(observation)
        if self.probed.problem:
            return
        before = self._drawn(first, dict.fromkeys((a.name for a in self.arrays), room), 0)
        last_written = {name: _last_changed(before[name], data) for name, data in observation.calls[-1].outputs.items()}
        if not any(last_written.values()):
            self.probed.problem = "nothing_written"
            return
        self.probed.shapes = {}
        if self.probed.memory == "host":
            again = yield self._start(second, dict.fromkeys((a.name for a in self.arrays), room))
            self._by_copies(shapes, (first, observation), (second, again))
        for argument in self.arrays if self.probed.memory == "device" else ():
            # Several that are of one number of elements differ at other sizes.
            for shape in shapes:
                count = math.prod(_extents(shape, first))
                if count < last_written.get(argument.name, 0) or not self._may_be(argument, shape, first):
                    continue
                is_clean = True
                for sizes in (first, second):
                    rest = ROOM * max(math.prod(_extents(other, sizes)) for other in shapes)
                    counts = dict.fromkeys((a.name for a in self.arrays), rest)
                    observation = yield self._start(sizes, counts | {argument.name: math.prod(_extents(shape, sizes))})
                    is_clean = is_clean and not _problem(observation) and not _strays(observation)
                    if not is_clean:
                        break
                if is_clean:
                    self.probed.shapes[argument.name] = shape
                    break
        if len(self.probed.shapes) < len(self.arrays):
            return
        yield from self._roles(first, second)

    def _roles(self, first: Sizes, second: Sizes) -> Steps:
        """Make calls at the shapes found: what is read before it is written, and what is changed."""
        counts = {name: math.prod(_extents(shape, first)) for name, shape in self.probed.shapes.items()}
        unset = [a.name for a in self.arrays if not a.is_const]
        observation = yield self._start(first, counts, unset)
        reads = {
            name for name in unset if any(h.kind == "uninitialized" for x in _launches(observation) for h in x.hazards)
        }
        if len(unset) > 1 and reads:
            for name in unset:
                observation = yield self._start(first, counts, [name])
                if not any(h.kind == "uninitialized" for x in _launches(observation) for h in x.hazards):
                    reads.discard(name)
        self.probed.samples = []
        for sizes, seed in ((first, 0), *((second, seed) for seed in range(1, 4))):
            counts = {name: math.prod(_extents(shape, sizes)) for name, shape in self.probed.shapes.items()}
            given = self._drawn(sizes, counts, seed)
            observation = yield self._start(sizes, counts, [], seed)
            self.probed.problem = _problem(observation)
            if self.probed.problem:
                return
            got = {n: np.frombuffer(data, given[n].dtype) for n, data in observation.calls[-1].outputs.items()}
            self.probed.samples.append((dict(sizes), given, got))
        for argument in self.arrays:
            name = argument.name
            is_changed = any(
                not np.array_equal(given[name], got.get(name, given[name])) for _s, given, got in self.probed.samples
            )
            if not argument.is_const and not is_changed:
                self.probed.unchanged.append(name)
            kind = "input" if argument.is_const else "output"
            # What nobody writes, at any of several calls, keeps what was there.
            left = [given[name] == got[name] for _s, given, got in self.probed.samples[1:] if name in got]
            if not argument.is_const and (name in reads or not is_changed or np.any(np.logical_and.reduce(left))):
                kind = "in_out"
            elif not argument.is_const and name in self.candidate.unread:
                kind = "scratch"
            self.probed.kinds[name] = kind

    def _shapes(self, sizes: Sizes) -> list[Shape]:
        """Return the shapes that an array may have, the fewest elements first."""
        names = list(sizes)
        candidates: list[Shape] = [(name,) for name in names]
        for count in range(2, min(len(names), 3) + 1):
            candidates += [tuple(names[i] for i in order) for order in itertools.combinations(range(len(names)), count)]
        candidates += [(name, name) for name in names]
        candidates += [(f"{name} + 1",) for name in names]
        candidates += [(str(constant),) for constant in self._constants if constant <= 4096]
        candidates += [(str(constant), str(constant)) for constant in self._constants if 1 < constant <= 64]
        if self.candidate.launched is not None:
            grid = [x for x in self.candidate.launched.grid if x.size in sizes and x.tile > 1]
            candidates += [(f"ceil_div({x.size}, {x.tile})",) for x in grid]
        return sorted(dict.fromkeys(candidates), key=lambda shape: math.prod(_extents(shape, sizes)))

    def _may_be(self, argument: Argument, shape: Shape, sizes: Sizes) -> bool:
        """Whether the array that `main` hands over has as many elements as the shape, as far as that was seen."""
        count, values = self.candidate.counts.get(argument.name), self.candidate.values
        if count is None or any(name not in values for name in sizes):
            return True
        return math.prod(_extents(shape, {name: int(values[name]) for name in sizes})) == count

    def _by_copies(self, shapes: Sequence[Shape], *calls: tuple[Sizes, Observation]) -> None:
        """Tell the shapes of host arrays by the bytes of the copies in whose lines they are named."""
        rows = self.candidate.source.text.split("\n")
        for argument in self.arrays:
            kinds, width = ("copy_in",) if argument.is_const else ("copy_in", "copy_out"), _width(argument)
            named = re.compile(rf"\b{argument.name}\b")
            copied = [
                {
                    call.size
                    for call in observation.calls[-1].asked
                    if call.kind in kinds and named.search(rows[call.line - 1])
                }
                for _sizes, observation in calls
            ]
            for shape in shapes:
                sizes = (math.prod(_extents(shape, sizes)) * width for sizes, _observation in calls)
                if all(size in sized for size, sized in zip(sizes, copied, strict=True)):
                    self.probed.shapes[argument.name] = shape
                    break

    def _drawn(self, sizes: Sizes, counts: Mapping[str, int], seed: int) -> dict[str, Array]:
        """Draw arrays and numbers: sixteenths, of which sums and products of a few are exact."""
        rng = np.random.default_rng([seed, *sizes.values()])
        given: dict[str, Array] = {}
        for a in self.arguments:
            dtype = np.dtype(DTYPES[a.type])
            if a.pointers:
                # Whole numbers may be places in another array; a byte is one of 256.
                most = 256 if dtype == np.uint8 else 10 if a.is_const or dtype.itemsize == 1 else 10_000
                raw = (
                    rng.integers(-32, 33, counts[a.name]) / 16
                    if dtype.kind == "f"
                    else rng.integers(0, most, counts[a.name])
                )
                given[a.name] = raw.astype(dtype)
            elif a.name in sizes:
                given[a.name] = np.asarray(sizes[a.name]).astype(dtype)
            else:
                value = self.candidate.values.get(a.name, 2)
                given[a.name] = np.asarray(value + seed if dtype.kind == "f" else value).astype(dtype)
        return given

    def _start(self, sizes: Sizes, counts: Mapping[str, int], unset: Sequence[str] = (), seed: int = 0) -> Start:
        given = self._drawn(sizes, counts, seed)
        arguments = [
            CallArgument(
                a.name, b"", given[a.name].tobytes(), a.name not in unset, not a.is_const, given[a.name].itemsize
            )
            if a.pointers
            else CallArgument(a.name, given[a.name].tobytes().ljust(8, b"\0"))
            for a in self.arguments
        ]
        return Start(calls=[FunctionCall(arguments, self.probed.memory == "device")])


def _width(argument: Argument) -> int:
    return np.dtype(DTYPES[argument.type]).itemsize


def _extents(shape: Shape, sizes: Sizes) -> tuple[int, ...]:
    from grader.lab import formula

    return tuple(formula.integer(extent, sizes) for extent in shape)


def _launches(observation: Observation) -> list[CallLaunch]:
    return [launch for call in observation.calls for launch in call.launches]


def _problem(observation: Observation) -> str:
    """Return why a call did not end with its kernels run, "" where it did."""
    if not observation.calls or not observation.calls[-1].has_returned:
        return "not_returned"
    launches = _launches(observation)
    if not launches or any(launch.status not in ("ok", "ran") for launch in launches):
        return "faulted"
    # The driver takes device memory for the host's; who wrote the copy did not.
    return "faulted" if any(finding.kind == "copy_direction" for finding in observation.findings) else ""


def _last_changed(before: Array, data: bytes) -> int:
    """Return the number of elements up to the last one that a call has changed."""
    changed = np.flatnonzero(np.frombuffer(data, before.dtype) != before)
    return int(changed[-1]) + 1 if changed.size else 0


def _strays(observation: Observation) -> bool:
    hazards = (h for launch in _launches(observation) for h in launch.hazards)
    return bool(observation.calls[-1].strayed) or any(h.kind == "out_of_bounds" for h in hazards)


OF_ONE = (
    "{a}", "-{a}", "{a} + 1", "{a} - 1", "2 * {a}", "{a} / 2", "{a} * {a}", "np.maximum({a}, 0)", "np.abs({a})",
    "np.exp({a})", "1 / (1 + np.exp(-{a}))", "np.tanh({a})", "np.sqrt(np.abs({a}))", "{a}.T", "{a}[::-1]", "{a} @ {a}",
    "np.cumsum({a})", "np.cumsum({a}) - {a}", "np.maximum.accumulate({a})", "np.sort({a})", "np.sort({a})[::-1]",
    "255 - {a}", "{a}.sum().reshape(1)", "{a}.max().reshape(1)", "{a}.min().reshape(1)",
    "{a}.mean().reshape(1)", "({a} * {a}).sum().reshape(1)", "np.sqrt(({a} * {a}).sum().reshape(1))",
    "{a}.sum(axis=-1)", "{a}.sum(axis=0)", "{a}.max(axis=-1)",
    "np.bincount({a}.astype(np.int64).ravel(), minlength={extent})[:{extent}]",
    *(f"np.convolve({{a}}, np.ones({2 * r + 1}), 'same')" for r in range(1, 9)),
    *(f"np.convolve({{a}}, np.ones({2 * r + 1}), 'same') / {2 * r + 1}" for r in range(1, 5)),
)  # fmt: skip
OF_TWO = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "np.maximum({a}, {b})", "np.minimum({a}, {b})", "{a} @ {b}",
    "{a}.T @ {b}", "{a} @ {b}.T", "({a} * {b}).sum().reshape(1)", "({a} - {b}) ** 2", "np.convolve({a}, {b}, 'same')",
    "np.outer({a}, {b})", "np.convolve({a}, {b}[::-1], 'same')", "2 * {a} + {b}", "np.sqrt({a} * {a} + {b} * {b})",
)  # fmt: skip
OF_THREE = ("{a} + {b} + {c}", "{a} * {b} + {c}", "{a} @ {b} + {c}")
MAX_TRIED = 2000


@dataclass(frozen=True, slots=True)
class Relation:
    """What comes out in an array.  text: a line of NumPy with `inputs` and `sizes`.  shapes: of the arrays, which may
    have their axes in another order.  begins_at_zero: what is in the array before is added to."""

    text: str
    shapes: Mapping[str, Shape]
    begins_at_zero: bool = False


def relation_of(probed: ProbedFunction, output: str, scalars: Sequence[str]) -> Relation | None:
    """How an output follows from the inputs; None where it is none of these."""
    if not probed.samples:
        return None
    inputs = [name for name, kind in probed.kinds.items() if kind in ("input", "in_out") and name != output]
    is_changed = probed.kinds[output] == "in_out"
    names = [*inputs, *([output] if is_changed else [])]
    for shapes in _orders(probed, [*names, output]):
        texts = _texts(names, output, scalars, probed, shapes[output])
        for text, begins in itertools.islice(texts, MAX_TRIED):
            if all(_holds(text, sample, shapes, output, probed.absolute) for sample in probed.samples):
                return Relation(text, shapes, begins)
    return None


def _orders(probed: ProbedFunction, names: Sequence[str]) -> Iterator[dict[str, Shape]]:
    """Yield the shapes, then those with their axes in other orders."""
    of = {name: probed.shapes[name] for name in names}
    choices = [
        list(dict.fromkeys(itertools.permutations(shape))) if 1 < len(shape) < 4 else [shape] for shape in of.values()
    ]
    for shapes in itertools.islice(itertools.product(*choices), 64):
        yield dict(probed.shapes) | dict(zip(of, shapes, strict=True))


def _texts(
    names: Sequence[str], output: str, scalars: Sequence[str], probed: ProbedFunction, shape: Shape
) -> Iterator[tuple[str, bool]]:
    """Yield the lines to try, simple ones first, and whether each adds to the output."""
    of = {name: f'inputs["{name}"].astype(np.float64)' for name in names}
    extent = " * ".join(
        part if part.isdigit() else f'sizes["{part}"]' for part in shape if part.isidentifier() or part.isdigit()
    )
    plain: list[str] = []
    for count, templates in ((1, OF_ONE), (2, OF_TWO), (3, OF_THREE)):
        for chosen in itertools.permutations(names, count):
            values = dict(zip("abc", (of[name] for name in chosen), strict=False))
            plain += [template.format(**values, extent=extent or "1") for template in templates]
    before = f'inputs["{output}"]' if probed.kinds[output] == "in_out" else ""
    others = [text for text in plain if before and f'"{output}"' not in text]
    yield from ((text, False) for text in plain)
    yield from ((f"{of[output]} + {text}", True) for text in others)
    for scalar in scalars:
        factor = f'inputs["{scalar}"]'
        yield from (
            (text, False) for a in of.values() for text in (f"{factor} * {a}", f"{a} + {factor}", f"{a} / {factor}")
        )
        for first, second in itertools.permutations(of.values(), 2):
            yield from ((f"{factor} * {first} {sign} {second}", False) for sign in "+-*")
            yield f"{factor} * ({first} @ {second})", False
        if len(scalars) > 1:
            other = f'inputs["{next(s for s in scalars if s != scalar)}"]'
            pairs = [*itertools.permutations(of.values(), 2)]
            yield from ((f"{factor} * {a} + {other} * {b}", False) for a, b in pairs)
            triples = itertools.permutations(of.values(), 3)
            yield from ((f"{factor} * ({a} @ {b}) + {other} * {c}", False) for a, b, c in triples)


def _holds(
    text: str,
    sample: tuple[dict[str, int], dict[str, Array], dict[str, Array]],
    shapes: Mapping[str, Shape],
    output: str,
    absolute: float,
) -> bool:
    """Whether a line of NumPy gives what a call returned."""
    sizes, given, got = sample
    if output not in got:
        return False

    def shaped(name: str, array: Array) -> Array:
        return array.reshape([formula.integer(extent, sizes) for extent in shapes[name]])

    inputs = {name: shaped(name, array) if array.ndim else array for name, array in given.items()}
    try:
        with np.errstate(all="ignore"):
            # The text is one of ours, made of names that are identifiers.
            value = np.asarray(eval(text, {"np": np, "inputs": inputs, "sizes": sizes}))
    except (ValueError, TypeError, IndexError, MemoryError, OverflowError):
        return False
    right = shaped(output, got[output])
    if value.shape != right.shape or not np.all(np.isfinite(value)):
        return False
    if right.dtype.kind in "iu":
        with np.errstate(invalid="ignore"):
            return bool(np.array_equal(value.astype(np.int64).astype(right.dtype), right))
    return bool(np.allclose(right, value, RELATIVE, absolute))
