"""PTX text to records: `parse`.

Reads what NVRTC 13 emits for compute_75 and newer, and what inline assembly may add to it.  Opcodes are not
checked here (what an instruction means is the executor's matter), but a statement that cannot be read is
always an error, never skipped.  Sections with debugging information are the one thing left out: they hold
nothing that a run needs.
"""

from __future__ import annotations

import re
from dataclasses import replace

from grader.ptx.frontend.declarations import read_parameters, read_variables
from grader.ptx.frontend.functions import FILE, LOC, BodyParser, LocationTracker, find_files, read_pragma
from grader.ptx.frontend.lexer import Cursor, strip_comments
from grader.ptx.frontend.nodes import Function, Module, Variable

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


def parse(text: str) -> Module:
    """Read a PTX module.

    Parameters
    ----------
    text : what NVRTC emitted; trailing NULs are cut off.

    Raises
    ------
    PtxSyntaxError
        at the first statement that cannot be read, or name that is not declared.
    """
    return _ModuleParser(strip_comments(text)).parse()


class _ModuleParser:
    def __init__(self, text: str) -> None:
        self._cursor = Cursor(text)
        self._files = find_files(text)
        self._locations = LocationTracker(self._files)
        self._version = ""
        self._target = ""
        self._functions: dict[str, Function] = {}
        self._variables: dict[str, Variable] = {}
        self._declared: set[str] = set()
        self._symbols: dict[str, int] = {}
        self._modifiers: dict[str, tuple[str, ...]] = {}

    def parse(self) -> Module:
        cursor = self._cursor
        while not cursor.at_end():
            self._directive()
        if not self._version:
            raise cursor.error("the module has no .version", 0)
        for name, at in self._symbols.items():
            if name not in self._variables and name not in self._declared:
                raise cursor.error(f"`{name}` is not declared", at)
        return Module(
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
        """A function or variable, with its linkage."""
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
