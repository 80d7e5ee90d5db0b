"""What holds at a place in host code: the values of variables, and which of a program's alternatives it stands in.

A student who has several versions launches one at a time and hands in the last: if a kernel is launched nowhere else, a
launch in a comment says how it is meant to be launched.

Of an `if constexpr (PADDED)` only the branch that is compiled is left.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import UsageError
from grader.submission.cpp.constants import Constants, Lookup
from grader.submission.cpp.parse import parse
from grader.submission.cpp.syntax import Binary, Call, Cast, Expression, Name, Number, Unary
from grader.submission.cpp.tree import WORD, Item, ParsedFile, declared_name, descendants
from grader.submission.lexical import blanked, spend, without_comments
from grader.submission.source import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node


_MAY_HOLD_ONE = re.compile(r"(?://[^\n]*|/\*(?:[^*]|\*(?!/)){0,4000}?)<<[ \t]*<")
_STATEMENT = re.compile(
    r"(?<![\w.>])(?P<kernel>[A-Za-z_]\w*)\s*(?:<[^<>;(){}]{0,200}>\s*)?"
    r"<<[ \t]*<(?P<places>(?:(?!>>[ \t]*>|[;{}]).){1,400}?)>>[ \t]*>\s*\([^;{}]{0,400}\)\s*;",
    re.DOTALL,
)
_SET = re.compile(r"\b(?:dim3|int|unsigned|size_t|auto)\s+(\w+)\s*[({=]|(?<![\w.])(\w+)(?:\s*\.\s*[xyz])?\s*=(?!=)")


def with_launches_of_comments(
    sources: Sequence[SourceText],
) -> tuple[list[SourceText], tuple[tuple[str, str, int], ...]]:
    """The files with the first launch that stands in a comment, for each kernel that is launched nowhere; and these
    launches, as file, kernel and line.  Not those whose grid or block is in a comment too: the live ones are another
    kernel's.

    Every line keeps its number, every character its column.
    """
    if not any(_MAY_HOLD_ONE.search(source.text) for source in sources):
        return list(sources), ()
    files = [parse(source) for source in sources]
    live = "\n".join(without_comments(source.text) for source in sources)
    kernels = {kernel.name for parsed in files for kernel in parsed.kernels}
    # Its name once where it is defined: what is named again may be launched by another name.
    wanted = {name for name in kernels if len(re.findall(rf"\b{re.escape(name)}\b", live)) == 1}
    uncommented: list[tuple[str, str, int]] = []
    changed = []
    for source, parsed in zip(sources, files, strict=True):
        # Where macros stand for kernels, another text was read than was written.
        text = _uncommented(parsed, wanted, uncommented) if parsed.source.text == source.text else source.text
        changed.append(replace(source, text=text, written=source.text) if text != source.text else source)
    return changed, tuple(uncommented)


def _uncommented(parsed: ParsedFile, wanted: set[str], launches: list[tuple[str, str, int]]) -> str:
    """A file's text with such launches; `wanted` loses and `launches` gains what is there."""
    edits: list[tuple[int, int, str]] = []
    for item in parsed.items:
        if item.kind != "function" or item.is_device or not item.active:
            continue
        comments = [(node, parsed.text(node)) for node in descendants(item.node) if node.type == "comment"]
        set_there = {name for _node, text in comments for names in _SET.findall(text) for name in names if name}
        for node, text in comments:
            # Between the signs of the comment nothing is a part of it.
            inner = f"  {text[2:-2]}  " if text.startswith("/*") else f"  {text[2:]}"
            code = blanked(inner)
            for match in _STATEMENT.finditer(inner):
                if match["kernel"] in wanted and not set_there & {*re.findall(r"\w+", match["places"])}:
                    wanted.remove(match["kernel"])
                    line = node.start_point.row + 1 + inner.count("\n", 0, match.start())
                    launches.append((parsed.file, match["kernel"], line))
                    code = code[: match.start()] + match[0] + code[match.end() :]
            if code.strip():
                edits.append((node.start_byte, node.end_byte, code))
    if not edits:
        return parsed.source.text
    data = parsed.data
    for start, end, code in reversed(edits):
        data = data[:start] + code.encode() + data[end:]
    return data.decode("utf-8", errors="replace")


BARRIERS = ("__syncthreads", "__barrier_sync", "sync", "barrier")


def branch_around(file: str, text: str, line: int) -> int | None:
    """The line of the innermost `if` that a barrier in `line` stands in; None where it stands in none.

    None as well of a text that cannot be read, or a line without a call that looks like a barrier.
    """
    for _parsed, outer in _around_barrier(file, text, line):
        if outer.type == "if_statement":
            return int(outer.start_point.row) + 1
    return None


def uneven_loop_around(file: str, text: str, line: int) -> int | None:
    """The line of the innermost loop around a barrier in `line` that begins at the thread's number, so that threads of
    a block may go through it differently often; None likewise."""
    for parsed, outer in _around_barrier(file, text, line):
        start = outer.child_by_field_name("initializer") if outer.type == "for_statement" else None
        if start is not None and "threadIdx" in parsed.words(start):
            return int(outer.start_point.row) + 1
    return None


def _around_barrier(file: str, text: str, line: int) -> Iterator[tuple[ParsedFile, Node]]:
    """Yield what the first barrier in a line stands in, from the inside out."""
    try:
        parsed = parse(SourceText(Path(file), text, "utf-8"))
    except UsageError:
        return
    for node in descendants(parsed.root):
        if node.type != "call_expression" or node.start_point.row + 1 != line:
            continue
        called = node.child_by_field_name("function")
        if called is None or not any(word in parsed.text(called) for word in BARRIERS):
            continue
        outer = node.parent
        while outer is not None and outer.type != "function_definition":
            yield parsed, outer
            outer = outer.parent
        return


_OF_ENUMERATION = re.compile(r"\(\s*[A-Za-z_][\w: ]*\)\s*(-?\d{1,18})")
_NOT_LINE_END = re.compile(rb"[^\n]")


def instantiated(parsed: ParsedFile, item: Item, arguments: Mapping[str, str], outer: Lookup) -> ParsedFile:
    """The file with the branches of the function `item` blanked that these template arguments leave out.

    Lines and columns stay.  arguments: by the parameters' names, as "16", "true", "(lab::Mode)2" or "Mode::tiled".
    outer: constants that the function declares.
    """
    body = item.node.child_by_field_name("body")
    expressions = {name: argument_of(parsed.constants, text) for name, text in arguments.items()}
    values = {name: parsed.constants.integer(e) for name, e in expressions.items()}
    numbers = {name: Number(value) for name, value in values.items() if value is not None}
    if body is None or not numbers:
        return parsed
    data = bytearray(parsed.data)
    for node in descendants(body):
        dead = _dead_branch(parsed, node, numbers, outer) if node.type == "if_statement" else None
        if dead is not None:
            spend(1)
            start, end = dead.start_byte, dead.end_byte
            is_block = dead.type == "compound_statement"
            inner = bytes(data[start + 1 : end - 1])
            data[start + 1 : end - 1] = _NOT_LINE_END.sub(b" ", inner)
            if not is_block:
                data[start : start + 1], data[end - 1 : end] = (b";", b" ") if end - start > 1 else (b";", b"")
    if data == parsed.data:
        return parsed
    instance = parse(replace(parsed.source, text=data.decode("utf-8", errors="replace")))
    return replace(instance, headers=parsed.headers, constants=parsed.constants)


def argument_of(constants: Constants, text: str) -> Expression | None:
    """A template's argument as an expression: of an enumeration, "(lab::Mode)2", its number."""
    of_enumeration = _OF_ENUMERATION.fullmatch(text)
    return Number(int(of_enumeration[1])) if of_enumeration is not None else constants.parse(text)


def _dead_branch(parsed: ParsedFile, node: Node, values: Mapping[str, Expression], outer: Lookup) -> Node | None:
    """The branch of an `if` that is never taken, as far as its condition follows from the template's arguments."""
    condition = node.child_by_field_name("condition")
    text = parsed.text(condition) if condition is not None else ""
    if not values.keys() & set(WORD.findall(text)):
        return None
    value = parsed.constants.integer(text, lambda name: values.get(name) or outer(name))
    if value is None:
        return None
    if not value:
        return node.child_by_field_name("consequence")
    alternative = node.child_by_field_name("alternative")
    return alternative.named_children[-1] if alternative is not None and alternative.named_children else None


MAX_STEPS = 24


@dataclass(frozen=True, slots=True)
class Definition:
    """A variable is given a value at byte `position`; None where the value is not readable."""

    position: int
    expression: Expression | None


@dataclass(slots=True)
class Scope:
    """A host function's variables.

    definitions: by name ("block", "block.x"), in order of the text; a value that nobody can read and that may never be
      given is left out: `if (argc > 1) n = atoi(argv[1]);` leaves the value that `n` had as the likely one.  One that
      is made of the value before is none of these: after `if (n % 16) blocks++;` nobody knows `blocks`.
    arguments: what a caller hands in, with the caller's scope and the place of its call.
    callers: how many calls lead here from a function that is read by itself.
    """

    constants: Constants
    definitions: dict[str, list[Definition]] = field(default_factory=dict)
    arguments: Mapping[str, tuple[Expression, Scope, int]] = field(default_factory=dict)
    callers: int = 0
    argument_values: dict[str, int | None] = field(default_factory=dict)
    """Values of `arguments`, as far as they were asked for: each may be made of the caller's, many times over."""

    def definition(self, name: str, position: int) -> Expression | None:
        """What `name` was last given before `position`; None where nobody knows."""
        definitions = self.definitions.get(name, ())
        place = bisect_left(definitions, position, key=lambda definition: definition.position)
        return definitions[place - 1].expression if place else None

    def is_lost(self, name: str, position: int) -> bool:
        """Whether `name` was last given what nobody can read."""
        definitions = self.definitions.get(name, ())
        place = bisect_left(definitions, position, key=lambda definition: definition.position)
        return place > 0 and definitions[place - 1].expression is None

    def resolve(self, expression: Expression, position: int) -> tuple[Expression, Scope, int]:
        """`expression` with a plain name replaced by what stands behind it, and the scope and place that it is of."""
        scope = self
        for _step in range(MAX_STEPS):
            if not isinstance(expression, Name):
                break
            definition = scope.definition(expression.name, position)
            if definition is not None:
                expression = definition
            elif expression.name in scope.arguments and expression.name not in scope.definitions:
                expression, scope, position = scope.arguments[expression.name]
            elif expression.name in scope.constants.values:
                expression = scope.constants.values[expression.name]
            else:
                break
        return expression, scope, position

    def value(self, expression: Expression | None, position: int) -> int | None:
        """The integer that `expression` has at `position`, or None."""

        def look_up(name: str) -> Expression | None:
            definition = self.definition(name, position)
            if definition is None and name in self.arguments and name not in self.definitions:
                if name not in self.argument_values:
                    argument, scope, place = self.arguments[name]
                    self.argument_values[name] = scope.value(argument, place) if scope is not self else None
                value = self.argument_values[name]
                return _UNKNOWN if value is None else Number(value)
            if definition is None and name in self.definitions:
                # Hides a constant of the file, and nobody knows its value.
                return _UNKNOWN
            if definition is None and name == "argc":
                # Run without arguments: what stands in for them is the likely value.
                return Number(1)
            member, _dot, axis = name.rpartition(".")
            if definition is None and axis in _AXES and member:
                return self.axis(Name(member), _AXES[axis], position)
            return definition

        return self.constants.integer(expression, look_up)

    def axis(self, expression: Expression, axis: int, position: int) -> Expression | None:
        """What `expression`, a dim3 or a number, is along `axis`; None where that is unknown."""
        axes = self.axes(expression, position)
        if axes is None:
            return None
        return axes[axis] if axis < len(axes) else Number(1)

    def axes(self, expression: Expression, position: int, depth: int = 0) -> tuple[Expression, ...] | None:
        """The one to three numbers that a dim3 or a plain number consists of."""
        if depth > MAX_STEPS:
            # Made of each other: `dim3 a(b); dim3 b(a);`.
            return None
        overrides: dict[int, Expression] = {}
        if isinstance(expression, Name):
            for letter, axis in _AXES.items():
                member = self.definition(f"{expression.name}.{letter}", position)
                if member is None and self.is_lost(f"{expression.name}.{letter}", position):
                    return None
                if member is not None:
                    overrides[axis] = member
        resolved, scope, place = self.resolve(expression, position)
        if scope is not self:
            # Outside of the scope that they are written in, numbers make sense, and what is handed in beside them.
            outer = scope.axes(resolved, place, depth + 1) or ()
            values = [scope.value(axis, place) for axis in outer]
            numbers = [Number(value) for value in values if value is not None]
            if len(numbers) < len(values):
                named = [self._by_own_names(axis, scope, place) for axis in outer]
                return tuple(axis for axis in named if axis is not None) if None not in named else None
            return tuple(numbers) or None
        if isinstance(resolved, Call) and resolved.function in {"", "dim3", "uint3", "make_uint3"}:
            if len(resolved.arguments) == 1 and isinstance(resolved.arguments[0], Name):
                return self.axes(resolved.arguments[0], position, depth + 1)
            axes = list(resolved.arguments)
        else:
            # A number's own name tells more than what stands behind it: "n" in `kernel<<<n, 256>>>(out, n)`.
            axes = [] if overrides and isinstance(resolved, Name) else [expression]
        for axis, member in sorted(overrides.items()):
            axes += [Number(1)] * (axis + 1 - len(axes))
            axes[axis] = member
        return tuple(axes[:3]) or None

    def _by_own_names(self, expression: Expression, scope: Scope, position: int, depth: int = 0) -> Expression | None:
        """What a caller wrote, with the names that its variables have here: `n / 16` of a caller that hands in `n`.

        None where it is made of what is not handed in, and of no known value.
        """
        spend(1)
        if depth > MAX_STEPS:
            return None
        if isinstance(expression, Name) and expression.name in self.constants.values:
            hidden = {*scope.definitions, *scope.arguments, *self.definitions, *self.arguments}
            if expression.name not in hidden:
                return expression
        value = scope.value(expression, position)
        if value is not None:
            return Number(value)

        def of(part: Expression) -> Expression | None:
            return self._by_own_names(part, scope, position, depth + 1)

        match expression:
            case Name(name):
                outer = scope.resolve(expression, position)
                for own, (given, caller, place) in self.arguments.items():
                    if own not in self.definitions and caller.resolve(given, place)[:2] == outer[:2]:
                        return Name(own)
                if outer[1] is not scope:
                    return self._by_own_names(outer[0], outer[1], outer[2], depth + 1)
                if scope.is_lost(name, position):
                    return None
                return of(outer[0]) if outer[0] != expression else None
            case Binary(operator, left, right):
                one, other = of(left), of(right)
                return Binary(operator, one, other) if one is not None and other is not None else None
            case Unary(operator, operand) if (inner := of(operand)) is not None:
                return Unary(operator, inner)
            case Cast(to, operand) if (inner := of(operand)) is not None:
                return Cast(to, inner)
            case Call(function, arguments) if function != "[]":
                parts = [of(argument) for argument in arguments]
                return Call(function, tuple(part for part in parts if part is not None)) if None not in parts else None
        return None


_AXES = {"x": 0, "y": 1, "z": 2}
# A call of no function that has a value.
_UNKNOWN = Call("?", ())


def scope_of(parsed: ParsedFile, function: Node) -> Scope:
    """The variables of `function`, from its declarations and assignments."""
    scope = Scope(parsed.constants)
    # Where the branches of the `if`s end that the walk is in.
    branches: list[int] = []
    for node in descendants(function):
        while branches and node.start_byte >= branches[-1]:
            branches.pop()
        if node.type == "if_statement":
            branches.append(node.end_byte)
        elif node.type == "declaration":
            _declaration(parsed, scope, node, bool(branches))
        elif node.type == "assignment_expression":
            left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
            operator = node.child_by_field_name("operator")
            if left is not None and right is not None and left.type in {"identifier", "field_expression"}:
                plain = operator is not None and parsed.text(operator) == "="
                text = parsed.text(right) if plain else None
                _define(scope, parsed.text(left), node, text, is_doubtful=plain and bool(branches))
        elif node.type == "update_expression":
            argument = node.child_by_field_name("argument")
            if argument is not None and argument.type in {"identifier", "field_expression"}:
                _define(scope, parsed.text(argument), node, None, is_doubtful=False)
        elif node.type == "argument_list":
            for given in node.children:
                if given.type == "pointer_expression" and given.children[0].type == "&":
                    argument = given.child_by_field_name("argument")
                    # `scanf("%d", &n)`: whoever gets the address may write to it.
                    if argument is not None and argument.type == "identifier":
                        _define(scope, parsed.text(argument), given, None, is_doubtful=bool(branches))
    for definitions in scope.definitions.values():
        definitions.sort(key=lambda definition: definition.position)
    _end_cases(scope, function)
    return scope


def _end_cases(scope: Scope, function: Node) -> None:
    """What a `case` gives a variable holds to its end; after the `switch` nobody knows which of them it was."""
    switches = [node for node in descendants(function) if node.type == "switch_statement"]
    for switch in switches:
        cases = [node for node in descendants(switch) if node.type == "case_statement"]
        for name, definitions in scope.definitions.items():
            inside = [d for d in definitions if switch.start_byte <= d.position < switch.end_byte]
            if not inside:
                continue
            spend(len(inside) * len(cases))
            before = scope.definition(name, switch.start_byte)
            ends = [
                Definition(case.end_byte, before)
                for case in cases
                if any(case.start_byte <= d.position < case.end_byte for d in inside)
            ]
            definitions += [*ends, Definition(switch.end_byte, None)]
            definitions.sort(key=lambda definition: definition.position)


def _declaration(parsed: ParsedFile, scope: Scope, node: Node, is_doubtful: bool) -> None:
    type_node = node.child_by_field_name("type")
    type_text = parsed.text(type_node) if type_node is not None else ""
    for declarator in node.children_by_field_name("declarator"):
        name = declared_name(declarator)
        if not name:
            continue
        text = parsed.text(declarator)
        rest = text.partition(name)[2].strip()
        if rest.startswith("="):
            _define(scope, name, node, rest[1:], is_doubtful=is_doubtful)
        elif type_text in {"dim3", "uint3"}:
            # `dim3 grid(n, m);` may also be read as a function's declaration: the text is what counts.
            _define(scope, name, node, "dim3" + (rest or "(1)"), is_doubtful=is_doubtful)
        elif rest.startswith(("(", "{")) and declarator.type == "init_declarator":
            _define(scope, name, node, rest[1:-1], is_doubtful=is_doubtful)
        elif declarator.type == "identifier":
            _define(scope, name, node, None, is_doubtful=is_doubtful)


def _define(scope: Scope, name: str, node: Node, text: str | None, *, is_doubtful: bool) -> None:
    expression = scope.constants.parse(text) if text is not None else None
    name = re.sub(r"\s+", "", name)
    if expression is not None and _mentions(expression, name):
        # `n = n / 2` would be looked up for ever.
        expression, is_doubtful = None, False
    elif expression is not None and _is_element(expression):
        # What an array holds is not followed: `n = atoi(argv[1])`.
        expression = None
    definitions = scope.definitions.setdefault(name, [])
    if expression is not None or not is_doubtful:
        definitions.append(Definition(node.start_byte, expression))


def _mentions(expression: object, name: str) -> bool:
    if isinstance(expression, Name):
        return expression.name == name
    if isinstance(expression, tuple):
        return any(_mentions(e, name) for e in expression)
    slots = getattr(expression, "__slots__", ())
    return any(_mentions(getattr(expression, slot), name) for slot in slots if slot not in {"operator", "function"})


def _is_element(expression: Expression) -> bool:
    return isinstance(expression, Call) and (expression.function == "[]" or any(map(_is_element, expression.arguments)))
