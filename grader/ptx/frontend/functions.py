"""The body of a kernel or device function: statements, scopes, labels, and the source line of each instruction.

`.file` directives stand at the end of NVRTC's output, so they are collected before anything else is read.
A `.loc … inlined_at f l c` names the call site by the coordinates of an earlier `.loc` of the same function,
which may have been inlined itself: the chain is walked by looking those coordinates up.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePosixPath

from grader.ptx.frontend.declarations import read_registers, read_variables
from grader.ptx.frontend.lexer import STATEMENT, STRING, Cursor, unquote
from grader.ptx.frontend.nodes import (
    Function,
    Guard,
    Instruction,
    Label,
    LabelMark,
    Operand,
    Register,
    SourceLocation,
    Variable,
    Vector,
)
from grader.ptx.frontend.operands import OperandError, Scope

FILE = re.compile(rf"\.file\s+(\d{{1,9}})\s+({STRING})(?:[ \t]*,[ \t]*\d+[ \t]*,[ \t]*\d+)?", re.ASCII)
LOC = re.compile(
    r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"(?:\s*,\s*function_name\s+[\w$.]+(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9}))?",
    re.ASCII,
)

_HEADER_SUFFIXES = frozenset({".h", ".hpp", ".hxx", ".cuh", ".inl", ".inc", ".def", ""})

_Point = tuple[int, int, int]


def find_files(text: str) -> dict[int, str]:
    """The `.file` table: path by number."""
    return {int(number): unquote(path) for number, path in FILE.findall(text)}


def student_file(files: dict[int, str]) -> int:
    """Number of the student's file: the lowest one that is no header, or the lowest of all; 0 for an empty table."""
    numbers = sorted(files)
    for number in numbers:
        if PurePosixPath(files[number].replace("\\", "/")).suffix.lower() not in _HEADER_SUFFIXES:
            return number
    return numbers[0] if numbers else 0


class LocationTracker:
    """Follows the `.loc` directives of one function at a time."""

    def __init__(self, files: dict[int, str]) -> None:
        self._files = files
        self._student = student_file(files)
        self._unknown = SourceLocation(files.get(self._student, ""), 0)
        self.begin_function()

    def begin_function(self) -> None:
        """Forget the lines and call sites of the previous function."""
        self.current = self._unknown
        self.first: SourceLocation | None = None
        self._known: SourceLocation | None = None
        self._own = 0
        self._call_sites: dict[_Point, _Point | None] = {}

    def advance(self, loc: re.Match[str]) -> None:
        """Take a `.loc` directive (a match of `LOC`); `current` is then the location of what follows."""
        file, line, column, *site = loc.groups()
        point = (int(file), int(line), int(column))
        call_site = (int(site[0]), int(site[1]), int(site[2])) if site[0] is not None else None
        self._call_sites[point] = call_site
        if call_site is None and not self._own:
            # A kernel may stand in a header: its own lines are those of that file.
            self._own = point[0]
        self.current = self._resolve(point, call_site)
        if self.first is None:
            self.first = self.current

    def _resolve(self, point: _Point, call_site: _Point | None) -> SourceLocation:
        innermost: SourceLocation | None = None
        visited = {point}
        step: _Point | None = point
        while step is not None:
            file, line, _ = step
            # Line 0: the compiler merged or hoisted the instruction, and what encloses it is the best there is.
            if line and file == (self._own or self._student):
                self._known = SourceLocation(self._files.get(file, ""), line)
                return self._known
            if line and innermost is None:
                innermost = SourceLocation(self._files.get(file, ""), line)
            step = call_site if step is point else self._call_sites.get(step)
            if step in visited:
                break
            if step is not None:
                visited.add(step)
        if innermost is not None:
            self._known = innermost
        return self._known or self._unknown


_BRANCHES = frozenset({"bra", "brx"})


class BodyParser:
    """Reads one function body, from behind its `{` up to and with its `}`.

    Parameters
    ----------
    cursor : stands behind the opening brace.
    locations : the module's `.file` table; reset here.
    modifiers : shared by the whole module: modifiers by opcode text, split once.
    """

    def __init__(self, cursor: Cursor, locations: LocationTracker, modifiers: dict[str, tuple[str, ...]]) -> None:
        self._cursor = cursor
        self._locations = locations
        self._modifiers = modifiers
        self._registers: list[Register] = []
        self._variables: list[Variable] = []
        self._body: list[Instruction | LabelMark] = []
        self._scope = Scope(None, 0, self._registers)
        self._scope_count = 0
        self._branches: list[tuple[int, Scope, int]] = []
        self.symbols: dict[str, int] = {}
        """Names that must exist in the module, with the offset of their first use."""

    def parse(
        self,
        name: str,
        is_entry: bool,
        parameters: tuple[Variable, ...],
        returns: tuple[Variable, ...],
        launch_bounds: tuple[tuple[str, tuple[int, ...]], ...],
    ) -> Function:
        """Read the body.  Raises PtxSyntaxError at whatever cannot be read."""
        self._locations.begin_function()
        start = self._cursor.pos
        for variable in (*returns, *parameters):
            if not self._scope.declare_variable(variable.name):
                raise self._cursor.error(f"`{variable.name}` is declared twice", start)
        self._statements()
        self._resolve_branches()
        return Function(
            name=name,
            is_entry=is_entry,
            parameters=parameters,
            returns=returns,
            registers=tuple(self._registers),
            variables=tuple(self._variables),
            body=tuple(self._body),
            location=self._locations.first or self._locations.current,
            launch_bounds=launch_bounds,
        )

    def _statements(self) -> None:
        cursor = self._cursor
        text = cursor.text
        match_statement = STATEMENT.match
        while True:
            match = match_statement(text, cursor.pos)
            if match is not None:
                if match.lastgroup == "label":
                    self._label(match["label"], match.start("label"), match.end())
                else:
                    cursor.pos = match.end()
                    self._instruction(match)
                continue
            at = cursor.skip_blank()
            token = text[at : at + 1]
            if token == ".":
                self._directive()
            elif token == "{":
                cursor.pos += 1
                self._scope_count += 1
                self._scope = Scope(self._scope, self._scope_count, self._registers)
            elif token == "}":
                cursor.pos += 1
                if self._scope.parent is None:
                    return
                self._scope = self._scope.parent
            elif token == ";":
                cursor.pos += 1
            elif not token:
                raise cursor.error("the text ends inside a function body")
            else:
                raise cursor.error("cannot read this statement")

    def _instruction(self, match: re.Match[str]) -> None:
        cursor = self._cursor
        negated, guard_name, opcode_text, operand_text = match.group("negated", "guard", "opcode", "operands")
        modifiers = self._modifiers.get(opcode_text)
        if modifiers is None:
            modifiers = self._modifiers[opcode_text] = tuple(opcode_text.split("."))
        opcode = modifiers[0]
        scope = self._scope
        unresolved = scope.unresolved
        guard = None
        operands: list[Operand]
        if guard_name is not None:
            register = scope.lookup(guard_name)
            if not isinstance(register, Register):
                raise cursor.error(f"the register `{guard_name}` is not declared", match.start("guard"))
            guard = Guard(register, negated == "!")
        stripped = operand_text.strip()
        if opcode in _BRANCHES:
            operands = self._branch_operands(opcode, stripped, match.start("opcode"))
        elif not stripped:
            operands = []
        else:
            try:
                operands = scope.call_operands(stripped) if opcode == "call" else scope.operands(stripped)
            except OperandError as error:
                begin = match.end("operands") - len(operand_text.lstrip())
                raise cursor.error(str(error), max(begin, cursor.text.find(error.text, begin))) from None
        if unresolved:
            for name in unresolved:
                self.symbols.setdefault(name, match.start("opcode"))
            unresolved.clear()
        start = match.start("opcode") if guard is None else cursor.text.index("@", match.start())
        self._body.append(
            Instruction(
                opcode,
                modifiers[1:],
                tuple(operands),
                guard,
                self._locations.current,
                cursor.line(start),
                " ".join(cursor.text[start : match.end() - 1].split()),
            )
        )

    def _branch_operands(self, opcode: str, text: str, at: int) -> list[Operand]:
        """Labels are kept as written; `_resolve_branches` gives them their final names."""
        self._branches.append((len(self._body), self._scope, at))
        parts = [part.strip() for part in text.split(",")]
        if opcode == "bra" and len(parts) == 1 and parts[0]:
            return [Label(parts[0])]
        if opcode == "brx" and len(parts) == 2:
            index = self._scope.lookup(parts[0])
            if isinstance(index, Register):
                return [index, Label(parts[1])]
        raise self._cursor.error(f"cannot read the target of this {opcode}", at)

    def _label(self, name: str, at: int, end: int) -> None:
        """A label; or a list of branch targets or a call prototype, which look like one."""
        cursor = self._cursor
        cursor.pos = end
        scope = self._scope
        following = cursor.skip_blank()
        if cursor.text.startswith(".branchtargets", following):
            cursor.take()
            targets = [cursor.identifier("a label")]
            while cursor.accept(","):
                targets.append(cursor.identifier("a label"))
            cursor.expect(";")
            scope.branch_targets[name] = tuple(targets)
            return
        if cursor.text.startswith((".callprototype", ".calltargets"), following):
            # They restrict an indirect call; the call itself says all that a run needs.
            stop = cursor.text.find(";", following)
            if stop < 0:
                raise cursor.error("expected `;` at the end of the prototype", following)
            cursor.pos = stop + 1
            if not scope.declare_variable(name):
                raise cursor.error(f"`{name}` is declared twice", at)
            return
        if name in scope.labels:
            raise cursor.error(f"the label `{name}` is declared twice", at)
        scope.labels.add(name)
        self._body.append(LabelMark(scope.unique(name)))

    def _directive(self) -> None:
        cursor = self._cursor
        loc = LOC.match(cursor.text, cursor.pos)
        if loc is not None:
            self._locations.advance(loc)
            cursor.pos = loc.end()
            return
        at = cursor.skip_blank()
        directive = cursor.take()
        is_extern = directive == ".extern"
        if is_extern:
            directive = cursor.take()
        if directive == ".reg":
            for name, type_, count in read_registers(cursor):
                if not self._scope.declare_register(name, type_, count):
                    raise cursor.error(f"`{name}` is declared twice", at)
        elif directive in (".param", ".local", ".shared", ".global", ".const"):
            for variable in read_variables(cursor, directive[1:], is_extern):
                if not self._scope.declare_variable(variable.name):
                    raise cursor.error(f"`{variable.name}` is declared twice", at)
                self._variables.append(replace(variable, name=self._scope.unique(variable.name)))
        elif directive == ".pragma":
            read_pragma(cursor)
        else:
            raise cursor.error(f"the directive `{directive}` is not known in a function body", at)

    def _resolve_branches(self) -> None:
        """Give branch targets their final names, now that every label is known."""
        for index, scope, at in self._branches:
            branch = self._body[index]
            assert isinstance(branch, Instruction)
            *before, target = branch.operands
            assert isinstance(target, Label)
            resolved: Operand | None
            if branch.opcode == "brx":
                table = scope.resolve_table(target.name)
                resolved = Vector(table) if table is not None else None
            else:
                resolved = scope.resolve_label(target.name)
            if resolved is None:
                raise self._cursor.error(f"the label `{target.name}` is not defined", at)
            if resolved != target:
                self._body[index] = replace(branch, operands=(*before, resolved))


def read_pragma(cursor: Cursor) -> None:
    """The rest of a `.pragma`: hints to the assembler (unrolling, spilling) that change no result."""
    while True:
        string = cursor.take()
        if string[0] != '"':
            raise cursor.error(f"expected a string, got `{string}`", cursor.pos - len(string))
        if not cursor.accept(","):
            break
    cursor.expect(";")
