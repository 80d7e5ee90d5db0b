"""The launches in a file's host code: block, what a block covers, dynamic shared memory, as far as they can be read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from grader.submission.cpp.constants import Macro
from grader.submission.cpp.scopes import Scope, scope_of
from grader.submission.cpp.syntax import Expression, Name
from grader.submission.cpp.tree import WORD, ParsedFile, declared_name, descendants, function_declarator, remembered
from grader.submission.kernels.records import LaunchSite
from grader.submission.kernels.symbolic import divisor_of, inline, named_constants, same_as_block
from grader.submission.lexical import spend

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_CALLERS = 8
# main → benchmark → run → the launch: no program of a course hands a size through more functions.
MAX_CALLS = 4
# Launches of one file.  What comes after so many tells no more than they did.
MAX_LAUNCHES = 512
# Kernels that one variable may point to, one after the other.
MAX_POINTED = 16
_BLOCKS_NAME = re.compile(
    r"(?i)\w*(?:(?<!per_)(?<!per)block_?(?:size|dim|shape|threads)?|dim_?block|threads?(?:_?(?:per)?_?block)?|tpb)\d?"
)
_GRIDS_NAME = re.compile(
    r"(?i)\w*(?:grid_?(?:size|dim|shape)?|dim_?grid|blocks_?(?:per_?grid|num|count)?|n(?:um)?_?blocks|bpg)\d?"
)
_OPTING_IN = re.compile(r"\bcudaFuncSetAttribute\s*\(")
_ASSIGNING = re.compile(r"(?<![=!<>+*/%&|^-])=(?!=)")
_BEFORE_ASSIGNED = re.compile(r"[;=\n]")
_LAUNCH_FUNCTIONS = {"cudaLaunchKernel": (0, 1, 2, 4), "cudaLaunchCooperativeKernel": (0, 1, 2, 4)}


def find_launches(parsed: ParsedFile, kernel_names: Collection[str] = ()) -> tuple[LaunchSite, ...]:
    """Every launch of one of the kernels, in order of the text; equal ones from several callers once.

    kernel_names: kernels of other files that this one may launch, beside its own.
    """
    # Macros that are numbers keep their names in what is read: the grader may give them other values.
    constants = named_constants(parsed.constants)
    constants.macros.update(_functions_of_one_value(parsed))
    parsed = replace(parsed, constants=constants)
    scopes = _Scopes(parsed, kernel_names)
    sites: dict[LaunchSite, None] = {}
    for function, call in scopes.calls:
        for launch in _launch_parts(parsed, call):
            for scope in scopes.of(function):
                for kernel, template_arguments in scopes.kernels(launch.callee, scope, call.start_byte):
                    if len(sites) < MAX_LAUNCHES:
                        sites.setdefault(_site(parsed, launch, kernel, template_arguments, scope, call))
    return tuple(sorted(sites, key=lambda site: site.line))


def _functions_of_one_value(parsed: ParsedFile) -> dict[str, Macro]:
    """Host functions whose body is `return …;` of their parameters, as macros: `size_t bytes(int n)`."""
    defined = Counter(item.name for item in parsed.items if item.kind == "function" and item.active)
    functions = {}
    for item in parsed.items:
        declarator = function_declarator(item.node.child_by_field_name("declarator"))
        body = item.node.child_by_field_name("body")
        statements = [n for n in body.named_children if n.type != "comment"] if body is not None else []
        if item.is_device or defined[item.name] != 1 or declarator is None or len(statements) != 1:
            continue
        listed = declarator.child_by_field_name("parameters")
        names = [declared_name(p.child_by_field_name("declarator")) for p in listed.named_children] if listed else []
        value = statements[0].named_children[0] if statements[0].type == "return_statement" else None
        if value is None or not all(names) or parsed.words(value) & {item.name}:
            continue
        # Its own parameters hide what is called the same elsewhere, and are whole expressions.
        text = re.sub(rf"\b(?:{'|'.join(names)})\b", r"(\g<0>)", parsed.text(value)) if names else parsed.text(value)
        functions[item.name] = Macro(f"({text})", tuple(names))
    return functions


class _Launch:
    __slots__ = ("arguments", "block", "callee", "grid", "shared")

    def __init__(self, callee: str, grid: str, block: str, shared: str, arguments: tuple[str, ...]) -> None:
        self.callee = callee
        self.grid = grid
        self.block = block
        self.shared = shared
        self.arguments = arguments


def _calls(parsed: ParsedFile) -> Iterator[tuple[Node, Node]]:
    """Every call in host code with the function that it stands in."""
    for item in parsed.items:
        if item.kind == "function" and item.active and not item.is_device:
            for node in descendants(item.node):
                if node.type == "call_expression":
                    yield item.node, node


def _launch_parts(parsed: ParsedFile, call: Node) -> Iterator[_Launch]:
    function = call.child_by_field_name("function")
    arguments = call.child_by_field_name("arguments")
    if function is None or arguments is None:
        return
    given = tuple(parsed.text(node) for node in arguments.named_children if node.type != "comment")
    configuration = next((c for c in call.children if c.type == "kernel_call_syntax"), None)
    callee = parsed.text(function)
    if configuration is not None:
        parts = [parsed.text(node) for node in configuration.named_children if node.type != "comment"]
        if len(parts) >= 2:
            yield _Launch(callee, parts[0], parts[1], parts[2] if len(parts) > 2 else "0", given)
    elif callee in _LAUNCH_FUNCTIONS and len(given) >= 4:
        kernel, grid, block, shared = _LAUNCH_FUNCTIONS[callee]
        yield _Launch(
            _plain(given[kernel]), given[grid], given[block], given[shared] if len(given) > shared else "0", ()
        )


class _Scopes:
    """Scopes of host functions, one for each way that a function is called when its parameters matter."""

    def __init__(self, parsed: ParsedFile, kernel_names: Collection[str]) -> None:
        self.parsed = parsed
        self.plain: dict[int, Scope] = {}
        self.calls = list(_calls(parsed))
        self.template_parameters = {item.node.id: item.template_parameters for item in parsed.items}
        self.callers: dict[str, list[tuple[Node, Node]]] = {}
        for caller, call in self.calls:
            called = call.child_by_field_name("function")
            if called is not None:
                self.callers.setdefault(_split_template(parsed.text(called))[0], []).append((caller, call))
        self.by_function: dict[int, list[Scope]] = {}
        self.followed: list[int] = []
        self.kernel_names = {*kernel_names, *(kernel.name for kernel in parsed.kernels)}

    def scope(self, function: Node) -> Scope:
        if function.id not in self.plain:
            self.plain[function.id] = scope_of(self.parsed, function)
        return self.plain[function.id]

    def of(self, function: Node) -> list[Scope]:
        """The function's scope for each of its callers (at most `MAX_CALLERS`), or the plain one where none is seen."""
        if function.id not in self.by_function:
            self.by_function[function.id] = self.called_scopes(function)
        return self.by_function[function.id]

    def called_scopes(self, function: Node) -> list[Scope]:
        plain = self.scope(function)
        declarator = function_declarator(function.child_by_field_name("declarator"))
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        names = [declared_name(p.child_by_field_name("declarator")) for p in listed.named_children] if listed else []
        template = self.template_parameters.get(function.id, ())
        own = declared_name(declarator)
        if not any([*names, *template]) or own == "main":
            return [plain]
        of_calls: list[Scope] = []
        self.followed.append(function.id)
        for caller, call in self.callers.get(own, ()):
            # A function that calls itself hands in what it was handed.
            if caller.id in self.followed:
                continue
            scopes = self.of(caller) if len(self.followed) < MAX_CALLS else [self.scope(caller)]
            for scope in scopes:
                if len(of_calls) < MAX_CALLERS:
                    outer = scope if scope.callers < MAX_CALLS else self.scope(caller)
                    of_calls.append(self.called_from(plain, names, template, outer, call))
        self.followed.pop()
        return of_calls or [plain]

    def called_from(
        self, plain: Scope, names: Sequence[str], template: Sequence[str], caller: Scope, call: Node
    ) -> Scope:
        """A function's scope as it is for one call: with its parameters, and its template's, as the caller has them."""
        arguments = call.child_by_field_name("arguments")
        called = call.child_by_field_name("function")
        texts = [self.parsed.text(n) for n in arguments.named_children if n.type != "comment"] if arguments else []
        given = _split_template(self.parsed.text(called))[1] if called is not None else ()
        handed: dict[str, tuple[Expression, Scope, int]] = {}
        for name, text in (*zip(names, texts, strict=False), *zip(template, given, strict=False)):
            expression = self.parsed.constants.parse(_plain(text))
            if name and expression is not None:
                handed[name] = (expression, caller, call.start_byte)
        return Scope(plain.constants, plain.definitions, handed, caller.callers + 1)

    def kernels(self, callee: str, scope: Scope, position: int) -> list[tuple[str, tuple[str, ...]]]:
        """The kernels that `callee` may be at `position`, with template arguments: itself, or what a pointer holds."""
        name, arguments = _split_template(callee)
        if name in self.kernel_names:
            return [(name, tuple(_template_argument(scope, text, position) for text in arguments))]
        if name in scope.arguments:
            expression, scope, position = scope.resolve(Name(name), position)
            text = expression.name if isinstance(expression, Name) else ""
            inner = _split_template(text)[0]
            if inner and inner not in self.kernel_names:
                text = self.pointers.get(inner, "")
        else:
            text = self.pointers.get(name, "")
        kernels = []
        for match in re.finditer(r"[^\W\d]\w*(?:\s*<[\w\s,]*>)?", text):
            inner, template_arguments = _split_template(match.group())
            if inner in self.kernel_names:
                kernels.append((inner, tuple(_template_argument(scope, text, position) for text in template_arguments)))
        return kernels

    @cached_property
    def pointers(self) -> dict[str, str]:
        """What each variable is given anywhere: `&kernel`, `kernel<16>`, a list of them, each in its turn."""
        text = self.parsed.source.text
        by_name: dict[str, list[str]] = {}
        for match in _ASSIGNING.finditer(text):
            spend(4)
            given, semicolon, _rest = text[match.end() : match.end() + 400].partition(";")
            if semicolon:
                # What is given a value may be long: "void (*f)(float *)".
                target = _BEFORE_ASSIGNED.split(text[max(0, match.start() - 200) : match.start()])[-1]
                for word in WORD.findall(target):
                    values = by_name.setdefault(word, [])
                    if len(values) < MAX_POINTED and given.strip() not in values:
                        values.append(given.strip())
        return {name: ", ".join(values) for name, values in by_name.items()}


def _plain(text: str) -> str:
    """A kernel or a variable without casts to `void *` and without `&`."""
    return re.sub(r"^\((?:const\s+)?void\s*\*\)\s*|^reinterpret_cast<[^()]*>\(|^&|(?<=>)\)$", "", text.strip()).strip()


def _template_argument(scope: Scope, text: str, position: int) -> str:
    """A template's argument as the place of the launch knows it: a number, or a type's name."""
    expression = scope.constants.parse(text)
    value = scope.value(expression, position)
    if value is not None:
        return str(value)
    if isinstance(expression, Name):
        resolved = scope.resolve(expression, position)[0]
        return resolved.name if isinstance(resolved, Name) else text
    return text


def _split_template(callee: str) -> tuple[str, tuple[str, ...]]:
    head, bracket, tail = callee.strip().partition("<")
    name = head.strip(" ()*&").rpartition("::")[2].strip().partition("[")[0]
    if not bracket:
        return name, ()
    return name, tuple(part for part in (p.strip() for p in tail.rpartition(">")[0].split(",")) if part)


def _site(
    parsed: ParsedFile, launch: _Launch, kernel: str, template_arguments: tuple[str, ...], scope: Scope, call: Node
) -> LaunchSite:
    position = call.start_byte
    block_axes = _axes(parsed, scope, launch.block, position)
    grid_axes = _axes(parsed, scope, launch.grid, position)
    seems_swapped = _are_named_across(launch)
    swapped = seems_swapped and _is_divided(scope, block_axes, grid_axes, position)
    if swapped:
        block_axes, grid_axes = grid_axes, block_axes
    numbers = [scope.value(axis, position) for axis in block_axes]
    block: tuple[int, int, int] | None = None
    if numbers and all(number is not None for number in numbers):
        # Be it one that no device can run: no threads, fewer than none.
        x, y, z = (*(int(number or 0) for number in numbers), 1, 1)[:3]
        block = (x, y, z)
    tile: list[int | None] = []
    over: list[str] = []
    for index, axis in enumerate(grid_axes):
        divisor, variable = divisor_of(scope, axis, position, launch.arguments)
        if divisor is None and block is not None and index < len(block_axes):
            divisor = same_as_block(scope, axis, block_axes[index], block[index], position)
        tile.append(divisor)
        over.append(variable)
    shared = parsed.constants.parse(launch.shared)
    handed = [scope.value(parsed.constants.parse(argument), position) for argument in launch.arguments]
    template_texts = _split_template(launch.callee)[1]
    keep = {*launch.arguments, *template_texts, *scope.constants.values}
    return LaunchSite(
        kernel=kernel,
        line=call.start_point.row + 1,
        block=block,
        tile=tuple(tile),
        shared_bytes=scope.value(shared, position),
        template_arguments=template_arguments,
        template_texts=template_texts,
        grid_over=tuple(over),
        arguments=launch.arguments,
        values=tuple(int(number) if number is not None else None for number in handed),
        file=parsed.file,
        block_expressions=tuple(inline(scope, axis, position, keep) for axis in block_axes),
        shared_expression=inline(scope, shared, position, keep) if shared is not None else None,
        grid_expressions=tuple(inline(scope, axis, position, keep) for axis in grid_axes),
        seems_swapped=seems_swapped and not swapped,
        swapped=(" ".join(launch.grid.split()), " ".join(launch.block.split())) if swapped else (),
        opts_in=kernel in remembered(parsed, "opting in", lambda: _opting_in(parsed)),
    )


def _are_named_across(launch: _Launch) -> bool:
    """Whether the grid is called as blocks' sizes are, or the block as grids, and neither by its own."""
    is_across = _BLOCKS_NAME.fullmatch(launch.grid) or _GRIDS_NAME.fullmatch(launch.block)
    return bool(is_across and not _GRIDS_NAME.fullmatch(launch.grid) and not _BLOCKS_NAME.fullmatch(launch.block))


def _is_divided(scope: Scope, block: Sequence[Expression], grid: Sequence[Expression], position: int) -> bool:
    """Whether the block is as long as it takes to cover something with what the grid is: a number of blocks."""
    if not block or not grid:
        return False
    value = scope.value(grid[0], position)
    divisor, _variable = divisor_of(scope, block[0], position, ())
    return (divisor is not None and divisor == value) or same_as_block(scope, block[0], grid[0], 1, position) == 1


def _opting_in(parsed: ParsedFile) -> frozenset[str]:
    """Words of every call of cudaFuncSetAttribute, the kernel's name among them."""
    text = parsed.source.text
    names: set[str] = set()
    done = 0
    while (match := _OPTING_IN.search(text, done)) is not None:
        end = text.find(";", match.end())
        done = end if end >= 0 else len(text)
        names.update(WORD.findall(text, match.end(), done))
    return frozenset(names)


def _axes(parsed: ParsedFile, scope: Scope, text: str, position: int) -> tuple[Expression, ...]:
    expression = parsed.constants.parse(text)
    if expression is None:
        return ()
    return scope.axes(expression, position) or ()
