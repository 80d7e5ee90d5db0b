"""Device code of several files → one module, in which each uses what another defines: what nvlink does with machine
code, here with PTX.

The texts are NVRTC's or clang's, whose statements at file level each begin a line with a directive.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.submission.cpp.tree import ParsedFile

_HEADER = re.compile(r"^\.(?:version|target|address_size)\b.*\n", re.M)
_FILE = re.compile(r"^(\s*\.file\s+)(\d+)", re.M)
_PLACE = re.compile(r"(\.loc\s+|\binlined_at\s+)(\d+)(?=\s+\d)")
# Labels of names in a section of the file's own: of functions that calls were inlined of.
_INFO = re.compile(r"\$L__info_string\d+")
# What clang keeps by it is there anyway.  It holds addresses of kernels, which are declared for it: the assembler of a
# driver does not take that.
_KEPT = "__clang_gpu_used_external"
# What clang puts behind names of what is `static`; where it uses that, it does so with and without.
OF_FILE = re.compile(r"__(?:intern|static)__[0-9a-f]+(?![\w$])")
_STATEMENT = re.compile(
    r"^[ \t]*(?P<linkage>\.(?:visible|extern|weak|common)\s+)?\.(?P<what>entry|func|global|const|shared)\b", re.M
)
_FUNCTION_NAME = re.compile(r"\.(?:entry|func)\s*(?:\([^)]*\)\s*)?(?P<name>[\w$%]+)")
# Inline assembly has braces wherever its author puts them.
_BRACE = re.compile(r"[{}]|//[^\n]*|/\*.*?\*/", re.S)
_VARIABLE_NAME = re.compile(r"(?P<name>[A-Za-z_$%][\w$]*)\s*(?:\[[^\]]*\]\s*)*[=;]")


@dataclass(frozen=True, slots=True)
class _Statement:
    """A function or a variable at file level.

    linkage: "visible", "extern", "weak", "common", or "" for what is the file's own.
    """

    text: str
    name: str
    linkage: str
    is_function: bool
    is_kernel: bool
    is_definition: bool

    @property
    def is_strong(self) -> bool:
        """Whether no other file may define it."""
        return self.is_definition and self.linkage == "visible"


class DefinedTwice(Exception):
    """Functions or variables that two files define, by their names in PTX."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.names = names


def needs_linking(units: Mapping[str, ParsedFile], headers: Mapping[str, ParsedFile]) -> bool:
    """Whether device code of one file uses a function or variable that another defines, and itself only declares, or
    launches kernels, which compilers take as relocatable code alone."""
    if any(_launches(parsed) for parsed in (*units.values(), *headers.values())):
        return True
    if len(units) < 2:
        return False
    declared: set[str] = set()
    for parsed in (*headers.values(), *units.values()):
        for item in parsed.items:
            if item.is_device and not item.is_kernel and (item.kind == "prototype" or "extern" in item.qualifiers):
                declared.update(item.names)
    for unit, parsed in units.items():
        for item in parsed.items:
            if item.kind not in {"function", "variable"} or not item.is_device or item.is_kernel or not item.active:
                continue
            if item.qualifiers & {"static", "extern"} or item.template_parameters:
                continue
            # A method's declaration stands in its class.
            is_method = b"::" + item.name.encode() in parsed.data[item.start : item.node.end_byte]
            for name in item.names:
                if name in declared or is_method:
                    word = re.compile(rb"\b%b" % re.escape(name.encode()))
                    others = [other.data for name_of_other, other in units.items() if name_of_other != unit]
                    if any(map(word.search, others)) or any(len(word.findall(h.data)) > 1 for h in headers.values()):
                        return True
    return False


def _launches(parsed: ParsedFile) -> bool:
    functions = (i for i in parsed.items if i.kind == "function" and i.is_device and i.active)
    return any(b"<<<" in parsed.data[i.start : i.node.end_byte] for i in functions)


def linked_ptx(texts: Sequence[str]) -> str:
    """Link PTX of files that were compiled as relocatable device code.

    What is `.extern` in one file and defined in another is one and the same afterwards.  `.weak` definitions, and what
    is only declared, stand there once.  A name that is one file's own and another's, too, has the file's number
    behind it, see `own_name`.  What no file defines stays `.extern`.
    Raises DefinedTwice: two files define what both have for all.
    """
    header = "".join(_HEADER.findall(texts[0]))
    files = [_statements(_numbered(text, number)) for number, text in enumerate(texts)]
    definitions = [{s.name for s in statements if s.is_definition} for statements, _rest in files]
    shared = [{s.name for s in statements if s.is_definition and s.linkage} for statements, _rest in files]
    strong = Counter(s.name for statements, _rest in files for s in statements if s.is_strong)
    if twice := [name for name, count in strong.items() if count > 1]:
        raise DefinedTwice(twice)
    declarations: dict[str, str] = {}
    variables: dict[str, str] = {}
    functions: dict[str, str] = {}
    sections: list[str] = []
    for number, (statements, rest) in enumerate(files):
        elsewhere = set().union(*definitions[:number], *shared[number + 1 :])
        is_twice = {s.name for s in statements if s.is_definition and not s.linkage and s.name in elsewhere}
        for statement in statements:
            text = _renamed(statement.text, is_twice, number)
            name = own_name(statement.name, number) if statement.name in is_twice else statement.name
            is_defined_there = statement.linkage == "extern" and any(name in names for names in shared)
            if statement.linkage == "extern" and statement.name in definitions[number]:
                continue
            if statement.name == _KEPT or (statement.is_kernel and not statement.is_definition):
                continue
            if statement.is_definition:
                (functions if statement.is_function else variables).setdefault(name, text)
            elif statement.is_function:
                declarations.setdefault(name, text.replace(".extern", ".visible", 1) if is_defined_there else text)
            elif not is_defined_there:
                declarations.setdefault(name, text)
        sections.append(rest)
    parts = (declarations.values(), variables.values(), functions.values(), sections)
    return "\n".join([header, *(text for part in parts for text in part), ""])


def own_name(name: str, file: int) -> str:
    """What a name that several files have for themselves is called in what they are linked to."""
    return f"{name}$_file{file}"


def _renamed(text: str, names: Collection[str], file: int) -> str:
    if not names:
        return text
    pattern = rf"(?<![\w$])(?:{'|'.join(map(re.escape, sorted(names)))})(?![\w$])"
    return re.sub(pattern, lambda match: own_name(match[0], file), text)


def _numbered(text: str, file: int) -> str:
    text = _FILE.sub(lambda match: f"{match[1]}{_number(match[2], file)}", _HEADER.sub("", text))
    text = _PLACE.sub(lambda match: f"{match[1]}{_number(match[2], file)}", text)
    return _INFO.sub(lambda match: own_name(match[0], file), text)


def _number(number: str, file: int) -> int:
    return int(number) + 1000 * file


def _statements(text: str) -> tuple[list[_Statement], str]:
    """The functions and variables of a file, and all else: its source files, and sections for debuggers."""
    statements: list[_Statement] = []
    rest: list[str] = []
    at = 0
    while match := _STATEMENT.search(text, at):
        rest.append(text[at : match.start()])
        is_function = match["what"] in {"entry", "func"}
        end, has_body = _end(text, match.end(), is_function)
        statement = text[match.start() : end]
        name = (_FUNCTION_NAME if is_function else _VARIABLE_NAME).search(statement)
        if name is not None:
            is_own = OF_FILE.search(statement[name.start("name") : name.end("name")])
            linkage = "" if is_own else (match["linkage"] or "").strip(". \t\n")
            is_definition = has_body if is_function else linkage != "extern"
            text_of_all, name_of_all = OF_FILE.sub("", statement), OF_FILE.sub("", name["name"])
            kinds = is_function, match["what"] == "entry", is_definition
            statements.append(_Statement(text_of_all, name_of_all, linkage, *kinds))
        at = end
    return statements, "".join([*rest, text[at:]])


def _end(text: str, start: int, is_function: bool) -> tuple[int, bool]:
    """Where the statement ends that begins before `start`, and whether it has a body."""
    semicolon = text.find(";", start)
    brace = text.find("\n{", start) if is_function else -1
    if brace < 0 or 0 <= semicolon < brace:
        return (semicolon + 1 if semicolon >= 0 else len(text)), False
    depth = 0
    for match in _BRACE.finditer(text, brace):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0 and match[0] == "}":
            return match.end(), True
    return len(text), True
