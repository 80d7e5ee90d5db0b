"""Changes of statements: first values of variables, of sums and of elements that a branch leaves out; what a sum is
divided by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from grader.repair import nodes
from grader.repair.function import Change, Function, Variable, zero_of
from grader.submission.cpp.tree import LOOPS, declared_name, descendants
from grader.submission.lexical import Edit

if TYPE_CHECKING:
    from tree_sitter import Node


_NARROW = re.compile(
    r"(?:(?:un)?signed\s+)?(?:short|char)(?:\s+(?:unsigned|int))*|ushort|uchar|(?:std::)?u?int(?:8|16)_t"
)
_FRACTION = re.compile(r"(?:const\s+)?(?:float|double|__half)[234]?(?:\s+const)?")
_UNSIGNED = re.compile(r"unsigned(?:\s+(?:int|long))*|size_t|uint32_t|uint64_t|uint")


def value_changes(function: Function) -> Iterator[Change]:
    """First values: of variables without one, of sums that go on from one element to the next, of what is left out."""
    yield from _types(function)
    yield from _smallest(function)
    yield from _signed(function)
    yield from _declared_alone(function)
    for node in function.statements:
        if node.type == "declaration" and "__shared__" not in function.text(node):
            yield from _first_values(function, node)
            yield from _shadowing(function, node)
        elif node.type == "if_statement":
            yield from _else_zero(function, node)
        elif node.type == "expression_statement":
            yield from _reset(function, node)
            yield from _onto_unset(function, node)
            yield from _stale(function, node)
            yield from _atomic(function, node)
            yield from _of_bits(function, node)
            yield from _by_one_thread(function, node)
            edit = function.replaced(node, ";")
            if node not in function.barriers:
                yield Change("expression", function.line(node), (edit,), 4.8, "delete", "removed")


def _types(function: Function) -> Iterator[Change]:
    """Another type: for an unsigned variable that goes below 0, a narrow index, an array that a block shares."""
    for node in function.nodes:
        type_node = node.child_by_field_name("type") if node.type == "declaration" else None
        if type_node is None or "__shared__" in function.text(node):
            continue
        if _UNSIGNED.fullmatch(function.text(type_node)):
            edit = function.replaced(type_node, "int")
            yield Change("expression", function.line(node), (edit,), 2.0, "unsigned", "unsigned")
        if _NARROW.fullmatch(function.text(type_node)):
            edit = function.replaced(type_node, "int")
            yield Change("expression", function.line(node), (edit,), 1.4, "narrow", "narrow")
        if function.is_kernel and any(d.type == "array_declarator" for d in node.children_by_field_name("declarator")):
            edit = function.inserted(node.start_byte, "__shared__ ")
            yield Change(
                "expression",
                function.line(node),
                (edit,),
                1.0 if function.barriers else 1.8,
                "not_shared",
                "not_shared",
            )


_POSITIVE = {"FLT_MIN": "-FLT_MAX", "DBL_MIN": "-DBL_MAX"}
_LARGER = {"max", "fmaxf", "fmax", "atomicMax", "MAX"}


def _smallest(function: Function) -> Iterator[Change]:
    """A maximum started below all numbers in place of the smallest positive number or 0."""
    words = function.parsed.words(function.body)
    for node in function.nodes:
        text = function.text(node)
        if node.type == "identifier" and text in _POSITIVE:
            yield function.replacement("initial_value", node, _POSITIVE[text], 0.3, "smallest", "positive")
        elif node.type == "number_literal" and words & _LARGER and re.fullmatch(r"0\.?0*f?|\.0+f?", text):
            outer = node.parent
            if outer is not None and outer.type in (
                "init_declarator",
                "conditional_expression",
                "assignment_expression",
            ):
                for lowest in ("-INFINITY", "-FLT_MAX"):
                    yield function.replacement("initial_value", node, lowest, 1.4, "smallest", "zero")


def _signed(function: Function) -> Iterator[Change]:
    """Bytes read as numbers with a sign: `char4` for `uchar4`."""
    edits: list[Edit] = []
    first = 0
    for node in function.nodes:
        text, parent = function.text(node), node.parent
        is_vector = node.type == "type_identifier" and re.fullmatch(r"char[1-4]", text) is not None
        is_plain = node.type == "primitive_type" and text == "char"
        if is_vector or (is_plain and parent is not None and parent.type != "sized_type_specifier"):
            edits.append(function.replaced(node, f"u{text}" if is_vector else "unsigned char"))
            first = first or function.line(node)
    if edits:
        yield Change("expression", first, tuple(edits), 1.0, "signed", "signed")


def _shadowing(function: Function, node: Node) -> Iterator[Change]:
    """A declaration that hides an outer variable of the same name, left out or made an assignment."""
    declarators = node.children_by_field_name("declarator")
    if len(declarators) != 1 or declarators[0].type != "init_declarator":
        return
    name = function.text(declarators[0]).partition("=")[0].strip()
    outer = [v for v in function.variables if v.name == name and v.role != "array"]
    is_hiding = any(0 < v.start < node.start_byte < v.end for v in outer)
    if is_hiding and node.parent is not None and node.parent.type == "compound_statement":
        yield Change("expression", function.line(node), (function.removed(node),), 0.2, "shadowed", "shadowed")
        yield function.replacement("expression", node, f"{function.text(declarators[0])};", 0.4, "shadowed", "shadowed")
        value = nodes.value_of(declarators[0])
        text = f"{name} += {function.text(value)};" if value is not None else ""
        yield function.replacement("expression", node, text, 0.6, "shadowed", "shadowed")


def _declared_alone(function: Function) -> Iterator[Change]:
    """`if (i < n) float v = a[i];`, all that its branch or loop does, as an assignment to the outer variable.

    The parser knows no declaration in that place, and a type that is too much.
    """
    for node in function.nodes:
        following = node.next_named_sibling if node.type == "ERROR" else None
        assignment = nodes.assignment_of(nodes.inner_of(following))
        if following is None or assignment is None or [n.type for n in node.children] != ["primitive_type"]:
            continue
        if function.text(assignment[0]) in function.known_at(node):
            edit = Edit(function.at(node.start_byte), function.at(following.start_byte), "")
            yield Change("expression", function.line(node), (edit,), 0.2, "shadowed", "shadowed")


def _first_values(function: Function, node: Node) -> Iterator[Change]:
    type_node = node.child_by_field_name("type")
    for declarator in node.children_by_field_name("declarator"):
        if declarator.type == "identifier":
            edit = function.inserted(declarator.end_byte, " = 0")
            yield Change("initial_value", function.line(declarator), (edit,), 1.2, "zero", "missing")
        elif declarator.type == "init_declarator" and type_node is not None:
            value = declarator.child_by_field_name("value")
            name = declarator.child_by_field_name("declarator")
            variable = next((v for v in function.variables if name is not None and v.name == function.text(name)), None)
            if value is not None and variable is not None and variable.role == "value" and function.text(value) != "0":
                assignments = [a for n in function.nodes if (a := nodes.assignment_of(n)) is not None]
                is_sum = any(function.text(a[0]) == variable.name and _goes_on(function, *a) for a in assignments)
                cost, group = (1.2, "reset") if is_sum else (2.2, "zero")
                yield function.replacement("initial_value", value, "0", cost, group, line=function.line(declarator))
            accumulates = name is not None and f"{function.text(name)} +=" in function.text(function.body)
            if accumulates and "int" in function.text(type_node).split():
                line, detail = function.line(node), "integer" if _takes_fractions(function, name) else ""
                yield function.replacement("expression", type_node, "float", 2.4, "type", detail, line=line)


def _takes_fractions(function: Function, name: Node | None) -> bool:
    """Whether a variable is added to what is made of floating-point numbers."""
    fractions = {v.name for v in function.variables if _FRACTION.fullmatch(v.type)}
    added = [a for n in function.nodes if (a := nodes.assignment_of(n)) is not None and a[1] == "+="]
    values = [value for target, _sign, value in added if name and function.text(target) == function.text(name)]
    return any(fractions & function.parsed.words(value) for value in values)


def _stale(function: Function, node: Node) -> Iterator[Change]:
    """`x = f(x, y); y = g(x, y);` with `x` as it was before in the second statement."""
    following, block = node.next_named_sibling, node.parent
    first, second = nodes.assignment_of(nodes.inner_of(node)), nodes.assignment_of(nodes.inner_of(following))
    if first is None or second is None or following is None or block is None or block.type != "compound_statement":
        return
    (x, _sign, value), (y, _next_sign, next_value) = first, second
    if {x.type, y.type} != {"identifier"}:
        return
    name, other = function.text(x), function.text(y)
    variable = function.known_at(node).get(name)
    places = [n for n in descendants(next_value) if n.type == "identifier" and function.text(n) == name]
    if name == other or variable is None or not places or not {name, other} <= function.parsed.words(value):
        return
    before = f"const auto {name}_before = {name};\n{function.indent(node)}"
    edits = (function.inserted(node.start_byte, before), *(function.replaced(n, f"{name}_before") for n in places))
    yield Change("expression", function.line(following), edits, 1.6, "stale", "stale")


_ADDED = {"+=": "", "-=": "-"}


def _atomic(function: Function, node: Node) -> Iterator[Change]:
    """`a[i] += v`, `a[i]++` and `a[i] = a[i] + v` of an array that several threads add to, as one atomic addition; also
    where `a[i]` goes through a variable."""
    inner, assignment = nodes.inner_of(node), nodes.assignment_of(nodes.inner_of(node))
    place: Node | None = None
    added = ""
    edits: tuple[Edit, ...] = ()
    if inner is not None and inner.type == "update_expression":
        place, added = inner.child_by_field_name("argument"), "-1" if "--" in function.text(inner) else "1"
    elif assignment is not None:
        place, operator, right = assignment
        text, own = function.text(right), function.text(place)
        if operator in _ADDED:
            added = f"{_ADDED[operator]}({text})" if _ADDED[operator] else text
        elif operator == "=" and nodes.operator_of(right) == "+":
            sides = [function.text(side) for side in nodes.sides_of(right) if side is not None]
            read = _read_before(function, node, own)
            name = declared_name(read) if read is not None else ""
            for one, other in (sides, sides[::-1]):
                if one == own:
                    added = other
                elif read is not None and one == name and read.parent is not None:
                    added, edits = other, (function.removed(read.parent),)
    is_element = place is not None and place.type in ("subscript_expression", "pointer_expression")
    if added and inner is not None and place is not None and is_element:
        text = f"atomicAdd(&{function.text(place)}, {added})"
        edits = (*edits, function.replaced(inner, text))
        yield Change("expression", function.line(node), edits, 1.4, "atomic", "atomic")


_AS_INT = re.compile(r"(?:\(\s*int\s*\*\s*\)|reinterpret_cast\s*<\s*int\s*\*\s*>)\s*(?P<place>.+)", re.DOTALL)
_BITS = re.compile(r"__float_as_int\s*\((?P<value>[^()]+)\)")


def _of_bits(function: Function, statement: Node) -> Iterator[Change]:
    """`atomicMax((int *)a, __float_as_int(v))`: as whole numbers negative floats are ordered the other way round."""
    node = nodes.inner_of(statement)
    if node is None or node.type != "call_expression":
        return
    other = {"atomicMax": "atomicMin", "atomicMin": "atomicMax"}.get(function.callee(node), "")
    arguments = nodes.arguments_of(node)
    place = _AS_INT.fullmatch(function.text(arguments[0])) if other and len(arguments) == 2 else None
    bits = _BITS.fullmatch(function.text(arguments[1])) if place is not None else None
    if place is None or bits is None:
        return
    value = bits["value"]
    text = (
        f"{value} >= 0 ? {function.text(node)}\n{function.indent(node)}    "
        f": (int){other}((unsigned *){place['place']}, __float_as_uint({value}))"
    )
    yield function.replacement("expression", node, text, 0.2, "atomic", "bits")


_LANE = re.compile(r".*threadIdx\.x.*(?:%(?:32|warpSize)|&(?:31|0x1f))\)?")


def _by_one_thread(function: Function, node: Node) -> Iterator[Change]:
    """An atomic operation, or a store after shuffles, that one thread of a block or of a warp alone is to carry out."""
    inner = nodes.inner_of(node)
    assignment = nodes.assignment_of(inner)
    is_atomic = inner is not None and function.callee(inner).startswith("atomic")
    if not is_atomic and (assignment is None or assignment[0].type != "subscript_expression"):
        return
    values = ((declared_name(n), v) for n in function.nodes if (v := nodes.value_of(n)) is not None)
    lanes = [name for name, value in values if _LANE.fullmatch("".join(function.text(value).split()))]
    around = [
        function.names_in(c)
        for outer in nodes.ancestors(node, function.body)
        if (c := nodes.condition_of(outer)) is not None
    ]
    if any(words & {"threadIdx", *lanes} for words in around):
        return
    shuffles = "__shfl" in function.text(function.body)
    tests = [f"{lane} == 0" for lane in lanes] or (["threadIdx.x % 32 == 0"] if shuffles else [])
    tests += ["threadIdx.x == 0"] if is_atomic and function.uses_shared else []
    for number, test in enumerate(tests):
        edit = function.inserted(node.start_byte, f"if ({test}) ")
        yield Change("guard", function.line(node), (edit,), 2.0 + 0.2 * number, "atomic", "one")


def _read_before(function: Function, node: Node, element: str) -> Node | None:
    """Return the declarator of a variable that holds an element for the statement alone that stands after it."""
    before = node.prev_named_sibling
    declarators = before.children_by_field_name("declarator") if before is not None else []
    value = nodes.value_of(declarators[0]) if len(declarators) == 1 else None
    if value is None or function.text(value) != element:
        return None
    name = declared_name(declarators[0])
    uses = [n for n in function.nodes if n.type == "identifier" and function.text(n) == name]
    return declarators[0] if len(uses) == 2 else None


def _else_zero(function: Function, node: Node) -> Iterator[Change]:
    assignment = nodes.assignment_of(nodes.inner_of(nodes.only_statement(node.child_by_field_name("consequence"))))
    if assignment is None or node.child_by_field_name("alternative") is not None:
        return
    left = assignment[0]
    if left.type == "subscript_expression":
        variable = function.known_at(node).get(function.text(left).partition("[")[0])
        zero = zero_of(variable.type if variable is not None else "")
        text = f"\n{function.indent(node)}else {function.text(left)} = {zero};"
        yield function.insertion(
            "initial_value", node.end_byte, text, 2.4, "else_zero", "else", line=function.line(node)
        )


def _reset(function: Function, node: Node) -> Iterator[Change]:
    """A sum set to 0 where each of the loops around it begins; `_first_values` does so where it is declared."""
    assignment = nodes.assignment_of(nodes.inner_of(node))
    if assignment is None or assignment[0].type != "identifier" or not _goes_on(function, *assignment):
        return
    variable = function.known_at(node).get(function.text(assignment[0]))
    if variable is None:
        return
    zeroed = f"{variable.name} = 0;\n"
    is_set = any(n.type == "init_declarator" and declared_name(n) == variable.name for n in function.nodes)
    detail = "goes_on" if is_set else "missing"
    for outer in nodes.ancestors(node, function.body):
        if outer.type not in LOOPS or outer.start_byte < variable.start:
            continue
        body = outer.child_by_field_name("body")
        firsts = body.named_children[:1] if body is not None and body.type == "compound_statement" else []
        places = [(outer, 0.6 if _is_stored_behind(function, outer, variable) else 2.0)]
        if outer.parent is None or outer.parent.type != "compound_statement":
            places = []
        first_cost = 1.0 if _is_declared_before(outer, variable) else 2.6
        for place, cost in (*places, *((first, first_cost) for first in firsts)):
            around = (a for a in nodes.ancestors(place, function.body) if a.type in LOOPS)
            if is_set and not any(a.start_byte >= variable.start for a in around):
                continue
            text = f"{zeroed}{function.indent(place)}"
            edits = (function.inserted(place.start_byte, text),)
            line = function.line(place)
            yield Change("initial_value", line, edits, cost, "reset", detail, code=variable.name)


def _onto_unset(function: Function, node: Node) -> Iterator[Change]:
    """`out[i * n + j] += v` with these elements set to 0 before the loop over what is added up."""
    assignment = nodes.assignment_of(nodes.inner_of(node))
    if assignment is None or assignment[1] != "+=" or assignment[0].type != "subscript_expression":
        return
    left = function.text(assignment[0])
    array = function.known_at(node).get(left.partition("[")[0])
    if array is None or array.role != "array" or array.start != function.body.start_byte:
        return
    loops = [a for a in nodes.ancestors(node, function.body) if a.type == "for_statement"]
    words = function.parsed.words(assignment[0])
    counted = [(loop, _counter(function, loop)) for loop in loops]
    summed = [loop for loop, name in counted if name and name not in words]
    if not summed:
        return
    outer = summed[-1]
    heads = []
    for loop, name in reversed(counted):
        body = loop.child_by_field_name("body")
        if loop.start_byte > outer.start_byte and name in words and body is not None:
            heads.append(function.parsed.data[loop.start_byte : body.start_byte].decode(errors="replace").rstrip())
    zeroed = f"{' '.join([*heads, left])} = {zero_of(array.type)};\n{function.indent(outer)}"
    edits: tuple[Edit, ...] = (function.inserted(outer.start_byte, zeroed),)
    if outer.parent is None or outer.parent.type != "compound_statement":
        edits = (function.inserted(outer.start_byte, "{ " + zeroed), function.inserted(outer.end_byte, " }"))
    yield Change("initial_value", function.line(outer), edits, 0.6, "zero", "unset")


def _counter(function: Function, loop: Node) -> str:
    """Return what a loop counts by, as its start names it."""
    start = loop.child_by_field_name("initializer")
    declarator = start.child_by_field_name("declarator") if start is not None else None
    assignment = nodes.assignment_of(start)
    return declared_name(declarator) if declarator is not None else function.text(assignment[0]) if assignment else ""


def _is_declared_before(loop: Node, variable: Variable) -> bool:
    """Whether a sum is declared right before a loop, and added to in a loop within: it may begin there anew."""
    before, body = loop.prev_named_sibling, loop.child_by_field_name("body")
    is_own = (
        before is not None and before.type == "declaration" and before.start_byte < variable.start <= before.end_byte
    )
    return is_own and body is not None and any(n.type in LOOPS for n in descendants(body))


def _is_stored_behind(function: Function, loop: Node, variable: Variable) -> bool:
    """Whether a sum is stored behind its loop, within another loop that does not reset it."""
    around = next((a for a in nodes.ancestors(loop, function.body) if a.type in LOOPS), None)
    if around is None or loop.parent is None or around.start_byte < variable.start:
        return False
    behind = (n for n in loop.parent.named_children if n.start_byte > loop.start_byte)
    values = [assignment[2] for n in behind if (assignment := nodes.assignment_of(nodes.inner_of(n))) is not None]
    is_reset = any(
        assignment[1] == "=" and function.text(assignment[0]) == variable.name
        for n in descendants(around)
        if (assignment := nodes.assignment_of(n)) is not None
    )
    return not is_reset and any(variable.name in function.parsed.words(value) for value in values)


def _goes_on(function: Function, left: Node, operator: str, right: Node) -> bool:
    """Whether what is assigned is made of what was there: `s += x`, `s = s + x`, `s = fmaf(a, b, s)`."""
    is_own = operator == "=" and right.type != "identifier" and function.text(left) in function.parsed.words(right)
    return operator == "+=" or is_own


def counted_terms(function: Function) -> Iterator[Change]:
    """Yield the number of terms of a sum in place of what it is divided by, where a condition or `continue` leaves some
    out: at the border of an array fewer elements are added."""
    sums: dict[int, tuple[Node, dict[str, Node]]] = {}
    for node in function.statements:
        added = nodes.assignment_of(nodes.inner_of(node))
        loops = [n for n in nodes.ancestors(node, function.body) if n.type in LOOPS]
        if added is None or added[1] != "+=" or added[0].type != "identifier" or not loops:
            continue
        within = [n for n in nodes.ancestors(node, loops[-1]) if n.type == "if_statement"]
        if within or any(n.type == "continue_statement" for n in descendants(loops[-1])):
            sums.setdefault(loops[-1].id, (loops[-1], {}))[1].setdefault(function.text(added[0]), node)
    name = next((n for n in ("count", "added", "terms") if n not in function.parsed.words(function.body)), "")
    for loop, statements in sums.values() if name else ():
        changing = {function.text(a[0]) for n in descendants(loop) if (a := nodes.assignment_of(n)) is not None}
        changing |= {
            word for n in descendants(loop) if n.type == "update_expression" for word in function.parsed.words(n)
        }
        divisors = []
        for node in function.nodes:
            left, right = nodes.sides_of(node) if nodes.operator_of(node) == "/" else (None, None)
            is_sum = left is not None and function.text(nodes.unbracketed(left)) in statements
            if is_sum and right is not None and node.start_byte > loop.end_byte:
                divisors.append(right)
        words = {word for divisor in divisors for word in function.parsed.words(divisor)}
        if not divisors or words & changing:
            continue
        first = min(statements.values(), key=lambda node: node.start_byte)
        is_in_block = first.parent is not None and first.parent.type == "compound_statement"
        gap = f"\n{function.indent(first)}" if is_in_block and first.start_point.row != loop.start_point.row else " "
        counted = (
            [function.inserted(first.end_byte, f"{gap}++{name};")]
            if is_in_block
            else [function.inserted(first.start_byte, "{ "), function.inserted(first.end_byte, f" ++{name}; }}")]
        )
        begun = function.inserted(loop.start_byte, f"int {name} = 0;\n{function.indent(loop)}")
        edits = (begun, *counted, *(function.replaced(divisor, name) for divisor in divisors))
        yield Change("expression", function.line(divisors[0]), edits, 1.2, "counted_terms", "counted_terms")
