"""Changes that may make a right kernel faster: rows of shared arrays an element longer, axes of threads in each other's
place, neighbouring elements for neighbouring threads, loops unrolled, another block.

Each is tried: nothing here need be right, or fast.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from grader.repair.function import Change, Function
from grader.repair.launch_sites import Launch, axes_of, source_of
from grader.repair.nodes import operator_of, sides_of, unbracketed, value_of
from grader.repair.several_places import OTHER, array_changes, axis_places, numbers_of, replaced_in
from grader.submission.cpp.tree import ParsedFile, declared_name, descendants, qualifiers_of
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


WIDE_BLOCKS = ((256,), (128,))
"""Blocks of one axis that are tried."""
SQUARE_SIDES = (32, 16)
"""Sides of blocks that one constant makes square."""
SMALL = 128
"""Threads of a block, below which one of the same width and 256 threads is tried, too."""
UNROLLED = 8
"""Steps of a loop that are made one; the compiler makes four of them one where nothing is said."""
ALL_THREADS = "gridDim.x * blockDim.x"
THREAD = "threadIdx.x"
LOOPS = ("for_statement", "while_statement", "do_statement")


def padding_changes(functions: Sequence[Function]) -> list[Change]:
    """Return changes that make rows of shared arrays an element longer: of each array, and of all together."""
    changes = []
    for function in functions:
        changes += [c for c in array_changes(function) if c.kind == "padding" and c.edits[0].text.endswith(" + 1")]
        changes += _rows_in_one_axis(function)
    longer = {change.key: change for change in changes if change.detail != "moved"}
    if len(longer) > 1:
        edits = tuple(edit for change in longer.values() for edit in change.edits)
        changes.append(Change("padding", min(c.line for c in changes), edits, 2.2, "array"))
    return changes


def _rows_in_one_axis(function: Function) -> Iterator[Change]:
    """The same of `tile[T * T]` whose elements are all `tile[y * T + x]`."""
    for node in function.nodes:
        size = node.child_by_field_name("size") if node.type == "array_declarator" else None
        if size is None or not function.text(node.parent or node).startswith("__shared__"):
            continue
        factors = _factors(size)
        array = declared_name(node)
        indices = [access.node.child_by_field_name("indices") for access in function.accesses if access.array == array]
        if not factors or not indices:
            continue
        length = function.text(factors[1])
        lengths = [_row_length(function, index, length) for index in indices if index is not None]
        if None in lengths or len(lengths) != len(indices):
            continue
        edits = [function.replaced(n, f"({length} + 1)") for n in (factors[1], *lengths) if n is not None]
        yield Change("padding", function.line(node), tuple(edits), 2.4, "array")


def _factors(node: Node) -> tuple[Node, Node] | None:
    left, right = sides_of(node)
    return (left, right) if operator_of(node) == "*" and left is not None and right is not None else None


def _row_length(function: Function, indices: Node, length: str) -> Node | None:
    """The factor of an index `y * length + x`; None where it is written otherwise."""
    lengths = [
        factors[1]
        for node in descendants(indices)
        if (factors := _factors(node)) is not None and function.text(factors[1]) == length
    ]
    return lengths[0] if len(lengths) == 1 and len(indices.named_children) == 1 else None


# -- rows that the launch sizes ------------------------------------------------------------


def sized_padding_changes(function: Function, launch: Launch) -> Iterator[Change]:
    """Rows of `extern __shared__ tile[]` an element longer, whose elements are all `tile[y * width + x]`, with as many
    bytes more in the launch."""
    arrays = [
        declared_name(declarator)
        for node in function.nodes
        if node.type == "declaration" and {"extern", "__shared__"} <= qualifiers_of(node)
        for declarator in node.children_by_field_name("declarator")
    ]
    sides = _sides_in_bytes(launch)
    if len(arrays) != 1 or sides is None or launch.function.parsed != function.parsed:
        return
    indices = [a.node.child_by_field_name("indices") for a in function.accesses if a.array == arrays[0]]
    lengths = [_last_factor(index) if index is not None else None for index in indices]
    known_lengths = [length for length in lengths if length is not None]
    if (
        not known_lengths
        or len(known_lengths) != len(indices)
        or len({function.text(length) for length in known_lengths}) != 1
    ):
        return
    edits = [function.replaced(length, f"({function.text(length)} + 1)") for length in known_lengths]
    edits.append(launch.function.replaced(sides, f"({launch.function.text(sides)} + 1)"))
    yield Change("launch", function.line(known_lengths[0]), tuple(edits), 2.4, "array", "padding")


def _last_factor(index: Node) -> Node | None:
    """The last factor of the only product in an index `y * width + x`."""
    products = [node for node in descendants(index) if operator_of(node) == "*"]
    return sides_of(products[0])[1] if len(products) == 1 else None


def _sides_in_bytes(launch: Launch) -> Node | None:
    """The second factor of `width * height * sizeof(float)`."""
    if launch.shared is None:
        return None
    factors = [launch.shared]
    while operator_of(factors[0]) == "*":
        left, right = sides_of(factors[0])
        if left is None or right is None:
            return None
        factors[:1] = [left, right]
    sides = [factor for factor in factors if factor.type != "sizeof_expression"]
    return sides[1] if len(sides) == 2 and len(factors) == 3 else None


# -- the axes of threads ---------------------------------------------------------------


def axis_changes(function: Function) -> list[Change]:
    """Return changes that exchange x and y of threads: in the kernel, of blocks too, or behind its barrier."""
    places = axis_places(function, function.body)
    of_threads = [node for base, node in places if base == "threadIdx"]
    changes = []
    for chosen, detail in ((of_threads, "threads"), ([node for _base, node in places], "everything")):
        if {function.text(node) for node in chosen} == {"x", "y"}:
            edits = tuple(function.replaced(node, OTHER[function.text(node)]) for node in chosen)
            changes.append(Change("index", function.line(chosen[0]), edits, 1.0 + 0.1 * len(edits), "axis", detail))
    return [*changes, *_behind_barrier(function)]


def _behind_barrier(function: Function) -> Iterator[Change]:
    """Indices made anew behind the only barrier, with x and y of threads exchanged there.

    What a thread stores then is what another one has put into the tile.
    """
    barriers = [n for n in function.barriers if n.parent == function.body]
    if len(function.barriers) != 1 or not barriers:
        return
    barrier = barriers[0]
    names = _thread_axes(function)
    behind = [node for node in function.nodes if node.start_byte > barrier.end_byte]
    used = {function.text(node) for node in behind if node.type == "identifier"}
    set_there = {
        function.text(left)
        for node in behind
        if node.type == "assignment_expression" and (left := node.child_by_field_name("left")) is not None
    }
    new_indices: list[str] = []
    edits: list[Edit] = []
    for node in function.nodes:
        if node.type != "init_declarator" or node.start_byte > barrier.start_byte:
            continue
        name, value = declared_name(node), node.child_by_field_name("value")
        if value is None or name not in used - set_there or name in names:
            continue
        exchanged = _exchanged(function, [value], names)
        if exchanged:
            declaration = node.parent
            new_indices.append(f"{name} = {_edited(function, value, exchanged)};")
            edits += _without_const(function, declaration) if declaration is not None else []
    exchanged = _exchanged(function, behind, names)
    axes = {edit.text[-1] for edit in exchanged}
    if not exchanged or (not new_indices and len(axes) < 2):
        return
    indent = function.indent(barrier)
    inserted = "".join(f"\n{indent}{line}" for line in new_indices)
    edits += [function.inserted(barrier.end_byte, inserted)] if new_indices else []
    unique = {(edit.start, edit.end): edit for edit in (*edits, *exchanged)}
    yield Change("index", function.line(barrier), tuple(unique.values()), 2.0, "axis", "behind")


def _thread_axes(function: Function) -> dict[str, str]:
    """What stands for a thread's index along an axis, and what does along the other: `tx` and `ty`, if there are."""
    names = {}
    for node in function.nodes:
        value = value_of(node)
        text = function.text(value).replace(" ", "") if value is not None else ""
        if text in ("threadIdx.x", "threadIdx.y"):
            names[text[-1]] = declared_name(node)
    return {names[axis]: names[OTHER[axis]] for axis in names} if len(names) == 2 else {}


def _exchanged(function: Function, nodes: Sequence[Node], names: dict[str, str]) -> list[Edit]:
    """Edits that put each thread axis in `nodes` in the other's place, each place once."""
    edits: dict[tuple[int, int], Edit] = {}
    for top in nodes:
        for base, node in axis_places(function, top):
            if base == "threadIdx" and function.text(node) in OTHER:
                edit = function.replaced(node, OTHER[function.text(node)])
                edits[edit.start, edit.end] = edit
        for node in descendants(top):
            if node.type == "identifier" and function.text(node) in names:
                edit = function.replaced(node, names[function.text(node)])
                edits[edit.start, edit.end] = edit
    return list(edits.values())


def _edited(function: Function, node: Node, edits: Sequence[Edit]) -> str:
    text, start = function.text(node), function.at(node.start_byte)
    for edit in sorted(edits, key=lambda e: -e.start):
        text = text[: edit.start - start] + edit.text + text[edit.end - start :]
    return text


def _without_const(function: Function, declaration: Node) -> list[Edit]:
    for child in declaration.children:
        if child.type == "type_qualifier" and function.text(child) in ("const", "constexpr"):
            edit = function.replaced(child, "")
            following = function.parsed.source.text[edit.end : edit.end + 1]
            return [Edit(edit.start, edit.end + (following == " "), "")]
    return []


# -- which elements a thread takes ------------------------------------------------------


def strided_changes(function: Function) -> Iterator[Change]:
    """Elements that a thread takes one after another, `for (i = t * each; i < t * each + each; ++i)`, taken in steps of
    the number of all threads; the same of an index `t * each + k` in a loop over k."""
    for loop in function.nodes:
        if loop.type != "for_statement":
            continue
        name, start = _counter(loop)
        condition, update = loop.child_by_field_name("condition"), loop.child_by_field_name("update")
        if start is None or condition is None or update is None or not _is_one_on(function.text(update), name):
            continue
        factors = _own_share(function, start)
        if factors is None:
            yield from _elements_of(function, loop, name)
            continue
        thread, each = factors
        end = _end(function, condition, name, function.text(start)) or f"({each}) * ({ALL_THREADS})"
        edits = (
            function.replaced(start, thread.removeprefix("(").removesuffix(")") if thread[0] == "(" else thread),
            function.replaced(condition, f"{name} < {end}"),
            function.replaced(update, f"{name} += {ALL_THREADS}"),
        )
        yield Change("bound", function.line(loop), edits, 1.5, "loop", "neighbours")


def _elements_of(function: Function, loop: Node, name: str) -> Iterator[Change]:
    """Indices `t * each + k` in a loop over k."""
    for node in descendants(loop):
        left, right = sides_of(node)
        operator = node.child_by_field_name("operator")
        if node.type != "binary_expression" or operator is None or operator.type != "+" or not left or not right:
            continue
        for share, other in ((left, right), (right, left)):
            factors = _own_share(function, share) if function.text(other) == name else None
            if factors is not None:
                edit = function.replaced(node, f"{factors[0]} + {name} * ({ALL_THREADS})")
                yield Change("bound", function.line(node), (edit,), 1.5, "loop", "neighbours")


def _counter(loop: Node) -> tuple[str, Node | None]:
    """Return a loop's counter and its first value; "" and None for a loop without one."""
    begin = loop.child_by_field_name("initializer")
    for node in descendants(begin) if begin is not None else ():
        if node.type == "init_declarator":
            return declared_name(node), node.child_by_field_name("value")
        if node.type == "assignment_expression":
            return declared_name(node.child_by_field_name("left")), node.child_by_field_name("right")
    return "", None


def _is_one_on(update: str, name: str) -> bool:
    return re.sub(r"\s+", "", update) in (f"++{name}", f"{name}++", f"{name}+=1")


def _own_share(function: Function, node: Node) -> tuple[str, str] | None:
    """Number of the thread, and how many elements it takes, of `thread * each`, be it a variable's value."""
    value = _value(function, node)
    factors = _factors(value) if value is not None else None
    if factors is None:
        return None
    numbers = [f for f in factors if (behind := _value(function, f)) is not None and THREAD in function.text(behind)]
    counts = [f for f in factors if f not in numbers]
    return (function.text(numbers[0]), function.text(counts[0])) if len(numbers) == 1 and counts else None


def _value(function: Function, node: Node) -> Node | None:
    """Return the value that a name is declared with; any other expression itself, without parentheses."""
    node = unbracketed(node)
    if node.type != "identifier":
        return node
    name = function.text(node)
    own = [n for n in function.nodes if n.type == "init_declarator" and declared_name(n) == name]
    value = own[0].child_by_field_name("value") if len(own) == 1 else None
    return _value(function, value) if value is not None and value.type != "identifier" else value


def _end(function: Function, condition: Node, name: str, start: str) -> str:
    """What the counter stays below besides the end of its own share: `n` of `i < first + 16 && i < n`, and of
    `i < min(first + 16, n)`; "" where there is nothing else."""
    ends = []
    for node in descendants(condition):
        left, right = sides_of(node)
        operator = node.child_by_field_name("operator")
        if operator is None or operator.type != "<" or left is None or right is None or function.text(left) != name:
            continue
        value = _value(function, right) or right
        arguments = value.child_by_field_name("arguments") if value.type == "call_expression" else None
        ends += [function.text(one) for one in (arguments.named_children if arguments is not None else [right])]
        if arguments is None and value is not right and start not in function.text(value):
            ends.append(function.text(value))
    return next((end for end in ends if not re.search(rf"\b{re.escape(start)}\b", end) and end.isidentifier()), "")


# -- loops ----------------------------------------------------------------------------


def unrolled_changes(functions: Sequence[Function]) -> Iterator[Change]:
    """Yield a pragma for each innermost loop without one that tells the compiler to unroll it."""
    for function in functions:
        for node in function.nodes:
            if node.type != "for_statement" or any(n.type in LOOPS for n in descendants(node) if n != node):
                continue
            start = function.at(node.start_byte)
            *_before, above, own = f"\n\n{function.parsed.source.text[:start]}".rsplit("\n", 2)
            if not own.strip() and not above.lstrip().startswith("#pragma") and not above.endswith("\\"):
                edit = Edit(start, start, f"#pragma unroll {UNROLLED}\n{own}")
                yield Change("loop", function.line(node), (edit,), 1.2, "loop")


# -- the block -------------------------------------------------------------------------


def block_changes(launch: Launch, parsed: ParsedFile, block: tuple[int, int, int]) -> Iterator[Change]:
    """Other blocks for a launch whose grid follows: by constants or variables that stand for its sides, or by numbers.

    block: as it is launched now.
    """
    function = launch.function
    axes = [source_of(function, axis) for axis in axes_of(function, launch.block)]
    constants = dict(numbers_of(parsed))
    sides = [function.text(axis) for axis in axes]
    for wanted in _blocks(block, sides):
        edits: dict[int, Edit] = {}
        for axis, old, new in zip(axes, block, wanted, strict=False):
            if old == new:
                continue
            name = function.text(axis)
            own = [value for n in function.nodes if (value := value_of(n)) is not None and declared_name(n) == name]
            if name in constants:
                edit = replaced_in(parsed, constants[name], str(new))
                edits[edit.start] = edit
            elif len(own) == 1 and own[0].type == "number_literal":
                edit = function.replaced(own[0], str(new))
                edits[edit.start] = edit
            elif name == str(old):
                for edit in (function.replaced(axis, str(new)), *_numbers_in_grid(launch, old, new)):
                    edits[edit.start] = edit
            else:
                edits = {}
                break
        if edits:
            line = function.line(axes[0])
            yield Change("launch", line, tuple(edits.values()), 1.5 + 0.1 * len(edits), "block", "block")


def shape_changes(launch: Launch) -> Iterator[Change]:
    """Yield narrower blocks of two sides with as many threads, whose warps are more compact."""
    function = launch.function
    axes = [source_of(function, axis) for axis in axes_of(function, launch.block)]
    constants = function.parsed.constants
    sides = [constants.evaluate(function.text(axis)) for axis in axes[:2]]
    if len(axes) < 2:
        return
    if function.text(axes[0]) == function.text(axes[1]) and axes[0].type != "number_literal":
        # One constant has both sides.
        return
    places = [_number_behind(function, axis) for axis in axes[:2]]
    if places[0] is None or places[1] is None:
        return
    width, height = sides
    if not isinstance(width, int) or not isinstance(height, int):
        return
    for other in dict.fromkeys((8, 16, 4)):
        if other < width and width * height % other == 0:
            edits = (places[0](str(other)), places[1](str(width * height // other)))
            yield Change("launch", function.line(axes[0]), edits, 1.0, "block", "shape")


def _number_behind(function: Function, node: Node) -> Callable[[str], Edit] | None:
    """Return what makes the edit of a side of a block: at the number itself, or at its constant."""
    if node.type == "number_literal":
        return lambda text: function.replaced(node, text)
    own = next((value for name, value in numbers_of(function.parsed) if name == function.text(node)), None)
    return (lambda text: replaced_in(function.parsed, own, text)) if own is not None else None


def _blocks(block: tuple[int, int, int], sides: Sequence[str]) -> list[tuple[int, ...]]:
    x, y, z = block
    if z > 1:
        return []
    if len(sides) == 1 or (y == 1 and x > 1):
        return [wide for wide in WIDE_BLOCKS if wide != (x,)]
    if sides[0] == sides[1]:
        return [(side, side) for side in SQUARE_SIDES if side != x]
    more = ((x, 256 // x),) if x * y < SMALL else ()
    return [wanted for wanted in ((y, x), (32, 8), *more) if wanted != (x, y)]


def _numbers_in_grid(launch: Launch, old: int, new: int) -> Iterator[Edit]:
    function = launch.function
    new_numbers = {str(old): str(new), str(old - 1): str(new - 1)} if old > 1 else {}
    for axis in axes_of(function, launch.grid):
        for node in descendants(source_of(function, axis)):
            if node.type == "number_literal" and re.sub(r"[uUlL]+$", "", function.text(node)) in new_numbers:
                yield function.replaced(node, new_numbers[re.sub(r"[uUlL]+$", "", function.text(node))])
