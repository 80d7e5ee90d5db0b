"""The calls of the CUDA runtime in a file's host code, and its launches, as the search for changes sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.repair.function import Function, host_functions, is_statement
from grader.repair.launches import Launch, launches_of
from grader.submission.cpp.tree import ParsedFile

if TYPE_CHECKING:
    from tree_sitter import Node

COPIES = {"cudaMemcpy": 2, "cudaMemcpyAsync": 2, "cudaMemcpyToSymbol": 2, "cudaMemcpyFromSymbol": 2}
"""Calls that copy, and which of their arguments is the size."""
COPIES |= {"cudaMemcpyToSymbolAsync": 2, "cudaMemcpyFromSymbolAsync": 2}
SETS = {"cudaMemset": 2, "cudaMemsetAsync": 2}
ALLOCATES = {"cudaMalloc": 1, "cudaMallocManaged": 1}
SIZED = {**COPIES, **SETS, **ALLOCATES}
PITCHED = {"cudaMemcpy2D": (0, 2), "cudaMemcpy2DAsync": (0, 2), "cudaMallocPitch": (0,)}
"""Calls that take a pitch, and which of their arguments are the arrays; the pitch comes next to each."""
FREES = ("cudaFree", "cudaFreeAsync")


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the runtime in a host function, the statement that it stands in, and the block that holds that."""

    function: Function
    name: str
    node: Node
    arguments: tuple[Node, ...]
    statement: Node

    @property
    def line(self) -> int:
        """On which it begins."""
        return self.function.line(self.node)

    def text(self, index: int) -> str:
        """Of an argument, "" where there is none."""
        return self.function.text(self.arguments[index]) if index < len(self.arguments) else ""


@dataclass(frozen=True, slots=True)
class Host:
    """A file's host code: its calls of the runtime and its launches, in order of the text; pitched: calls of `PITCHED`,
    which are none of the others."""

    parsed: ParsedFile
    calls: tuple[Call, ...]
    launches: tuple[Launch, ...]
    pitched: tuple[Call, ...] = ()


def host_of(parsed: ParsedFile) -> Host:
    """The calls and launches of a file."""
    calls: list[Call] = []
    pitched: list[Call] = []
    for function in host_functions(parsed):
        for node in function.nodes:
            callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
            if node.type != "call_expression" or callee is None or given is None:
                continue
            name = function.text(callee).partition("<")[0].strip()
            statement = statement_of(function, node)
            if statement is not None and (name in SIZED or name in FREES or name in PITCHED):
                arguments = tuple(n for n in given.named_children if n.type != "comment")
                of_name = pitched if name in PITCHED else calls
                of_name.append(Call(function, name, node, arguments, statement))
    return Host(parsed, tuple(calls), tuple(launches_of(parsed)), tuple(pitched))


def statement_of(function: Function, node: Node) -> Node | None:
    """The statement of a block that a node stands in."""
    current: Node | None = node
    while current is not None and current != function.body:
        parent = current.parent
        if parent is not None and parent.type == "compound_statement" and is_statement(current):
            return current
        current = parent
    return None
