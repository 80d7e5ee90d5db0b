"""What a kernel's own text tells: of its launch (tile, block, padded rows), and whether it is like one of the lab's
kernels or one of another task, by what it does and what it is called."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING, Literal

from grader.devices import MAX_THREADS_PER_BLOCK
from grader.errors import UsageError
from grader.lab.records import Lab, Variant
from grader.submission.binding.roles import HEIGHT, WIDTH
from grader.submission.cpp.constants import SIZES_OF_TYPES, Constants, Lookup
from grader.submission.cpp.parse import parse
from grader.submission.cpp.scopes import argument_of
from grader.submission.cpp.syntax import Expression, Number
from grader.submission.cpp.tree import WORD, ParsedFile, descendants, text_without_comments
from grader.submission.kernels.kernel import kernels_in, local_values
from grader.submission.kernels.records import Kernel
from grader.submission.lexical import spend_on
from grader.submission.source import decode

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


OTHER_AXES = 4.0
STAGED = 3.0
UNLIKE = OTHER_AXES + STAGED
"""Against a variant speak both the axes of the threads and the arrays that are staged."""

SECOND_AXIS = re.compile(r"\b(?:blockIdx|threadIdx)\s*\.\s*y\b")
_STORED = re.compile(r"\b(\w+)\s*(?:\[[^\]=;]{0,120}\]\s*)+=(?!=)\s*([^;]{1,300});")
_WORD = re.compile(r"[A-Za-z_]\w*+")


@dataclass(frozen=True, slots=True)
class Profile:
    """has_rows: its threads are numbered along two axes.  staged: roles of the arrays copied to shared memory."""

    has_rows: bool
    staged: frozenset[str]


def profile_of(kernel: Kernel, shape: KernelShape, roles: Sequence[str]) -> Profile:
    """What a kernel does, whose parameters have these roles."""
    by_name = {p.name: role for p, role in zip(kernel.parameters, roles, strict=False) if p.is_pointer}
    shared = {array.name for array in kernel.shared_arrays}
    staged = {
        by_name[word]
        for target, value in _STORED.findall(shape.text)
        if target in shared
        for word in _WORD.findall(value)
        if word in by_name
    }
    macros = (shape.constants.macros.get(word) for word in set(_WORD.findall(shape.text)))
    # `#define ty threadIdx.y`
    texts = (shape.text, *(macro.body for macro in macros if macro is not None))
    return Profile(any(SECOND_AXIS.search(text) for text in texts), frozenset(staged))


def alike(lab: Lab) -> list[Variant]:
    """Variants that some other one equals in all that its record says a kernel does."""
    keys = [(variant.shared_memory, variant.padded) for variant in lab.variants]
    return [
        variant
        for variant, key in zip(lab.variants, keys, strict=True)
        if variant.shared_memory and keys.count(key) > 1
    ]


def profiles(lab: Lab) -> dict[str, Profile]:
    """Profiles of the lab's own kernels, for variants that are `alike`."""
    return {
        variant.name: profile_of(kernel, shape, variant.reference.arguments)
        for variant, kernel, shape in _references(lab, alike(lab))
    }


def likeness(profile: Profile, of_variants: Mapping[str, Profile]) -> dict[str, float]:
    """What speaks for or against each variant, by its name."""
    by_variant = {}
    for name, other in of_variants.items():
        score = 0.0 if profile.has_rows == other.has_rows else -OTHER_AXES
        if profile.staged and other.staged:
            score += STAGED if profile.staged == other.staged else -STAGED
        by_variant[name] = score
    return by_variant


_TASKS = tuple(
    re.compile(words, re.IGNORECASE)
    for words in (
        r"transpos(?!ed)",
        r"mul(?!ti)|multipl|product|gemm|squar(?!ed|e?_?(?:tile|block))|(?<![a-z])dot|(?<![a-z])mm(?![a-z])",
        r"conv(?!en|er)|blur|stencil|filter(?!ed)|smooth|mean(?!ing|while)|average(?!d)|sobel|gauss"
        r"|window|sliding|moving|halo",
        r"reduc(?!ed|ing|e_?(?:bank|conflict|traffic|load|diverg|global))|scan|prefix|sort(?!ed)|histo",
    )
)
"""What tasks are called: a word in a kernel's name.  How it is done is told by "transposed", "reduced_conflicts"."""


def is_of_another_task(name: str, lab: Lab) -> bool:
    """Whether a kernel is called as other tasks are, and not as the lab is, which is called as one of them itself."""
    of_lab = " ".join((lab.id, *lab.title.values()))
    own = [words.search(of_lab) is not None for words in _TASKS]
    named = [words.search(name) is not None for words in _TASKS]
    return any(own) and any(named) and not any(a and b for a, b in zip(own, named, strict=True))


OtherData = Literal["", "rows_and_columns", "place_by_place", "unequal_lengths"]
"""Why a kernel works on other data than the lab's, or on these in another way than any of the lab's."""


def other_data(kernel: Kernel, shape: KernelShape, lab: Lab, *, is_named: bool) -> OtherData:
    """Whether it goes through rows and columns where the lab has vectors, or joins arrays place by place where each
    element of the lab's result takes a whole row of them.

    is_named: it is called as a variant is; then it is a wrong one.
    """
    arrays = [p for p in lab.parameters if p.is_array]
    pointers = [p for p in kernel.parameters if p.is_pointer]
    if all(len(p.shape) == 1 for p in arrays) and _has_rows(kernel, shape):
        return "rows_and_columns"
    if not shape.is_pointwise:
        return ""
    # One array is to be used with itself there, as in a product.
    joins_two = any(p.twice for p in arrays) and len(pointers) > len(arrays)
    inputs = [p for p in arrays if p.is_input]
    are_matrices = len(inputs) > 1 and all(len(p.shape) > 1 for p in inputs)
    joins_all = not is_named and are_matrices and sum(p.is_read and not p.is_written for p in pointers) == len(inputs)
    return "place_by_place" if joins_two or (joins_all and not _makes_pointwise(lab)) else ""


UNEQUAL = 8
"""From this many times the elements on, a length is no size in bytes for one in elements, and no margin."""


def unequal_lengths(kernel: Kernel, elements: Mapping[str, int], lab: Lab) -> tuple[str, str] | None:
    """The input and the output that a program was seen to hand in with lengths far apart, where the lab's are of one
    length: sums of blocks, products of chains.

    elements: of each array that was seen, by the parameter's name.
    """
    arrays = [p for p in lab.parameters if p.is_array]
    read = [p.name for p in kernel.parameters if p.is_pointer and p.is_read and not p.is_written]
    written = [p.name for p in kernel.parameters if p.is_pointer and p.is_written]
    if len(arrays) != 2 or Counter(arrays[0].shape) != Counter(arrays[1].shape):
        return None
    if len(read) != 1 or len(written) != 1 or not {*read, *written} <= elements.keys():
        return None
    fewer, more = sorted((elements[read[0]], elements[written[0]]))
    return (read[0], written[0]) if 0 < UNEQUAL * fewer <= more else None


_OF_SECOND_AXIS = re.compile(r"\b(\w+)\s*=(?!=)([^=;{}]*\b(?:blockIdx|threadIdx)\s*\.\s*y\b[^=;{}]*)")
_FIRST_AXIS = re.compile(r"\b(?:blockIdx|threadIdx)\s*\.\s*x\b")
_OF_BLOCKS = re.compile(r"\bblockIdx\s*\.\s*y\b")
# `j = y - RADIUS`, in a loop over neighbours.
_BESIDE = re.compile(r"\b(\w+)\s*=\s*(\w+)\s*[+-]\s*\w+\s*[;,]")
_OF_LAUNCH = re.compile(r"(?i)block|grid|tile|thread|warp|dim")


def _has_rows(kernel: Kernel, shape: KernelShape) -> bool:
    """Whether it takes the numbers of rows and columns, or multiplies what its second axis numbers by a number that is
    handed in or a constant: `y * width`."""
    numbers = [p.name for p in kernel.parameters if not p.is_pointer]
    if SECOND_AXIS.search(shape.text) is None:
        return _is_taken_apart(shape, numbers)
    if any(map(WIDTH.fullmatch, numbers)) and any(map(HEIGHT.fullmatch, numbers)):
        return True
    names = (*shape.constants.macros, *shape.constants.values)
    constants = [name for name in names if not _OF_LAUNCH.search(name)]
    numbered = _OF_SECOND_AXIS.findall(shape.text)
    # What the first axis is added to numbers all threads or blocks: of a vector, too.
    rows = {name: value for name, value in numbered if _FIRST_AXIS.search(_first_of(value)) is None}
    of_blocks = {name for name, value in rows.items() if _OF_BLOCKS.search(value)}
    beside = _BESIDE.findall(shape.text)

    def multiplied(lengths: Iterable[str], rows: Collection[str], direct: str) -> bool:
        named = {*rows, *(name for name, row in beside if row in rows)}
        lengths = [re.escape(name) for name in lengths]
        choices = [direct, *([rf"(?<![.\w])(?:{'|'.join(sorted(named))})\b(?:\s*[+-]\s*\w+)?\s*\)?"] if named else [])]
        row, length = rf"(?:{'|'.join(choices)})", rf"\(?\s*\b(?:{'|'.join(lengths)})\b"
        product = rf"{row}\s*\*\s*{length}|{length}\s*\)?\s*\*\s*\(?\s*{row}"
        return bool(lengths) and re.search(product, shape.text) is not None

    # Within a block a constant is the block's side, whatever it is called: `threadIdx.y * BX + threadIdx.x`.
    across = r"\(\s*blockIdx\s*\.\s*y\b[^()]*\bthreadIdx\s*\.\s*y\s*\)"
    return multiplied(numbers, rows, r"\bthreadIdx\s*\.\s*y\s*\)?") or multiplied(constants, of_blocks, across)


def _first_of(values: str) -> str:
    """The value that a list of declarations gives its first name."""
    depth = 0
    for place, sign in enumerate(values):
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            return values[:place]
    return values


_NUMBERED = re.compile(r"\b(\w+)\s*=[^=;{}]*\bblockIdx\s*\.\s*x\b")
_COPIED = re.compile(r"\b(\w+)\s*=\s*\(?\s*(\w+)\s*\)?\s*[;,]")


def _is_taken_apart(shape: KernelShape, numbers: Sequence[str]) -> bool:
    """Whether the number of a thread becomes a row and a column: divided by a length, and its remainder taken.

    The length is handed in, or is a constant called a width: by others a vector is cut into pieces.
    """
    constants = (*shape.constants.macros, *shape.constants.values)
    lengths = {name for name in numbers if not _OF_LAUNCH.search(name)}
    lengths |= {name for name in constants if WIDTH.fullmatch(name)}
    copies = {name: length for name, length in _COPIED.findall(shape.text) if length in lengths}

    def divided_by(operator: str) -> set[tuple[str, str]]:
        pairs = re.findall(rf"\b(\w+)\s*{operator}\s*\(?\s*([A-Za-z_]\w*)\b", shape.text)
        return {(number, copies.get(length, length)) for number, length in pairs}

    both = divided_by("/(?!=)") & divided_by("%(?!=)")
    threads = {*_NUMBERED.findall(shape.text)}
    return any(number in threads and length in lengths for number, length in both)


def _makes_pointwise(lab: Lab) -> bool:
    """Whether a kernel of the lab's own makes each element of those in the same place: it adds matrices."""
    return any(shape.is_pointwise for _variant, _kernel, shape in _references(lab, lab.variants))


def _references(lab: Lab, variants: Sequence[Variant]) -> Iterator[tuple[Variant, Kernel, KernelShape]]:
    """The lab's own kernels, as far as they can be read: where they cannot is told where they are needed."""
    for variant in variants:
        try:
            parsed = parse(decode(variant.reference.file))
        except UsageError:
            continue
        kernel = next((k for k in kernels_in(parsed) if k.name == variant.reference.kernel), None)
        if kernel is not None:
            yield variant, kernel, KernelShape(parsed, kernel, {})
