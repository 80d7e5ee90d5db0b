"""Launch plans: block, what that covers, grid and dynamic shared memory, of what is said of each, and the launch as it
was meant where its arguments stand in each other's place, or its grid and its block.

For each of these facts there is a function with all that say something of it, in a file of its own where it is long;
`reconcile.first` chooses among them.

A kernel's own text says what it reads and writes, and its parameters' names what they mean.  A launch says otherwise
where its data do (an input into which nobody put anything, and whose content the host wants afterwards), or where
its names do.  The kernel is then judged as if they stood in their order, and the launch for the mistake.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod

import msgspec

from grader.devices import is_possible_block
from grader.lab.records import Lab, Parameter, Variant
from grader.submission.binding import blocks
from grader.submission.binding.entries import Entry
from grader.submission.binding.grids import dividend, formulas_of, is_unsure
from grader.submission.binding.reconcile import OF_PROGRAM, Fact, first, weakest_of
from grader.submission.binding.sizes import NamedSizes
from grader.submission.cpp.syntax import Name, Number
from grader.submission.folder import VariantSettings
from grader.submission.kernels import records
from grader.submission.records import Interpretation, LaunchPlan, Origins
from grader.submission.structs import Flat

_HANDED = re.compile(r"&?\s*(\w+)(?:(?:\.|->)\w+\(\))?")
"""An array as a launch hands it over: by its name, or by a method of its owner."""
_OF_BLOCKS = re.compile(r"\b(?:blockIdx|gridDim)\b")
_OF_THREADS = re.compile(r"(?i)threads?|blocks?|tiles?|warps?")
MAX_CANDIDATES = 8
MORE_TILES = 2, 3, 4
"""Tiles that dynamic shared memory may hold where no launch says how much of it there is."""
USUAL_SQUARES = (32, 8, 1), (16, 16, 1), (32, 32, 1)
USUAL_ROWS = (256, 1, 1), (128, 1, 1), (32, 1, 1)


def requested_launch(sites: Sequence[records.LaunchSite]) -> records.LaunchSite | None:
    """The launch that a kernel is graded by, among those whose block can be read.

    The first that the hardware cannot make, else the first with arguments, or its grid and its block, in each
    other's place, else the first.
    """
    readable = [site for site in sites if site.block is not None]
    impossible = [site for site in readable if site.block is not None and not is_possible_block(site.block)]
    return next(iter(impossible or [site for site in readable if site.exchanged or site.swapped] or readable), None)


def as_written(entry: Entry, lab: Lab, roles: tuple[str, ...]) -> tuple[str, ...]:
    """`roles`, of which numbers that no launch was seen with are no sizes where the launch's text says so.

    The side of its block is the lab's, `<<<grid, dim3(bs, bs)>>>(a, b, c, n, bs)`; the number of its threads and what
    is not above 0 are what they are there.  What is called as a size of the lab is one.
    """
    parameters = entry.kernel.parameters
    site = next((site for site in entry.sites if len(site.arguments) == len(parameters)), None)
    side = next((side for side in lab.launch.block if isinstance(side, int)), None)
    if entry.seen or site is None:
        return roles
    sides = {extent.name for extent in site.block_expressions if isinstance(extent, Name)}
    threads = prod(site.block) if site.block is not None else 0
    own, are_sides = list(roles), False
    for index, parameter in enumerate(parameters):
        if parameter.is_pointer or any(p.rank_of(parameter.name) is not None for p in lab.parameters if p.is_size):
            continue
        value = site.values[index] if site.values else None
        is_count = value == threads and (len(set(own)) < len(own) or _OF_THREADS.search(parameter.name) is not None)
        if site.arguments[index].strip() in sides and side is not None:
            own[index], are_sides = f"={side if value is None else value}", True
        elif value is not None and (value <= 0 or is_count):
            own[index] = f"={value}"
    # Where the block is as large as the data, its side is a size all the same.
    return roles if are_sides and not set(own) & set(lab.size_names) else tuple(own)


def interpretations(
    entry: Entry,
    role_assignments: Fact[Sequence[tuple[str, ...]]],
    settings: VariantSettings,
    variant: Variant,
    lab: Lab,
    elsewhere: Sequence[blocks.Block] = (),
) -> tuple[Interpretation, ...]:
    """Readings of a kernel with a launch for each, likeliest first; at most `MAX_CANDIDATES`.

    Where nothing tells which size the grid's x axis runs over, both orders are given; where its program was
    seen not to launch it, other blocks beside the likeliest; where nothing says how much dynamic shared memory it gets,
    more than one tile's.

    elsewhere: blocks of what such a program launches in its place.
    """
    kernel, shape, sites, fixed = entry.kernel, entry.shape, entry.sites, entry.compile_time
    as_launched: list[Interpretation] = []
    otherwise: list[Interpretation] = []
    readings = [(r, n) for r in role_assignments.value for n in NamedSizes.of(r, fixed, lab).readings(lab)]
    for roles, named in readings:
        sizes = {role for role in roles if role in lab.size_names}
        all_roles = sizes | named.all_roles()
        square_only = bool(lab.equal_sizes) and bool(all_roles) and not set(lab.equal_sizes) <= all_roles
        context = blocks.LaunchContext(kernel, shape, _usable(sites), roles, settings, variant, lab, named)
        all_covers = blocks.covers_of(context, sites)
        for covers in all_covers.value:
            free = {p.name for p in lab.parameters if p.is_size and p.from_grid}
            # What the host fills constant memory with is handed over like an argument.
            filled = {role for role, name in named.constants if name in fixed.from_host}
            covered = {name for extent in covers for name in extent.split("*")}
            exact = not (sizes | filled) & covered and covered <= free
            plan, origins, unknown = _plan(context, covers, exact=exact)
            origins = replace(origins, arguments=role_assignments.origin, covers=all_covers.origin)
            pinned = named.pinned
            if unknown and not named.all_roles():
                # What was seen at the program's own sizes is nothing to accuse it of at others.
                own = context.own.sizes()
                pinned += tuple((name, own[name]) for name in sorted(unknown & set(own) - set(dict(pinned))))
            sizes_of_program = (named.constants, named.template, pinned, named.declared)
            is_unsure = bool(unknown) or (origins.block == "observed" and _is_unsure(context, plan))
            as_launched.append(Interpretation(roles, plan, square_only, *sizes_of_program, origins, unsure=is_unsure))
            if origins.shared_bytes == "lab" and any(array.dynamic for array in kernel.shared_arrays):
                with_more = (replace(as_launched[-1], launch=_with_more(plan, times)) for times in MORE_TILES)
                otherwise += with_more
            for block in _other_blocks(plan.block, covers, elsewhere) if elsewhere and settings.block is None else ():
                other, origins, _unknown = _plan(context, covers, exact=exact, block=block)
                origins = replace(origins, arguments=role_assignments.origin, covers=all_covers.origin)
                otherwise.append(Interpretation(roles, other, square_only, *sizes_of_program, origins))
    return tuple(dict.fromkeys([*as_launched, *otherwise]))[:MAX_CANDIDATES]


def _with_more(plan: LaunchPlan, times: int) -> LaunchPlan:
    """`plan` with so many times the dynamic shared memory: a program may put several tiles into it."""
    text = f"{times} * ({plan.shared_formula})" if plan.shared_formula else ""
    return replace(plan, shared_bytes=times * plan.shared_bytes, shared_formula=text)


def _other_blocks(first: blocks.Block, covers: Sequence[str], elsewhere: Sequence[blocks.Block]) -> list[blocks.Block]:
    """Return blocks to try for a kernel that nothing launches, with as many sides as the grid has axes."""
    has_sides = len(covers) > 1
    fitting = [block for block in elsewhere if (block[1] > 1) == has_sides and is_possible_block(block)]
    usual: tuple[blocks.Block, ...] = USUAL_SQUARES if has_sides else USUAL_ROWS
    return [block for block in dict.fromkeys((*fitting, *usual)) if block != first]


def _plan(
    context: blocks.LaunchContext, covers: tuple[str, ...], *, exact: bool, block: blocks.Block | None = None
) -> tuple[LaunchPlan, Origins, frozenset[str]]:
    """Return the launch, with `block` if given, who says its block, tile and shared memory, and the sizes that those
    may follow from in a way that nothing tells."""
    threads = blocks.threads_of(context) if block is None else Fact(blocks.Threads(block), "lab")
    block = blocks.block_at(threads.value.formulas, threads.value.block, context.lab)
    # What host code divides the grid by goes with its own block.
    site = context.site if threads.origin in OF_PROGRAM else None
    tiles = [_tile(context, axis, block, site) for axis in range(len(covers))]
    tile = tuple(fact.value for fact in tiles)
    grid = _grid(context, threads.value, covers, tile) if threads.origin in OF_PROGRAM else ()
    divided = _divided(context, covers, tile) if threads.origin == "inferred" else ()
    if len(covers) == 1 and grid == covers and context.shape.covered(0, block) is None:
        # As many blocks as there are elements, which no thread numbers within its block: one for each.
        tile = (1,)
    shared = blocks.shared_bytes_of(context, tile, block)
    plan = LaunchPlan(
        block=block,
        tile=tile,
        covers=covers,
        exact=exact,
        shared_bytes=blocks.shared_bytes_at(shared.value.formula, block, context.lab, shared.value.number),
        line=site.line if site is not None else context.site.line if context.site is not None and divided else 0,
        block_formula=threads.value.formulas,
        shared_formula=shared.value.formula,
        grid_formula=grid or divided,
        is_read=site is not None
        and all(context.formula(e, top=False) for e in site.block_expressions or (None,))
        and context.formula(site.shared_expression) is not None,
    )
    weakest = weakest_of(fact.origin for fact in tiles)
    origins = Origins(block=threads.origin, tile=weakest, shared_bytes=shared.origin)
    return plan, origins, threads.value.unknown | shared.value.unknown | _unknown_of_grid(context, plan)


def _tile(context: blocks.LaunchContext, axis: int, block: blocks.Block, site: records.LaunchSite | None) -> Fact[int]:
    """What a block covers along a grid axis: as stated, as the grid divides, as the kernel steps, one a thread."""
    stated, rule = context.settings.tile or (), context.rule
    usual = rule.tile[axis] if axis < len(rule.tile) else 0

    def inferred() -> int | None:
        # Where the lab says what a block covers, `blockIdx.x * N` is an address: the N-th row of so many elements.
        # A block of several rows is launched in another way than the lab's.
        if usual and not (len(rule.covers) == 1 and block[1] > 1):
            return None
        rows = context.shape.side() if axis == 1 and context.shape.rows_at_a_time(block[0]) == block[1] else None
        return context.shape.covered(axis, block) or rows or None

    return first(
        {
            "stated": lambda: (stated[axis] or None) if axis < len(stated) else None,
            context.said: lambda: (site.tile[axis] or None) if site is not None and axis < len(site.tile) else None,
            "inferred": inferred,
        },
        otherwise=usual or block[axis],
    )


def _grid(
    context: blocks.LaunchContext, threads: blocks.Threads, covers: tuple[str, ...], tile: tuple[int, ...]
) -> tuple[str, ...]:
    """The grid's formulas, where it has another number of blocks than it takes to cover the sizes."""
    if context.site is None or (context.settings.tile is not None and not context.site.observed):
        return ()
    if context.site.grid == (1, 1, 1) and threads.formulas:
        # One block, as large as the data.
        return ("1",) * len(covers)
    if not context.site.observed and not _OF_BLOCKS.search(context.shape.text):
        blocks_read = {context.formula(e, top=False) for e in context.site.grid_expressions}
        if blocks_read == {"1"}:
            # Its threads know of no other block: `k<<<1, 100>>>`.
            return ("1",) * len(covers)
    probes = _probes(context)
    return formulas_of(context.site, context.formula, covers, tile, context.own.choices(), context.lab, probes)


def _divided(context: blocks.LaunchContext, covers: tuple[str, ...], tile: tuple[int, ...]) -> tuple[str, ...]:
    """The grid's formulas where its text divides each size by a block whose sides it does not tell: rounded down, so
    that the last elements have no block.  () where it says another thing of any axis."""
    site = context.site
    if site is None or len(site.grid_expressions) != len(covers):
        return ()
    own = context.roles[len(context.roles) - context.arguments :]
    values = {(role, value) for role, value in zip(own, site.values, strict=False) if value is not None}
    for over, expression in zip(covers, site.grid_expressions, strict=True):
        divided = dividend(expression)
        is_size = (
            (over, divided.value) in values
            if isinstance(divided, Number)
            else (divided is not None and context.formula(divided, over, top=False) == over)
        )
        if not is_size:
            return ()
    return tuple(f"(({over}) // {step})" for over, step in zip(covers, tile, strict=True))


def _unknown_of_grid(context: blocks.LaunchContext, plan: LaunchPlan) -> frozenset[str]:
    """The program's own sizes where a number of blocks that was seen there, and is written nowhere, is another at
    others, or a kernel that knows of no number of blocks was seen with it at these sizes alone."""
    site = context.site
    if site is None or site.grid is None or not plan.grid_formula:
        return frozenset()
    same_block = [probe for probe in site.probes if probe.block == site.block]
    for axis, text in enumerate(plan.grid_formula):
        written = site.grid_expressions[axis] if axis < len(site.grid_expressions) else None
        if not text.isdecimal() or context.formula(written, top=False) is not None:
            continue
        is_alone = not same_block and int(text) > 1 and "gridDim" not in context.shape.text
        if is_alone or any(probe.grid[axis] != int(text) for probe in same_block):
            return frozenset(context.own.sizes()) & frozenset(context.lab.size_names)
    return frozenset()


def _is_unsure(context: blocks.LaunchContext, plan: LaunchPlan) -> bool:
    site, own = context.site, context.own.choices()
    return site is not None and is_unsure(site, context.formula, plan.covers, plan.tile, own, _probes(context))


def _probes(context: blocks.LaunchContext) -> list[tuple[blocks.Block, Sequence[Mapping[str, int]]]]:
    """The grids at other sizes, with these; of another block, the grid is another by right."""
    same_block = [p for p in context.site.probes if p.block == context.site.block] if context.site is not None else []
    return [(probe.grid, context.own.choices_of(probe.arguments)) for probe in same_block]


def _usable(sites: Sequence[records.LaunchSite]) -> records.LaunchSite | None:
    """Return the first possible launch; one whose block is unreadable may still tell what the grid covers."""
    possible = [site for site in sites if site.block is not None and is_possible_block(site.block)]
    unreadable = [site for site in sites if site.block is None]
    return next(iter(possible or unreadable), None)


Pair = tuple[records.KernelParameter, records.KernelParameter]
Arguments = Mapping[str, records.SeenArgument]


def in_their_places(flat: Flat, lab: Lab) -> records.ObservedRuns:
    """What was seen, with the arguments of each launch as the kernel means them, and its grid and its block; launches
    for which that changes anything say so (`SeenLaunch.exchanged`, `SeenLaunch.swapped`)."""
    return replace(flat.observed, runs=tuple(_of_run(run, flat, lab) for run in flat.observed.runs))


def _of_run(run: records.SeenRun, flat: Flat, lab: Lab) -> records.SeenRun:
    run = replace(run, launches=tuple(_swapped(launch, flat.sites) for launch in run.launches))
    of_launches = [_kernel_of(launch, flat.kernels) for launch in run.launches]
    launches = []
    written: set[str] = set()
    for launch, kernel in zip(run.launches, of_launches, strict=True):
        pair = _exchanged(launch, kernel, flat.sites, lab, written) if kernel is not None else None
        written |= _written(launch, kernel)
        launches.append(launch if pair is None or kernel is None else _with(launch, kernel, pair, flat))
    return replace(run, launches=tuple(launches))


def _swapped(launch: records.SeenLaunch, sites: Sequence[records.LaunchSite]) -> records.SeenLaunch:
    """Return the launch with grid and block exchanged, if its text has them in each other's place."""
    if not any(s.swapped and s.kernel == launch.kernel and s.line == launch.line for s in sites):
        return launch
    return msgspec.structs.replace(launch, grid=launch.block, block=launch.grid, status="ran", swapped=True)


def _kernel_of(launch: records.SeenLaunch, kernels: Sequence[records.Kernel]) -> records.Kernel | None:
    same = [kernel for kernel in kernels if kernel.name == launch.kernel]
    own = [kernel for kernel in same if kernel.file.rpartition("/")[2] == launch.file.rpartition("/")[2]]
    return next(iter(own or same), None)


def _by_name(launch: records.SeenLaunch) -> dict[str, records.SeenArgument]:
    return {argument.name: argument for argument in launch.arguments if argument.name}


def _written(launch: records.SeenLaunch, kernel: records.Kernel | None) -> set[str]:
    """Return the arrays that a launch writes to: of an unknown kernel all that it is handed."""
    by_name = _by_name(launch)
    if kernel is None:
        return {argument.buffer for argument in by_name.values()}
    return {by_name[p.name].buffer for p in kernel.parameters if p.is_pointer and p.is_written and p.name in by_name}


def _exchanged(
    launch: records.SeenLaunch,
    kernel: records.Kernel,
    sites: Sequence[records.LaunchSite],
    lab: Lab,
    written: Collection[str],
) -> Pair | None:
    """Return two parameters that the launch has in each other's place; written: arrays that launches before it wrote
    to, which those without `const` alone may only have read."""
    by_name = _by_name(launch)
    if launch.refused or any(p.name not in by_name for p in kernel.parameters):
        return None
    texts = _texts(launch, kernel, sites)
    for pair in _directions(kernel):
        if _flows_backwards(pair, by_name):
            return pair
    taken = [by_name[p.name] for p in kernel.parameters if p.is_pointer and not p.is_written]
    if any(argument.before == "kernel" and argument.buffer in written for argument in taken):
        # It goes on with what another kernel made, a transposed matrix perhaps: names say nothing of that.
        return None
    for pair in _alike(kernel, lab):
        is_wrong = (
            _is_named_across(pair, by_name, texts, lab) if pair[0].is_pointer else _is_written_across(pair, texts)
        )
        if is_wrong:
            return pair
    return None


def _directions(kernel: records.Kernel) -> Iterator[Pair]:
    """Yield each array that the kernel only reads with each that it writes."""
    arrays = [p for p in kernel.parameters if p.is_pointer and not p.is_global]
    for source in arrays:
        if source.is_read and not source.is_written:
            yield from ((source, to) for to in arrays if to.is_written and not to.is_const)


def _flows_backwards(pair: Pair, arguments: Arguments) -> bool:
    """Whether the host filled what the kernel writes, and takes for the result what the kernel reads."""
    source, to = (arguments[p.name] for p in pair)
    if not source.buffer or not to.buffer or source.buffer == to.buffer or source.buffer_bytes != to.buffer_bytes:
        return False
    return source.before != "data" and source.read_back and to.before == "data" and not to.read_back


def _alike(kernel: records.Kernel, lab: Lab) -> Iterator[Pair]:
    """Yield pairs that a launch may exchange unnoticed: two inputs, or two sizes, each named like one of the lab's."""
    for one, other in combinations([p for p in kernel.parameters if not p.is_global], 2):
        first, second = _role(one, lab), _role(other, lab)
        if first is None or second is None or first == second or one.is_pointer != other.is_pointer:
            continue
        are_alike = first.is_input and second.is_input and first.shape == second.shape
        if are_alike or (first.is_size and second.is_size):
            yield one, other


def _role(parameter: records.KernelParameter, lab: Lab) -> Parameter | None:
    """Return the role that a parameter's name means, if it can mean only one."""
    fitting = [p for p in lab.parameters if p.is_array == parameter.is_pointer]
    if parameter.is_pointer:
        # What is handed on to a function looks as if it might be written there.
        fitting = [p for p in fitting if p.is_output == (parameter.is_written and not parameter.is_const)]
    named = [p for p in fitting if p.rank_of(parameter.name) is not None]
    return named[0] if len(named) == 1 else None


def _called(pair: Pair, arguments: Arguments, texts: Mapping[str, str]) -> list[str]:
    """What two arrays are called: as they were allocated, or where a function of the program's own did that for both,
    and called them alike, as the launch has them; "" for what is no name."""
    names = [arguments[p.name].buffer for p in pair]
    if all(names) and names[0] != names[1]:
        return names
    given = [_HANDED.fullmatch(texts.get(p.name.lower(), "")) for p in pair]
    return [match[1] if match is not None else "" for match in given]


def _is_named_across(pair: Pair, arguments: Arguments, texts: Mapping[str, str], lab: Lab) -> bool:
    """Whether each array has the name that means the other's role."""
    roles = [_role(parameter, lab) for parameter in pair]
    names = [name.rpartition(".")[2].rpartition(">")[2] for name in _called(pair, arguments, texts)]
    if not all(names) or None in roles:
        return False
    first, second = (role for role in roles if role is not None)
    return (
        second.rank_of(names[0]) is not None
        and first.rank_of(names[1]) is not None
        and first.rank_of(names[0]) is None
        and second.rank_of(names[1]) is None
    )


def _is_written_across(pair: Pair, texts: Mapping[str, str]) -> bool:
    """Whether the launch names for each parameter the other one: `k<<<…>>>(a, cols, rows)` for `k(a, rows, cols)`."""
    first, second = (p.name.lower() for p in pair)
    return texts.get(first, "") == second and texts.get(second, "") == first


def _texts(launch: records.SeenLaunch, kernel: records.Kernel, sites: Sequence[records.LaunchSite]) -> dict[str, str]:
    """Return the launch's argument texts by parameter name, both in lower case."""
    own = [p.name.lower() for p in kernel.parameters if not p.is_global]
    at = [s for s in sites if s.kernel == launch.kernel and s.line == launch.line and len(s.arguments) == len(own)]
    return dict(zip(own, (text.strip().lower() for text in at[0].arguments), strict=True)) if at else {}


def _with(launch: records.SeenLaunch, kernel: records.Kernel, pair: Pair, flat: Flat) -> records.SeenLaunch:
    first, second = (p.name for p in pair)
    by_name = _by_name(launch)
    places = {first: by_name[second], second: by_name[first]}
    arguments = tuple(
        msgspec.structs.replace(places[a.name], name=a.name, type_text=a.type_text) if a.name in places else a
        for a in launch.arguments
    )
    own = [p.name for p in kernel.parameters if not p.is_global]
    at = next((s for s in flat.sites if s.kernel == launch.kernel and s.line == launch.line), None)
    texts = dict(zip(own, at.arguments, strict=True)) if at is not None and len(at.arguments) == len(own) else {}
    variable, line = flat.places.get((launch.kernel, launch.line), ("", 0))

    def given(name: str) -> str:
        return " ".join(texts[name].split()) if texts else by_name[name].buffer or str(by_name[name].value)

    exchanged = records.Exchanged(first, given(first), second, given(second), variable, line)
    return msgspec.structs.replace(launch, arguments=arguments, exchanged=exchanged)
