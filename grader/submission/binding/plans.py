"""How a kernel is launched: as the student's host code says, else as the kernel itself shows, else as the lab does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from grader.device_limits import is_possible_block
from grader.lab import formula
from grader.lab.records import Lab, LaunchRule, Variant
from grader.submission.binding.grids import formulas_of
from grader.submission.expressions.number_types import SIZES_OF_TYPES
from grader.submission.expressions.syntax import Expression
from grader.submission.files.settings import VariantSettings
from grader.submission.kernels.records import Kernel, LaunchSite
from grader.submission.kernels.shape import KernelShape
from grader.submission.kernels.symbolic import formula_of, named_constants
from grader.submission.observed import SeenArgument
from grader.submission.records import Candidate, LaunchPlan
from grader.submission.rewriting.compile_time import SET_BY_HOST, match_sizes

MAX_CANDIDATES = 8
OWN = ("told", "observed", "read")
"""Origins of a launch that is the submission's own."""
Block = tuple[int, int, int]


def requested_launch(sites: Sequence[LaunchSite]) -> LaunchSite | None:
    """Of the launches of a kernel whose block is readable, the first impossible one, else the first."""
    readable = [site for site in sites if site.block is not None]
    impossible = [site for site in readable if site.block is not None and not is_possible_block(site.block)]
    return next(iter(impossible or readable), None)


@dataclass(frozen=True, slots=True)
class CompileTime:
    """What is fixed when the kernel is compiled: constants that it depends on and its template's arguments, by name.

    changeable: the constants whose definitions the grader can change.
    """

    constants: Mapping[str, int] = field(default_factory=dict)
    changeable: frozenset[str] = frozenset()
    template: Mapping[str, str] = field(default_factory=dict)


def candidates(
    kernel: Kernel,
    shape: KernelShape,
    sites: Sequence[LaunchSite],
    readings: Sequence[tuple[str, ...]],
    settings: VariantSettings,
    variant: Variant,
    lab: Lab,
    fixed: CompileTime,
) -> tuple[Candidate, ...]:
    """Readings of `kernel` with a launch for each, likeliest first; at most `MAX_CANDIDATES`.

    Where nothing tells which size the grid's x axis runs over, both orders are given.
    """
    found: list[Candidate] = []
    rule = lab.launch_of(variant)
    for roles in readings:
        named = _Sizes.of(roles, fixed, lab)
        sizes = {role for role in roles if role in lab.size_names}
        known = sizes | named.all_roles()
        square_only = bool(lab.equal_sizes) and bool(known) and not set(lab.equal_sizes) <= known
        site = _usable(sites)
        plan_of = _Planner(kernel, shape, site, roles, settings, variant, lab, named)
        # A launch that no device can run still tells what its grid runs over.
        told = site or next(iter(sites), None)
        for covers in _covers(shape, told, roles, rule, along_one_axis=bool(plan_of.grid_formula())):
            free = {p.name for p in lab.parameters if p.kind == "size" and p.from_grid}
            exact = not sizes & set(covers) and set(covers) <= free
            plan = plan_of.plan(covers, exact)
            sizes_of_program = (named.constants, named.template, named.fixed, named.own)
            found.append(Candidate(roles, plan, square_only, *sizes_of_program))
    return tuple(dict.fromkeys(found))[:MAX_CANDIDATES]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The sizes that a reading leaves to constants and to the template; see `Candidate`."""

    constants: tuple[tuple[str, str], ...]
    template: tuple[tuple[str, str], ...]
    fixed: tuple[tuple[str, int], ...]
    own: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, roles: tuple[str, ...], fixed: CompileTime, lab: Lab) -> _Sizes:
        in_template = match_sizes(list(fixed.template), lab, roles)
        by_name = {name: role for role, name in in_template.items()}
        template = tuple((text, by_name.get(name, "")) for name, text in fixed.template.items())
        matched = match_sizes(list(fixed.constants), lab, {*roles, *in_template})
        built_in = [(role, fixed.constants[name]) for role, name in matched.items() if name not in fixed.changeable]
        given = {*roles, *in_template, *matched}
        built_in += [
            (p.name, p.usual)
            for p in lab.parameters
            if p.kind == "size" and p.usual is not None and p.name not in given
        ]
        constants = tuple((role, name) for role, name in matched.items() if name in fixed.changeable)
        own = tuple((role, value) for role, name in constants if (value := fixed.constants[name]) != SET_BY_HOST)
        return cls(constants, template if in_template else (), tuple(built_in), own)

    def all_roles(self) -> set[str]:
        return {role for role, _name in self.constants} | {role for _text, role in self.template if role}


@dataclass(frozen=True, slots=True)
class _Planner:
    """Makes the launch plans of one reading."""

    kernel: Kernel
    shape: KernelShape
    site: LaunchSite | None
    roles: tuple[str, ...]
    settings: VariantSettings
    variant: Variant
    lab: Lab
    sizes: _Sizes

    def plan(self, covers: tuple[str, ...], exact: bool) -> LaunchPlan:
        rule = self.lab.launch_of(self.variant)
        block, origin, formulas = self.block(rule)
        block = _block_at_observed(formulas, block, self.lab)
        site = self.site
        is_own = origin in OWN
        tile = _tile(self.shape, site if is_own else None, self.settings, block, len(covers), rule)
        shared_formula = self.shared_formula(rule)
        shared = _shared_bytes(self.kernel, site, self.settings, tile, block, self.variant)
        return LaunchPlan(
            block=block,
            tile=tile,
            covers=covers,
            exact=exact,
            origin=origin,
            shared_bytes=_at_observed(shared_formula, block, self.lab, shared),
            line=site.line if site is not None and is_own else 0,
            block_formula=formulas,
            shared_formula=shared_formula,
            grid_formula=self.grid(covers, tile) if is_own else self.grid_formula(),
        )

    def grid(self, covers: tuple[str, ...], tile: tuple[int, ...]) -> tuple[str, ...]:
        """The grid's formulas, where it has another number of blocks than it takes to cover the sizes."""
        assert self.site is not None or self.settings.block is not None
        if self.site is None or self.settings.tile is not None:
            return self.grid_formula()
        return formulas_of(self.site, self.formula, covers, tile, self.own_sizes(), self.lab) or self.grid_formula()

    def own_sizes(self) -> dict[str, int]:
        """The sizes at which the program made its launch, as far as its arguments and constants tell."""
        if self.site is None:
            return {}
        found = dict(self.sizes.fixed) | dict(self.sizes.own)
        by_name = {argument.name: argument for argument in self.site.seen if argument.name}
        arrays: list[tuple[str, SeenArgument, str]] = []
        for parameter, role in zip(self.kernel.parameters, self.roles, strict=True):
            argument = by_name.get(parameter.name)
            if argument is None:
                continue
            if role in self.lab.size_names and isinstance(argument.value, int):
                found.setdefault(role, argument.value)
            elif argument.buffer_bytes and parameter.is_pointer:
                arrays.append((role, argument, parameter.dtype or self.lab.parameter(role).dtype))
        for role, argument, dtype in arrays:
            _solve(found, self.lab.parameter(role).shape, argument.buffer_bytes // SIZES_OF_TYPES.get(dtype, 4))
        return found

    def grid_formula(self) -> tuple[str, ...]:
        """The grid as the host code computes it, where its one axis runs over several sizes."""
        if self.site is None or len(self.site.grid_expressions) != 1:
            return ()
        text = self.formula(self.site.grid_expressions[0])
        return (text,) if text and len(formula.names_of(text)) > 1 else ()

    def block(self, rule: LaunchRule) -> tuple[Block, str, tuple[str, ...]]:
        """Threads of a block, where that is from, and its formulas where it depends on the sizes."""
        block, origin = _block(self.shape, self.site, self.settings, rule, self.lab)
        if origin in ("observed", "read") and self.site is not None:
            formulas = tuple(self.formula(e, top=False) or "" for e in self.site.block_expressions)
            depends = any(self.formula(e) for e in self.site.block_expressions)
            return block, origin, formulas if depends and all(formulas) else ()
        if (
            self.site is not None
            and self.site.block is None
            and self.site.block_expressions
            and not self.settings.block
        ):
            formulas = tuple(self.formula(e, top=False) or "" for e in self.site.block_expressions)
            if all(formulas):
                return block, "read", formulas
        if origin == "lab" and any(isinstance(n, str) for n in rule.block):
            return block, origin, tuple(str(n) for n in rule.block)
        return block, origin, ()

    def shared_formula(self, rule: LaunchRule) -> str:
        if self.settings.shared_bytes is not None or not any(a.dynamic for a in self.kernel.shared_arrays):
            return ""
        if self.site is not None and (self.site.shared_bytes or self.formula(self.site.shared_expression)):
            return self.formula(self.site.shared_expression) or ""
        return rule.shared_bytes

    def formula(self, expression: Expression | None, top: bool = True) -> str | None:
        """A host expression as a formula of the sizes."""
        constants = self.shape.constants
        by_name = {name: role for role, name in self.sizes.constants}
        if self.site is not None and len(self.site.arguments) == self.arguments:
            own = self.roles[len(self.roles) - self.arguments :]
            by_name |= {t: r for t, r in zip(self.site.arguments, own, strict=True) if r in self.lab.size_names}
        if self.site is not None:
            by_name |= {
                t: role for t, (_n, role) in zip(self.site.template_texts, self.sizes.template, strict=False) if role
            }
        return formula_of(expression, by_name, named_constants(constants), top)

    @property
    def arguments(self) -> int:
        """Parameters that the host code hands in: global arrays come before them."""
        return sum(not p.is_global for p in self.kernel.parameters)


def _solve(known: dict[str, int], shape: Sequence[str | int], elements: int) -> None:
    """Add the size that is left over in an array's shape, from the number of its elements."""
    unknown = [axis for axis in shape if isinstance(axis, str) and axis not in known]
    rest = prod(known[axis] if isinstance(axis, str) else axis for axis in shape if axis not in unknown)
    if unknown and rest and elements % rest == 0:
        side = round((elements // rest) ** (1 / len(unknown)))
        if side ** len(unknown) == elements // rest:
            known |= dict.fromkeys(unknown, side)


def _usable(sites: Sequence[LaunchSite]) -> LaunchSite | None:
    """The first launch that a device can run; one whose block is not readable may still tell what the grid covers."""
    possible = [site for site in sites if site.block is not None and is_possible_block(site.block)]
    unreadable = [site for site in sites if site.block is None]
    return next(iter(possible or unreadable), None)


def _block(
    shape: KernelShape, site: LaunchSite | None, settings: VariantSettings, rule: LaunchRule, lab: Lab
) -> tuple[Block, str]:
    if site is not None and site.block is not None and site.observed:
        return site.block, "observed"
    if settings.block is not None:
        x, y, z = [*settings.block, 1, 1][:3]
        return (x, y, z), "told"
    if site is not None and site.block is not None:
        return site.block, "read"
    if len(rule.covers) > 1 and shape.is_flat:
        return (shape.width() or 256, 1, 1), "inferred"
    if len(rule.covers) > 1:
        side = shape.side()
        if side is not None and side > 1:
            rows = shape.rows_at_a_time(side) or side
            if is_possible_block((side, rows, 1)):
                return (side, rows, 1), "inferred"
    else:
        width = shape.width()
        if width is not None:
            return (width, 1, 1), "inferred"
    return _rule_block(rule, lab), "lab"


def _block_at_observed(formulas: tuple[str, ...], otherwise: Block, lab: Lab) -> Block:
    """The block at the observed sizes, where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        x, y, z = [*(formula.integer(text, sizes) for text in formulas), 1, 1, 1][:3]
    except formula.FormulaError:
        return otherwise
    return (x, y, z) if formulas and min(x, y, z) > 0 else otherwise


def _at_observed(shared_formula: str, block: Block, lab: Lab, otherwise: int) -> int:
    """Dynamic shared memory at the observed sizes, where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        threads = block[0] * block[1] * block[2]
        return formula.integer(shared_formula, {**sizes, "threads": threads}) if shared_formula else otherwise
    except formula.FormulaError:
        return otherwise


def _rule_block(rule: LaunchRule, lab: Lab) -> Block:
    """The lab's block, at the observed sizes where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        return rule.block_at(sizes)
    except formula.FormulaError:
        return 32, 1, 1


def _tile(
    shape: KernelShape,
    site: LaunchSite | None,
    settings: VariantSettings,
    block: Block,
    axes: int,
    rule: LaunchRule,
) -> tuple[int, ...]:
    """What a block covers along each grid axis: as told, as the grid divides, as the kernel steps, or a thread each."""
    tile = []
    for axis in range(axes):
        told = settings.tile[axis] if settings.tile is not None and axis < len(settings.tile) else None
        divided = site.tile[axis] if site is not None and axis < len(site.tile) else None
        stepped = shape.covered(axis, block)
        rows = shape.side() if axis == 1 and shape.rows_at_a_time(block[0]) == block[1] else None
        # Where the lab says what a block covers, `blockIdx.x * N` is an address: the N-th row of so many elements.
        usual = rule.tile[axis] if axis < len(rule.tile) else None
        tile.append(told or divided or usual or stepped or rows or block[axis])
    return tuple(tile)


def _covers(
    shape: KernelShape,
    site: LaunchSite | None,
    roles: tuple[str, ...],
    rule: LaunchRule,
    along_one_axis: bool,
) -> list[tuple[str, ...]]:
    """The size that each grid axis runs over: the one whose argument the grid divides; without a clue, either order.

    A kernel that numbers all elements, or all tiles, along one axis runs over the product, "rows*cols"; one that is
    launched with a block for each row runs over the rows alone.
    """
    usual = rule.covers
    if len(usual) > 1 and site is not None and len(site.grid_expressions) == 1 and site.tile == (1,):
        alone = dict(zip(site.arguments, roles, strict=False)).get(site.grid_over[0])
        if alone in usual and "blockIdx.y" not in shape.text:
            return [(alone,)]
    if len(usual) > 1 and along_one_axis:
        return [("*".join(usual),)]
    if len(usual) > 1 and shape.is_flat and (site is None or len(site.tile) <= 1):
        return [("*".join(usual),)]
    if len(set(usual)) != 2 or not set(usual) <= set(roles):
        return [usual]
    if site is not None and len(site.arguments) == len(roles):
        by_argument = {text: role for text, role in zip(site.arguments, roles, strict=True) if role in usual}
        read = tuple(by_argument.get(variable, "") for variable in site.grid_over[:2])
        if len(read) == 2 and set(read) == set(usual):
            return [read]
    return [usual, usual[::-1]]


def _shared_bytes(
    kernel: Kernel,
    site: LaunchSite | None,
    settings: VariantSettings,
    tile: tuple[int, ...],
    block: Block,
    variant: Variant,
) -> int:
    """Dynamic shared memory: as told, as launched, else an element for each of the tile, a row longer where padded."""
    if settings.shared_bytes is not None:
        return settings.shared_bytes
    dynamic = [array for array in kernel.shared_arrays if array.dynamic]
    if not dynamic:
        return 0
    if site is not None and site.shared_bytes:
        return site.shared_bytes
    itemsize = SIZES_OF_TYPES.get(dynamic[0].dtype or "float32", 4)
    rows = max(block[1], tile[1] if len(tile) > 1 else 1)
    columns = max(block[0], tile[0])
    return rows * (columns + (1 if variant.padded else 0)) * itemsize
