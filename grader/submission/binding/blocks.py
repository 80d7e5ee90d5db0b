"""Blocks that kernels are launched with: who says how many threads and how much shared memory, and how they follow from
the sizes.

Also which size each axis of a grid runs over.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import prod

from grader.devices import is_possible_block
from grader.lab import formula
from grader.lab.records import Lab, LaunchRule, Variant
from grader.submission.binding.grids import THE_SIZE, value_at
from grader.submission.binding.kernel_text import AXES, KernelShape
from grader.submission.binding.reconcile import OF_LAUNCHES, Fact, first
from grader.submission.binding.roles import sizes_in
from grader.submission.binding.sizes import NamedSizes, OwnSizes
from grader.submission.cpp.constants import SIZES_OF_TYPES
from grader.submission.cpp.syntax import Expression
from grader.submission.folder import VariantSettings
from grader.submission.kernels.records import Kernel, LaunchSite, SeenProbe
from grader.submission.kernels.symbolic import formula_of, named_constants, names_in
from grader.submission.records import Origin


@dataclass(frozen=True, slots=True)
class LaunchContext:
    """What a launch plan is made of, for one assignment of roles.

    site: what the host code says, where it says anything usable.  roles: one for each parameter.
    """

    kernel: Kernel
    shape: KernelShape
    site: LaunchSite | None
    roles: tuple[str, ...]
    settings: VariantSettings
    variant: Variant
    lab: Lab
    sizes: NamedSizes

    @property
    def own(self) -> OwnSizes:
        """The program's own sizes."""
        return OwnSizes(self.kernel, self.roles, self.site, self.sizes, self.lab)

    @property
    def rule(self) -> LaunchRule:
        """How the lab launches the variant."""
        return self.lab.launch_of(self.variant)

    @property
    def said(self) -> Origin:
        """How what the host code says is known."""
        return "observed" if self.site is not None and self.site.observed else "read"

    @property
    def arguments(self) -> int:
        """Parameters that the host code hands in: global arrays come before them."""
        return sum(not p.is_global for p in self.kernel.parameters)

    def formula(self, expression: Expression | None, over: str = "", *, top: bool = True) -> str | None:
        """A host expression as a formula of the sizes.

        over: the size that is meant by a variable which is handed in for several, as by `n` in `k<<<…>>>(a, b, n, n)`.
        """
        constants = self.shape.constants
        by_name = self._called_so(expression, over)
        by_name |= self.sizes.of_host | {name: role for role, name in self.sizes.constants}
        if self.site is not None and len(self.site.arguments) == self.arguments:
            own = self.roles[len(self.roles) - self.arguments :]
            sizes = [(t, r) for t, r in zip(self.site.arguments, own, strict=True) if r in self.lab.size_names]
            by_name |= dict(sizes) | {text: role for text, role in sizes if role == over}
            by_name |= {t: r[1:] for t, r in zip(self.site.arguments, own, strict=True) if r.startswith("=")}
        if over in self.lab.size_names:
            by_name |= {THE_SIZE.name: over}
        if self.site is not None:
            by_name |= {
                t: role for t, (_n, role) in zip(self.site.template_texts, self.sizes.template, strict=False) if role
            }
        return formula_of(expression, by_name, named_constants(constants), top=top)

    def _called_so(self, expression: Expression | None, over: str) -> dict[str, str]:
        """The size that a grid runs over and the kernel does not know, by what host code calls it: `BATCH` of
        `k<<<BATCH, 64>>>(a, n)`."""
        settled = {*sizes_in(self.roles, self.lab), *self.sizes.all_roles(), *dict(self.sizes.pinned)}
        if expression is None or over not in self.lab.size_names or over in settled:
            return {}
        size, constants = self.lab.parameter(over), self.shape.constants
        names = (name for name in names_in(expression) if size.rank_of(name) is not None)
        return {name: over for name in names if constants.integer(name) is None}


# Which size each axis of a grid runs over.


def covers_of(context: LaunchContext, sites: Sequence[LaunchSite]) -> Fact[list[tuple[str, ...]]]:
    """The size that each grid axis runs over; without a clue, either order.

    A kernel that numbers all elements, or all tiles, along one axis runs over the product, "rows*cols"; one that
    is launched with a block for each row runs over the rows alone.
    """
    # A launch that no device can run still tells what its grid runs over.
    site = context.site or next(iter(sites), None)
    usual = context.rule.covers
    either_order = len(set(usual)) == 2 and set(usual) <= set(context.roles)

    def inferred() -> list[tuple[str, ...]] | None:
        is_flat = len(usual) > 1 and context.shape.is_flat and (site is None or len(site.tile) <= 1)
        return [("*".join(usual),)] if is_flat else None

    return first(
        {
            context.said: lambda: _covers_read(context, site, sites, either_order) if site is not None else None,
            "inferred": inferred,
        },
        otherwise=[usual, usual[::-1]] if either_order else [usual],
    )


def _covers_read(
    context: LaunchContext, site: LaunchSite, sites: Sequence[LaunchSite], either_order: bool
) -> list[tuple[str, ...]] | None:
    """What the arguments tell that the grid divides, or what grids at different sizes have shown."""
    usual = context.rule.covers
    alone_seen = _covered_alone(context, site)
    if alone_seen:
        return [(name,) for name in alone_seen]
    if len(usual) > 1 and len(site.grid_expressions) == 1 and site.tile == (1,):
        alone = (context.sizes.of_host | dict(zip(site.arguments, context.roles, strict=False))).get(site.grid_over[0])
        if alone in usual and "blockIdx.y" not in context.shape.text:
            return [(alone,)]
    if either_order and len(site.arguments) == len(context.roles):
        by_argument = {t: role for t, role in zip(site.arguments, context.roles, strict=True) if role in usual}
        read = tuple(by_argument.get(variable, "") for variable in site.grid_over[:2])
        if len(read) == 2 and set(read) == set(usual):
            return [read]
    if either_order:
        return _covers_seen(context, [s for s in sites if s.file == site.file and s.line == site.line])
    return None


def _covers_seen(context: LaunchContext, sites: Sequence[LaunchSite]) -> list[tuple[str, ...]] | None:
    """Return the order of the grid's axes, where a launch at two different sizes allows only one."""
    usual = context.rule.covers
    allowed = {usual, usual[::-1]}
    for site in sites:
        sizes = context.own.sizes_of(site.seen, None)
        lengths = [sizes.get(name, 0) for name in usual]
        if site.grid is None or site.block is None or site.exchanged is not None or min(lengths) < 2:
            continue
        grid, block = site.grid[:2], site.block[:2]
        if lengths[0] != lengths[1] and grid[0] != grid[1] and site.grid[2] == 1:
            fitting = {
                order
                for order in allowed
                if all(
                    _may_cover(sizes[name], count, side) for name, count, side in zip(order, grid, block, strict=True)
                )
            }
            allowed = fitting or allowed
    return [next(iter(allowed))] if len(allowed) == 1 else None


_LOOPED = 7
"""A block of which each thread has fewer than two to this power of elements along an axis."""


def _may_cover(size: int, blocks: int, threads: int) -> bool:
    """Whether that many blocks run over a size, each over as many elements as it has threads or a few times as many."""
    return any(blocks in (size // step, -(-size // step)) for step in (threads << power for power in range(_LOOPED)))


def _covered_alone(context: LaunchContext, site: LaunchSite) -> list[str]:
    """Return the sizes that a one-dimensional launch covers if it leaves others out: a thread for each row, say."""
    usual = context.rule.covers
    if len(usual) < 2 or not site.observed or site.grid is None or site.block is None:
        return []
    if ".y" in context.shape.text or context.shape.numbers_elements:
        return []
    sizes = context.own.sizes()
    if prod(site.grid[1:]) * prod(site.block[1:]) > 1 or not all(sizes.get(name, 0) > 1 for name in usual):
        return []
    threads, reach = site.block[0], site.grid[0] * site.block[0]
    if 2 * reach > prod(sizes[name] for name in usual):
        return []
    return [name for name in dict.fromkeys(usual) if abs(reach - sizes[name]) < threads]


# What a launch's formulas come to at the sizes that a lab has profiled (`observe` in its file).

Block = tuple[int, int, int]


def block_at(formulas: tuple[str, ...], otherwise: Block, lab: Lab) -> Block:
    """The block at the profiled sizes, where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        x, y, z = [*(formula.integer(text, sizes) for text in formulas), 1, 1, 1][:3]
    except formula.FormulaError:
        return otherwise
    return (x, y, z) if formulas and is_possible_block((x, y, z)) else otherwise


def shared_bytes_at(shared_formula: str, block: Block, lab: Lab, otherwise: int) -> int:
    """Dynamic shared memory at the profiled sizes, where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        threads = block[0] * block[1] * block[2]
        return formula.integer(shared_formula, {**sizes, "threads": threads}) if shared_formula else otherwise
    except formula.FormulaError:
        return otherwise


def lab_block(rule: LaunchRule, lab: Lab) -> Block:
    """The lab's block, at the profiled sizes where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        return rule.block_at(sizes)
    except formula.FormulaError:
        return 32, 1, 1


# Threads of a block: who says how many there are, and how they follow from the sizes.


@dataclass(frozen=True, slots=True)
class Threads:
    """A block; `formulas` of the sizes for its axes where it depends on them, () where it does not.

    unknown: sizes of which nothing tells whether, or how, it follows from them.
    """

    block: Block
    formulas: tuple[str, ...] = ()
    unknown: frozenset[str] = frozenset()


def threads_of(context: LaunchContext) -> Fact[Threads]:
    rule = context.rule
    formulas = tuple(str(n) for n in rule.block) if any(isinstance(n, str) for n in rule.block) else ()
    return first(
        {
            "stated": lambda: _stated(context),
            context.said: lambda: _read(context),
            "inferred": lambda: _inferred(context),
        },
        otherwise=Threads(lab_block(rule, context.lab), formulas),
        among=OF_LAUNCHES,
    )


def _stated(context: LaunchContext) -> Threads | None:
    if context.settings.block is None:
        return None
    x, y, z = [*context.settings.block, 1, 1][:3]
    return Threads((x, y, z))


def _read(context: LaunchContext) -> Threads | None:
    site = context.site
    if site is None:
        return None
    formulas = tuple(context.formula(e, top=False) or "" for e in site.block_expressions)
    if site.block is not None:
        depends = any(context.formula(e) for e in site.block_expressions)
        if depends and all(formulas):
            return Threads(site.block, formulas)
        sides = _sides_of_data(context)
        if sides or (formulas and all(formulas)):
            return Threads(site.block, sides)
        return _threads_seen(context, site.block)
    if not formulas or not all(formulas):
        return None
    # The formulas may have no value at the profiled sizes.
    inferred = _inferred(context)
    return Threads(inferred.block if inferred is not None else lab_block(context.rule, context.lab), formulas)


def _sides_of_data(context: LaunchContext) -> tuple[str, ...]:
    """The block's axes as sizes, where a launch of one block was seen that is as large as the data.

    Only of a kernel that knows of no other block: `k<<<1, m>>>(a, b, n, p)`, whose text does not tell what `m` is.
    """
    site = context.site
    if site is None or not site.observed or site.grid != (1, 1, 1) or site.block is None:
        return ()
    if "blockIdx" in context.shape.text or "gridDim" in context.shape.text or not is_possible_block(site.block):
        return ()
    own, usual = context.own.sizes(), context.rule.covers
    sides = []
    for axis, threads in enumerate(site.block):
        names = [*usual[axis : axis + 1], *usual, *context.lab.size_names]
        side = next((name for name in names if own.get(name) == threads), "")
        # A thread for each element: `k<<<1, N * N>>>(a, b)`.
        elements = prod(own.get(name, 0) for name in usual)
        sides.append("1" if threads == 1 else side or ("*".join(usual) if threads == elements else ""))
    return tuple(sides) if all(sides) and any(name != "1" for name in sides) else ()


def _threads_seen(context: LaunchContext, block: Block) -> Threads:
    """A block that was seen, of which the text tells nothing: what it follows from wherever it was seen."""
    site, own = context.site, context.own.sizes()
    varied, unknown = _varied(context), frozenset[str]()
    formulas = []
    for axis, threads in enumerate(block):
        sides = frozenset(name for name in context.lab.size_names if own.get(name) == threads > 1)
        at_others = [(probe.block[axis], probe) for probe in site.probes] if site is not None else []
        fitting = [
            text
            for text in (str(threads), *sorted(sides))
            if all(_comes_to(context, text, count, probe) for count, probe in at_others)
        ]
        formulas.append(next(iter(fitting), str(threads)))
        if fitting:
            unknown |= sides if not sides & varied else frozenset()
        elif not _takes_any_block(context, axis):
            unknown |= frozenset(own)
    depends = any(not text.isdecimal() for text in formulas)
    return Threads(block, tuple(formulas) if depends else (), unknown & set(context.lab.size_names))


def _takes_any_block(context: LaunchContext, axis: int) -> bool:
    """Whether a kernel numbers elements by `blockDim`, and was seen with several blocks that cover a size however many
    threads they had: 16 threads for 64 elements, 512 for millions.  It may have as many at any other size then."""
    site, own = context.site, context.own
    is_named = re.search(rf"\bblockDim\s*\.\s*{AXES[axis]}\b", context.shape.text) is not None
    if site is None or site.grid is None or site.block is None or not is_named or context.shape.width() is not None:
        return False
    seen = [(site.grid, site.block, own.choices())]
    seen += [(probe.grid, probe.block, own.choices_of(probe.arguments)) for probe in site.probes]
    has_tile = any(not array.dynamic for array in context.kernel.shared_arrays)
    if has_tile and any(block[axis] > site.block[axis] for _grid, block, _choices in seen):
        return False
    return all(
        any(
            -(-sizes.get(over, 0) // block[axis]) == grid[axis] > 1 for sizes in choices for over in context.rule.covers
        )
        for grid, block, choices in seen
    )


def _inferred(context: LaunchContext) -> Threads | None:
    width = context.shape.width()
    if len(context.rule.covers) <= 1:
        return Threads((width, 1, 1)) if width is not None else None
    if context.shape.is_flat:
        return Threads((width or 256, 1, 1))
    side = context.shape.side()
    if side is None or side <= 1:
        return None
    block = (side, context.shape.rows_at_a_time(side) or side, 1)
    return Threads(block) if is_possible_block(block) else None


# Dynamic shared memory of a launch: who says how much, and how it follows from the sizes.


ROUNDED_TO = (8, 16, 32, 64, 128, 256)
"""Elements, to a multiple of which a program may round the length of an array up."""


@dataclass(frozen=True, slots=True)
class SharedBytes:
    """Dynamic shared memory, and its formula of the sizes and of `threads`, "" where it has none.

    unknown: sizes of which nothing tells whether, or how, it follows from them.
    """

    number: int = 0
    formula: str = ""
    unknown: frozenset[str] = frozenset()


def shared_bytes_of(context: LaunchContext, tile: tuple[int, ...], block: Block) -> Fact[SharedBytes]:
    """Dynamic shared memory: without better, an element for each of the tile, a row longer where it is padded."""
    stated = context.settings.shared_bytes
    dynamic = [array for array in context.kernel.shared_arrays if array.dynamic]
    itemsize = SIZES_OF_TYPES.get((dynamic[0].dtype if dynamic else None) or "float32", 4)
    rows = max(block[1], tile[1] if len(tile) > 1 else 1)
    usual = rows * (max(block[0], tile[0]) + (1 if context.variant.padded else 0)) * itemsize

    def read() -> SharedBytes | None:
        if context.site is None or (not dynamic and not context.site.observed):
            return None
        if not dynamic:
            return SharedBytes()
        if context.site.observed:
            return _shared_seen(context, context.site, usual, itemsize)
        text = context.formula(context.site.shared_expression) or ""
        return SharedBytes(context.site.shared_bytes or usual, text) if context.site.shared_bytes or text else None

    return first(
        {
            "stated": lambda: SharedBytes(stated) if stated is not None else None,
            context.said: read,
            "inferred": lambda: None if dynamic else SharedBytes(),
        },
        otherwise=SharedBytes(usual, context.rule.shared_bytes),
        among=OF_LAUNCHES,
    )


def _shared_seen(context: LaunchContext, site: LaunchSite, usual: int, itemsize: int) -> SharedBytes:
    """Bytes that were seen at the program's own sizes, and what they are at others.

    The first of these that gives what was seen wherever it was: what the text says, the lab's formula, one number, a
    product of sizes.  What was seen at one size alone may be another number at any other.
    """
    shared_bytes = site.shared_bytes or 0
    at_own = site.seen_shared_bytes
    own = [(at_own, None), *((probe.shared_bytes, probe) for probe in site.probes)] if at_own is not None else []

    def fits(text: str) -> bool:
        return all(_comes_to(context, text, count, probe) for count, probe in own)

    as_written = context.formula(site.shared_expression, top=False) or ""
    # A number that the lab's formula comes to wherever it was seen may be written of constants: of `RADIUS`, say.
    number, written = ("", as_written) if as_written and formula.names_of(as_written) else (as_written, "")
    for text in (written, context.rule.shared_bytes, number):
        if text and fits(text):
            return SharedBytes(shared_bytes, text if formula.names_of(text) else "")
    sizes, varied = context.own.sizes(), _varied(context)
    names = [name for name in context.lab.size_names if name in sizes]
    is_one_number = all(count == shared_bytes for count, _probe in own)
    follow = [f"{shared_bytes // n} * {text}" for text, n in _products(sizes, names) if n > 1 and shared_bytes % n == 0]
    follow += [f"{itemsize} * {side} * ceil_div({name}, {side})" for name in names for side in ROUNDED_TO]
    fitting = [text for text in follow if fits(text)] if varied else []
    if is_one_number:
        # A size that is rounded up comes to the same for one a little smaller.
        rest = frozenset(name for name in names if name not in varied and sizes[name] * itemsize <= shared_bytes)
        is_of_block = site.block is not None and shared_bytes in (usual, prod(site.block) * itemsize)
        return SharedBytes(
            shared_bytes, f"max({shared_bytes}, {fitting[0]})" if fitting else "", frozenset() if is_of_block else rest
        )
    return SharedBytes(shared_bytes, fitting[0]) if fitting else SharedBytes(shared_bytes, "", frozenset(names))


def _products(sizes: Mapping[str, int], names: Sequence[str]) -> list[tuple[str, int]]:
    """Products of up to three of some sizes as formulas, with what they come to."""
    return [
        (" * ".join(factors), prod(sizes[name] for name in factors))
        for count in (1, 2, 3)
        for factors in combinations_with_replacement(names, count)
    ]


def _comes_to(context: LaunchContext, text: str, count: int, probe: SeenProbe | None) -> bool:
    """Whether a formula may give what was seen of a launch at other sizes, or at the program's own; where the sizes are
    not known, it may."""
    site = context.site
    assert site is not None
    choices = context.own.choices() if probe is None else context.own.choices_of(probe.arguments)
    threads = prod(probe.block if probe is not None else site.block or (1, 1, 1))
    return any(value_at(text, {**sizes, "threads": threads}) in (count, None) for sizes in choices)


def _varied(context: LaunchContext) -> frozenset[str]:
    """The sizes that were seen to be others while the launch was made."""
    own, site = context.own.sizes(), context.site
    others = [context.own.sizes_of(probe.arguments, None) for probe in site.probes] if site is not None else []
    return frozenset(name for name, value in own.items() if any(sizes.get(name, value) != value for sizes in others))
