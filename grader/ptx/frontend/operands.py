"""Names in a function body and the operands that use them.

`{ … }` opens a scope in which registers, variables and labels may hide outer ones; a `Scope` resolves a name
from the inside out.  Registers are made when first used, so a function's indices are dense although
NVRTC declares them by the hundred (`.reg .b32 %r<122>`).
"""

from __future__ import annotations

import re

from grader.ptx.frontend import nodes
from grader.ptx.frontend.declarations import parse_immediate, parse_integer
from grader.ptx.frontend.nodes import IDENTIFIER

_NAME = re.compile(IDENTIFIER, re.ASCII)
_SUM = re.compile(rf"({IDENTIFIER})\s*([+-])\s*([^\s].*)", re.ASCII | re.DOTALL)
_SPECIAL = re.compile(r"%([a-z]\w*?)(\.[xyzw])?", re.ASCII)
_SELECTED = re.compile(rf"({IDENTIFIER})\.([bh][0-7]{{1,4}}|[xyzwrgba])", re.ASCII)
_BRACKETS = re.compile(r"[{}()\[\],]")
_PAIRS = {"}": "{", ")": "(", "]": "["}

_SPECIAL_REGISTER = re.compile(
    r"""n?tid | laneid | n?warpid | n?ctaid | n?smid | gridid | is_explicit_cluster | n?clusterid
    | cluster_n?cta(?:id|rank) | lanemask_(?:eq|le|lt|ge|gt) | clock(?:_hi|64)? | globaltimer(?:_lo|_hi)?
    | (?:total|aggr|dynamic)_smem_size | reserved_smem_offset_(?:begin|end|cap|[01]) | current_graph_exec
    | envreg(?:[12]?\d|3[01]) | pm[0-7](?:_64)?""",
    re.VERBOSE | re.ASCII,
)


class OperandError(ValueError):
    """An operand that cannot be read; `text` is the part at fault, for the caret."""

    def __init__(self, message: str, text: str) -> None:
        self.text = text
        super().__init__(message)


class Scope:
    """The names of one `{ … }` of a function body.

    parent: the enclosing scope, None for the body itself.
    number: 0 for the body, else unique in the function; makes names of inner variables and labels unique.
    registers: every register of the function so far; shared by its scopes.
    """

    def __init__(self, parent: Scope | None, number: int, registers: list[nodes.Register]) -> None:
        self.parent = parent
        self.number = number
        self.labels: set[str] = set()
        self.branch_targets: dict[str, tuple[str, ...]] = {}
        self._registers = registers
        self._types: dict[str, str] = {}
        self._families: dict[str, tuple[str, int]] = {}
        self._used: dict[str, nodes.Register] = {}
        self._variables: dict[str, str] = {}
        self._operands: dict[str, nodes.Operand] = {}
        self.unresolved: dict[str, None] = {}
        """Names that no scope knows: symbols of the module, to be checked when all of it has been read."""

    def unique(self, name: str) -> str:
        """The name by which a variable or label declared here is known in the whole function."""
        return f"{name}#{self.number}" if self.number else name

    def declare_register(self, name: str, type_: str, count: int | None) -> bool:
        """Declare `name`, or `name0`…`name<count-1>`; False if the name is taken in this scope."""
        self._operands.clear()
        if count is not None:
            if name in self._families:
                return False
            self._families[name] = (type_, count)
            return True
        if name in self._types or name in self._variables:
            return False
        self._types[name] = type_
        return True

    def declare_variable(self, name: str) -> bool:
        """Declare a variable; False if the name is taken in this scope."""
        self._operands.clear()
        if name in self._types or name in self._variables:
            return False
        self._variables[name] = self.unique(name)
        return True

    def lookup(self, name: str) -> nodes.Register | str | None:
        """What a name means here: a register, a variable's unique name, or None (not declared in the function)."""
        scope: Scope | None = self
        while scope is not None:
            named = scope._used.get(name) or scope._variables.get(name) or scope._make_register(name)
            if named is not None:
                return named
            scope = scope.parent
        return None

    def _make_register(self, name: str) -> nodes.Register | None:
        type_ = self._types.get(name)
        if type_ is None:
            for prefix, (family_type, count) in self._families.items():
                digits = name[len(prefix) :]
                if (
                    name.startswith(prefix)
                    and digits.isdecimal()
                    and len(digits) < 10
                    and (digits[0] != "0" or digits == "0")
                    and int(digits) < count
                ):
                    type_ = family_type
                    break
            else:
                return None
        register = nodes.Register(len(self._registers), name, type_)
        self._registers.append(register)
        self._used[name] = register
        return register

    def operands(self, text: str) -> list[nodes.Operand]:
        """The comma-separated operands of an instruction.  Raises OperandError."""
        cached = self._operands
        result: list[nodes.Operand] = []
        parts = split_operands(text) if "{" in text or "(" in text or "[" in text else text.split(",")
        for part in parts:
            part = part.strip()
            operand = cached.get(part)
            if operand is None:
                operand = cached[part] = self.operand(part)
            result.append(operand)
        return result

    def call_operands(self, text: str) -> list[nodes.Operand]:
        """Operands of a call: returns, target, arguments (lists are Vectors, empty where left out), prototype if any.

        Raises OperandError.
        """
        parts = [part.strip() for part in split_operands(text)]
        operands = [self._vector(part) if part[:1] == "(" else self.operand(part) for part in parts]
        if not isinstance(operands[0], nodes.Vector):
            operands.insert(0, nodes.Vector(()))
        if len(operands) < 2 or not isinstance(operands[1], nodes.Symbol | nodes.Register):
            raise OperandError("cannot read the target of this call", text)
        if len(operands) == 2 or not isinstance(operands[2], nodes.Vector):
            operands.insert(2, nodes.Vector(()))
        if len(operands) > 4:
            raise OperandError("this call has too many operands", text)
        return operands

    def operand(self, text: str) -> nodes.Operand:
        """One operand.  Raises OperandError where it cannot be read or names an undeclared register."""
        if not text:
            raise OperandError("an operand is missing", "")
        first = text[0]
        if first == "{":
            return self._vector(text)
        if first == "[":
            return self._address(text)
        if text == "_":
            return nodes.Sink()
        if "|" in text and (first in "%_" or first.isalpha()):
            return nodes.Vector(tuple(self.operand(part.strip()) for part in text.split("|")))
        if _NAME.fullmatch(text):
            return self._named(text)
        if first == "!" and _NAME.fullmatch(negated := text[1:].strip()):
            return self._negated(negated, text)
        if first == "%" and (special := _SPECIAL.fullmatch(text)) and _SPECIAL_REGISTER.fullmatch(special[1]):
            return nodes.Special(text[1:])
        immediate = parse_immediate(text)
        if immediate is not None:
            return immediate
        selected = _SELECTED.fullmatch(text)
        if selected is not None and isinstance(register := self.lookup(selected[1]), nodes.Register):
            return nodes.Selected(register, selected[2])
        match = _SUM.fullmatch(text)
        if match is not None:
            base = self._named(match[1])
            offset = parse_immediate(match[3])
            if isinstance(base, nodes.Symbol) and offset is not None and offset.float_type is None:
                return nodes.Symbol(base.name, -offset.value if match[2] == "-" else offset.value)
        raise OperandError(f"cannot read the operand `{text}`", text)

    def _named(self, name: str) -> nodes.Operand:
        named = self.lookup(name)
        if isinstance(named, str):
            return nodes.Symbol(named)
        if named is not None:
            return named
        if name == "WARP_SZ":
            return nodes.Immediate(32)
        if name[0] == "%":
            if _SPECIAL_REGISTER.fullmatch(name, 1):
                return nodes.Special(name[1:])
            raise OperandError(f"the register `{name}` is not declared", name)
        self.unresolved[name] = None
        return nodes.Symbol(name)

    def _negated(self, name: str, text: str) -> nodes.Negated:
        register = self.lookup(name)
        if not isinstance(register, nodes.Register):
            raise OperandError(f"the register `{name}` is not declared", text)
        return nodes.Negated(register)

    def _vector(self, text: str) -> nodes.Vector:
        closing = "}" if text[0] == "{" else ")"
        if text[-1] != closing:
            raise OperandError(f"expected `{closing}` at the end of the operand", text)
        inner = text[1:-1].strip()
        if inner[:1] in ("{", "("):
            raise OperandError("a list within a list", text)
        return nodes.Vector(tuple(self.operands(inner)) if inner else ())

    def _address(self, text: str) -> nodes.Address | nodes.Vector:
        if text[-1] != "]":
            raise OperandError("expected `]` at the end of the address", text)
        inner = text[1:-1].strip()
        if "," in inner:
            # Texture and tensor accesses: a handle with coordinates.
            return nodes.Vector(tuple(self.operands(inner)))
        match = _SUM.fullmatch(inner)
        name, offset = inner, 0
        if match is not None:
            name = match[1]
            immediate = parse_immediate(match[3].strip())
            if immediate is None or immediate.float_type is not None:
                raise OperandError(f"cannot read the offset `{match[3]}`", match[3])
            offset = -immediate.value if match[2] == "-" else immediate.value
        if not _NAME.fullmatch(name):
            absolute = parse_integer(inner)
            if absolute is None:
                raise OperandError(f"cannot read the address `{text}`", text)
            return nodes.Address(None, absolute)
        base = self._named(name)
        if not isinstance(base, nodes.Register | nodes.Symbol):
            raise OperandError(f"`{name}` cannot be the base of an address", text)
        return nodes.Address(base, offset)

    def resolve_label(self, name: str) -> nodes.Label | None:
        """The label that a branch in this scope means, None if there is none.  For use when the body is complete."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.labels:
                return nodes.Label(scope.unique(name))
            scope = scope.parent
        return None

    def resolve_table(self, name: str) -> tuple[nodes.Label, ...] | None:
        """The targets of a `.branchtargets` list; None if the list or one of its labels is unknown."""
        scope: Scope | None = self
        while scope is not None:
            names = scope.branch_targets.get(name)
            if names is not None:
                labels = [scope.resolve_label(target) for target in names]
                return None if None in labels else tuple(label for label in labels if label is not None)
            scope = scope.parent
        return None


def split_operands(text: str) -> list[str]:
    """Cut at the commas outside all brackets.  Raises OperandError where brackets do not match."""
    parts: list[str] = []
    open_brackets: list[int] = []
    start = 0
    for match in _BRACKETS.finditer(text):
        token = match.group()
        if token == ",":
            if not open_brackets:
                parts.append(text[start : match.start()])
                start = match.end()
        elif token in _PAIRS:
            if not open_brackets or text[open_brackets.pop()] != _PAIRS[token]:
                raise OperandError(f"`{token}` closes nothing", text[match.start() :])
        else:
            open_brackets.append(match.start())
    if open_brackets:
        raise OperandError(f"`{text[open_brackets[0]]}` is not closed", text[open_brackets[0] :])
    parts.append(text[start:])
    return parts
