"""Changes that give each thread several elements where there is a thread for each, and that ask for memory otherwise:
rows of an array that the launch sizes an element longer, pointers that no other one overlaps.

Each is tried: nothing here need be right, or fast.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from grader.launching.kernel import BoundKernel
from grader.repair.function import Change, Function, parameter_nodes
from grader.repair.launches import Launch, axes_of
from grader.repair.nodes import ancestors, is_stored, named_in, operator_of, sides_of, value_of
from grader.repair.several_places import axis_places
from grader.submission.cpp.tree import LOOPS, declared_name, descendants, qualifiers_of
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

THREADS = 256
"""Of a block whose threads do several elements each: eight such blocks wait for memory in turns, where two of 1024
threads all wait at once."""
COUNTERS = ("k", "j", "step", "part")
_ROW_MACRO = re.compile(r"\(?[^()]*\+threadIdx\.y\)?|\(?threadIdx\.y\)?")


# -- several elements for each thread ----------------------------------------------------


def element_changes(function: Function, launch: Launch, block: tuple[int, int, int]) -> Iterator[Change]:
    """Blocks of `THREADS` threads whose threads take every so manieth row, by a loop around what lies between barriers.

    block: as it is launched now.
    """
    height, (_width, rows, _depth) = block[1], smaller_block(block)
    if rows == height or launch.function.parsed != function.parsed:
        return
    times = height // rows
    counter = next((name for name in COUNTERS if name not in function.parsed.words(function.item.node)), None)
    parts = _parts(function)
    if counter is None or parts is None:
        return
    edits = [
        edit
        for number, part in enumerate(parts)
        if part.is_by_row
        for edit in _looped(function, part, parts[:number], (counter, height, rows))
    ]
    edits += [
        function.replaced(node, f"y * {times}")
        for base, node in axis_places(function, function.body)
        if base == "blockDim" and function.text(node) == "y"
    ]
    shorter = _shorter_block(launch, height, times)
    if edits and shorter is not None:
        line = function.line(next(part for part in parts if part.is_by_row).looped[0])
        yield Change("launch", line, (*edits, shorter), 2.0, "block", "elements")


def smaller_block(block: tuple[int, int, int]) -> tuple[int, int, int]:
    """A block of `THREADS` threads as wide as a larger one; that one itself where there is none."""
    width, height, depth = block
    rows = THREADS // width if THREADS % width == 0 else 0
    return (width, rows, 1) if depth == 1 and rows and height > rows and height % rows == 0 else block


def with_rows(kernel: BoundKernel, read: BoundKernel) -> BoundKernel | None:
    """A kernel in the blocks of a changed program, each of which does what one of the program as it was does."""
    plan = kernel.interpretation.launch
    if plan.block_formula:
        return None
    launch = replace(plan, block=smaller_block(plan.block), line=read.interpretation.launch.line)
    interpretation = replace(read.interpretation, launch=launch)
    binding = replace(read.binding, interpretations=(interpretation,), others=())
    return BoundKernel(read.lab, read.submission, binding, interpretation)


@dataclass(frozen=True)
class _Part:
    """Statements between two barriers of a kernel, those apart that stay where they are.

    rows: places that say which row a thread is in.  made: declarations by name that need no memory.
    looped: the statements without those before them that are the same for all rows.
    """

    statements: tuple[Node, ...]
    rows: tuple[Node, ...]
    made: dict[str, Node]
    looped: tuple[Node, ...]

    @property
    def is_by_row(self) -> bool:
        """Whether it has work for each row."""
        return bool(self.looped)


def _parts(function: Function) -> list[_Part] | None:
    """The kernel's statements, cut at its barriers; None where it cannot be cut so that each part stands alone."""
    top = [node for node in function.body.named_children if node.type != "comment"]
    macros = _macros_of_threads(function)
    if macros is None or any(barrier not in top for barrier in function.barriers):
        return None
    cut: list[list[Node]] = [[]]
    for node in top:
        if node in function.barriers:
            cut.append([])
        elif not (node.type == "declaration" and "__shared__" in qualifiers_of(node)):
            cut[-1].append(node)
    parts: list[_Part] = []
    by_row: set[str] = set()
    for statements in cut:
        rows = tuple(place for node in statements for place in _rows_in(function, node, macros))
        made = {
            declared_name(declarator): node
            for node in statements
            if node.type == "declaration" and not _reads(function, node)
            for declarator in node.children_by_field_name("declarator")
        }
        for name, node in made.items():
            if _rows_in(function, node, macros) or by_row & function.parsed.words(node):
                by_row.add(name)
        words = {word for node in statements for word in function.parsed.words(node)}
        looped = list(statements) if rows or by_row & words else []
        while looped and set(_declared(looped[0])) and set(_declared(looped[0])) <= made.keys() - by_row:
            looped.pop(0)
        parts.append(_Part(tuple(statements), rows, made, tuple(looped)))
    is_last = len(parts) - 1
    for number, part in enumerate(parts):
        if any(_leaves(node) for node in part.statements) and (number != is_last or not _leaves_whole(part)):
            return None
        before = {name for one in parts[:number] for node in one.statements for name in _declared(node)}
        known = {name for one in parts[:number] for name in one.made}
        words = {word for node in part.statements for word in function.parsed.words(node)}
        if (before - known) & words:
            return None
    return parts if any(part.is_by_row for part in parts) else None


def _rows_in(function: Function, node: Node, macros: Collection[str]) -> list[Node]:
    """Places that say which row of the block a thread is in: `threadIdx.y`, and macros that end with it."""
    fields = [
        place for base, place in axis_places(function, node) if base == "threadIdx" and function.text(place) == "y"
    ]
    rows = [field.parent for field in fields if field.parent is not None]
    return [*rows, *(n for n in descendants(node) if n.type == "identifier" and function.text(n) in macros)]


def _macros_of_threads(function: Function) -> set[str] | None:
    """Macros of the kernel's that stand for a row, `(blockIdx.y * T + threadIdx.y)`; None where one hides threads in
    another way, as a function that it calls may, too."""
    parsed, found = function.parsed, set()
    for name in parsed.words(function.body):
        macro = parsed.constants.macros.get(name)
        text = "".join(macro.body.split()) if macro is not None else ""
        if macro is not None and "threadIdx" in text and "threadIdx.x" not in text:
            if macro.parameters is not None or not _ROW_MACRO.fullmatch(text):
                return None
            found.add(name)
        called = parsed.functions.get(name)
        if called is not None and called.node != function.item.node and "threadIdx.y" in parsed.text(called.node):
            return None
    return found


def _reads(function: Function, node: Node) -> bool:
    """Whether a declaration takes more than arithmetic on numbers."""
    nodes = ("subscript_expression", "call_expression", "pointer_expression", "assignment_expression")
    return any(n.type in nodes for n in descendants(node)) or not any(value_of(n) for n in descendants(node))


def _declared(node: Node) -> list[str]:
    return (
        [declared_name(one) for one in node.children_by_field_name("declarator")] if node.type == "declaration" else []
    )


def _leaves(node: Node) -> bool:
    return any(n.type == "return_statement" for n in descendants(node))


def _leaves_whole(part: _Part) -> bool:
    """Whether all that leaves the kernel stands in no loop, and gives nothing back."""
    return all(
        not any(above.type in LOOPS for above in ancestors(node, statement)) and not node.named_children
        for statement in part.statements
        for node in descendants(statement)
        if node.type == "return_statement"
    )


def _looped(function: Function, part: _Part, before: Sequence[_Part], steps: tuple[str, int, int]) -> Iterator[Edit]:
    """Edits that put a part into a loop over its rows, what it needs of earlier parts made anew."""
    counter, height, rows = steps
    text = function.parsed.source.text
    first, last = part.looped[0], part.looped[-1]
    indent = function.indent(first)
    needed, typed = _needed(function, part, before, counter)
    is_one = len(part.looped) == 1 and not needed and not typed and first.type != "declaration"
    head = f"for (int {counter} = 0; {counter} < {height}; {counter} += {rows})"
    start, end = function.at(first.start_byte), function.at(last.end_byte)
    lines = "".join(f"{indent}    {line}\n" for line in needed)
    type_text = "".join(edit.text for edit in typed if edit.start == start)
    yield Edit(start, start, f"{head}\n{indent}    " if is_one else f"{head} {{\n{lines}{indent}    {type_text}")
    for number in range(start, end):
        if text[number] == "\n" and text[number + 1] not in "\n#":
            yield Edit(number + 1, number + 1, "    ")
    if not is_one:
        yield Edit(end, end, f"\n{indent}}}")
    yield from (edit for edit in typed if edit.start != start)
    for place in part.rows:
        yield function.replaced(place, _later(function, place, counter))
    for statement in part.statements:
        for node in descendants(statement):
            if node.type == "return_statement":
                yield function.replaced(node, "continue;")


def _later(function: Function, place: Node, counter: str) -> str:
    """The row of a later pass, in brackets where an operator beside it binds closer."""
    text = f"{function.text(place)} + {counter}"
    parent = place.parent
    is_sum = parent is None or parent.type != "binary_expression" or operator_of(parent) in ("+", "<", "<=", ">", ">=")
    return text if is_sum else f"({text})"


def _needed(function: Function, part: _Part, before: Sequence[_Part], counter: str) -> tuple[list[str], list[Edit]]:
    """Declarations of earlier loops, as lines, that a part uses and does not make itself; and edits that make
    declarations of assignments to what was declared there."""
    macros = _macros_of_threads(function) or set()
    made = {name: node for one in before for name, node in one.made.items() if node in one.looped}
    typed = _set_first(function, part, made)
    words = {word for node in part.looped for word in function.parsed.words(node)} - set(part.made) - typed.keys()
    wanted: list[Node] = []
    while True:
        more = [node for name, node in made.items() if name in words and node not in wanted]
        if not more:
            break
        wanted += dict.fromkeys(more)
        words |= {word for node in more for word in function.parsed.words(node)} - typed.keys()
    lines = []
    for node in sorted(wanted, key=lambda one: one.start_byte):
        line, start = function.text(node), function.at(node.start_byte)
        for place in sorted(_rows_in(function, node, macros), key=lambda one: -one.start_byte):
            edit = function.replaced(place, _later(function, place, counter))
            line = line[: edit.start - start] + edit.text + line[edit.end - start :]
        lines.append(" ".join(line.split()))
    declared = {name for node in wanted for name in _declared(node)}
    return lines, [edit for name, edit in typed.items() if name not in declared]


def _set_first(function: Function, part: _Part, made: dict[str, Node]) -> dict[str, Edit]:
    """By name what a part sets before it uses it, with the edit that declares it there."""
    edits: dict[str, Edit] = {}
    seen: set[str] = set()
    for statement in part.looped:
        node = statement.named_children[0] if statement.type == "expression_statement" else None
        left, value = sides_of(node) if node is not None and node.type == "assignment_expression" else (None, None)
        name = function.text(left) if left is not None else ""
        type_node = made[name].child_by_field_name("type") if name in made else None
        if value is not None and type_node is not None and name not in seen | function.parsed.words(value):
            edits[name] = function.inserted(statement.start_byte, f"{function.text(type_node)} ")
        seen |= function.parsed.words(statement)
    return edits


def _shorter_block(launch: Launch, height: int, times: int) -> Edit | None:
    """The edit that makes a launch's block so many times as low, for this launch alone."""
    function, block = launch.function, launch.block
    if block.type == "call_expression":
        axes = axes_of(function, block)
        if len(axes) < 2:
            return None
        text = function.text(axes[1])
        own = str(height // times) if text == str(height) else f"{text} / {times}"
        return function.replaced(axes[1], own)
    if block.type != "identifier":
        return None
    name = function.text(block)
    return function.replaced(block, f"dim3({name}.x, {name}.y / {times})")


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
    lengths = [_row_length(index) if index is not None else None for index in indices]
    found = [length for length in lengths if length is not None]
    if not found or len(found) != len(indices) or len({function.text(length) for length in found}) != 1:
        return
    edits = [function.replaced(length, f"({function.text(length)} + 1)") for length in found]
    edits.append(launch.function.replaced(sides, f"({launch.function.text(sides)} + 1)"))
    yield Change("launch", function.line(found[0]), tuple(edits), 2.4, "array", "padding")


def _row_length(index: Node) -> Node | None:
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


# -- pointers ------------------------------------------------------------------------------


def restrict_changes(function: Function, launches: Sequence[Launch]) -> Iterator[Change]:
    """All pointers of a kernel `__restrict__`, so that loads need not wait for stores before them.

    launches: of the kernel; where one hands an array over twice there is no such change.  Nor is there one where no
    loop stores and loads: ten kernels without such a loop took as long on an H200.
    """
    parameters = [inner for inner, _type in parameter_nodes(function.item)]
    pointers = [inner for inner in parameters if inner.type == "pointer_declarator"]
    plain = [node for node in pointers if "restrict" not in function.text(node)]
    names = [declared_name(node) for node in plain]
    if not plain or not _loads_behind_stores(function, {declared_name(node) for node in pointers}):
        return
    for launch in launches:
        given = [argument for argument, inner in zip(launch.arguments, parameters, strict=False) if inner in pointers]
        handed = [launch.function.text(name) for argument in given for name in named_in(argument)]
        if len(set(handed)) < len(handed):
            return
    edits = []
    for node, name in zip(plain, names, strict=True):
        stars = function.text(node)[: -len(name)].rstrip() if function.text(node).endswith(name) else ""
        if stars != "*":
            return
        edits.append(function.replaced(node, f"*__restrict__ {name}"))
    yield Change("expression", function.line(plain[0]), tuple(edits), 1.1, "pointer", "restrict")


def _loads_behind_stores(function: Function, pointers: Collection[str]) -> bool:
    """Whether a loop stores by one of the pointers and loads by another, so that the next pass waits."""
    own = [access for access in function.accesses if access.array in pointers]
    for loop in function.nodes:
        if loop.type in LOOPS:
            inside = [a for a in own if loop.start_byte <= a.node.start_byte < loop.end_byte]
            stored = {access.array for access in inside if is_stored(access.node)}
            if stored and any(access.array not in stored for access in inside):
                return True
    return False
