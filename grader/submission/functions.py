"""The function that a lab asks for, or a program's `main`, in a student's files; or what they have in its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.lab.parameters import Argument, Signature, argument_of, arguments_of
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import Item, ParsedFile, function_declarator
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import Kernel, KernelParameter
from grader.submission.lexical import without_comments
from grader.submission.records import Missing, VariantBinding
from grader.submission.source import SourceText

_HIDING = ("static", "inline", "__inline__", "constexpr", "__device__")
"""Words before a function that no other file can call then."""


@dataclass(frozen=True, slots=True)
class FoundFunction:
    """The function, as it is defined; is_of_c: `extern "C"`."""

    name: str
    file: str
    line: int
    end_line: int
    is_of_c: bool


def find_function(sources: Sequence[SourceText], signature: Signature) -> FoundFunction | tuple[str, dict[str, object]]:
    """The function in the first of the files that defines it as it is asked for.

    Else the reason as the id of a message, with its data: what is wrong with the definition that comes nearest.
    """
    wrong: list[tuple[str, dict[str, object]]] = []
    for source in sources:
        parsed = parse(source)
        for item in parsed.items:
            if item.kind == "function" and item.active and item.name == signature.name:
                fault = _fault(parsed, item, signature)
                if fault is None:
                    row, end = item.node.start_point.row + 1, item.node.end_point.row + 1
                    return FoundFunction(item.name, source.file, row, end, _is_of_c(item))
                reason, data = fault
                where: dict[str, object] = {"file": source.file, "line": item.node.start_point.row + 1}
                wrong.append((reason, {**where, "name": signature.name, "signature": signature.spelled, **data}))
    if wrong:
        return wrong[0]
    return "no_function", {"name": signature.name, "signature": signature.spelled}


def find_main(sources: Sequence[SourceText]) -> FoundFunction | tuple[str, dict[str, object]]:
    """The `main` of the program that the files make up; else the reason as the id of a message, with its data."""
    mains = []
    for source in sources:
        for item in parse(source).items:
            if item.kind == "function" and item.active and item.name == "main" and not item.namespace:
                row, end = item.node.start_point.row + 1, item.node.end_point.row + 1
                mains.append(FoundFunction("main", source.file, row, end, is_of_c=False))
    if len(mains) == 1:
        return mains[0]
    if not mains:
        return "no_main", {}
    return "several_mains", {"files": ", ".join(dict.fromkeys(function.file for function in mains))}


def _fault(parsed: ParsedFile, item: Item, signature: Signature) -> tuple[str, dict[str, object]] | None:
    """Why a function of that name is not the one that is asked for."""
    if item.is_kernel != signature.is_kernel:
        return "function_is_kernel" if item.is_kernel else "function_is_no_kernel", {}
    if item.template_parameters:
        return "function_is_template", {}
    if item.namespace:
        return "function_in_namespace", {"namespace": item.namespace.removesuffix("::")}
    hidden = next((word for word in _HIDING if word in parsed.text(item.node).partition("(")[0].split()), None)
    if hidden is not None:
        return "function_hidden", {"word": hidden}
    given = _arguments(parsed, item)
    if given is None:
        return None
    asked = signature.arguments
    if len(given) != len(asked):
        return "function_count", {"got": len(given), "expected": len(asked)}
    for number, (own, wanted) in enumerate(zip(given, asked, strict=True), 1):
        if not own.is_like(wanted):
            data: dict[str, object] = {"number": number, "parameter": own.name or wanted.name}
            return "function_parameter", {**data, "got": own.spelled, "expected": wanted.spelled}
    returns = _returns(parsed, item)
    return (
        None
        if returns in (signature.returns, "")
        else ("function_returns", {"got": returns, "returns": signature.returns})
    )


def _arguments(parsed: ParsedFile, item: Item) -> list[Argument] | None:
    """Its parameters; None where they are of types that only a compiler knows."""
    declarator = function_declarator(item.node.child_by_field_name("declarator"))
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    if listed is None:
        return None
    text = without_comments(parsed.text(listed).strip()[1:-1])
    return arguments_of(text, parsed.constants.types.get)


def _returns(parsed: ParsedFile, item: Item) -> str:
    kind = item.node.child_by_field_name("type")
    argument = argument_of(parsed.text(kind), parsed.constants.types.get) if kind is not None else None
    stars = (
        "*"
        if (d := item.node.child_by_field_name("declarator")) is not None and d.type != "function_declarator"
        else ""
    )
    return f"{argument.spelled}{stars}" if argument is not None else ""


def _is_of_c(item: Item) -> bool:
    node = item.node.parent
    while node is not None and node.type != "linkage_specification":
        node = node.parent
    return node is not None


def without_main(source: SourceText) -> str:
    """A file's text whose `main` is blanked, every line and column kept: the harness brings one."""
    parsed = parse(source)
    data = bytearray(parsed.data)
    for item in parsed.items:
        if item.kind == "function" and item.name == "main":
            for place in range(item.start, item.end):
                if data[place] not in b"\r\n":
                    data[place] = 0x20
    return data.decode("utf-8", errors="replace")


def binding_of(
    variant: str,
    signature: Signature | None,
    source_function: FoundFunction | tuple[str, Mapping[str, object]],
    source: SourceText | None,
) -> VariantBinding | Missing:
    """The function as what a variant is bound to: its kernels' shared arrays are its own."""
    if not isinstance(source_function, FoundFunction):
        return Missing(variant, source_function[0], source_function[1])
    kernels = kernels_in(parse(source)) if source is not None else ()
    parameters = tuple(
        KernelParameter(a.name, a.spelled, bool(a.pointers), a.is_const, None)
        for a in (signature.arguments if signature is not None else ())
    )
    function = Kernel(
        name=source_function.name,
        file=source_function.file,
        line=source_function.line,
        end_line=source_function.end_line,
        parameters=parameters,
        template_parameters=(),
        shared_arrays=tuple(array for kernel in kernels for array in kernel.shared_arrays),
        is_empty=False,
    )
    return VariantBinding(variant, function, source_function.name, (), None, takes_sizes=True)
