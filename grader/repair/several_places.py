"""Changes that reach several places: constants, macros and array sizes that these share, and what is one idea: axes
exchanged, an array's row length, sums that nobody adds up.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from grader.repair.function import BARRIER, BUILTINS, Change, Function, Kind, Variable
from grader.repair.nodes import assignment_of, index_of, listed, named_in, operator_of, sides_of, terms_of, value_of
from grader.submission.cpp.tree import ParsedFile, declared_name, descendants, qualifiers_of
from grader.submission.lexical import Edit
from grader.submission.structs import fields_of

if TYPE_CHECKING:
    from tree_sitter import Node


_TOKEN = re.compile(r"[^\W\d]\w*|\d+\.?\d*\w*|[-+*/%<>=!&|?:]+|.", re.S)
_OTHERS = {
    "+": ("-", "*"),
    "-": ("+",),
    "*": ("+",),
    "<": ("<=",),
    "<=": ("<",),
    ">": (">=",),
    ">=": (">",),
    "/": ("%",),
}
_NUMBER = re.compile(r"\(?\s*\d[\w.]*\s*\)?")
_BLOCK = ("blockDim.x", "blockDim.y")
_OPERATOR = re.compile(r"[-+*/%]")
MAX_PAIRS = 6
MAX_VALUES = 8
"""Values that are tried for a constant."""


def constant_changes(parsed: ParsedFile, names: Collection[str], values: Mapping[str, int]) -> Iterator[Change]:
    """Other values for the constants `names` of a file, each written as one number.

    values: other numbers of the program by name: a constant may have been meant to be one of them.
    """
    for name, node in numbers_of(parsed):
        if name not in names:
            continue
        text = parsed.text(node).strip()
        value = int(re.sub(r"\D+$", "", text)) if re.fullmatch(r"\d{1,9}[uUlL]*", text) else 0
        if value < 1:
            continue
        # Of two that are large enough the nearer one is meant: 10 for 9, rather than 18.
        values_to_try = [value // 2, value + 1, 2 * value, value - 1, *values.values()]
        usable = [other for other in dict.fromkeys(values_to_try) if other > 0 and other != value][:MAX_VALUES]
        for place, other in enumerate(usable):
            edit = replaced_in(parsed, node, str(other))
            yield Change("constant", node.start_point.row + 1, (edit,), 1.9 + 0.1 * place, "constant")


_HALVED = re.compile(r".*(?:/=\s*2|>>=\s*1)\s*|.*=\s*\w+\s*(?:/\s*2|>>\s*1)\s*")
_HALF = re.compile(r"\s*\(?\s*([\w.]+)\s*\)?\s*(?:/\s*2|>>\s*1)\s*")


def tree_changes(parsed: ParsedFile) -> Iterator[Change]:
    """Yield the powers of two beside the size of a block in which a loop halves the number of threads: of an odd number
    half leaves one out."""
    nodes = list(descendants(parsed.root))
    loops = [node.start_point.row + 1 for node in nodes if _halves(parsed, node)]
    blocks = (
        [parts[1] for n in nodes if n.type == "kernel_call_syntax" and len(parts := listed(n)) > 1] if loops else []
    )
    words = {word for block in blocks for word in parsed.words(block)}
    places = [(node, [node]) for name, node in numbers_of(parsed) if name in words]
    for block in {parsed.text(n): n for n in blocks if n.type == "number_literal"}.values():
        places.append(
            (block, [n for n in nodes if n.type == "number_literal" and parsed.text(n) == parsed.text(block)])
        )
    for node, same in places:
        text = parsed.text(node).strip()
        value = int(text) if text.isdigit() else 0
        lower = 1 << (value.bit_length() - 1) if value > 2 else value
        for other in (2 * lower, lower) if lower != value else ():
            below = [n for n in nodes if n.type == "number_literal" and parsed.text(n) == str(value - 1)]
            edits = [replaced_in(parsed, n, str(other)) for n in same]
            edits += [
                replaced_in(parsed, n, str(other - 1))
                for n in below
                if node.type == "number_literal" and same != [node]
            ]
            if other <= 1024:
                yield Change("constant", node.start_point.row + 1, tuple(edits), 0.3, "constant", "halved", loops[0])


def _halves(parsed: ParsedFile, node: Node) -> bool:
    start, update = node.child_by_field_name("initializer"), node.child_by_field_name("update")
    if node.type != "for_statement" or start is None or update is None:
        return False
    value = next((v for n in (start, *descendants(start)) if (v := value_of(n)) is not None), None)
    return value is not None and bool(_HALVED.fullmatch(parsed.text(update)) and _HALF.fullmatch(parsed.text(value)))


def macro_changes(parsed: ParsedFile, names: Collection[str], sizes: Collection[str]) -> Iterator[Change]:
    """Macros that are no mere number: a parameter in another's place, two exchanged; another name, operator or number.

    sizes: names that stand for sizes wherever the macros are used.
    """
    for item in parsed.items:
        node = item.node
        body, parameter_list = node.child_by_field_name("value"), node.child_by_field_name("parameters")
        if item.kind != "macro" or item.name not in names or not item.active or body is None:
            continue
        if parameter_list is None and _NUMBER.fullmatch(parsed.text(body).strip()):
            continue
        parameters = (
            [parsed.text(n) for n in parameter_list.named_children if n.type == "identifier"] if parameter_list else []
        )
        line = node.start_point.row + 1
        bodies = {parsed.text(body).strip()}
        for kind, text, cost, detail in [
            *_bodies(parsed.text(body), parameters),
            *_names(parsed, body, parameters, sizes),
        ]:
            if text.strip() not in bodies:
                bodies.add(text.strip())
                yield Change(kind, line, (replaced_in(parsed, body, text),), cost, "macro", detail)


def _names(
    parsed: ParsedFile, body: Node, parameters: Collection[str], sizes: Collection[str]
) -> Iterator[tuple[Kind, str, float, str]]:
    tokens = _TOKEN.findall(parsed.text(body))
    for place, token in enumerate(tokens):
        before, base = "".join(tokens[place - 1 : place]), "".join(tokens[max(0, place - 2) : place - 1])
        replacements: Collection[str] = ()
        cost = 1.4
        if before in (".", "->"):
            replacements = OTHER.get(token, "") if base in BUILTINS else _members_beside(parsed, token)
        elif token in sizes and token not in parameters:
            after = "".join(tokens[place + 1 : place + 2])
            replacements = () if after in (".", "->", "(") else [name for name in (*sizes, *_BLOCK) if name != token]
            cost = 1.9
        for other in replacements:
            yield "index", "".join([*tokens[:place], other, *tokens[place + 1 :]]), cost, "macro_name"


def _members_beside(parsed: ParsedFile, name: str) -> list[str]:
    members: dict[str, None] = {}
    for item in parsed.items:
        fields = fields_of(parsed, item.name) if item.kind in ("type", "variable") and item.active else ()
        own = next((field for field in fields if field.name == name), None)
        if own is not None:
            members |= dict.fromkeys(f.name for f in fields if f.type_text == own.type_text and f.name != name)
    return list(members)


def _bodies(text: str, parameters: Collection[str]) -> Iterator[tuple[Kind, str, float, str]]:
    tokens = _TOKEN.findall(text)
    used = [name for name in parameters if name in tokens]
    bare = text.strip()
    if _OPERATOR.search(bare) and not (bare.startswith("(") and _closes(bare) == len(bare)):
        inside = "".join(f"({token})" if token in used else token for token in tokens)
        yield "expression", f"({bare})", 0.4, "parentheses"
        yield "expression", f"({inside})", 0.5, "parentheses"
    elif used and _OPERATOR.search(bare):
        inside = "".join(f"({token})" if token in used else token for token in tokens)
        yield "expression", inside, 0.7, "parentheses"
    for first, one in enumerate(used):
        for other in used[first + 1 :]:
            swap = {one: other, other: one}
            yield "index", "".join(swap.get(token, token) for token in tokens), 1.2, "macro"
    for place, token in enumerate(tokens):
        replacements: list[tuple[Kind, str, float]] = []
        if token in used:
            replacements = [("index", name, 1.7) for name in parameters if name != token]
        elif token in _OTHERS:
            replacements = [("expression", other, 1.1 if token in "<=>=" else 2.2) for other in _OTHERS[token]]
        elif token.isdigit():
            replacements = [("expression", str(int(token) + step), 2.0) for step in (1, -1) if int(token) + step >= 0]
        for kind, other, cost in replacements:
            yield kind, "".join([*tokens[:place], other, *tokens[place + 1 :]]), cost, "macro"


def _closes(text: str) -> int:
    """Return the number of characters up to the bracket that closes the first one, inclusive."""
    depth = 0
    for place, sign in enumerate(text, start=1):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return place
    return 0


def numbers_of(parsed: ParsedFile) -> Iterator[tuple[str, Node]]:
    """Yield the constants of a file that are given a number: `#define N 16`, `const int N = 16`."""
    for item in parsed.items:
        if item.kind == "macro" and item.active and item.node.child_by_field_name("parameters") is None:
            value = item.node.child_by_field_name("value")
            if value is not None:
                yield item.name, value
        elif item.kind == "variable" and item.active:
            for node in descendants(item.node):
                value = value_of(node)
                if value is not None and value.type == "number_literal":
                    yield declared_name(node), value


def replaced_in(parsed: ParsedFile, node: Node, text: str) -> Edit:
    """Return the edit that puts `text` in the place of a node of a file, outside of all functions."""
    start = len(parsed.data[: node.start_byte].decode("utf-8", errors="replace"))
    whole = parsed.text(node)
    # A macro's body reaches to the end of its line, spaces in front of it included.
    lead = len(whole) - len(whole.lstrip())
    return Edit(start + lead, start + len(whole.rstrip()), text.strip())


def array_changes(function: Function) -> Iterator[Change]:
    """Yield other sizes for shared arrays, in order of the text."""
    for node in function.nodes:
        if node.type != "declaration" or "__shared__" not in qualifiers_of(node):
            continue
        sizes = _sizes(node)
        texts = [function.text(size) for size in sizes]
        if len(node.children_by_field_name("declarator")) == 1:
            yield from _padding_moved(function, sizes)
        for size, (is_row, has_rows) in _axes_of_sizes(node):
            yield from _size_changes(function, size, is_row and has_rows, texts)


def _padding_moved(function: Function, sizes: list[Node]) -> Iterator[Change]:
    """`tile[T + 1][T]` as `tile[T][T + 1]`; sizes: of one array, the fastest axis first."""
    for size in sizes[1:]:
        text = function.text(size)
        base = text.removesuffix("1").rstrip().removesuffix("+").rstrip()
        if text.endswith("1") and base != text.removesuffix("1").rstrip():
            edits = (function.replaced(sizes[0], f"{function.text(sizes[0])} + 1"), function.replaced(size, base))
            yield Change("padding", function.line(size), edits, 1.8, "array", "moved")


def _sizes(node: Node) -> list[Node]:
    return [size for size, _axis in _axes_of_sizes(node)]


def _axes_of_sizes(node: Node) -> Iterator[tuple[Node, tuple[bool, bool]]]:
    """Yield the sizes of a declaration's arrays: whether each is the fastest axis, and whether there are others."""
    for declarator in node.children_by_field_name("declarator"):
        fastest, sizes = True, []
        current: Node | None = declarator
        while current is not None and current.type == "array_declarator":
            size = current.child_by_field_name("size")
            if size is not None:
                sizes.append((size, fastest))
            fastest, current = False, current.child_by_field_name("declarator")
        for size, is_fastest in sizes:
            yield size, (is_fastest, len(sizes) > 1)


def _size_changes(function: Function, size: Node, is_row: bool, texts: list[str]) -> Iterator[Change]:
    text, line = function.text(size), function.line(size)
    kind: Kind = "padding" if is_row else "array_size"
    base = text.removesuffix("+ 1").removesuffix("+1").strip()
    options = [(f"{text} + 1", 2.2)]
    if base != text:
        options.append((base, 2.6))
    mentioned = function.parsed.words(size)
    variables: dict[str, Variable] = function.known_at(size)
    for variable in variables.values():
        if variable.role == "size" and variable.name not in mentioned and variable.start == 0:
            options += [(f"{text} + 2 * {variable.name}", 2.4), (f"{text} + {variable.name}", 3.2)]
    left, right = sides_of(size)
    if operator_of(size) == "+" and left is not None and right is not None:
        # Of two terms the last is what lies beside the elements, on either side of them.
        options += [(f"{before}2 * {name}{after}", cost) for before, name, after, cost in _halos(function, left, right)]
    if operator_of(size) == "/" and left is not None and left.type == "identifier":
        options.append((function.text(left), 1.8))
    options += [(other, 2.6) for other in dict.fromkeys(texts) if other != text]
    if text.isdigit():
        options += [(f"{text} + 2", 3.6), (f"{text} + 4", 3.8)]
    for option, cost in options:
        yield function.replacement(kind, size, option, cost, "array", line=line)


def _halos(function: Function, left: Node, right: Node) -> Iterator[tuple[str, str, str, float]]:
    """Yield each of two names that a size is the sum of: before it, itself, behind it, and what doubling it costs."""
    one, other = function.text(left), function.text(right)
    if left.type == right.type == "identifier" and one != other:
        yield f"{one} + ", other, "", 2.0
        yield "", one, f" + {other}", 2.5


OTHER = {"x": "y", "y": "x"}


def idea_changes(function: Function) -> Iterator[Change]:
    """Yield the changes of several places that are one idea, in order of the text."""
    yield from _axes_exchanged(function)
    yield from _names_together(function)
    yield from _tiles(function)
    yield from _row_lengths(function)
    yield from _lost_sums(function)
    yield from _global_indices(function)
    yield from _indices_exchanged(function)
    yield from _exchanged_in_access(function)


def _indices_exchanged(function: Function) -> Iterator[Change]:
    """Two indices exchanged throughout a statement that accesses two arrays with both."""
    for node in function.statements:
        if node.type not in ("if_statement", "expression_statement") or BARRIER in function.text(node):
            continue
        variables = function.known_at(node)
        inside = [n for n in descendants(node) if n.type == "identifier"]
        accesses = [a.words for a in function.accesses if _holds(node, a.node)]
        words = {word for of_access in accesses for word in of_access}
        names = sorted(word for word in words if word in variables and variables[word].role == "index")
        pairs = [pair for pair in combinations(names, 2) if sum(words >= {*pair} for words in accesses) > 1]
        for one, other in pairs[:MAX_PAIRS]:
            swap = {one: other, other: one}
            edits = tuple(function.replaced(n, swap[t]) for n in inside if (t := function.text(n)) in swap)
            if len(edits) > 2:
                yield Change("index", function.line(node), edits, 1.9, "exchange", "exchanged")


def _exchanged_in_access(function: Function) -> Iterator[Change]:
    """Two indices exchanged in one access, `out[(m * n + j) * n + i]`."""
    for access in function.accesses:
        indices = {v.name for v in function.known_at(access.node).values() if v.role == "index"}
        inside = [n for n in descendants(access.node) if n.type == "identifier"]
        count = Counter(function.text(n) for n in inside)
        places = {t: n for n in inside if count[t := function.text(n)] == 1 and t in indices}
        for one, other in [*combinations(places, 2)][:MAX_PAIRS]:
            yield Change("index", access.line, function.exchanged(places[one], places[other]), 1.9, "exchange")


def _holds(outer: Node, inner: Node) -> bool:
    return outer.start_byte <= inner.start_byte and inner.end_byte <= outer.end_byte


def _axes_exchanged(function: Function) -> Iterator[Change]:
    """X and y exchanged in two indices that are computed in a row: of blocks, or of threads too."""
    for one, two in pairwise(_made(function)):
        places = [axis_places(function, one), axis_places(function, two)]
        axes = [{function.text(n) for _base, n in of_index} for of_index in places]
        if any(len(of_index) != 1 for of_index in axes) or axes[0] == axes[1] or not axes[0] | axes[1] <= OTHER.keys():
            continue
        everything = [*places[0], *places[1]]
        blocks = [place for place in everything if place[0] in ("blockIdx", "gridDim", "blockDim")]
        line, last = function.line(one), function.line(two)
        detail = {0: "axes", 1: "axes_next"}.get(last - line)
        if detail is None:
            continue
        for chosen, cost in ((blocks, 1.6), (everything, 1.7)):
            edits = tuple(function.replaced(node, OTHER[function.text(node)]) for _base, node in chosen)
            if len(edits) > 1:
                yield Change("index", line, edits, cost, "axis", detail)


def axis_places(function: Function, node: Node) -> list[tuple[str, Node]]:
    """The axes of blocks and threads that something is made of: of which variable, and where its letter stands."""
    places = []
    for part in descendants(node):
        base, field = part.child_by_field_name("argument"), part.child_by_field_name("field")
        if part.type == "field_expression" and base is not None and field is not None:
            name = function.text(base)
            if name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
                places.append((name, field))
    return places


def _names_together(function: Function) -> Iterator[Change]:
    """One size for another in two indices that are made one after the other: `r = i / rows`, `c = i % rows`."""
    for one, two in pairwise(_made(function)):
        line, last = function.line(one), function.line(two)
        detail = {0: "", 1: "names_next"}.get(last - line)
        if detail is None:
            continue
        sizes = {name: v for name, v in function.known_at(one).items() if v.role == "size"}
        used = [{n: function.text(n) for n in named_in(part)} for part in (one, two)]
        for name in sorted(sizes.keys() & set(used[0].values()) & set(used[1].values())):
            origin = _origin(function, sizes[name])
            places = [node for names in used for node, text in names.items() if text == name]
            for other in sorted(n for n, v in sizes.items() if n != name and _origin(function, v) == origin):
                edits = tuple(function.replaced(node, other) for node in places)
                yield Change("index", line, edits, 1.2, "size", detail)


def _origin(function: Function, variable: Variable) -> int:
    """Return where a size comes from: 0 the file, 1 the caller, 2 the function itself."""
    body = function.body.start_byte
    return (variable.start >= body) + (variable.start > body)


def _made(function: Function) -> list[Node]:
    return [n for n in function.nodes if n.type in ("init_declarator", "assignment_expression")]


def _tiles(function: Function) -> Iterator[Change]:
    """The tile of B loaded as that of A is: `by * S + ty, t * S + tx` for `t * S + ty, bx * S + tx`, or the reverse.

    What is multiplied by the same side in two indices that follow each other, or in one of an array: one comes from the
    block, one from the loop over tiles.
    """
    assignments = _made(function)
    blocks = _block_indices(function)
    subscripts = [access.node.child_by_field_name("indices") for access in function.accesses]
    groups = [
        *(list(pair) for pair in pairwise(assignments)),
        *([node] for node in [*assignments, *subscripts] if node is not None),
    ]
    for parts in groups:
        scaled = [node for part in parts for node in _scaled(function, part)]
        if len(scaled) != 2 or function.line(scaled[1][0]) - function.line(scaled[0][0]) > 1:
            continue
        (one, side), (two, other_side) = scaled
        axes = [blocks.get(function.text(node).replace(" ", "")) for node in (one, two)]
        axis = axes[0] or axes[1]
        block, moved = (one, two) if axes[0] is not None else (two, one)
        if side != other_side or axis is None or None not in axes or moved.type != "identifier":
            continue
        turned = next(name for name, other in blocks.items() if other == OTHER[axis])
        edits = (function.replaced(block, function.text(moved)), function.replaced(moved, turned))
        yield Change("index", function.line(one), edits, 0.9, "axis", "tile")


def _block_indices(function: Function) -> dict[str, str]:
    """What stands for a block's index, with its axis: variables that are given it, then `blockIdx.x` itself."""
    axes = {}
    for node in function.nodes:
        name, value = node.child_by_field_name("declarator"), node.child_by_field_name("value")
        text = function.text(value).replace(" ", "") if node.type == "init_declarator" and value is not None else ""
        if name is not None and text in ("blockIdx.x", "blockIdx.y"):
            axes[function.text(name)] = text[-1]
    return axes | {"blockIdx.x": "x", "blockIdx.y": "y"}


def _scaled(function: Function, part: Node) -> list[tuple[Node, str]]:
    """The factors `X` of products `X * side`, X being a name or a component, and the sides."""
    factors = []
    for node in descendants(part):
        left, right = sides_of(node)
        if operator_of(node) == "*" and left is not None and right is not None:
            factors += [(left, function.text(right))] if left.type in ("identifier", "field_expression") else []
    return factors


def _row_lengths(function: Function) -> Iterator[Change]:
    """`a[row * p + col]` with the row length that the same array has in another line."""
    lengths: list[tuple[str, int, Node]] = []
    for access in function.accesses:
        index = index_of(access.node)
        for node in descendants(index) if index is not None else ():
            right = node.child_by_field_name("right")
            if operator_of(node) == "*" and right is not None:
                lengths.append((access.array, access.line, right))
    for array, line, length in lengths:
        other_lengths = {function.text(n) for name, _line, n in lengths if name == array} - {function.text(length)}
        for other in sorted(other_lengths):
            yield function.replacement("index", length, other, 1.6, "pitch", line=line)


def _lost_sums(function: Function) -> Iterator[Change]:
    """`out[i] = s0 + s1` where another sum `s2` is added to, and never used."""
    names = Counter(function.text(n) for n in function.nodes if n.type == "identifier")
    added: Counter[str] = Counter()
    stores = []
    for left, operator, right in filter(None, map(assignment_of, function.nodes)):
        if left.type == "identifier" and operator == "+=":
            added[function.text(left)] += 1
        elif left.type == "subscript_expression" and all(term.type == "identifier" for _sign, term in terms_of(right)):
            stores.append(right)
    for name, count in added.items():
        # Its declaration and what is added to it are all that mentions it.
        if names[name] != count + 1:
            continue
        for stored in stores:
            names_stored = {function.text(term) for _sign, term in terms_of(stored)}
            if names_stored <= added.keys() and name in function.known_at(stored):
                line = function.line(stored)
                yield function.insertion("expression", stored.end_byte, f" + {name}", 1.4, "lost", "lost", line=line)


_OF_ONE = re.compile(r"(?:blockIdx|threadIdx)\.(?P<axis>[xyz])")


def _global_indices(function: Function) -> Iterator[Change]:
    """The index within the whole grid in place of that of the block, or of the thread within its block: first where
    the kernel asks for the number of no block."""
    text = function.text(function.body)
    for node in function.nodes:
        value = value_of(node)
        alone = _OF_ONE.fullmatch("".join(function.text(value).split())) if value is not None else None
        if value is None or alone is None:
            continue
        axis = alone["axis"]
        is_left_out = function.is_kernel and f"blockIdx.{axis}" not in text
        if axis == "x" or is_left_out:
            edit = function.replaced(value, f"blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}")
            yield Change("index", function.line(node), (edit,), -0.6 if is_left_out else 2.4, "global_index")
