"""Changes that give each thread several elements where there is a thread for each: rows of its block between barriers,
and of the tiles of a sum whose barriers stand in a loop.

Each is tried: nothing here need be right, or fast.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from grader.launching.kernel import BoundKernel
from grader.repair.function import Change, Function
from grader.repair.launch_sites import Launch, axes_of
from grader.repair.nodes import ancestors, inner_of, listed, operator_of, sides_of, terms_of, value_of
from grader.repair.several_places import axis_places
from grader.submission.cpp.tree import LOOPS, declared_name, descendants, qualifiers_of
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node

THREADS = 256
"""Threads of a block in which each does several elements: eight such blocks wait for memory in turns, where two of 1024
threads all wait at once."""
LEAST_THREADS = 64
"""The fewest threads of a block in which each does several elements of a tile: with fewer the multiprocessor has too
few of them."""
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


def with_rows(kernel: BoundKernel, read: BoundKernel, detail: str) -> BoundKernel | None:
    """A kernel in the blocks of a changed program, each of which does what one of the program as it was does.

    detail: of the change.
    """
    plan = kernel.interpretation.launch
    if plan.block_formula:
        return None
    smaller = fewer_rows if detail == "tiles" else smaller_block
    launch = replace(plan, block=smaller(plan.block), line=read.interpretation.launch.line)
    interpretation = replace(read.interpretation, launch=launch)
    binding = replace(read.binding, interpretations=(interpretation,), others=())
    return BoundKernel(read.lab, read.submission, binding, interpretation)


# -- several elements where barriers stand in a loop -------------------------------------


def tile_changes(function: Function, launch: Launch, block: tuple[int, int, int]) -> Iterator[Change]:
    """Blocks of a quarter of the rows, or half of them, whose threads do as many elements of a tile each: what they sum
    up is kept side by side, so that what all of them read of a shared row is loaded once.

    For kernels with barriers in a loop.  block: as it is launched now.
    """
    height, rows = block[1], fewer_rows(block)[1]
    if rows == height or launch.function.parsed != function.parsed or _macros_of_threads(function) != set():
        return
    counter = next((name for name in COUNTERS if name not in function.parsed.words(function.item.node)), None)
    shorter = _shorter_block(launch, height, height // rows)
    if counter is None or shorter is None or any(_leaves(node) for node in function.body.named_children):
        return
    edits = _Rows(function, counter, height // rows, rows).edits()
    if edits:
        line = function.line(function.barriers[0])
        yield Change("launch", line, (*edits, shorter), 2.5, "block", "tiles")


def fewer_rows(block: tuple[int, int, int]) -> tuple[int, int, int]:
    """A block of a quarter, or half, of the rows of one with two axes; that one itself where too few threads remain."""
    width, height, depth = block
    for times in (4, 2):
        if depth == 1 and width > 1 and height % times == 0 and width * height // times >= LEAST_THREADS:
            return width, height // times, 1
    return block


@dataclass(frozen=True)
class _Rows:
    """What makes each thread of a kernel do `times` elements that are `rows` rows apart, in loops over `counter`.

    indices: by name of a variable that says which row a thread is in, what it is for another of its elements.
    sums: variables of which each element has its own.
    """

    function: Function
    counter: str
    times: int
    rows: int
    indices: dict[str, str] = field(default_factory=dict)
    sums: set[str] = field(default_factory=set)

    def edits(self) -> list[Edit]:
        """All edits of the kernel; [] where its statements cannot be taken apart."""
        function, body = self.function, self.function.body
        barriers = [node for node in function.barriers if node.parent != body]
        if not barriers or len(barriers) != len(function.barriers):
            return []
        for node in self._declarations():
            if self._depends(node) and not self._take_index(node):
                return []
        assigned = [n for n in function.nodes if n.type in ("assignment_expression", "update_expression")]
        targets = [(n, n.child_by_field_name("left") or n.child_by_field_name("argument")) for n in assigned]
        local = {name for node in self._declarations() for name in _declared(node)} - self.indices.keys()
        for _again in range(len(local) + 1):
            for node, target in targets:
                is_own = target is not None and function.text(target) in local
                if target is not None and is_own and self._depends(node):
                    self.sums.add(function.text(target))
        if any(target is not None and function.text(target) in self.indices for _node, target in targets):
            return []
        edits: list[Edit] = []
        for node in listed(body):
            loop_edits = self._looped(node)
            if loop_edits is None:
                return []
            edits += loop_edits
        edits += [
            function.replaced(node, f"y * {self.times}")
            for base, node in axis_places(function, body)
            if base == "blockDim" and function.text(node) == "y"
        ]
        return edits if self.sums else []

    def _declarations(self) -> list[Node]:
        """Declarations of the blocks that are not repeated as a whole: the kernel's, and those with barriers."""
        function = self.function
        blocks = [function.body, *(barrier.parent for barrier in function.barriers)]
        return [n for n in function.nodes if n.type == "declaration" and n.parent in blocks]

    def _depends(self, node: Node) -> bool:
        own = self.indices.keys() | self.sums
        is_named = any(n.type == "identifier" and self.function.text(n) in own for n in descendants(node))
        return is_named or bool(_rows_in(self.function, node, ()))

    def _take_index(self, declaration: Node) -> bool:
        """Note what a declaration of row indices says of other elements; whether it needs no memory for that."""
        function = self.function
        if _reads(declaration):
            return False
        for declarator in declaration.children_by_field_name("declarator"):
            value, name = value_of(declarator), declared_name(declarator)
            if value is None:
                return False
            if not self._depends(value):
                continue
            own = [term for sign, term in terms_of(value) if sign == "+" and self._depends(term)]
            is_row = len(own) == 1 and (function.text(own[0]) in self.indices or function.text(own[0]) == "threadIdx.y")
            text = self._of_element(value)
            self.indices[name] = f"{name} + {self.rows} * {self.counter}" if is_row else text
        return True

    def _declared(self, node: Node) -> list[Edit] | None:
        """Sums made arrays."""
        function = self.function
        edits: list[Edit] = []
        for declarator in node.children_by_field_name("declarator"):
            value = value_of(declarator)
            if declared_name(declarator) in self.sums:
                if value is None or not re.fullmatch(r"0(\.0*)?[fF]?", function.text(value)):
                    return None
                edits.append(function.replaced(declarator, f"{declared_name(declarator)}[{self.times}] = {{}}"))
        return edits

    def _looped(self, node: Node) -> list[Edit] | None:
        """A statement done for each of a thread's elements: in a loop of its own, or in the loops that it is."""
        function = self.function
        if node.type == "declaration" and node in self._declarations():
            return self._declared(node)
        if node in function.barriers or not self._depends(node) or "__shared__" in qualifiers_of(node):
            return []
        body = node.child_by_field_name("body") if node.type in LOOPS else None
        if body is None:
            has_barrier = any(barrier in descendants(node) for barrier in function.barriers)
            return None if has_barrier or node.type == "declaration" else self._repeated(node)
        if any(self._depends(part) for part in node.named_children if part != body):
            return None
        inner = [n for n in descendants(body) if n.type in LOOPS or n in function.barriers]
        if not inner:
            return self._repeated(body)
        edits: list[Edit] = []
        for part in listed(body) if body.type == "compound_statement" else [body]:
            loop_edits = self._looped(part)
            if loop_edits is None:
                return None
            edits += loop_edits
        return edits

    def _repeated(self, node: Node) -> list[Edit]:
        function, counter = self.function, self.counter
        start, end = function.at(node.start_byte), function.at(node.end_byte)
        head, text = f"for (int {counter} = 0; {counter} < {self.times}; ++{counter}) ", function.parsed.source.text
        edits = list(self._places(node))
        if text[:start].rsplit("\n", 1)[-1].strip():
            return [Edit(start, start, head), *edits]
        edits.append(Edit(start, start, f"{head.rstrip()}\n{function.indent(node)}    "))
        edits += [Edit(n + 1, n + 1, "    ") for n in range(start, end) if text[n] == "\n" and text[n + 1] not in "\n#"]
        return edits

    def _places(self, node: Node) -> Iterator[Edit]:
        """Edits that put one element's rows and sums in the place of the thread's."""
        function = self.function
        for place in _rows_in(function, node, ()):
            yield function.replaced(place, _bracketed(place, f"{function.text(place)} + {self.rows} * {self.counter}"))
        for part in descendants(node):
            name = function.text(part) if part.type == "identifier" else ""
            if name in self.indices:
                yield function.replaced(part, _bracketed(part, self.indices[name]))
            elif name in self.sums:
                yield function.replaced(part, f"{name}[{self.counter}]")

    def _of_element(self, node: Node) -> str:
        text, start = self.function.text(node), self.function.at(node.start_byte)
        for edit in sorted(self._places(node), key=lambda one: -one.start):
            text = text[: edit.start - start] + edit.text + text[edit.end - start :]
        return text


# -- parts between barriers --------------------------------------------------------------


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
            if node.type == "declaration" and not _reads(node)
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
        available = {name for one in parts[:number] for name in one.made}
        words = {word for node in part.statements for word in function.parsed.words(node)}
        if (before - available) & words:
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
    parsed, names = function.parsed, set()
    for name in parsed.words(function.body):
        macro = parsed.constants.macros.get(name)
        text = "".join(macro.body.split()) if macro is not None else ""
        if macro is not None and "threadIdx" in text and "threadIdx.x" not in text:
            if macro.parameters is not None or not _ROW_MACRO.fullmatch(text):
                return None
            names.add(name)
        called = parsed.functions.get(name)
        if called is not None and called.node != function.item.node and "threadIdx.y" in parsed.text(called.node):
            return None
    return names


def _reads(node: Node) -> bool:
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
    """The row of a later pass."""
    return _bracketed(place, f"{function.text(place)} + {counter}")


def _bracketed(place: Node, text: str) -> str:
    """A sum that goes to a place, in brackets where an operator there binds closer."""
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
        node = inner_of(statement)
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
