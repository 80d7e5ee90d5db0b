"""How a kernel is launched: who says what of its block, what that covers, and its dynamic shared memory.

For each of these facts there is a function with all that say something of it; `precedence` chooses among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from grader.device_limits import is_possible_block
from grader.lab import formula
from grader.lab.records import Lab, LaunchRule, Variant
from grader.submission.binding.grids import THE_SIZE, formulas_of, is_unsure
from grader.submission.binding.precedence import OF_LAUNCHES, OF_PROGRAM, Fact, first, weakest_of
from grader.submission.binding.profiled import Block, block_at, lab_block, shared_bytes_at
from grader.submission.binding.sizes import CompileTime, NamedSizes, OwnSizes
from grader.submission.expressions.nodes import Expression
from grader.submission.expressions.number_types import SIZES_OF_TYPES
from grader.submission.files.submission_yaml import VariantSettings
from grader.submission.kernels.records import Kernel, LaunchSite
from grader.submission.kernels.shape import KernelShape
from grader.submission.kernels.symbolic import formula_of, named_constants
from grader.submission.records import Interpretation, LaunchPlan, Origin, Origins

MAX_CANDIDATES = 8


def requested_launch(sites: Sequence[LaunchSite]) -> LaunchSite | None:
    """Of the launches of a kernel whose block is readable, the first impossible one, else the first."""
    readable = [site for site in sites if site.block is not None]
    impossible = [site for site in readable if site.block is not None and not is_possible_block(site.block)]
    return next(iter(impossible or readable), None)


def interpretations(
    kernel: Kernel,
    shape: KernelShape,
    sites: Sequence[LaunchSite],
    role_assignments: Fact[Sequence[tuple[str, ...]]],
    settings: VariantSettings,
    variant: Variant,
    lab: Lab,
    fixed: CompileTime,
) -> tuple[Interpretation, ...]:
    """Readings of `kernel` with a launch for each, likeliest first; at most `MAX_CANDIDATES`.

    Where nothing tells which size the grid's x axis runs over, both orders are given.
    """
    found: list[Interpretation] = []
    readings = [(r, n) for r in role_assignments.value for n in NamedSizes.of(r, fixed, lab).readings(lab)]
    for roles, named in readings:
        sizes = {role for role in roles if role in lab.size_names}
        known = sizes | named.all_roles()
        square_only = bool(lab.equal_sizes) and bool(known) and not set(lab.equal_sizes) <= known
        planner = _Planner(kernel, shape, _usable(sites), roles, settings, variant, lab, named)
        all_covers = planner.covers(sites)
        for covers in all_covers.value:
            free = {p.name for p in lab.parameters if p.kind == "size" and p.from_grid}
            exact = not sizes & set(covers) and set(covers) <= free
            plan, origins = planner.plan(covers, exact)
            origins = replace(origins, arguments=role_assignments.origin, covers=all_covers.origin)
            sizes_of_program = (named.constants, named.template, named.pinned, named.declared)
            is_unsure = origins.block == "observed" and planner.is_unsure(covers)
            found.append(Interpretation(roles, plan, square_only, *sizes_of_program, origins, unsure=is_unsure))
    return tuple(dict.fromkeys(found))[:MAX_CANDIDATES]


@dataclass(frozen=True, slots=True)
class _Threads:
    """A block; `formulas` of the sizes for its axes where it depends on them, () where it does not."""

    block: Block
    formulas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _SharedBytes:
    """Dynamic shared memory, and its formula of the sizes and of `threads`, "" where it has none."""

    number: int = 0
    formula: str = ""


@dataclass(frozen=True, slots=True)
class _Planner:
    """Makes the launch plans of one role assignment; `site`: what the host code says, where it says anything usable."""

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
        return self.lab.launch_of(self.variant)

    @property
    def said(self) -> Origin:
        """How what the host code says is known."""
        return "observed" if self.site is not None and self.site.observed else "read"

    def plan(self, covers: tuple[str, ...], exact: bool) -> tuple[LaunchPlan, Origins]:
        """The launch, and who says its block, tile and shared memory."""
        threads = self.threads()
        block = block_at(threads.value.formulas, threads.value.block, self.lab)
        # What host code divides the grid by goes with its own block.
        site = self.site if threads.origin in OF_PROGRAM else None
        tiles = [self.tile(axis, block, site) for axis in range(len(covers))]
        tile = tuple(fact.value for fact in tiles)
        shared = self.shared_bytes(tile, block)
        plan = LaunchPlan(
            block=block,
            tile=tile,
            covers=covers,
            exact=exact,
            shared_bytes=shared_bytes_at(shared.value.formula, block, self.lab, shared.value.number),
            line=site.line if site is not None else 0,
            block_formula=threads.value.formulas,
            shared_formula=shared.value.formula,
            grid_formula=self.grid(covers, tile) if threads.origin in OF_PROGRAM else self.grid_formula(),
        )
        weakest = weakest_of(fact.origin for fact in tiles)
        return plan, Origins(block=threads.origin, tile=weakest, shared_bytes=shared.origin)

    def threads(self) -> Fact[_Threads]:
        """Threads of a block."""
        rule = self.rule
        formulas = tuple(str(n) for n in rule.block) if any(isinstance(n, str) for n in rule.block) else ()
        return first(
            {"stated": self.stated_threads, self.said: self.read_threads, "inferred": self.inferred_threads},
            otherwise=_Threads(lab_block(rule, self.lab), formulas),
            among=OF_LAUNCHES,
        )

    def stated_threads(self) -> _Threads | None:
        if self.settings.block is None:
            return None
        x, y, z = [*self.settings.block, 1, 1][:3]
        return _Threads((x, y, z))

    def read_threads(self) -> _Threads | None:
        site = self.site
        if site is None:
            return None
        formulas = tuple(self.formula(e, top=False) or "" for e in site.block_expressions)
        if site.block is not None:
            depends = any(self.formula(e) for e in site.block_expressions)
            return _Threads(site.block, formulas if depends and all(formulas) else self.sides_of_data())
        if not formulas or not all(formulas):
            return None
        # The formulas may have no value at the profiled sizes.
        inferred = self.inferred_threads()
        return _Threads(inferred.block if inferred is not None else lab_block(self.rule, self.lab), formulas)

    def sides_of_data(self) -> tuple[str, ...]:
        """The block's axes as sizes, where a launch of one block was seen that is as large as the data.

        Only of a kernel that knows of no other block: `k<<<1, m>>>(a, b, n, p)`, whose text does not tell what `m` is.
        """
        site = self.site
        if site is None or not site.observed or site.grid != (1, 1, 1) or site.block is None:
            return ()
        if "blockIdx" in self.shape.text or "gridDim" in self.shape.text or not is_possible_block(site.block):
            return ()
        own, usual = self.own.sizes(), self.rule.covers
        found = []
        for axis, threads in enumerate(site.block):
            names = [*usual[axis : axis + 1], *usual, *self.lab.size_names]
            found.append("1" if threads == 1 else next((name for name in names if own.get(name) == threads), ""))
        return tuple(found) if all(found) and any(name != "1" for name in found) else ()

    def inferred_threads(self) -> _Threads | None:
        width = self.shape.width()
        if len(self.rule.covers) <= 1:
            return _Threads((width, 1, 1)) if width is not None else None
        if self.shape.is_flat:
            return _Threads((width or 256, 1, 1))
        side = self.shape.side()
        if side is None or side <= 1:
            return None
        block = (side, self.shape.rows_at_a_time(side) or side, 1)
        return _Threads(block) if is_possible_block(block) else None

    def tile(self, axis: int, block: Block, site: LaunchSite | None) -> Fact[int]:
        """What a block covers along a grid axis: as stated, as the grid divides, as the kernel steps, one a thread."""
        told, rule = self.settings.tile or (), self.rule
        usual = rule.tile[axis] if axis < len(rule.tile) else 0

        def inferred() -> int | None:
            # Where the lab says what a block covers, `blockIdx.x * N` is an address: the N-th row of so many elements.
            # A block of several rows is launched in another way than the lab's.
            if usual and not (len(rule.covers) == 1 and block[1] > 1):
                return None
            rows = self.shape.side() if axis == 1 and self.shape.rows_at_a_time(block[0]) == block[1] else None
            return self.shape.covered(axis, block) or rows or None

        return first(
            {
                "stated": lambda: (told[axis] or None) if axis < len(told) else None,
                self.said: lambda: (site.tile[axis] or None) if site is not None and axis < len(site.tile) else None,
                "inferred": inferred,
            },
            otherwise=usual or block[axis],
        )

    def covers(self, sites: Sequence[LaunchSite]) -> Fact[list[tuple[str, ...]]]:
        """The size that each grid axis runs over; without a clue, either order.

        A kernel that numbers all elements, or all tiles, along one axis runs over the product, "rows*cols"; one that
        is launched with a block for each row runs over the rows alone.
        """
        # A launch that no device can run still tells what its grid runs over.
        site = self.site or next(iter(sites), None)
        usual = self.rule.covers
        either_order = len(set(usual)) == 2 and set(usual) <= set(self.roles)

        def inferred() -> list[tuple[str, ...]] | None:
            is_flat = len(usual) > 1 and self.shape.is_flat and (site is None or len(site.tile) <= 1)
            return [("*".join(usual),)] if is_flat else None

        return first(
            {
                self.said: lambda: self.read_covers(site, either_order) if site is not None else None,
                "inferred": inferred,
            },
            otherwise=[usual, usual[::-1]] if either_order else [usual],
        )

    def read_covers(self, site: LaunchSite, either_order: bool) -> list[tuple[str, ...]] | None:
        """As the arguments tell that the grid divides."""
        usual = self.rule.covers
        alone_seen = self.covered_alone(site)
        if alone_seen:
            return [(name,) for name in alone_seen]
        if len(usual) > 1 and len(site.grid_expressions) == 1 and site.tile == (1,):
            alone = dict(zip(site.arguments, self.roles, strict=False)).get(site.grid_over[0])
            if alone in usual and "blockIdx.y" not in self.shape.text:
                return [(alone,)]
        if len(usual) > 1 and self.grid_formula():
            return [("*".join(usual),)]
        if either_order and len(site.arguments) == len(self.roles):
            by_argument = {t: role for t, role in zip(site.arguments, self.roles, strict=True) if role in usual}
            read = tuple(by_argument.get(variable, "") for variable in site.grid_over[:2])
            if len(read) == 2 and set(read) == set(usual):
                return [read]
        return None

    def covered_alone(self, site: LaunchSite) -> list[str]:
        """Of several sizes those that a launch seen along one axis runs over alone: a thread for each row, say."""
        usual = self.rule.covers
        if len(usual) < 2 or not site.observed or site.grid is None or site.block is None:
            return []
        if ".y" in self.shape.text or self.shape.numbers_elements:
            return []
        sizes = self.own.sizes()
        if prod(site.grid[1:]) * prod(site.block[1:]) > 1 or not all(sizes.get(name, 0) > 1 for name in usual):
            return []
        threads, reach = site.block[0], site.grid[0] * site.block[0]
        if 2 * reach > prod(sizes[name] for name in usual):
            return []
        return [name for name in dict.fromkeys(usual) if abs(reach - sizes[name]) < threads]

    def usual_shared_formula(self) -> str:
        """The lab's formula of shared memory, where it gives what was seen at the program's own sizes."""
        if self.site is None or self.site.block is None or not self.rule.shared_bytes:
            return ""
        try:
            usual = formula.integer(self.rule.shared_bytes, {**self.own.sizes(), "threads": prod(self.site.block)})
        except formula.FormulaError:
            return ""
        return self.rule.shared_bytes if usual == self.site.shared_bytes else ""

    def grid(self, covers: tuple[str, ...], tile: tuple[int, ...]) -> tuple[str, ...]:
        """The grid's formulas, where it has another number of blocks than it takes to cover the sizes."""
        if self.site is None or (self.settings.tile is not None and not self.site.observed):
            return self.grid_formula()
        if self.site.grid == (1, 1, 1) and self.threads().value.formulas:
            # One block, as large as the data.
            return ("1",) * len(covers)
        probes = [(grid, self.own.choices_of(seen)) for grid, seen in self.site.probes]
        found = formulas_of(self.site, self.formula, covers, tile, self.own.choices(), self.lab, probes)
        return found or self.grid_formula()

    def is_unsure(self, covers: tuple[str, ...]) -> bool:
        """Whether a run at other sizes would tell more of the grid."""
        return self.site is not None and is_unsure(self.site, self.formula, covers, self.own.choices())

    def grid_formula(self) -> tuple[str, ...]:
        """The grid as the host code computes it, where its one axis runs over several sizes."""
        if self.site is None or len(self.site.grid_expressions) != 1:
            return ()
        text = self.formula(self.site.grid_expressions[0])
        return (text,) if text and len(formula.names_of(text)) > 1 else ()

    def shared_bytes(self, tile: tuple[int, ...], block: Block) -> Fact[_SharedBytes]:
        """Dynamic shared memory: without better, an element for each of the tile, a row longer where it is padded."""
        stated = self.settings.shared_bytes
        dynamic = [array for array in self.kernel.shared_arrays if array.dynamic]
        itemsize = SIZES_OF_TYPES.get((dynamic[0].dtype if dynamic else None) or "float32", 4)
        rows = max(block[1], tile[1] if len(tile) > 1 else 1)
        usual = rows * (max(block[0], tile[0]) + (1 if self.variant.padded else 0)) * itemsize

        def read() -> _SharedBytes | None:
            if self.site is None or (not dynamic and not self.site.observed):
                return None
            if not dynamic:
                return _SharedBytes()
            text = self.formula(self.site.shared_expression) or ""
            if self.site.observed:
                return _SharedBytes(self.site.shared_bytes or 0, text or self.usual_shared_formula())
            return _SharedBytes(self.site.shared_bytes or usual, text) if self.site.shared_bytes or text else None

        return first(
            {
                "stated": lambda: _SharedBytes(stated) if stated is not None else None,
                self.said: read,
                "inferred": lambda: None if dynamic else _SharedBytes(),
            },
            otherwise=_SharedBytes(usual, self.rule.shared_bytes),
            among=OF_LAUNCHES,
        )

    def formula(self, expression: Expression | None, over: str = "", *, top: bool = True) -> str | None:
        """A host expression as a formula of the sizes.

        over: the size that is meant by a variable which is handed in for several, as by `n` in `k<<<…>>>(a, b, n, n)`.
        """
        constants = self.shape.constants
        by_name = {name: role for role, name in self.sizes.constants}
        if self.site is not None and len(self.site.arguments) == self.arguments:
            own = self.roles[len(self.roles) - self.arguments :]
            sizes = [(t, r) for t, r in zip(self.site.arguments, own, strict=True) if r in self.lab.size_names]
            by_name |= dict(sizes) | {text: role for text, role in sizes if role == over}
        if over in self.lab.size_names:
            by_name |= {THE_SIZE.name: over}
        if self.site is not None:
            by_name |= {
                t: role for t, (_n, role) in zip(self.site.template_texts, self.sizes.template, strict=False) if role
            }
        return formula_of(expression, by_name, named_constants(constants), top=top)

    @property
    def arguments(self) -> int:
        """Parameters that the host code hands in: global arrays come before them."""
        return sum(not p.is_global for p in self.kernel.parameters)


def _usable(sites: Sequence[LaunchSite]) -> LaunchSite | None:
    """The first launch that a device can run; one whose block is not readable may still tell what the grid covers."""
    possible = [site for site in sites if site.block is not None and is_possible_block(site.block)]
    unreadable = [site for site in sites if site.block is None]
    return next(iter(possible or unreadable), None)
