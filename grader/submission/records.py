"""What is known of a submission before anything is compiled or run; and the function that a lab asks for, or a
program's `main`, in a student's files, or what they have in its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from grader.lab.parameters import Argument, Signature, argument_of, arguments_of
from grader.submission.cpp.parse import parse
from grader.submission.cpp.tree import Item, ParsedFile, function_declarator
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import NOTHING_OBSERVED, Kernel, KernelParameter, LaunchSite, ObservedRuns
from grader.submission.lexical import Edit, apply, without_comments
from grader.submission.source import SourceText

Origin = Literal["stated", "observed", "read", "inferred", "lab"]
ORIGINS: tuple[Origin, ...] = ("stated", "observed", "read", "inferred", "lab")
"""Who says a fact about a kernel or its launch, each before those that it outweighs.

stated: `submission.yaml`.  observed: a run of the program.  read: the text of its host code.  inferred: the text of the
kernel itself.  lab: nobody but the lab, for want of better.
"""


LONG_CHARACTERS = 100_000
"""More source text than this is long: every change of it is read anew."""


@dataclass(frozen=True, slots=True)
class Origins:
    """Where the facts that make up an interpretation are from.

    kernel: that it is the variant's.  arguments: which parameter is what.  template: its arguments, by the weakest of
    them; None for a kernel that is no template.  block, tile, covers, shared_bytes: as in `LaunchPlan`; of a tile the
    weakest of its axes.
    """

    kernel: Origin = "lab"
    arguments: Origin = "lab"
    template: Origin | None = None
    block: Origin = "lab"
    tile: Origin = "lab"
    covers: Origin = "lab"
    shared_bytes: Origin = "lab"


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """How to launch a kernel at any size: grid axis i has ceil(size / tile[i]) blocks over the size `covers[i]`.

    exact: sizes must be multiples of the tile (the kernel derives them from the grid or has no guard argument).
    shared_bytes: dynamic shared memory.
    line: where the host code says so, 0 otherwise.
    block_formula: formulas of the sizes for the block's axes, where it depends on them; () where it does not.
    shared_formula: likewise for `shared_bytes`, of the sizes and `threads` (of a block).
    grid_formula: likewise for each axis of the grid, where `covers` and `tile` do not say all: tiles numbered along one
      axis, divisions that are rounded down, a number of blocks that is the same at every size.
    is_read: threads and shared memory at other sizes are what the program's text makes of them, nobody's guess.
    """

    block: tuple[int, int, int]
    tile: tuple[int, ...]
    covers: tuple[str, ...]
    exact: bool
    shared_bytes: int = 0
    line: int = 0
    block_formula: tuple[str, ...] = ()
    shared_formula: str = ""
    grid_formula: tuple[str, ...] = ()
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One interpretation of a kernel: a role for each of its parameters, and a launch.  Likelier ones come first.

    roles: names of the lab's parameters, or "=1" for a number that is handed in as it stands, "=n * n" for one that
      follows from sizes.
    unsure: how the program rounds its grid was not to be seen at its own sizes, nor to be read.
    zeroed: arrays that the program sets to zero before the launch, because the kernel adds to them.
    square_only: the kernel takes one size for several, so the sizes that the grid covers must be equal.
    constants: sizes that are constants of the program, as (role, constant's name): each size graded is compiled anew.
    template: the kernel's template arguments as (text, role): a role's size takes the place of the text.
    pinned: sizes that cannot be changed, as (role, value): the kernel runs at that value only.
    declared: values that the program gives to the sizes that are its constants, as (role, value).
    origins: who says all that.
    """

    roles: tuple[str, ...]
    launch: LaunchPlan
    square_only: bool = False
    constants: tuple[tuple[str, str], ...] = ()
    template: tuple[tuple[str, str], ...] = ()
    pinned: tuple[tuple[str, int], ...] = ()
    declared: tuple[tuple[str, int], ...] = ()
    origins: Origins = Origins()
    zeroed: tuple[str, ...] = ()
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class VariantBinding:
    """The student's kernel for a variant.

    expression: NVRTC name expression to instantiate ("k<16>"), or the plain name.
    requested: the launch that the student's own host code asks for, even if impossible; None when unreadable.
    takes_sizes: the kernel has size parameters, so sizes that are no multiple of the tile are legal to ask for.
    others: kernels that may be the variant as well: they are graded too, and the best counts.
    is_never_launched: its program came to its end without it, and nothing in its text launches it.
    """

    variant: str
    kernel: Kernel
    expression: str
    interpretations: tuple[Interpretation, ...]
    requested: LaunchSite | None
    takes_sizes: bool
    others: tuple[VariantBinding, ...] = ()
    is_never_launched: bool = False


@dataclass(frozen=True, slots=True)
class Missing:
    """No kernel was found for a variant: why, as a message id with data ("no_candidate", "unbindable", "empty")."""

    variant: str
    reason: str
    data: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission:
    """One student's work for one lab, read and bound.

    sources: the texts that were handed in, then the headers that they include.  header_sources: how many these are.
    device_source: what is compiled, one entry a file: host code blanked, line numbers kept.
    Local headers stand in it too.
    missing_headers: file, header and line of includes of headers that were not handed in.
    edits: what has to change in the device code so that kernels can be handed other sizes and arrays, by file.
    observed: what its programs were seen to do.
    units: the file that each header is compiled with.  included: for each file that is compiled, the files that it
      includes, by the names that it includes them by.
    read_true: kernel, file and line of the launches that were seen, and are as their text says.
    """

    student: str
    name: str
    group: str
    sources: tuple[SourceText, ...]
    device_source: Mapping[str, str]
    kernels: tuple[Kernel, ...]
    launches: tuple[LaunchSite, ...]
    bindings: Mapping[str, VariantBinding | Missing]
    remarks: tuple[tuple[str, int], ...] = ()
    missing_headers: tuple[tuple[str, str, int], ...] = ()
    edits: Mapping[str, tuple[Edit, ...]] = field(default_factory=dict)
    observed: ObservedRuns = NOTHING_OBSERVED
    units: Mapping[str, str] = field(default_factory=dict)
    included: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    read_true: frozenset[tuple[str, str, int]] = frozenset()
    header_sources: int = 0
    title_page: Mapping[str, str] = field(default_factory=dict)
    """By field of `grader.result.TitlePage`, what `submission.yaml` gives for it."""

    @property
    def is_long(self) -> bool:
        """Whether its sources are too long for what needs many changed copies of them and costs no points."""
        return sum(len(source.text) for source in self.sources) > LONG_CHARACTERS

    def host_text(self, source: SourceText) -> str:
        """A file's text without comments and kernels, lines kept."""
        lines = without_comments(source.text).split("\n")
        for kernel in self.kernels:
            if kernel.file == source.file:
                for number in range(kernel.line, min(kernel.end_line, len(lines)) + 1):
                    lines[number - 1] = ""
        return "\n".join(lines)

    def program(self, file: str, constants: Mapping[str, int] | None = None) -> dict[str, str]:
        """What the compiler needs to compile `file`: its device code first, then the headers it may include.

        A header is compiled as nvcc does it, with the file that includes it.

        constants: values for constants of the program, by name.
        """
        file = self.units.get(file, file)
        return {
            name: apply(self.device_source[part], self.edits.get(part, ()), constants or {})
            for name, part in {file: file, **self.included.get(file, {})}.items()
        }


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
