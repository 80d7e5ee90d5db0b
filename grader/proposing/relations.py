"""What a function computes, where that is one of the simple known things: tried on what was seen to go in and come out.

A relation is a line of NumPy, evaluated as it will stand in the oracle; it is taken where it gives the same as the
function at all calls that were seen, at two sizes.  What matches none of them, nobody guesses.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from grader.lab import formula
from grader.proposing.probing import Array, Shape, Told

OF_ONE = (
    "{a}", "-{a}", "{a} + 1", "{a} - 1", "2 * {a}", "{a} / 2", "{a} * {a}", "np.maximum({a}, 0)", "np.abs({a})",
    "np.exp({a})", "1 / (1 + np.exp(-{a}))", "np.tanh({a})", "np.sqrt(np.abs({a}))", "{a}.T", "{a}[::-1]", "{a} @ {a}",
    "np.cumsum({a})", "np.cumsum({a}) - {a}", "np.maximum.accumulate({a})", "np.sort({a})", "np.sort({a})[::-1]",
    "255 - {a}", "{a}.sum(keepdims=True)", "{a}.max(keepdims=True)", "{a}.min(keepdims=True)",
    "{a}.mean(keepdims=True)", "({a} * {a}).sum(keepdims=True)", "np.sqrt(({a} * {a}).sum(keepdims=True))",
    "{a}.sum(axis=-1)", "{a}.sum(axis=0)", "{a}.max(axis=-1)",
    "np.bincount({a}.astype(np.int64).ravel(), minlength={extent})[:{extent}]",
    *(f"np.convolve({{a}}, np.ones({2 * r + 1}), 'same')" for r in range(1, 9)),
    *(f"np.convolve({{a}}, np.ones({2 * r + 1}), 'same') / {2 * r + 1}" for r in range(1, 5)),
)  # fmt: skip
OF_TWO = (
    "{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} / {b}", "np.maximum({a}, {b})", "np.minimum({a}, {b})", "{a} @ {b}",
    "{a}.T @ {b}", "{a} @ {b}.T", "({a} * {b}).sum(keepdims=True)", "({a} - {b}) ** 2", "np.convolve({a}, {b}, 'same')",
    "np.outer({a}, {b})", "np.convolve({a}, {b}[::-1], 'same')", "2 * {a} + {b}", "np.sqrt({a} * {a} + {b} * {b})",
)  # fmt: skip
OF_THREE = ("{a} + {b} + {c}", "{a} * {b} + {c}", "{a} @ {b} + {c}")
MAX_TRIED = 2000
RELATIVE, ABSOLUTE = 1e-5, 1e-4
"""How far single-precision results may be off what double precision gives, of a few hundred numbers."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What comes out in an array.  text: a line of NumPy with `inputs` and `sizes`.  shapes: of the arrays, which may
    have their axes in another order.  begins_at_zero: what is in the array before is added to."""

    text: str
    shapes: Mapping[str, Shape]
    begins_at_zero: bool = False


def relation_of(told: Told, output: str, scalars: Sequence[str]) -> Relation | None:
    """How an output follows from the inputs; None where it is none of these."""
    if not told.samples:
        return None
    inputs = [name for name, kind in told.kinds.items() if kind in ("input", "in_out") and name != output]
    is_changed = told.kinds[output] == "in_out"
    names = [*inputs, *([output] if is_changed else [])]
    for shapes in _orders(told, [*names, output]):
        texts = _texts(names, output, scalars, told, shapes[output])
        for text, begins in itertools.islice(texts, MAX_TRIED):
            if all(_holds(text, sample, shapes, output) for sample in told.samples):
                return Relation(text, shapes, begins)
    return None


def _orders(told: Told, names: Sequence[str]) -> Iterator[dict[str, Shape]]:
    """The shapes, then those with axes in other orders."""
    of = {name: told.shapes[name] for name in names}
    choices = [
        list(dict.fromkeys(itertools.permutations(shape))) if 1 < len(shape) < 4 else [shape] for shape in of.values()
    ]
    for shapes in itertools.islice(itertools.product(*choices), 64):
        yield dict(told.shapes) | dict(zip(of, shapes, strict=True))


def _texts(
    names: Sequence[str], output: str, scalars: Sequence[str], told: Told, shape: Shape
) -> Iterator[tuple[str, bool]]:
    """Lines to be tried, simple ones first, and whether the output is added to."""
    of = {name: f'inputs["{name}"].astype(np.float64)' for name in names}
    extent = " * ".join(
        part if part.isdigit() else f'sizes["{part}"]' for part in shape if part.isidentifier() or part.isdigit()
    )
    plain: list[str] = []
    for count, templates in ((1, OF_ONE), (2, OF_TWO), (3, OF_THREE)):
        for chosen in itertools.permutations(names, count):
            values = dict(zip("abc", (of[name] for name in chosen), strict=False))
            plain += [template.format(**values, extent=extent or "1") for template in templates]
    before = f'inputs["{output}"]' if told.kinds[output] == "in_out" else ""
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
) -> bool:
    """Whether the line gives what came out of a call."""
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
        return bool(np.array_equal(value.astype(np.int64).astype(right.dtype), right))
    return bool(np.allclose(right, value, RELATIVE, ABSOLUTE))
