"""PTX text to records (`parse`): directives of a module, and the statements, scopes and labels of function bodies.

Reads what NVRTC 13 emits for compute_75 and newer, and what inline assembly may add to it.  Opcodes are not
checked here (what an instruction means is the executor's matter), but a statement that cannot be read is
always an error, never skipped.  Sections with debugging information are the one thing left out: they hold
nothing that a run needs.
"""

from __future__ import annotations

import re
from dataclasses import replace

from grader.ptx.frontend import nodes
from grader.ptx.frontend.declarations import read_parameters, read_registers, read_variables
from grader.ptx.frontend.nodes import FILE, LOC, STATEMENT, Cursor, LocationTracker, find_files, strip_comments
from grader.ptx.frontend.operands import OperandError, Scope

_BRANCHES = frozenset({"bra", "brx"})


class BodyParser:
    """Reads one function body, from behind its `{` up to and with its `}`.

    cursor: stands behind the opening brace.
    locations: the module's `.file` table; reset here.
    modifiers: shared by the whole module: modifiers by opcode text, split once.
    """

    def __init__(self, cursor: Cursor, locations: LocationTracker, modifiers: dict[str, tuple[str, ...]]) -> None:
        self._cursor = cursor
        self._locations = locations
        self._modifiers = modifiers
        self._registers: list[nodes.Register] = []
        self._variables: list[nodes.Variable] = []
        self._body: list[nodes.Instruction | nodes.LabelMark] = []
        self._scope = Scope(None, 0, self._registers)
        self._scope_count = 0
        self._branches: list[tuple[int, Scope, int]] = []
        self.symbols: dict[str, int] = {}
        """Names that must exist in the module, with the offset of their first use."""

    def parse(
        self,
        name: str,
        is_entry: bool,
        parameters: tuple[nodes.Variable, ...],
        returns: tuple[nodes.Variable, ...],
        launch_bounds: tuple[tuple[str, tuple[int, ...]], ...],
    ) -> nodes.Function:
        """Read the body.  Raises PtxSyntaxError at whatever cannot be read."""
        self._locations.begin_function()
        start = self._cursor.pos
        for variable in (*returns, *parameters):
            if not self._scope.declare_variable(variable.name):
                raise self._cursor.error(f"`{variable.name}` is declared twice", start)
        self._statements()
        self._resolve_branches()
        return nodes.Function(
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
        operands: list[nodes.Operand]
        if guard_name is not None:
            register = scope.lookup(guard_name)
            if not isinstance(register, nodes.Register):
                raise cursor.error(f"the register `{guard_name}` is not declared", match.start("guard"))
            guard = nodes.Guard(register, negated == "!")
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
            nodes.Instruction(
                opcode,
                modifiers[1:],
                tuple(operands),
                guard,
                self._locations.current,
                cursor.line(start),
                " ".join(cursor.text[start : match.end() - 1].split()),
            )
        )

    def _branch_operands(self, opcode: str, text: str, at: int) -> list[nodes.Operand]:
        """Labels are kept as written; `_resolve_branches` gives them their final names."""
        self._branches.append((len(self._body), self._scope, at))
        parts = [part.strip() for part in text.split(",")]
        if opcode == "bra" and len(parts) == 1 and parts[0]:
            return [nodes.Label(parts[0])]
        if opcode == "brx" and len(parts) == 2:
            index = self._scope.lookup(parts[0])
            if isinstance(index, nodes.Register):
                return [index, nodes.Label(parts[1])]
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
        self._body.append(nodes.LabelMark(scope.unique(name)))

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
        for index, scope, at in self._branches:
            branch = self._body[index]
            assert isinstance(branch, nodes.Instruction)
            *before, target = branch.operands
            assert isinstance(target, nodes.Label)
            resolved: nodes.Operand | None
            if branch.opcode == "brx":
                table = scope.resolve_table(target.name)
                resolved = nodes.Vector(table) if table is not None else None
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


_LINKAGE = frozenset({".extern", ".visible", ".weak", ".common"})
_SPACES = frozenset({".global", ".const", ".shared", ".local"})
_SECTION = re.compile(r"\.section\s+\.?[\w.$]+\s*\{[^{}]*\}")
_VERSION = re.compile(r"\.version\s+(\d+\.\d+)")

_BOUNDS = {
    ".maxntid": 3,
    ".reqntid": 3,
    ".minnctapersm": 1,
    ".maxnctapersm": 1,
    ".maxnreg": 1,
    ".reqnctapercluster": 3,
    ".maxclusterrank": 1,
    ".explicitcluster": 0,
    ".blocksareclusters": 0,
    ".noreturn": 0,
}
"""Directives between a signature and its body, with the most numbers each takes."""


def parse(text: str) -> nodes.Module:
    """Read a PTX module.

    text: what NVRTC emitted; trailing NULs are cut off.
    Raises PtxSyntaxError at the first statement that cannot be read, or name that is not declared.
    """
    return _ModuleParser(strip_comments(text)).parse()


class _ModuleParser:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._files = find_files(text)
        self._locations = LocationTracker(self._files)
        self._version = ""
        self._target = ""
        self._functions: dict[str, nodes.Function] = {}
        self._variables: dict[str, nodes.Variable] = {}
        self._declared: set[str] = set()
        self._symbols: dict[str, int] = {}
        self._modifiers: dict[str, tuple[str, ...]] = {}

    def parse(self) -> nodes.Module:
        cursor = self._cursor
        while not cursor.at_end():
            self._directive()
        if not self._version:
            raise cursor.error("the module has no .version", 0)
        for name, at in self._symbols.items():
            if name not in self._variables and name not in self._declared:
                raise cursor.error(f"`{name}` is not declared", at)
        return nodes.Module(
            version=self._version,
            target=self._target,
            functions=self._functions,
            variables=self._variables,
            files=self._files,
        )

    def _directive(self) -> None:
        cursor = self._cursor
        at = cursor.skip_blank()
        directive = cursor.peek()
        if directive == ".file":
            self._skip(FILE, at)
        elif directive == ".section":
            self._skip(_SECTION, at)
        elif directive == ".loc":
            self._skip(LOC, at)
        elif directive == ".version":
            self._version = self._skip(_VERSION, at)[1]
        elif directive == ".target":
            cursor.take()
            self._target = cursor.identifier("a target")
            while cursor.accept(","):
                cursor.identifier("a target option")
        elif directive == ".address_size":
            cursor.take()
            bits = cursor.integer("an address size in bits")
            if bits != 64:
                raise cursor.error(f"only 64-bit addresses are supported, got {bits}", at)
        elif directive == ".pragma":
            cursor.take()
            read_pragma(cursor)
        elif directive == ".alias":
            cursor.take()
            self._alias()
        else:
            self._definition(at)

    def _skip(self, pattern: re.Pattern[str], at: int) -> re.Match[str]:
        match = pattern.match(self._cursor.text, at)
        if match is None:
            raise self._cursor.error("cannot read this directive", at)
        self._cursor.pos = match.end()
        return match

    def _definition(self, at: int) -> None:
        cursor = self._cursor
        linkage: set[str] = set()
        while (directive := cursor.take()) in _LINKAGE:
            linkage.add(directive)
        if directive in (".entry", ".func"):
            self._function(directive == ".entry", at)
        elif directive in _SPACES:
            for variable in read_variables(cursor, directive[1:], ".extern" in linkage):
                earlier = self._variables.get(variable.name)
                if earlier is not None and not (earlier.is_extern or variable.is_extern):
                    raise cursor.error(f"`{variable.name}` is declared twice", at)
                if earlier is None or earlier.is_extern:
                    self._variables[variable.name] = variable
                for _, symbol in variable.relocations:
                    self._symbols.setdefault(symbol.name, at)
        else:
            raise cursor.error(f"`{directive}` is not known here", cursor.pos - len(directive))

    def _alias(self) -> None:
        cursor = self._cursor
        at = cursor.skip_blank()
        name = cursor.identifier("a function's name")
        cursor.expect(",")
        target = cursor.identifier("a function's name")
        cursor.expect(";")
        if target not in self._functions:
            raise cursor.error(f"the function `{target}` is not defined", at)
        self._functions[name] = replace(self._functions[target], name=name)

    def _function(self, is_entry: bool, at: int) -> None:
        cursor = self._cursor
        returns = read_parameters(cursor) if cursor.peek() == "(" else ()
        name = cursor.identifier("a function's name")
        parameters = read_parameters(cursor) if cursor.peek() == "(" else ()
        bounds: list[tuple[str, tuple[int, ...]]] = []
        while (directive := cursor.peek()) in _BOUNDS or directive == ".pragma":
            cursor.take()
            if directive == ".pragma":
                read_pragma(cursor)
            else:
                bounds.append((directive[1:], self._numbers(_BOUNDS[directive])))
        self._declared.add(name)
        if cursor.accept(";"):
            return
        cursor.expect("{")
        if name in self._functions:
            raise cursor.error(f"the function `{name}` is defined twice", at)
        body = BodyParser(cursor, self._locations, self._modifiers)
        function = body.parse(name, is_entry, parameters, returns, tuple(bounds))
        self._functions[name] = replace(function, text=cursor.text[at : cursor.pos])
        for symbol, used_at in body.symbols.items():
            self._symbols.setdefault(symbol, used_at)

    def _numbers(self, most: int) -> tuple[int, ...]:
        """1 to `most` numbers; missing sizes of a shape are 1, as in PTX."""
        if not most:
            return ()
        cursor = self._cursor
        numbers = [cursor.integer("a number")]
        while cursor.accept(","):
            numbers.append(cursor.integer("a number"))
        if len(numbers) > most:
            raise cursor.error(f"expected at most {most} numbers, got {len(numbers)}")
        return (*numbers, *(1,) * (most - len(numbers)))
