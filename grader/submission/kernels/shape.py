"""What a kernel's own text tells of its launch: tile, block, whether shared arrays are padded."""

from __future__ import annotations

import re
from math import isqrt
from typing import TYPE_CHECKING

from grader.devices import MAX_THREADS_PER_BLOCK
from grader.submission.cpp.constants import SIZES_OF_TYPES, Constants, Lookup
from grader.submission.cpp.scopes import argument_of
from grader.submission.cpp.syntax import Expression, Number
from grader.submission.cpp.tree import WORD, ParsedFile, descendants, text_without_comments
from grader.submission.kernels.kernel import local_values
from grader.submission.kernels.records import Kernel
from grader.submission.lexical import spend_on

if TYPE_CHECKING:
    from tree_sitter import Node

AXES = ("x", "y", "z")

# As cooperative groups call them: `block.group_index().x`.
_GROUPS = {"group_index": "blockIdx", "thread_index": "threadIdx", "group_dim": "blockDim", "dim_threads": "blockDim"}
_OF_GROUP = re.compile(
    r"\b\w+(?:\s*::\s*\w+)*+(?:\s*\(\s*\))?\s*\.\s*(group_index|thread_index|group_dim|dim_threads)\s*\(\s*\)"
)

_SIDES = frozenset({8, 16, 32, 64})

_ALIAS = re.compile(r"\b(\w+)\s*=\s*(blockIdx|blockDim)\s*\.\s*([xyz])\s*[;,]")
# Each begins where a word does and is taken whole: a text of one long word is gone through once.
_FACTOR = r"(?:(?<![\w.])[\w.]++|\([^()]*+\))"
_TILE_NAME = re.compile(r"(?i)tile|block|dim|thread|bs|ts")
# `tile[ty * (T + 1) + tx]`: a pitch that is one more than a tile's side, in an array of one dimension.
_PITCH = r"\(\s*+[\w.]++\s*+\+\s*+(?:\d++(?!\w)|(?=\w*?pad)\w++)\s*+\)"
_PADDED_PITCH = re.compile(rf"\*\s*{_PITCH}|{_PITCH}\s*\*", re.IGNORECASE)
# The same with a name: `const int ld = blockDim.x + 1;`, then `tile[ty * ld + tx]`.
_NAMED_PITCH = re.compile(r"(?i)\b(\w++)\s*+=\s*+([\w.]++\s*+\+\s*+(?:1(?!\w)|(?=\w*?pad)\w++))\s*+[;,]")
# `tile[y][(x + y) % 32]`: each row turned by another number of elements.
_TURNED = re.compile(r"\(\s*+([\w.]++)\s*+\+\s*+(?!\d)([\w.]++)\s*+\)\s*+(?:%|&(?!&))\s*+[\w(]")


_USED = re.compile(r"\b[^\W\d]\w*+(?!\s*+=[^=])")
_ADDED = re.compile(r"\b(\w++)(?=\s*+\+\s*+([\w.]++))")

# `in[i - 1]`, `in[i + 1]`; `for (int k = -R; …)`, `for (int k = -WIDTH / 2; …)`.
_NEIGHBOUR = re.compile(r"\b(\w++)\s*+([+-])\s*+(\d{1,2}+)\s*+\]")
_WINDOW = re.compile(r"=\s*+-\s*+\(?\s*+(\w++)(\s*+/\s*+2\b)?+")
_MAX_REACH = 16
_MAX_REACHES = 4

_SUBSCRIPT = re.compile(r"\b(\w++)\s*+\[([^\[\]]*+)\]")

# `y` in `int y = blockIdx.y * TILE + threadIdx.y`.
_THREAD_NUMBER = re.compile(r"\b([A-Za-z_]\w*)\s*=[^;={}]*\bblockIdx\s*\.\s*x\b[^;{}]*;")
_ROW = re.compile(r"\b(\w+)\s*=[^=;,]*\bthreadIdx\s*\.\s*y\b")


class KernelShape:
    """The clues in one kernel's body."""

    def __init__(self, parsed: ParsedFile, kernel: Kernel, template_values: dict[str, str]) -> None:
        self.kernel = kernel
        self.constants: Constants = parsed.constants
        self._template_values = template_values
        body = parsed.functions[kernel.name].node.child_by_field_name("body")
        self.values: Lookup = dict[str, Expression]().get
        self.text = self._elsewhere = ""
        self._strides: list[tuple[str, str]] = []
        self._has_xor = False
        if body is not None:
            self.text = _OF_GROUP.sub(lambda match: _GROUPS[match[1]], text_without_comments(parsed, body))
            self.values = _with_templates(parsed, local_values(parsed, body), template_values)
            self._strides = [_step(parsed, n) for n in descendants(body) if _is_step(parsed, n)]
            self._has_xor = any(
                n.type == "binary_expression" and any(c.type == "^" for c in n.children) for n in descendants(body)
            )
        self._elsewhere = _elsewhere(parsed, kernel, template_values)
        aliases = {alias: f"{variable}.{axis}" for alias, variable, axis in _ALIAS.findall(self.text)}
        if aliases:
            self.text = _USED.sub(lambda word: aliases.get(word.group(), word.group()), self.text)
        self._added: dict[str, list[str]] = {}
        for name, added in _ADDED.findall(self.text):
            self._added.setdefault(name, []).append(added)
        spend_on(10 * len(self.text))

    def covered(self, axis: int, block: tuple[int, int, int]) -> int | None:
        """Elements that a block covers along a grid axis: what the kernel multiplies `blockIdx` by, for this block."""
        index = rf"blockIdx\s*\.\s*{AXES[axis]}\b"
        match = re.search(rf"{index}\s*\*\s*({_FACTOR})|({_FACTOR})\s*\*\s*{index}", self.text)
        if match is None:
            return None
        threads: dict[str, Expression] = {f"blockDim.{name}": Number(block[i]) for i, name in enumerate(AXES)}
        value = self.constants.integer(
            match.group(1) or match.group(2), lambda name: threads.get(name) or self.values(name)
        )
        return value if value is not None and 0 < value <= 1 << 20 else None

    @property
    def is_flat(self) -> bool:
        """Whether the kernel numbers its threads along one axis: `blockIdx.x * blockDim.x + threadIdx.x`, no y."""
        return self.covered(0, (1, 1, 1)) is not None and not re.search(
            r"\b(?:blockIdx|threadIdx)\s*\.\s*[yz]\b", self.text
        )

    @property
    def numbers_elements(self) -> bool:
        """Whether the number of a thread is an element's, of all rows: it is divided, or held against a product."""
        for name in set(_THREAD_NUMBER.findall(self.text)):
            if re.search(rf"\b{name}\s*(?:[/%](?!=)|(?:<|>=)\s*\(?\s*\w+\s*\*\s*\w)", self.text):
                return True
        return False

    def rows_at_a_time(self, side: int) -> int | None:
        """Rows that a block of fewer rows than its tile steps by: `for (j = 0; j < TILE; j += ROWS)`."""
        rows = {"threadIdx.y", *_ROW.findall(self.text)}
        for name, text in self._strides:
            step = self.constants.integer(text, self.values)
            if step is None or not 1 < step < side or side % step:
                continue
            # `k + 1`, `k + u`: a sum that is unrolled by so many steps, not rows of a tile.
            if all(word in rows for word in self._added.get(name, ())):
                return step
        return None

    def side(self) -> int | None:
        """The side of the square tile in shared memory or, without one, of what `blockIdx` is multiplied by."""
        for array in self.kernel.shared_arrays:
            dims = array.dims
            if array.dynamic or not dims or None in dims:
                continue
            numbers = [d for d in dims if d is not None]
            if len(numbers) >= 2 and 0 <= numbers[-1] - numbers[-2] <= 16:
                return numbers[-2]
            if len(numbers) == 1:
                root = isqrt(numbers[0])
                if root >= 2 and numbers[0] in (root * root, root * (root + 1)):
                    return root
        side = self.covered(0, (0, 0, 0))
        return side if side is not None and side <= 256 else None

    def width(self) -> int | None:
        """Threads of a block in one dimension: the kernel's largest constant named like a tile that fits its arrays.

        A template's parameter is such a constant too.
        """
        sizes = [d for a in self.kernel.shared_arrays for d in a.dims if d is not None and not a.dynamic]
        widths = []
        for name in set(WORD.findall(self.text)):
            if _TILE_NAME.search(name) and (name in self.constants.macros or self._is_constant(name)):
                value = self.constants.integer(name, self.values)
                if value is not None and 1 < value <= MAX_THREADS_PER_BLOCK and (not sizes or value <= max(sizes)):
                    widths.append(value)
        return max(widths, default=None)

    def reaches(self) -> tuple[int, ...]:
        """How many neighbours on either side it may read, the likeliest first; 0 before those that are a mere guess."""
        beside = set(_NEIGHBOUR.findall(self.text))
        both = [int(count) for name, sign, count in beside if sign == "+" and (name, "-", count) in beside]
        found = [max(both)] if both else []
        for name, half in _WINDOW.findall(self.text):
            value = self.constants.integer(name, self.values)
            found.append((value or 0) // 2 if half else value or 0)
        found = [reach for reach in found if 0 < reach <= _MAX_REACH] or [0]
        for name in sorted(set(WORD.findall(self.text))):
            if name in self.constants.macros or self._is_constant(name):
                value = self.constants.integer(name, self.values) or 0
                found += [reach for reach in (value, value // 2 * (value % 2)) if 0 < reach <= _MAX_REACH]
        return tuple(dict.fromkeys(found))[:_MAX_REACHES]

    def _is_constant(self, name: str) -> bool:
        return name in self.constants.values or name in self._template_values

    @property
    def is_pointwise(self) -> bool:
        """Whether its arrays have one subscript only, the same in all, and no loop goes through them."""
        arrays = {p.name for p in self.kernel.parameters if p.is_pointer}
        if len(arrays) < 2 or self.kernel.uses_shared or self.kernel.loops:
            return False
        used = [(name, "".join(subscript.split())) for name, subscript in _SUBSCRIPT.findall(self.text)]
        return {name for name, _ in used} == arrays and len({subscript for _, subscript in used}) == 1

    @property
    def is_padded(self) -> bool:
        """Whether rows of some shared array begin in other banks, by its pitch or by how it is indexed."""
        if not self.kernel.uses_shared:
            return False
        for array in self.kernel.shared_arrays:
            if len(array.dims) >= 2:
                columns, rows = array.dims[-1], array.dims[-2]
                if columns is not None and rows is not None and columns != rows and columns % 32:
                    return True
                if columns is not None and columns == rows and columns - 1 in _SIDES:
                    # `[33][33]` for a block of 32: a row longer as well, which does no harm.
                    return True
            elif array.dims and array.dims[0] is not None:
                root = isqrt(array.dims[0])
                if root >= 2 and array.dims[0] == root * (root + 1):
                    return True
        dynamic = any(array.dynamic or len(array.dims) == 1 for array in self.kernel.shared_arrays)
        swizzles = self._has_xor or "^" in self._elsewhere or self._turns_rows
        return swizzles or (dynamic and self._has_padded_pitch)

    @property
    def pads_rows(self) -> bool:
        """Whether a shared array has a row or so more than its rows have elements: padding in the wrong dimension."""
        pairs = ((a.dims[-2], a.dims[-1]) for a in self.kernel.shared_arrays if len(a.dims) >= 2)
        return any(rows is not None and columns is not None and 1 <= rows - columns <= 4 for rows, columns in pairs)

    def is_padded_by(self, shared_bytes: int, block: tuple[int, int, int]) -> bool:
        """Whether so many bytes of dynamic shared memory are a square tile as wide as the block, a row longer."""
        item = next((SIZES_OF_TYPES.get(a.dtype or "", 0) for a in self.kernel.shared_arrays if a.dynamic), 0)
        return block[0] in _SIDES and shared_bytes == block[0] * (block[0] + 1) * item > 0

    @property
    def _has_padded_pitch(self) -> bool:
        if _PADDED_PITCH.search(self.text) is not None or _PADDED_PITCH.search(self._elsewhere) is not None:
            return True
        named = {name for name, _pitch in _NAMED_PITCH.findall(self.text)}
        return any(re.search(rf"\*\s*{name}\b|(?<![\w.]){name}\s*\*", self.text) for name in named)

    @property
    def _turns_rows(self) -> bool:
        """Whether a shared array's last subscript is the sum of two indices, modulo something."""
        for array in self.kernel.shared_arrays:
            for place in re.finditer(rf"\b{re.escape(array.name)}\s*+\[", self.text):
                turned = _TURNED.search(self.text, place.end(), place.end() + 120)
                if turned is not None and turned[1] != turned[2] and ";" not in self.text[place.end() : turned.start()]:
                    return True
        return False


def _elsewhere(parsed: ParsedFile, kernel: Kernel, template_values: dict[str, str]) -> str:
    """The text of the functions that a kernel calls, and of the structs that its template is launched with."""
    words = parsed.words(parsed.functions[kernel.name].node)
    items = [parsed.functions[name] for name in sorted(words & parsed.functions.keys())]
    called = [item.node for item in items if item.is_device and not item.is_kernel]
    names = {value.rpartition("::")[2] for value in template_values.values()}
    types = [i.node for name in sorted(names) for i in parsed.by_name.get(name, ()) if i.kind == "type" and i.active]
    return "\n".join(text_without_comments(parsed, node) for node in (*called, *types))


def _with_templates(parsed: ParsedFile, values: Lookup, template_values: dict[str, str]) -> Lookup:
    of_template = {name: argument_of(parsed.constants, text) for name, text in template_values.items()}
    return lambda name: of_template.get(name) or values(name)


def _is_step(parsed: ParsedFile, node: Node) -> bool:
    operator = node.child_by_field_name("operator")
    return node.type == "assignment_expression" and operator is not None and parsed.text(operator) == "+="


def _step(parsed: ParsedFile, node: Node) -> tuple[str, str]:
    """What is raised, and by how much."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    return parsed.text(left) if left is not None else "", parsed.text(right) if right is not None else ""
