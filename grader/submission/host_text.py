"""Mistakes of host code that no call of the runtime rejects and no run need come to, as its text shows them: memory of
another kind than the program calls it, products of integers that do not fit at sizes the program has itself, quotients
of integers that are 0, and numbers of elements where a call takes bytes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice, product
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from grader.message import Message, msg
from grader.submission.cpp.constants import Unknown, binary
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import (
    ParsedFile,
    declared_name,
    descendants,
    function_declarator,
    node_text,
    qualifiers_of,
)
from grader.submission.records import Submission
from grader.submission.source import SourceText

if TYPE_CHECKING:
    from tree_sitter import Node


class HostMistake(NamedTuple):
    file: str
    line: int
    message: Message


def mistakes_of_host(submission: Submission) -> tuple[HostMistake, ...]:
    """What the texts of host code show; comments and kernels are left out of them."""
    texts = {source.file: submission.host_text(source) for source in submission.sources}
    return tuple(HostMistake(file, *shown) for file, text in texts.items() for shown in mistakes_in(file, text))


@lru_cache(maxsize=50)
def mistakes_in(file: str, text: str) -> tuple[tuple[int, Message], ...]:
    """Line and message of each mistake that a text of host code shows."""
    parsed = parse(SourceText(Path(file), text, "utf-8"))
    return (*_other_kinds(parsed), *_overflows(parsed), *_zero_quotients(parsed), *_elements_for_bytes(parsed))


# -- kinds of page-locked memory -------------------------------------------------------

_COMBINED = re.compile(
    r"(?<!cudaHostAlloc)(?:[wW]rite|WRITE)[\s_-]*(?:[cC]omb|COMB)|(?<![A-Za-z])[wW][cC](?![a-z])|(?<=[a-z])W[Cc](?![a-z])"
)
_PINNED = re.compile(r"pinned|page[\s_-]*locked|закрепл|przypi", re.IGNORECASE)
_WRITE_COMBINED = "cudaHostAllocWriteCombined"
_FLAGS = ("cudaHostAllocDefault", "cudaHostAllocMapped", "cudaHostAllocPortable")
_NOT = re.compile(r"!")
# Behind the array that is allocated: a `wc` there is a width times channels.
_SIZES = re.compile(r"(\b(?:cudaHostAlloc|cudaMallocHost)\s*\([^,;]*),[^;]*")


def _other_kinds(parsed: ParsedFile) -> Iterator[tuple[int, Message]]:
    """Yield where memory that is called write-combined is allocated as another kind, or the other way round."""
    if re.search(rf"\|=\s*{_WRITE_COMBINED}", parsed.source.text):
        return
    lines: set[int] = set()
    for node in descendants(parsed.root):
        text = parsed.text(node) if node.type in ("identifier", "number_literal") else ""
        is_flag = text in _FLAGS or (text == "0" and _is_flag_of_call(parsed, node))
        line = node.start_point.row + 1
        if (is_flag or text == "cudaMallocHost") and line not in lines and _is_called(parsed, node, _COMBINED):
            lines.add(line)
            yield line, msg("checks.host_code.not_combined", flag=text if text in _FLAGS else "cudaMallocHost")
        elif text == _WRITE_COMBINED and line not in lines and _is_called(parsed, node, _PINNED):
            lines.add(line)
            yield line, msg("checks.host_code.not_pinned")


def _is_flag_of_call(parsed: ParsedFile, node: Node) -> bool:
    call = node.parent.parent if node.parent is not None and node.parent.type == "argument_list" else None
    function = call.child_by_field_name("function") if call is not None else None
    return function is not None and parsed.text(function) == "cudaHostAlloc" and node.next_named_sibling is None


def _is_called(parsed: ParsedFile, flag: Node, name: re.Pattern[str]) -> bool:
    """Whether what a flag of an allocation stands in goes by a name: a row of a table, the array of a call, a case,
    what is done under a condition, a function.  What has the other kind's name or flag as well counts as none."""

    def is_so(text: str) -> bool:
        other = _COMBINED if name is _PINNED else re.compile(_WRITE_COMBINED)
        return name.search(_SIZES.sub(r"\1", text)) is not None and other.search(text) is None

    child, node = flag, flag.parent
    while node is not None:
        text = parsed.text(node)
        if node.type == "initializer_list":
            return is_so(text) or is_so(_alongside(parsed, node, child))
        # What is write-combined is pinned as well: only beside other kinds does that name another.
        if node.type == "call_expression" and name is _COMBINED and is_so(text) and '"' not in text:
            return True
        if node.type == "case_statement":
            return is_so(text)
        if node.type in ("if_statement", "conditional_expression"):
            condition = node.child_by_field_name("condition")
            said = parsed.text(condition) if condition is not None else ""
            is_then = child == node.child_by_field_name("consequence")
            if child != condition and (is_so(said) or not is_then):
                return is_then and is_so(said) and _NOT.search(said) is None
        if node.type == "function_definition":
            declarator = function_declarator(node.child_by_field_name("declarator"))
            own = declared_name(declarator) if declarator is not None else ""
            return name is _COMBINED and name.search(own) is not None and _WRITE_COMBINED not in text
        child, node = node, node.parent
    return False


def _alongside(parsed: ParsedFile, flags: Node, flag: Node) -> str:
    """Return what has a flag's place in a table of texts that is as long as that of flags."""
    rows = flags.named_children
    if flag not in rows or not all("cudaHostAlloc" in parsed.text(row) or row.type == "number_literal" for row in rows):
        return ""
    for other in descendants(parsed.root):
        if other.type == "initializer_list" and len(other.named_children) == len(rows):
            names = other.named_children
            if all(one.type == "string_literal" for one in names):
                return parsed.text(names[rows.index(flag)])
    return ""


# -- products that do not fit ----------------------------------------------------------

INT_MAX = (1 << 31) - 1
MOST_VALUES = 16
MOST_CHOICES = 64
MOST_DEPTH = 40
"""Of operators within each other that are looked into."""
_INT = re.compile(r"\d{1,10}|0[xX][0-9a-fA-F]{1,8}")
_IS_INT = re.compile(r"(?:(?:static|const|constexpr)\s+)*(?:int|int32_t|signed)(?:\s+const)?")


class _Variable(NamedTuple):
    """An int, or an array of such, with the values that its text gives it."""

    values: tuple[int, ...]
    is_array: bool = False


def _overflows(parsed: ParsedFile) -> Iterator[tuple[int, Message]]:
    """Yield products of ints that are too large for one at a value that the program gives its sizes itself."""
    functions = [i for i in parsed.items if i.kind == "function" and i.active and not i.is_device]
    shared: dict[str, _Variable] = {}
    for item in parsed.items:
        if item.kind == "variable" and item.active and not item.is_device:
            _learn(parsed, item.node, shared)
    for item in functions:
        known = _locals(parsed, item.node, shared)
        limited: set[str] = set()
        for node in descendants(item.node):
            parent = node.parent
            is_outer = parent is None or _operator(parent) != "*"
            limited |= _limited_by(parsed, node)
            if _operator(node) != "*" or not is_outer:
                continue
            within = {name: variable for name, variable in known.items() if name not in limited}
            if (overflow := _too_large(parsed, node, within)) is not None:
                name, value, amount, code = overflow
                message = msg("checks.host_code.int_overflow", code=code, name=name, value=value, amount=amount)
                yield node.start_point.row + 1, message


def _limited_by(parsed: ParsedFile, node: Node) -> set[str]:
    """Names that a condition compares with another number than 0 or 1: what is behind it need not come to pass."""
    condition = node.child_by_field_name("condition") if node.type != "for_statement" else None
    names: set[str] = set()
    for part in descendants(condition) if condition is not None else ():
        sides = [part.child_by_field_name(side) for side in ("left", "right")]
        texts = [parsed.text(side) for side in sides if side is not None]
        if _operator(part) in ("<", "<=", ">", ">=", "==", "!=") and not {"0", "1"} & set(texts):
            names |= {parsed.text(one) for one in descendants(part) if one.type == "identifier"}
    return names


def _operator(node: Node) -> str:
    sign = node.child_by_field_name("operator") if node.type == "binary_expression" else None
    return node_text(sign) if sign is not None else ""


def _too_large(parsed: ParsedFile, node: Node, known: Mapping[str, _Variable]) -> tuple[str, int, int, str] | None:
    """Return a variable and its value at which the first factors of a product, all of them ints, make more than an int
    holds; with the amount and the text of these factors."""
    factors: list[Node] = []
    inner: Node | None = node
    while inner is not None and _operator(inner) == "*":
        right = inner.child_by_field_name("right")
        factors.insert(0, right) if right is not None else None
        inner = inner.child_by_field_name("left")
    factors.insert(0, inner) if inner is not None else None
    ints: list[Node] = []
    for factor in factors:
        if not _is_int(parsed, factor, known):
            break
        ints.append(factor)
    words = {parsed.text(n) for factor in ints for n in descendants(factor) if n.type == "identifier"}
    names = sorted(word for word in words if word in known and not known[word].is_array)
    if sum(len(known[name].values) > 1 for name in names) > 1:
        return None  # Which values go together is not known: rows of a table, arguments of a call.
    for values in islice(product(*(known[name].values for name in names)), MOST_CHOICES):
        chosen = {**known, **{name: _Variable((value,)) for name, value in zip(names, values, strict=True)}}
        amount = 1
        for count, factor in enumerate(ints, 1):
            one = _values(parsed, factor, chosen)
            if len(one) != 1:
                break
            amount *= one[0]
            if count > 1 and abs(amount) > INT_MAX:
                code = parsed.data[ints[0].start_byte : factor.end_byte].decode("utf-8", "replace")
                largest = max(zip(values, names, strict=True), default=(0, ""))
                return (largest[1], largest[0], amount, " ".join(code.split())) if largest[1] else None
    return None


def _is_int(parsed: ParsedFile, node: Node, known: Mapping[str, _Variable], depth: int = 0) -> bool:
    text = parsed.text(node)
    if depth > MOST_DEPTH:
        return False
    if node.type == "number_literal":
        return _INT.fullmatch(text) is not None and int(text, 0 if text[:2] in ("0x", "0X") else 10) <= INT_MAX
    if node.type == "identifier":
        return (text in known and not known[text].is_array) or _macro(parsed, text) is not None
    if node.type == "parenthesized_expression" and len(node.named_children) == 1:
        return _is_int(parsed, node.named_children[0], known, depth + 1)
    if node.type == "binary_expression":
        sides = [node.child_by_field_name("left"), node.child_by_field_name("right")]
        return all(side is not None and _is_int(parsed, side, known, depth + 1) for side in sides)
    return False


def _macro(parsed: ParsedFile, name: str) -> int | None:
    macro = parsed.constants.macros.get(name)
    body = macro.body.strip("() ") if macro is not None and macro.parameters is None else ""
    return int(body) if _INT.fullmatch(body) and body.isdigit() and int(body) <= INT_MAX else None


def _values(parsed: ParsedFile, node: Node | None, known: Mapping[str, _Variable], depth: int = 0) -> tuple[int, ...]:
    """Return the values that an expression may have as far as the text tells; () where it does not, or is too deep."""
    if node is None or depth > MOST_DEPTH:
        return ()
    depth += 1
    text = parsed.text(node)
    if node.type == "number_literal":
        return (int(text, 0 if text[:2] in ("0x", "0X") else 10),) if _INT.fullmatch(text) else ()
    if node.type == "identifier":
        macro = _macro(parsed, text)
        return known[text].values if text in known and not known[text].is_array else (macro,) if macro else ()
    if node.type == "parenthesized_expression" and len(node.named_children) == 1:
        return _values(parsed, node.named_children[0], known, depth)
    if node.type == "conditional_expression":
        both = [node.child_by_field_name(side) for side in ("consequence", "alternative")]
        return tuple(dict.fromkeys(value for side in both for value in _values(parsed, side, known, depth)))
    if node.type == "subscript_expression":
        array = node.child_by_field_name("argument")
        name = parsed.text(array) if array is not None else ""
        return known[name].values if name in known and known[name].is_array else ()
    if node.type == "binary_expression":
        sides = [_values(parsed, node.child_by_field_name(side), known, depth) for side in ("left", "right")]
        if all(len(side) > 1 for side in sides):
            return ()
        try:
            both_sides = islice(product(*sides), MOST_VALUES)
            return tuple(dict.fromkeys(int(binary(_operator(node), one, other)) for one, other in both_sides))
        except (Unknown, ArithmeticError, ValueError):
            return ()
    return ()


def _elements(parsed: ParsedFile, node: Node | None, known: Mapping[str, _Variable]) -> tuple[int, ...]:
    if node is None or node.type != "initializer_list":
        name = parsed.text(node) if node is not None else ""
        return known[name].values if name in known and known[name].is_array else ()
    found = [_values(parsed, one, known) for one in node.named_children]
    return tuple(one[0] for one in found[:MOST_VALUES]) if found and all(len(one) == 1 for one in found) else ()


def _learn(parsed: ParsedFile, node: Node, known: dict[str, _Variable]) -> None:
    """Note the variables of a declaration: ints, arrays and vectors of ints."""
    type_node = node.child_by_field_name("type")
    type_text = parsed.text(type_node) if type_node is not None else ""
    is_vector = re.fullmatch(r"(?:std::)?(?:vector|array)\s*<\s*int\b[^<>]*>", type_text) is not None
    if (not _IS_INT.fullmatch(type_text) and not is_vector) or "unsigned" in qualifiers_of(node):
        return
    for declarator in node.children_by_field_name("declarator"):
        if declarator.type != "init_declarator":
            continue
        inner, value = declarator.child_by_field_name("declarator"), declarator.child_by_field_name("value")
        name = declared_name(inner)
        if inner is not None and (inner.type == "array_declarator" or is_vector):
            known[name] = _Variable(_elements(parsed, value, known), is_array=True)
        elif inner is not None and inner.type == "identifier":
            known[name] = _Variable(_values(parsed, value, known))


def _locals(parsed: ParsedFile, function: Node, shared: Mapping[str, _Variable]) -> dict[str, _Variable]:
    """Return the ints that a function knows, with the values that its text gives them."""
    known = dict(shared)
    declarator = function_declarator(function.child_by_field_name("declarator"))
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    for place, node in enumerate(listed.named_children if listed is not None else ()):
        name, type_node = declared_name(node.child_by_field_name("declarator")), node.child_by_field_name("type")
        known.pop(name, None)
        if name and type_node is not None and _IS_INT.fullmatch(parsed.text(type_node)):
            inner = node.child_by_field_name("declarator")
            if inner is not None and inner.type == "identifier":
                known[name] = _Variable(_given(parsed, declared_name(declarator), place, shared))
    counted: dict[str, int] = {}
    stepped: set[str] = set()
    for node in descendants(function):
        if node.type == "declaration":
            for one in node.children_by_field_name("declarator"):
                counted[declared_name(one)] = counted.get(declared_name(one), 0) + 1
            if node.parent is None or node.parent.type != "for_statement":
                _learn(parsed, node, known)
        elif node.type == "for_statement" and (steps := _steps(parsed, node, known)) is not None:
            known[steps[0]] = _Variable(steps[1])
            stepped.add(steps[0])
        elif node.type == "for_range_loop":
            type_node, right = node.child_by_field_name("type"), node.child_by_field_name("right")
            name = declared_name(node.child_by_field_name("declarator"))
            counted[name] = counted.get(name, 0) + 1
            known.pop(name, None)
            if type_node is not None and _IS_INT.fullmatch(parsed.text(type_node)):
                known[name] = _Variable(_elements(parsed, right, known))
    changes = Counter(_changed(parsed, function))
    doubtful = {name for name, count in counted.items() if count > 1}
    doubtful |= {name for name, count in changes.items() if count > (name in stepped)}
    return {name: v for name, v in known.items() if name not in doubtful}


def _given(parsed: ParsedFile, function: str, place: int, shared: Mapping[str, _Variable]) -> tuple[int, ...]:
    """Return the numbers that a function of the file is called with, as they stand there."""
    values: dict[int, None] = {}
    for node in descendants(parsed.root):
        called = node.child_by_field_name("function") if node.type == "call_expression" else None
        arguments = node.child_by_field_name("arguments") if called is not None else None
        if called is not None and arguments is not None and parsed.text(called) == function:
            given = arguments.named_children
            values |= dict.fromkeys(_values(parsed, given[place], shared)) if place < len(given) else {}
    return tuple(values)[:MOST_VALUES]


def _steps(parsed: ParsedFile, loop: Node, known: Mapping[str, _Variable]) -> tuple[str, tuple[int, ...]] | None:
    """Return the variable of a loop that multiplies it each time, and its values; None for any other loop."""
    header = " ".join(parsed.text(loop).partition("{")[0].split())
    match = re.match(
        r"for ?\(int (\w+) ?= ?(\d{1,9}) ?; ?\1 ?(<=?) ?([\w *]+?) ?; ?\1 ?(?:\*= ?(\d{1,9})|<<= ?(\d))\)", header
    )
    condition = loop.child_by_field_name("condition")
    right = condition.child_by_field_name("right") if condition is not None else None
    last = _values(parsed, right, known)
    if match is None or len(last) != 1:
        return None
    factor = int(match[5]) if match[5] else 1 << int(match[6])
    values: list[int] = []
    value = int(match[2])
    while factor > 1 and value > 0 and len(values) < MOST_VALUES and value < last[0] + (match[3] == "<="):
        values.append(value)
        value *= factor
    return match[1], tuple(values)


def _changed(parsed: ParsedFile, function: Node) -> Iterator[str]:
    """Yield names that get another value than that of their declaration, once for each place; what a program is given
    in place of a value of its own may be left out."""
    for node in descendants(function):
        target = None
        if node.type == "assignment_expression":
            right = node.child_by_field_name("right")
            is_given = right is not None and "argv" in parsed.text(right)
            target = node.child_by_field_name("left") if not is_given else None
        elif node.type == "update_expression" or (
            node.type == "pointer_expression" and parsed.text(node).startswith("&")
        ):
            target = node.child_by_field_name("argument")
        if target is not None:
            yield parsed.text(target)


# -- quotients and bytes ---------------------------------------------------------------

ZERO_QUOTIENT, ELEMENTS_FOR_BYTES = "checks.host_code.zero_quotient", "checks.host_code.elements_for_bytes"
_RANDOM = re.compile(r"\(*\s*(?:std\s*::\s*)?rand\s*\(\s*\)\s*\)*")
_CALLS_OF_BYTES = re.compile(r"(?:std\s*::\s*)?(memcmp|memcpy|memmove)")
_SEVERAL_BYTES = ("float", "double", "int", "unsigned", "long", "long long", "size_t", "int32_t", "uint32_t")
_VECTOR = re.compile(r"(?:const\s+)?(?:std\s*::\s*)?vector\s*<\s*([\w ]+?)\s*>")
_HANDED = re.compile(r"(\w+)(?:\s*\.\s*data\s*\(\s*\))?|&\s*(\w+)\s*\[\s*0\s*\]")
_AMOUNT = re.compile(r"\w+(?:\s*\*\s*\w+)*|(\w+)\s*\.\s*size\s*\(\s*\)")


def _zero_quotients(parsed: ParsedFile) -> Iterator[tuple[int, Message]]:
    """Yield quotients of two integers that are 0 for all numbers but one."""
    items = [item for item in parsed.items if item.active and not item.is_device]
    if any(item.kind == "function" and item.name == "rand" for item in items):
        return
    for node in (node for item in items for node in descendants(item.node) if _operator(node) == "/"):
        above, below = (node.child_by_field_name(side) for side in ("left", "right"))
        if above is None or below is None or parsed.text(below).strip("() ") != "RAND_MAX":
            continue
        if _RANDOM.fullmatch(parsed.text(above)):
            yield (
                node.start_point.row + 1,
                msg("checks.host_code.zero_quotient", code=" ".join(parsed.text(node).split())),
            )


def _elements_for_bytes(parsed: ParsedFile) -> Iterator[tuple[int, Message]]:
    """Yield calls that take bytes and are handed a number of elements: one that the function multiplies by the size of
    an element elsewhere, or the length of a vector."""
    for item in parsed.items:
        if item.kind != "function" or not item.active or item.is_device:
            continue
        types = _types_of_elements(parsed, item.node)
        for node in descendants(item.node):
            called = node.child_by_field_name("function") if node.type == "call_expression" else None
            listed = node.child_by_field_name("arguments") if called is not None else None
            given = [parsed.text(one) for one in listed.named_children if one.type != "comment"] if listed else []
            name = _CALLS_OF_BYTES.fullmatch(parsed.text(called)) if called is not None else None
            if name is None or len(given) != 3:
                continue
            arrays = [match[1] or match[2] for one in given[:2] if (match := _HANDED.fullmatch(one)) is not None]
            kinds = {types.get(array, "") for array in arrays}
            amount = " ".join(given[2].split())
            if (
                len(arrays) == 2
                and len(kinds) == 1
                and "" not in kinds
                and _is_elements(parsed, item.node, amount, types)
            ):
                message = msg(
                    "checks.host_code.elements_for_bytes",
                    function=name[1],
                    amount=amount,
                    type=kinds.pop(),
                    array=arrays[0],
                )
                yield node.start_point.row + 1, message


def _types_of_elements(parsed: ParsedFile, function: Node) -> dict[str, str]:
    """Return the arrays, pointers and vectors of a function, with the type of their elements where it takes more than a
    byte; without those whose name stands for different ones."""
    found: dict[str, set[str]] = {}
    for node in descendants(function):
        type_node = node.child_by_field_name("type") if node.type in ("declaration", "parameter_declaration") else None
        if type_node is None:
            continue
        text = " ".join(parsed.text(type_node).split())
        vector = _VECTOR.fullmatch(text)
        for one in node.children_by_field_name("declarator"):
            inner = one.child_by_field_name("declarator") if one.type == "init_declarator" else one
            head = parsed.text(inner).partition("(")[0] if inner is not None else ""
            depth = head.count("*") + head.count("[")
            is_array = depth == 0 if vector is not None else depth == 1
            kind = vector[1] if vector is not None else text
            found.setdefault(declared_name(one), set()).add(kind if is_array and kind in _SEVERAL_BYTES else "")
    return {name: kinds.pop() for name, kinds in found.items() if len(kinds) == 1}


def _is_elements(parsed: ParsedFile, function: Node, amount: str, types: Mapping[str, str]) -> bool:
    """Whether a function's text shows that an amount counts elements of more than a byte."""
    match = _AMOUNT.fullmatch(amount)
    if match is None or "sizeof" in amount:
        return False
    if match[1]:
        return bool(types.get(match[1]))
    text = " ".join(parsed.text(function).split())
    own, size = re.escape(amount).replace(r"\ ", r"\s*"), r"sizeof\s*(?:\(\s*(?:float|double|int|unsigned|long)\s*\))"
    return re.search(rf"(?<![\w.*/])(?<![*/] ){own}\s*\*\s*{size}|{size}\s*\*\s*{own}(?![\w.(])", text) is not None
