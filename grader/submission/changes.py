"""Programs changed for a sweep: other values of constants, template arguments and unroll factors, read anew.

A change is made in the text, and the text is read again, so that whatever follows from a constant (the block that host
code launches, the size of a shared array) follows it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, prod
from pathlib import Path
from typing import TYPE_CHECKING

from grader.submission.compile_time import constant_edits, mentioned
from grader.submission.cpp.constants import Macro
from grader.submission.cpp.parse import characters, device_macros, parse
from grader.submission.cpp.tree import Item, ParsedFile
from grader.submission.kernels.loops import called_functions, loops_in, pragma_before
from grader.submission.kernels.records import Kernel, ObservedRuns
from grader.submission.lexical import Edit, apply
from grader.submission.records import Interpretation, LaunchPlan, Submission, VariantBinding
from grader.submission.source import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node


def unroll_edits(parsed: ParsedFile, item: Item, factor: int) -> tuple[Edit, ...]:
    """What has to change so that the deepest loops of a kernel, and of functions it calls, go `factor` steps at a time.

    Lines keep their numbers.  () where it has no loop.  Loops less deep than others of the same function are left
    alone: they load what the deepest ones work on.
    """
    return tuple(
        _edit(parsed, function.node, loop, factor)
        for function in [item, *called_functions(parsed, item)]
        for loop in _deepest(parsed, function.node)
    )


def has_pragma(parsed: ParsedFile, item: Item) -> bool:
    """Whether one of these loops has an unroll pragma already."""
    return any(pragma_before(parsed, item.node, loop) is not None for loop in _deepest(parsed, item.node))


def _edit(parsed: ParsedFile, function: Node, loop: Node, factor: int) -> Edit:
    pragma = pragma_before(parsed, function, loop)
    if pragma is None:
        place, _end = characters(parsed, loop.start_byte, loop.start_byte)
        return Edit(place, place, f'_Pragma("unroll {factor}") ')
    _argument, start, end = pragma
    is_directive = parsed.data[start : start + 1] == b"#"
    text = f"#pragma unroll {factor}" if is_directive else f'_Pragma("unroll {factor}")'
    return Edit(*characters(parsed, start, end), text)


def _deepest(parsed: ParsedFile, function: Node) -> list[Node]:
    """Return the most deeply nested loops."""
    loops = loops_in(parsed, function)
    most = max((loop.depth for loop in loops), default=0)
    return [loop.node for loop in loops if loop.depth == most]


_WORD = re.compile(r"[^\W\d]\w*")

Rebind = Callable[[Mapping[Path, SourceText]], Submission]
"""Reads a program whose files have other texts, by path."""
Reread = Callable[[Mapping[Path, SourceText], ObservedRuns], Submission]
"""The same of a program that was seen to do something else."""


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """A change of one kernel's program.

    constants: patterns of names, and the value that constants and template parameters of such names get.
    width: where no constant has such a name, those of this value are meant (the width of the block); 0: none.
    taken: constants that stand for something else.
    unroll: steps that the innermost loops go at a time; 0: as they are written.
    """

    constants: tuple[tuple[tuple[str, ...], int], ...] = ()
    width: int = 0
    taken: frozenset[str] = frozenset()
    unroll: int = 0


@dataclass(frozen=True, slots=True)
class Changed:
    """A changed program and the kernel's binding in it.

    old: values that the constants had, in the order of the change; None where the kernel has no such constant.
    obstacle: why the change cannot be made: "", "no_loop", "by_hand" (`unrolled` steps), "unreadable".
    """

    submission: Submission
    binding: VariantBinding
    old: tuple[int | None, ...] = ()
    obstacle: str = ""
    unrolled: int = 1


@dataclass(slots=True)
class Original:
    """A submission, or the lab's own kernels, of which changed copies are made; each is made once."""

    submission: Submission
    rebind: Rebind
    seen_anew: Reread | None = None
    _parsed: dict[Path, ParsedFile] = field(default_factory=dict)
    _made: dict[tuple[tuple[Path, str], ...], Submission] = field(default_factory=dict)
    _making: threading.Lock = field(default_factory=threading.Lock, repr=False, compare=False)

    def changed(self, binding: VariantBinding, change: ProgramChange) -> Changed:
        """The program with `change` made for the kernel of `binding`."""
        kernel = binding.kernel
        parsed = self.file_of(kernel)
        if parsed is None:
            return Changed(self.submission, binding, obstacle="unreadable")
        item = parsed.functions[kernel.name]
        words = mentioned(parsed, item) | set(_WORD.findall(binding.expression))
        edits: dict[Path, list[tuple[Edit, int]]] = {}
        old: list[int | None] = []
        expression = binding.expression
        for patterns, value in change.constants:
            names = _matching(self._constants(words - change.taken, kernel), patterns, change.width)
            for source in self.submission.sources:
                file = self._parse(source)
                edits.setdefault(source.path, []).extend((e, value) for e in constant_edits(file, names))
            width = 0 if names else change.width
            expression, argument = _with_argument(expression, kernel.template_parameters, patterns, value, width)
            old.append(next(iter(names.values()), None) if argument is None else argument)
        if change.unroll:
            if kernel.unroll > 1 and not has_pragma(parsed, item):
                if change.unroll != kernel.unroll:
                    return Changed(self.submission, binding, tuple(old), "by_hand", kernel.unroll)
            else:
                loops = unroll_edits(parsed, item, change.unroll)
                if not loops:
                    return Changed(self.submission, binding, tuple(old), "no_loop")
                edits.setdefault(parsed.source.path, []).extend((e, 0) for e in loops)
        submission = self._with(edits)
        after = submission.bindings[binding.variant]
        if not isinstance(after, VariantBinding) or after.kernel.name != kernel.name:
            return Changed(self.submission, binding, tuple(old), "unreadable")
        if expression != binding.expression:
            after = replace(after, expression=expression)
        return Changed(submission, after, tuple(old))

    def _with(self, edits: Mapping[Path, Sequence[tuple[Edit, int]]]) -> Submission:
        texts = {}
        for source in self.submission.sources:
            with_values = [
                replace(e, text=f"{e.text}{value}" if e.constant else e.text, constant="")
                for e, value in edits.get(source.path, [])
            ]
            before = self._parse(source).source.text
            text = apply(before, with_values, {})
            if text != before:
                texts[source.path] = replace(source, text=text)
        if not texts:
            return self.submission
        key = tuple((path, source.text) for path, source in texts.items())
        with self._making:
            if key not in self._made:
                self._made[key] = self.rebind(texts)
            return self._made[key]

    def _constants(self, words: set[str], kernel: Kernel) -> dict[str, int]:
        """Return the constants among `words` that can be changed, with their values."""
        own = {p.name for p in kernel.parameters} | set(kernel.template_parameters)
        constants: dict[str, int] = {}
        for source in self.submission.sources:
            file = self._parse(source)
            for name in {e.constant for e in constant_edits(file, words - own)}:
                value = file.constants.evaluate(name)
                if isinstance(value, int) and value > 0:
                    constants[name] = value
        return dict(sorted(constants.items()))

    def reread(self, texts: Mapping[Path, SourceText], observed: ObservedRuns) -> Submission:
        """The program with other texts, which was seen to do `observed`."""
        if self.seen_anew is None or observed is self.submission.observed:
            return self.rebind(texts)
        return self.seen_anew(texts, observed)

    def files(self) -> list[ParsedFile]:
        """The files that were handed in, without the headers that they include."""
        count = len(self.submission.sources) - self.submission.header_sources
        return [self._parse(source) for source in self.submission.sources[:count]]

    def file_of(self, kernel: Kernel) -> ParsedFile | None:
        for source in self.submission.sources:
            if source.file == kernel.file:
                parsed = self._parse(source)
                if kernel.name in parsed.functions:
                    return parsed
        return None

    def _parse(self, source: SourceText) -> ParsedFile:
        if source.path not in self._parsed:
            macros: dict[str, Macro] = {}
            for other in self.submission.sources:
                if other.path.suffix.lower() != ".cu":
                    macros = device_macros(other.text, macros)
            self._parsed[source.path] = parse(source, macros)
        return self._parsed[source.path]


def _matching(constants: Mapping[str, int], patterns: Sequence[str], width: int) -> dict[str, int]:
    """The best-named constant, and others that match and have the same value (a tile's width and its height)."""
    ranked = sorted(
        (rank, name)
        for name in constants
        for rank, pattern in enumerate(patterns)
        if re.fullmatch(pattern, name, re.IGNORECASE)
    )
    if not ranked:
        return {name: value for name, value in constants.items() if value == width}
    value = constants[ranked[0][1]]
    return {name: value for _rank, name in ranked if constants[name] == value}


def _with_argument(
    expression: str, parameters: Sequence[str], patterns: Sequence[str], value: int, width: int
) -> tuple[str, int | None]:
    """A name expression whose template argument of a matching name is `value`, and the number that stood there.

    width: where no parameter has such a name, the first argument of this value is meant; 0: none.
    """
    name, bracket, rest = expression.partition("<")
    arguments = [text.strip() for text in rest.removesuffix(">").split(",")] if bracket else []
    if len(arguments) != len(parameters):
        return expression, None
    numbers = [index for index, text in enumerate(arguments) if len(text) < 10 and text.isdecimal()]
    named = [i for i in numbers if any(re.fullmatch(p, parameters[i], re.IGNORECASE) for p in patterns)]
    meant = named or [i for i in numbers if width and int(arguments[i]) == width]
    if not meant:
        return expression, None
    old = int(arguments[meant[0]])
    arguments[meant[0]] = str(value)
    return f"{name}<{', '.join(arguments)}>", old


def same_interpretation(graded: Interpretation, interpretations: Sequence[Interpretation]) -> Interpretation | None:
    """The interpretation of a changed program that is the one which was graded: same roles, same grid."""
    for interpretation in interpretations:
        if interpretation.roles == graded.roles and _style(interpretation.launch) == _style(graded.launch):
            return interpretation
    return next(
        (c for c in interpretations if c.roles == graded.roles and c.launch.covers == graded.launch.covers), None
    )


def _style(plan: LaunchPlan) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    return plan.covers, tuple(step == 1 for step in plan.tile)


def relaunched(
    before: LaunchPlan, after: LaunchPlan, block: tuple[int, int, int] | None, edges: Mapping[int, int]
) -> LaunchPlan:
    """How a changed kernel is launched.

    before, after: the launch that was read from the program as it was, and as it is now.
    block: the block that is wanted; None: what follows from the program.
    edges: new values by the old ones of constants: sides of block and tile that did not follow by themselves do so.
    """

    def follow(old: int, new: int) -> int:
        return edges.get(new, new) if old == new else new

    sides = tuple(follow(a, b) for a, b in zip(before.tile, after.tile, strict=False))
    if block is None:
        x, y, z = (follow(a, b) for a, b in zip(before.block, after.block, strict=True))
        return replace(after, block=(x, y, z), tile=sides, grid_formula=_in_step(after, sides))
    tile = tuple(
        block[axis] if before.tile[axis] == before.block[axis] and after.tile[axis] == before.tile[axis] else side
        for axis, side in enumerate(sides)
    )
    # Where host code says a number of bytes, it is for its own block; too much does less harm than too little.
    more = max(1.0, prod(block) / prod(after.block))
    shared_bytes = ceil(after.shared_bytes * more)
    formula = re.sub(
        r"(?<![\w.])\d{1,9}(?![\w.])",
        lambda number: str(block[0]) if int(number.group()) == after.block[0] else number.group(),
        after.shared_formula,
    )
    return replace(
        after,
        block=block,
        tile=tile,
        block_formula=(),
        shared_bytes=shared_bytes,
        shared_formula=formula,
        grid_formula=_in_step(after, tile),
    )


def _in_step(plan: LaunchPlan, sides: Sequence[int]) -> tuple[str, ...]:
    """The formulas of a plan's grid for a tile of other sides: what stands for a side, or one less, follows."""

    def followed(text: str, old: int, new: int) -> str:
        replacements = {str(old): str(new), str(old - 1): str(new - 1)} if old > 2 and old != new else {}
        return re.sub(r"(?<![\w.])\d+(?![\w.])", lambda n: replacements.get(n.group(), n.group()), text)

    steps = list(zip(plan.tile, sides, strict=False))
    # Tiles that are numbered along one axis go by the sides of all of them.
    axes = [[steps[axis]] if len(steps) == len(plan.grid_formula) else steps for axis in range(len(plan.grid_formula))]
    formulas = []
    for text, pairs in zip(plan.grid_formula, axes, strict=True):
        for old, new in dict(pairs).items():
            text = followed(text, old, new)
        formulas.append(text)
    return tuple(formulas)
