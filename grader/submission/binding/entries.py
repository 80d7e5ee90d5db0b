"""The kernels of a submission: each with its file, its launches, and the template arguments it is launched with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations_with_replacement
from math import prod

from grader.lab.records import Lab, Variant
from grader.submission.binding.assign import HELPER, strong_rank
from grader.submission.binding.kernel_text import KernelShape
from grader.submission.binding.reconcile import Place, first, weakest_of, with_observed
from grader.submission.binding.roles import Unbindable, role_assignments
from grader.submission.binding.sizes import CompileTime
from grader.submission.compile_time import (
    SET_BY_HOST,
    constant_edits,
    mentioned,
    size_names,
    with_global_arrays,
)
from grader.submission.constant_memory import filled_edits, whole_numbers
from grader.submission.cpp.constants import SIZES_OF_TYPES
from grader.submission.cpp.scopes import argument_of, instantiated
from grader.submission.cpp.tree import WORD, ParsedFile
from grader.submission.device_code import DeviceCode
from grader.submission.kernels.kernel import kernel_of, kernels_in, local_values
from grader.submission.kernels.launches import find_launches
from grader.submission.kernels.loops import innermost_loops
from grader.submission.kernels.records import Kernel, LaunchSite, ObservedRuns, SeenArgument, factor_of
from grader.submission.kernels.symbolic import named_constants
from grader.submission.lexical import Edit
from grader.submission.records import Origin
from grader.submission.structs import is_handle, with_fields_seen, with_struct_arrays, with_struct_parameters

_KNOWN_TYPES = frozenset(
    ["const", "struct", "class", "unsigned", "signed", "long", "short", "int", "char", "bool", "std", "size_t"]
)
_VECTOR = re.compile(
    r"(?:u?(?:char|short|int|long|longlong)|float|double|dim)[1-4]|(?:__)?(?:half|nv_bfloat16)2?|cu\w+"
)
MAX_INSTANCES = 6
"""Instances of a template that are looked at, at most."""


_EXTENT = re.compile(r"(?i)blocks?|tiles?|threads?")


@dataclass(slots=True)
class Entry:
    """A kernel with its file, its launches, and the template arguments that it is instantiated with."""

    parsed: ParsedFile
    kernel: Kernel
    sites: tuple[LaunchSite, ...]
    template_values: dict[str, str] = field(default_factory=dict)
    template_origin: Origin | None = None
    expression: str = ""
    reason: Unbindable | None = None
    has_undeclared_type: bool = False
    """Its parameters have a type that no file handed in declares, and a header is missing."""
    edits: tuple[Edit, ...] = ()
    is_filled: bool = False
    """It reads constant memory that the program was seen to fill, for its own sizes."""
    kept: frozenset[str] = frozenset()
    """Constants that must stay as they are, since such memory is made of them."""
    filled_with: dict[str, int] = field(default_factory=dict)
    """Whole numbers that were seen in constant memory."""
    sizes_filled: dict[str, int] = field(default_factory=dict)
    """Those of these sizes that are fields of structs which hold fractions too."""
    is_instance: bool = False
    """Whether it is a template's, with arguments that `submission.yaml` names: its other instances may be other
    variants."""
    claims: frozenset[str] = frozenset()
    """Variants that the program names where it prints this kernel's time or result."""
    _shape: KernelShape | None = None

    @property
    def compile_time(self) -> CompileTime:
        """The sizes that are fixed when it is compiled."""
        constants = size_names(self.parsed, self.parsed.functions[self.kernel.name], self.kernel)
        from_host = {n: _source_of(self.parsed, n) for n, value in constants.items() if value == SET_BY_HOST}
        filled = frozenset({*constants.keys() & self.filled_with.keys(), *self.sizes_filled})
        constants |= {name: self.filled_with[name] for name in constants if name in self.filled_with}
        constants |= self.sizes_filled
        of_files = (constant_edits(parsed, constants) for parsed in (self.parsed, *self.parsed.headers))
        edits = (edit for edits in (*of_files, self.edits) for edit in edits)
        changeable = {edit.constant for edit in edits} - self.kept - {""}
        by_name = self.elements
        places = {i: by_name[p.name] for i, p in enumerate(self.kernel.parameters) if p.name in by_name}
        changed = next((site.changed for site in self.sites if site.observed), ("", 0))
        return CompileTime(
            constants,
            frozenset(changeable),
            self.template_values,
            filled,
            places,
            from_host,
            changed,
            self._handed(),
            self.shape.reaches(),
        )

    @property
    def elements(self) -> dict[str, int]:
        """How many elements each of its arrays was seen to have from where it begins, by the parameter's name."""
        arguments = {a.name: a for a in self.seen if a.name}
        return {
            p.name: (arguments[p.name].buffer_bytes - arguments[p.name].offset_bytes) // SIZES_OF_TYPES[p.dtype]
            for p in self.kernel.parameters
            if p.is_pointer and p.dtype in SIZES_OF_TYPES and p.name in arguments and arguments[p.name].buffer_bytes
        }

    def lengths(self, observed: ObservedRuns) -> dict[str, int]:
        """How many elements its arrays have, by the parameter's name; {} where it may not be for as many.

        That is so of a kernel that strays from its arrays, one of which may be too short, of parts of an array that
        others lie in as well, and of arrays with room for more: as long as the longest is no number that is handed in.
        """
        launches = [(run, x) for run in observed.runs for x in run.launches if x.kernel == self.kernel.name]
        strays = all(x.hazards for run, x in launches if run.results)
        in_parts = any(a.offset_bytes for _run, x in launches for a in x.arguments)
        numbers = [a.value for a in self.seen if isinstance(a.value, int) and a.value > 0][:4]
        counts = {prod(some) for k in (1, 2, 3) for some in combinations_with_replacement(numbers, k)}
        elements = self.elements
        has_room = bool(counts) and max(elements.values(), default=0) not in counts
        return {} if strays or in_parts or has_room else elements

    def _handed(self) -> dict[int, str]:
        """What the launch that it is graded by hands in and the kernel names as well, by the place of the parameter;
        global arrays stand first."""
        arguments = next((site.arguments for site in self.sites if site.arguments), ())
        first_place, words = len(self.kernel.parameters) - len(arguments), set(WORD.findall(self.shape.text))
        handed = {first_place + place: text.strip() for place, text in enumerate(arguments)}
        return {place: text for place, text in handed.items() if text in words and first_place >= 0}

    @property
    def seen(self) -> tuple[SeenArgument, ...]:
        """The arguments of the launch that it is graded by."""
        return next((site.seen for site in self.sites if site.observed), ())

    @property
    def offset(self) -> str:
        """The parameter that tells where a part of its arrays begins; "" where it is launched for all of them."""
        return next((site.offset for site in self.sites if site.observed), "")

    @property
    def seen_elsewhere(self) -> list[tuple[SeenArgument, ...]]:
        """The arguments of that launch at other sizes."""
        site = next((site for site in self.sites if site.observed), None)
        return [probe.arguments for probe in site.probes] if site is not None else []

    def value_of(self, parameter: str) -> int | None:
        """The whole number that was handed in for it in that launch."""
        values = (a.value for a in self.seen if a.name == parameter)
        return next((value for value in values if isinstance(value, int)), None)

    @property
    def threads(self) -> int:
        """Threads of the largest launch that was seen, 0 for none."""
        sites = (s for s in self.sites if s.observed and not s.refused and s.grid is not None and s.block is not None)
        return max((prod(s.grid or ()) * prod(s.block or ()) for s in sites), default=0)

    @property
    def shape(self) -> KernelShape:
        # Looked at again and again; an instance of a template gets another kernel.
        if self._shape is None or self._shape.kernel is not self.kernel:
            self._shape = KernelShape(self.parsed, self.kernel, self.template_values)
        return self._shape

    @property
    def kind(self) -> tuple[bool, bool, bool, bool]:
        """What of it tells variants apart."""
        return self.kernel.uses_shared, self.is_padded, self.shape.pads_rows, self.kernel.unroll > 1

    @property
    def called(self) -> str:
        """Its name, before it the words that a template's arguments say: `PAD` of `<int PAD>` with 1, `Mode::padded`.

        A number only counts, so it says no more than that the parameter's name holds; a block or a tile of so many
        threads is a size, and no variant.
        """
        words = []
        for name, value in self.template_values.items():
            match = re.fullmatch(r"(?:\([\w: ]*\)\s*)?(-?\d+|true)", value)
            if match is not None:
                is_size = match[1].isdigit() and int(match[1]) > 1
                words += [_EXTENT.sub("", name) if is_size else name] if match[1].strip("0") else []
            elif value != "false" and "::" in value:
                words.append(value.rpartition("::")[2])
        return " ".join([*words, self.kernel.name])

    @property
    def is_padded(self) -> bool:
        """Whether its text tells of padding, or the dynamic shared memory that it is launched with."""
        shape = self.shape
        launched_with = [(s.shared_bytes, s.block) for s in self.sites if s.shared_bytes and s.block is not None]
        return shape.is_padded or any(shape.is_padded_by(size or 0, block) for size, block in launched_with)


def entries_of(
    files: Sequence[ParsedFile],
    codes: Sequence[DeviceCode],
    read: Sequence[LaunchSite],
    lab: Lab,
    observed: ObservedRuns,
    changed: frozenset[Place],
) -> list[Entry]:
    """Every kernel of the submission.

    read: the launches in the text of `files`, see `sites_of`.  codes: what is compiled of the first of `files`.
    """
    lines = {parsed.file: parsed.source.text.split("\n") for parsed in files}
    launches = with_observed(read, observed, changed, {p.file: named_constants(p.constants) for p in files})
    lacking = {
        file
        for main, code in zip(files, codes, strict=False)
        if code.missing_headers
        for file in (main.file, *(header.file for header in code.headers.values()))
    }
    entries: list[Entry] = []
    for parsed in files:
        for kernel in kernels_in(parsed):
            same_file = tuple(s for s in launches if s.kernel == kernel.name and s.file == parsed.file)
            sites = same_file or tuple(s for s in launches if s.kernel == kernel.name)
            instances: list[Entry] = []
            for launched in _instances(kernel, sites):
                entry = _entry(parsed, kernel, launched, lab)
                entry.has_undeclared_type = parsed.file in lacking and _is_undeclared(entry, files)
                entry.reason = None if entry.has_undeclared_type else entry.reason
                entry.claims = _claimed(entry.sites, launches, lines, lab.variants)
                instances.append(entry)
            entries += _distinct(instances, lab)
    return entries


_MAX_LINES = 16
# What is said of a launch, of sizes and of errors names no variant: "Block: 16x16", "3 rows", "error in line 7".
_NUMBER = r"\s*[:=(,#]?\s*(?:\d|%\d*l*z?[dux])"
_NO_CLAIM = re.compile(
    r"(?i)(?:number of|num|threads?|grids?|per|max\w*|/)[\W_]*blocks?\b|\bblocks\b"
    rf"|\bblock[\W_]*(?:size|dim\w*|count|shape|per)\b|\b(?:blocks?|lines?|rows?|cols?|columns?){_NUMBER}"
    # What a comparison says of a result: "the answer is wrong".
    r"|\b(?:(?:is|are|was|were|results?|answer|ans)\W+)+(?:not\W+)?wrong\b|\bwrong\W*(?:results?\b|answer|!|\\n|$)"
    r"|(?:\d|%\d*l*z?[dux])\s*(?:rows?|cols?|columns?|lines?)\b|\bshared mem\w*[\W_]*(?:per|size)\b"
)
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*+)"?')


def _claimed(
    sites: Sequence[LaunchSite],
    all_sites: Iterable[LaunchSite],
    lines: Mapping[str, Sequence[str]],
    variants: Sequence[Variant],
) -> frozenset[str]:
    """The variants that are named in what is printed between a kernel's launch and the next kernel's.

    lines: of each file's text.
    """
    names: set[str] = set()
    others = sorted({(site.file, site.line) for site in all_sites})
    for site in sites:
        after = next((line for file, line in others if file == site.file and line > site.line), site.line + _MAX_LINES)
        text = "\n".join(lines.get(site.file, ())[site.line - 1 : min(after - 1, site.line + _MAX_LINES)])
        for string in _STRING.findall(text):
            said = _NO_CLAIM.sub(" ", string)
            named = [(rank, v.name) for v in variants if (rank := strong_rank(v, said)) is not None]
            if named:
                names.add(min(named)[1])
    return frozenset(names)


def _distinct(instances: Sequence[Entry], lab: Lab) -> list[Entry]:
    """Of a kernel's launches all together and, after them, of a template's by its arguments, those that may be variants
    of their own: by what they do, what they are called and what is printed of them."""
    by_words: dict[tuple[object, ...], Entry] = {}
    for entry in instances[1:]:
        by_words.setdefault((entry.kind, _variants_called(entry, lab), entry.claims), entry)
    distinct_words = {(words, claims) for _kind, words, claims in by_words}
    if len(distinct_words) > 1:
        return list(by_words.values())
    by_kind: dict[tuple[object, ...], Entry] = {}
    for entry in instances:
        by_kind.setdefault(entry.kind, entry)
    return list(by_kind.values())


def _variants_called(entry: Entry, lab: Lab) -> frozenset[str]:
    return frozenset(variant.name for variant in lab.variants if strong_rank(variant, entry.called) is not None)


def sites_of(files: Sequence[ParsedFile]) -> list[LaunchSite]:
    """Every launch in the text of some files, of kernels in any of them."""
    names = {kernel.name for parsed in files for kernel in parsed.kernels}
    return [site for parsed in files for site in find_launches(parsed, names)]


def instance_of(entries: Sequence[Entry], name: str, arguments: Sequence[str], lab: Lab) -> Entry | None:
    """The kernel `name`, a template with these arguments whether or not it is launched with them; None: there is none.

    Arguments that are not given are the launch's, as those of a kernel without any.
    """
    named = next((entry for entry in entries if entry.kernel.name == name), None)
    if named is None or not arguments:
        return named
    if len(arguments) > len(named.kernel.template_parameters):
        return None
    parsed = named.parsed
    stated = tuple(_value_of(argument, parsed) for argument in arguments)
    launched = tuple(s for s in named.sites if s.template_arguments[: len(stated)] == stated)
    plain = next(kernel for kernel in kernels_in(parsed) if kernel.name == name)
    entry = _entry(parsed, replace(plain, file=named.kernel.file), launched or named.sites, lab, stated)
    entry.is_instance = True
    entry.has_undeclared_type = named.has_undeclared_type
    entry.reason = None if entry.has_undeclared_type else entry.reason
    return entry


def _value_of(argument: str, parsed: ParsedFile) -> str:
    number = parsed.constants.integer(argument)
    return argument.strip() if number is None else str(number)


def launched_twice(entries: Sequence[Entry]) -> dict[str, str]:
    """The one kernel, or the one instance of a template, that a program was seen to launch in several lines."""
    lines: dict[str, set[int]] = {}
    # What prepares an array is launched for each of them.
    for site in (site for entry in entries for site in entry.sites if site.observed and not HELPER.search(site.kernel)):
        arguments = f"<{', '.join(site.template_arguments)}>" if site.template_arguments else ""
        lines.setdefault(site.kernel + arguments, set()).add(site.line)
    several = {name: sorted(places) for name, places in lines.items() if len(places) > 1}
    if len(several) != 1:
        return {}
    ((name, places),) = several.items()
    return {"launched": name, "lines": ", ".join(str(line) for line in places)}


def _source_of(parsed: ParsedFile, constant: str) -> str:
    """Return the host's variable that is copied into a constant; "" where there is none, or several."""
    pattern = rf"\bcudaMemcpyToSymbol(?:Async)?\s*\(\s*&?\s*{re.escape(constant)}\s*,\s*&\s*(\w+)\s*,"
    variables = set(re.findall(pattern, parsed.source.text))
    return variables.pop() if len(variables) == 1 else ""


def _is_undeclared(entry: Entry, files: Sequence[ParsedFile]) -> bool:
    """Whether the kernel cannot be bound for a type that nothing in the files declares, and CUDA neither."""
    if entry.reason is None or entry.reason.detail != "parameter":
        return False
    words = set(WORD.findall(str(entry.reason.data.get("type", "")))) - _KNOWN_TYPES
    declared = {name for parsed in files for file in (parsed, *parsed.headers) for name in file.by_name}
    return any(not _VECTOR.fullmatch(word) for word in words - declared - set(entry.kernel.template_parameters))


def _instances(kernel: Kernel, sites: tuple[LaunchSite, ...]) -> list[tuple[LaunchSite, ...]]:
    """All launches of a kernel; after them, of a template, those of each list of arguments that it is launched with.

    `tiled<32, 0>` and `tiled<32, 1>` may be two variants.
    """
    launched = list(dict.fromkeys(site.template_arguments for site in sites if site.template_arguments))
    if not kernel.template_parameters or len(launched) < 2:
        return [sites]
    return [sites, *(tuple(s for s in sites if s.template_arguments == given) for given in launched[:MAX_INSTANCES])]


def _entry(
    parsed: ParsedFile, kernel: Kernel, sites: tuple[LaunchSite, ...], lab: Lab, stated: tuple[str, ...] = ()
) -> Entry:
    entry = Entry(parsed, kernel, sites)
    _instantiate(entry, lab, stated)
    parsed = entry.parsed
    item = parsed.functions[kernel.name]
    with_fields = partial(with_fields_seen, parsed, entry.kernel)
    entry.sites = tuple(
        replace(
            site,
            seen=with_fields(site.seen),
            probes=tuple(replace(p, arguments=with_fields(p.arguments)) for p in site.probes),
        )
        for site in entry.sites
    )
    entry.kernel, of_structs = with_struct_parameters(
        parsed, item, with_struct_arrays(parsed, entry.kernel), entry.template_values
    )
    entry.kernel, of_arrays = with_global_arrays(parsed, item, entry.kernel, lab)
    content = dict(next((site.filled for site in entry.sites if site.observed), ()))
    entry.filled_with = whole_numbers(parsed, content)
    of_memory, entry.kept, entry.sizes_filled = filled_edits(parsed, mentioned(parsed, item), content, lab)
    entry.edits, entry.is_filled = (*(of_structs or of_arrays), *of_memory), bool(of_memory)
    loops = innermost_loops(parsed, item, entry.template_values)
    entry.kernel = replace(entry.kernel, loops=loops, unroll=factor_of(loops))
    handle = next((p for p in entry.kernel.parameters if is_handle(parsed, p)), None)
    try:
        if handle is not None:
            raise Unbindable("handle", parameter=handle.name, type=handle.type_text.strip())
        role_assignments(entry.kernel, lab, entry.seen, entry.seen_elsewhere)
    except Unbindable as reason:
        entry.reason = reason
    return entry


def _instantiate(entry: Entry, lab: Lab, stated: tuple[str, ...]) -> None:
    """Choose the name expression.

    A template's arguments are those that are `stated`, else those it is launched with (of several, those of the lab's
    type), else their defaults, else plausible ones.
    """
    item = entry.parsed.functions[entry.kernel.name]
    entry.expression = item.namespace + entry.kernel.name
    names = entry.kernel.template_parameters
    if not names:
        return
    said: Origin = "observed" if any(site.observed for site in entry.sites) else "read"
    usual = next((_type_name(p.dtype) for p in lab.parameters if p.is_array), "float")
    types = [index for index, name in enumerate(names) if _is_type(entry.kernel, name)]
    # Of instances that a `switch` chooses among, the one that is as large as the block that its text hands them all.
    in_order = sorted(entry.sites, key=lambda s: not s.observed and not _is_as_large(s))
    launches = [s.template_arguments for s in in_order if s.template_arguments]
    of_usual = (each for each in launches if all(each[i : i + 1] in ((), (usual,)) for i in types))
    chosen = next(of_usual, launches[0] if launches else ())
    if launches and chosen != entry.sites[0].template_arguments:
        entry.sites = tuple(sorted(entry.sites, key=lambda site: site.template_arguments != chosen))
    launched, given = dict(enumerate(chosen)), dict(enumerate(stated))
    values: dict[str, str] = {}
    origins: list[Origin] = []
    constants = entry.parsed.constants
    typed = replace(constants, types=dict(constants.types), values=dict(constants.values))
    for index, name in enumerate(names):
        default = item.template_defaults[index] if index < len(item.template_defaults) else ""

        def by_default(default: str = default) -> str | None:
            # It may be made of the parameters before it: `int ROWS = TILE / 4`.
            number = typed.integer(default) if default else None
            return str(number) if number is not None else values.get(default, default) or None

        if _is_type(entry.kernel, name):
            plausible = usual
        else:
            plausible = "8" if re.search(r"(?i)row", name) and "block" in name.lower() else "32"
        fact = first(
            {"stated": partial(given.get, index), said: partial(launched.get, index), "inferred": by_default},
            otherwise=plausible,
        )
        values[name] = fact.value
        origins.append(fact.origin)
        typed.types[name] = values[name]
        expression = argument_of(constants, values[name])
        if expression is not None:
            typed.values[name] = expression
    entry.template_values, entry.template_origin = values, weakest_of(origins)
    entry.expression += f"<{', '.join(values[name] for name in names)}>"
    body = item.node.child_by_field_name("body")
    if body is not None:
        entry.parsed = instantiated(entry.parsed, item, values, local_values(entry.parsed, body))
        item = entry.parsed.functions[entry.kernel.name]
    concrete = kernel_of(replace(entry.parsed, constants=typed), item)
    entry.kernel = replace(concrete, file=entry.kernel.file)


def _is_as_large(site: LaunchSite) -> bool:
    """Whether a number among the template's arguments is the block's side."""
    return site.block is not None and str(site.block[0]) in site.template_arguments


def _is_type(kernel: Kernel, name: str) -> bool:
    return any(name in re.findall(r"\w+", parameter.type_text) for parameter in kernel.parameters)


def _type_name(dtype: str) -> str:
    return {"float64": "double", "int32": "int", "uint32": "unsigned", "int64": "long long"}.get(dtype, "float")


def is_intermediate(entry: Entry, entries: Sequence[Entry]) -> bool:
    """Whether what a kernel was seen to write goes on to another kernel, and never to the host."""
    outputs = {p.name for p in entry.kernel.parameters if p.is_pointer and p.is_written}
    written = [a for site in entry.sites for a in site.seen if a.name in outputs and a.buffer]
    if not written or any(a.read_back for a in written):
        return False
    buffers = {a.buffer for a in written}
    for other in entries:
        if other.kernel.name == entry.kernel.name:
            continue
        only_read = {p.name for p in other.kernel.parameters if p.is_pointer and p.is_read and not p.is_written}
        arguments = (a for site in other.sites for a in site.seen)
        if any(a.name in only_read and a.buffer in buffers and a.before == "kernel" for a in arguments):
            return True
    return False
