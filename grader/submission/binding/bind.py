"""A student's files bound to a lab: which kernel is which variant, what its parameters mean, how it is launched.

And why a file has no kernel that could be a variant's, where that is another thing than a missing name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader import yaml_file
from grader.lab.records import Lab, Variant
from grader.message import msg
from grader.preprocessor import STRING
from grader.submission import lexical
from grader.submission.binding.assign import Candidate, assign, compared, strong_rank
from grader.submission.binding.entries import Entry, entries_of, instance_of, is_intermediate, launched_twice, sites_of
from grader.submission.binding.kernel_text import (
    OtherData,
    Profile,
    is_of_another_task,
    likeness,
    other_data,
    profile_of,
    profiles,
    unequal_lengths,
)
from grader.submission.binding.parts import in_whole
from grader.submission.binding.plans import as_written, in_their_places, interpretations, requested_launch
from grader.submission.binding.reconcile import Fact, Place, by_columns, first, places_read_true
from grader.submission.binding.roles import role_assignments
from grader.submission.compile_time import constant_edits
from grader.submission.cpp.tree import ParsedFile
from grader.submission.device_code import read_files
from grader.submission.folder import FoundSubmission, VariantSettings, variant_settings
from grader.submission.kernels.records import NOTHING_OBSERVED, Kernel, ObservedRuns
from grader.submission.lexical import Edit, without_comments
from grader.submission.records import Missing, Origin, Submission, VariantBinding
from grader.submission.source import SourceText, decode
from grader.submission.structs import flat


def stated_kernels(
    submitted: FoundSubmission, settings: Mapping[str, VariantSettings], entries: Sequence[Entry], lab: Lab
) -> dict[str, Entry]:
    """The kernels that `submission.yaml` names, by variant."""
    given: dict[str, Entry] = {}
    for variant, chosen in settings.items():
        if chosen.kernel is None:
            continue
        name, arguments = _instance(chosen.kernel)
        entry = instance_of(entries, name, arguments, lab)
        if entry is None:
            kernel = next((e.kernel for e in entries if e.kernel.name == name), None)
            if kernel is not None:
                expected = len(kernel.template_parameters)
                message = msg("submission.template_arguments", kernel=name, got=len(arguments), expected=expected)
                raise submitted.settings_error(message, lab.id, variant, "kernel")
            allowed = yaml_file.choose(name, {e.kernel.name for e in entries})
            raise submitted.settings_error(
                msg("submission.no_kernel", kernel=chosen.kernel, allowed=allowed), lab.id, variant, "kernel"
            )
        twice = next(
            (v for v, e in given.items() if (e.kernel.file, e.expression) == (entry.kernel.file, entry.expression)),
            None,
        )
        if twice is not None and entry.kernel.template_parameters:
            message = msg("submission.instance_twice", kernel=entry.expression, other=twice)
            raise submitted.settings_error(message, lab.id, variant, "kernel")
        if twice is not None:
            raise submitted.settings_error(
                msg("submission.kernel_twice", kernel=chosen.kernel, other=twice), lab.id, variant, "kernel"
            )
        given[variant] = entry
    return given


def _instance(text: str) -> tuple[str, list[str]]:
    """Split "tiled<32, 1>" into "tiled" and its template arguments; a kernel's namespace is left out."""
    name, _bracket, inner = text.partition("<")
    arguments = [argument.strip() for argument in inner.rpartition(">")[0].split(",")] if inner else []
    return name.strip().rpartition("::")[2], [argument for argument in arguments if argument]


def stated_roles(
    arguments: Sequence[str], kernel: Kernel, submitted: FoundSubmission, variant: Variant, lab: Lab
) -> tuple[str, ...]:
    """The roles that `submission.yaml` gives, if the kernel can have them."""
    allowed = [parameter.name for parameter in lab.parameters]
    for index, role in enumerate(arguments):
        if role not in allowed:
            message = msg("submission.no_parameter", role=role, allowed=yaml_file.choose(role, allowed))
            raise submitted.settings_error(message, lab.id, variant.name, "arguments", index)
    if len(arguments) != len(kernel.parameters):
        message = msg("submission.roles", got=len(arguments), kernel=kernel.name, expected=len(kernel.parameters))
        raise submitted.settings_error(message, lab.id, variant.name, "arguments")
    for role, parameter in zip(arguments, kernel.parameters, strict=True):
        if parameter.is_pointer != lab.parameter(role).is_array:
            message = msg("submission.cannot_be", name=parameter.name, kernel=kernel.name, role=role)
            raise submitted.settings_error(message, lab.id, variant.name, "arguments")
    missing = [p.name for p in lab.parameters if p.is_array and p.name not in arguments]
    if missing:
        message = msg("submission.missing_roles", roles=", ".join(missing))
        raise submitted.settings_error(message, lab.id, variant.name, "arguments")
    return tuple(arguments)


_TO_ZERO = re.compile(r"\]\s*=\s*(?:\(\w+\)\s*)?0(?:\.0*)?[fF]?\s*;|\*\s*\w+\s*=\s*0(?:\.0*)?[fF]?\s*;")


def zeroed_before(entry: Entry, entries: Sequence[Entry]) -> set[str]:
    """Pointers to arrays that the program sets to zero before the launch, and that the kernel adds to."""
    text = entry.shape.text
    adds = {
        p.name for p in entry.kernel.parameters if p.is_pointer and p.is_written and (p.is_read or "atomic" in text)
    }
    if entry.seen:
        by_kernels = {buffer for other in entries for buffer in _buffers_zeroed_by(other)}
        return {
            a.name
            for a in entry.seen
            if a.name in adds and (a.before == "zeros" or (a.before == "kernel" and a.buffer in by_kernels))
        }
    zeroed = set()
    for site in entry.sites[:1]:
        for argument, parameter in zip(site.arguments, entry.kernel.parameters[-len(site.arguments) :], strict=False):
            set_to_zero = rf"\bcudaMemset(?:Async)?\s*\(\s*{re.escape(argument)}\s*,\s*0\s*,"
            if parameter.name in adds and re.search(set_to_zero, entry.parsed.source.text):
                zeroed.add(parameter.name)
    return zeroed


def _buffers_zeroed_by(entry: Entry) -> set[str]:
    """Return the arrays handed to a kernel that does nothing but set its only array to zero."""
    arrays = [p for p in entry.kernel.parameters if p.is_pointer]
    if len(arrays) != 1 or arrays[0].is_read or not _TO_ZERO.search(entry.shape.text):
        return set()
    return {a.buffer for site in entry.sites for a in site.seen if a.name == arrays[0].name and a.buffer}


# Why a file has no kernel that could be a variant's, where that is another thing than a missing name.

_STRING = re.compile(STRING, re.DOTALL)
_GLOBAL = re.compile(r"\b__global__\b")
_MISSPELT = re.compile(r"(?:\b_{0,2}|\*\*)(?:global)(?:_{1,2}\b|\*\*)(?=\s+void\b)|\b_{1,2}global(?=\s+void\b)")
_DECLARED = re.compile(r"\b__global__\b[^;{}()]{0,200}?\b(\w+)\s*\([^;{}]{0,2000}\)\s*;")
_DEFINED = re.compile(r"\b__global__\b[^;{}()]{0,200}?\b(\w+)\s*\([^;{}]{0,2000}\)\s*\{")
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define\b")


def why_absent(
    sources: Sequence[SourceText], missing_headers: Sequence[tuple[str, str, int]], kernel_names: Collection[str]
) -> tuple[str, Mapping[str, object]] | None:
    """The reason as the id of a message, with its data; None where the names are all that is wrong.

    kernel_names: names of the kernels that were found.
    """
    header = next(iter(missing_headers), None)
    for source in sources:
        plain = _blanked(source.text)
        defined = {match[1] for match in _DEFINED.finditer(plain)}
        for match in _DECLARED.finditer(plain):
            if match[1] not in {*defined, *kernel_names}:
                where = {"file": source.file, "line": _line(plain, match.start()), "kernel": match[1]}
                return ("declared_elsewhere", {**where, "header": header[1]}) if header else ("declared", where)
    if kernel_names:
        return None
    for source in sources:
        plain = _blanked(source.text)
        cut = _cut_macro(plain)
        if cut and _GLOBAL.search(plain):
            return "cut_macro", {"file": source.file, "line": cut}
    if header is not None:
        return "missing_header", {"file": header[0], "line": header[2], "header": header[1]}
    for source in sources:
        plain = _blanked(source.text)
        commented, misspelt = _GLOBAL.search(source.text), _MISSPELT.search(plain)
        if commented is not None:
            kind = "inactive" if _GLOBAL.search(plain) else "commented"
            return kind, {"file": source.file, "line": _line(source.text, commented.start())}
        if misspelt is not None:
            return "misspelt_global", {"file": source.file, "line": _line(plain, misspelt.start()), "word": misspelt[0]}
    return "no_global", {}


def _blanked(text: str) -> str:
    return _STRING.sub(lambda match: re.sub(r'[^"]', " ", match[0]), without_comments(text))


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _cut_macro(text: str) -> int:
    """Return the line of a macro that ends with open braces, for want of a backslash; 0 where there is none."""
    depth, inside = 0, False
    for number, line in enumerate(text.split("\n"), 1):
        if not inside and _DEFINE.match(line):
            inside, depth = True, 0
        if inside:
            depth += line.count("{") - line.count("}")
            if not line.rstrip().endswith("\\"):
                if depth > 0:
                    return number
                inside = False
    return 0


# What is asked of a kernel, or set for it, launches nothing.
_ASKED_OF = re.compile(r"\bcuda(?:Func(?:Set|Get)\w+|Occupancy\w+)\s*\([^;{}]{0,400};")


def bind(
    submitted: FoundSubmission,
    sources: Sequence[SourceText],
    lab: Lab,
    read_header: Callable[[Path], SourceText] = decode,
    observed: ObservedRuns = NOTHING_OBSERVED,
    changed: frozenset[Place] = frozenset(),
) -> Submission:
    """The submission in `sources`, read and bound to `lab`; local headers are read with `read_header`.

    observed: what was seen of its programs, which holds before anything that their text says.
    changed: launches that were seen as the text said them, of programs whose text was changed since: they follow it.
    Raises FileError: `submission.yaml` names a variant, a kernel or a role that does not exist.  Raises UsageError: a
    local header is no text; the files take too much work to read.
    """
    with lexical.limited(sources[0].path if sources else submitted.folder):
        return _bind(submitted, sources, lab, read_header, observed, changed)


@dataclass(frozen=True, slots=True)
class _Read:
    """A submission as its files and its programs' runs tell it: what all of its variants are bound in.

    absent: why kernels may be missing, where that is known.
    """

    submitted: FoundSubmission
    entries: Sequence[Entry]
    lab: Lab
    absent: tuple[str, Mapping[str, object]] | None
    observed: ObservedRuns


def _bind(
    submitted: FoundSubmission,
    sources: Sequence[SourceText],
    lab: Lab,
    read_header: Callable[[Path], SourceText],
    observed: ObservedRuns,
    changed: frozenset[Place],
) -> Submission:
    settings = variant_settings(submitted, [variant.name for variant in lab.variants])
    read = read_files(sources, submitted.folder, read_header)
    sites = sites_of(read.with_kernels)
    observed = in_their_places(flat(read.with_kernels, sites, observed), lab)
    entries = entries_of(read.with_kernels, read.codes, sites, lab, in_whole(observed, read.with_kernels), changed)
    given = stated_kernels(submitted, settings, entries, lab)
    entries += [entry for entry in given.values() if entry.is_instance]
    by_id = {
        id(entry): item for entry, item in zip(entries, compared(_candidates(entries, lab, observed)), strict=True)
    }
    by_known = {id(by_id[id(entry)]): entry for entry in entries}
    assigned = assign(lab.variants, [by_id[id(e)] for e in entries], {name: by_id[id(e)] for name, e in given.items()})
    missing_headers = tuple(
        (parsed.file, name, line)
        for parsed, code in zip(read.main_files, read.codes, strict=True)
        for name, line in code.missing_headers
    )
    texts = [*sources, *read.header_sources]
    absent = why_absent(texts, missing_headers, {entry.kernel.name for entry in entries})

    whole = _Read(submitted, entries, lab, absent, observed)

    def bound_to(variant: Variant, entry: Entry | None) -> VariantBinding | Missing:
        origin: Origin = "stated" if variant.name in given else "inferred"
        return _binding(entry, origin, settings[variant.name], variant, whole)

    bindings = {}
    for variant in lab.variants:
        chosen = assigned.chosen.get(variant.name)
        binding = bound_to(variant, by_known[id(chosen)] if chosen is not None else None)
        if isinstance(binding, VariantBinding):
            others = [bound_to(variant, by_known[id(k)]) for k in assigned.others.get(variant.name, ())]
            binding = replace(binding, others=tuple(o for o in others if isinstance(o, VariantBinding)))
        bindings[variant.name] = binding
    launches = tuple(dict.fromkeys(site for entry in entries for site in entry.sites))
    return Submission(
        student=submitted.student,
        name=submitted.name,
        group=submitted.group,
        title_page=submitted.title_page,
        sources=(*sources, *read.header_sources),
        device_source=read.texts,
        kernels=tuple(entry.kernel for entry in entries),
        launches=launches,
        bindings=bindings,
        remarks=(
            *(("unknown_lab", line) for line in submitted.unknown_labs),
            *(r for source in sources for r in source.remarks),
            *_contradictions(bindings, settings),
            *dict.fromkeys(("swapped_launch", site.line) for site in launches if site.seems_swapped),
        ),
        edits=_edits(entries, read.by_name()),
        observed=observed,
        missing_headers=missing_headers,
        units=read.units,
        included=read.included,
        read_true=places_read_true(launches),
        header_sources=len(read.header_sources),
    )


def _contradictions(
    bindings: Mapping[str, VariantBinding | Missing], settings: Mapping[str, VariantSettings]
) -> list[tuple[str, int]]:
    """Return the launches whose block differs from the one in `submission.yaml`, by line."""
    contradictions: dict[tuple[str, int], None] = {}
    for name, binding in bindings.items():
        stated = settings[name].block
        if stated is None or isinstance(binding, Missing) or binding.requested is None:
            continue
        if binding.requested.block is not None and binding.requested.block != tuple([*stated, 1, 1][:3]):
            was_seen = binding.interpretations[0].origins.block == "observed"
            contradictions["block_overruled" if was_seen else "block_contradicted", binding.requested.line] = None
    return list(contradictions)


def _candidates(entries: Sequence[Entry], lab: Lab, observed: ObservedRuns) -> list[Candidate]:
    """Describe each kernel, those with a tile beside the lab's own."""
    of_kernels = []
    own: dict[str, Profile] | None = None
    for entry in entries:
        is_of_other = is_of_another_task(entry.kernel.name, lab) or _other_data(entry, lab, observed) != ""
        is_between = is_intermediate(entry, entries)
        candidate = replace(_candidate(entry), is_intermediate=is_between, is_of_another_task=is_of_other)
        if entry.kernel.uses_shared and entry.reason is None:
            own = profiles(lab) if own is None else own
            profile = profile_of(entry.kernel, entry.shape, _readings(entry, lab)[0])
            candidate = replace(candidate, likeness=likeness(profile, own))
        of_kernels.append(candidate)
    return of_kernels


def _is_named(entry: Entry, lab: Lab) -> bool:
    return any(strong_rank(variant, entry.called) is not None for variant in lab.variants)


def _other_data(entry: Entry, lab: Lab, observed: ObservedRuns) -> OtherData:
    if unequal_lengths(entry.kernel, entry.lengths(observed), lab):
        return "unequal_lengths"
    return other_data(entry.kernel, entry.shape, lab, is_named=_is_named(entry, lab))


def _candidate(entry: Entry) -> Candidate:
    return Candidate(
        entry.kernel,
        entry.is_padded,
        entry.reason is None,
        threads=entry.threads,
        expression=entry.expression,
        name=entry.called,
        claims=entry.claims,
        pads_rows=entry.shape.pads_rows,
        is_instance=entry.is_instance,
        is_pointwise=entry.shape.is_pointwise,
    )


def _edits(entries: Sequence[Entry], files: Mapping[str, ParsedFile]) -> dict[str, tuple[Edit, ...]]:
    """What has to change in each file so that kernels can be handed other sizes, and arrays that are global.

    If there are several texts for one place, as for constant memory that is filled anew for each kernel, the first.
    """
    names = {name for entry in entries for name in entry.compile_time.changeable}
    filled = {name: value for entry in entries for name, value in entry.filled_with.items()}
    by_file = {}
    for file, parsed in files.items():
        by_place: dict[tuple[int, int, str], Edit] = {}
        for entry in entries:
            for edit in entry.edits if entry.parsed.source.path == parsed.source.path else ():
                by_place.setdefault((edit.start, edit.end, edit.constant), edit)
        edits = []
        for edit in constant_edits(parsed, names):
            # What no size of the lab is, of an array of whole numbers or by itself, stays what it was seen to be.
            is_kept = by_place.pop((edit.start, edit.end, ""), None) is not None or "[" in edit.constant
            edits.append(replace(edit, unset=filled.get(edit.constant, edit.unset)) if is_kept else edit)
        by_file[file] = (*edits, *by_place.values())
    return by_file


def _binding(
    entry: Entry | None, kernel_origin: Origin, settings: VariantSettings, variant: Variant, read: _Read
) -> VariantBinding | Missing:
    entries, absent, lab = read.entries, read.absent, read.lab
    if entry is None and entries and all(e.reason is not None for e in entries):
        # Nothing in the file can be a kernel of this lab: why, told of the first that does something.
        with_body = [e for e in entries if not e.kernel.is_empty]
        if not with_body and not any(_is_named(e, lab) for e in entries):  # Skeletons of another task.
            shown = {"kernels": ", ".join(_listed(entries)), "parameters": ", ".join(p.name for p in lab.parameters)}
            first_of = entries[0].kernel
            return Missing(variant.name, "all_empty", {**shown, "file": first_of.file, "line": first_of.line})
        entry = next(iter(with_body), entries[0])
    if entry is None:
        if absent is not None:
            return Missing(variant.name, absent[0], absent[1])
        of_other = _of_other_data(entries, lab, read.observed)
        if of_other is not None:
            return Missing(variant.name, *of_other)
        return Missing(variant.name, "no_candidate", {"kernels": _listed(entries), **launched_twice(entries)})
    kernel = entry.kernel
    where = {"kernel": kernel.name, "file": kernel.file, "line": kernel.line}
    if kernel.is_empty:
        return Missing(variant.name, "empty", where)
    stated = settings.arguments
    if stated is None and entry.reason is not None:
        return Missing(variant.name, "unbindable", {**where, "detail": entry.reason.detail, **entry.reason.data})
    roles: Fact[Sequence[tuple[str, ...]]] = first(
        {
            "stated": lambda: (
                [stated_roles(stated, kernel, read.submitted, variant, lab)] if stated is not None else None
            ),
            "observed" if entry.seen else "inferred": lambda: _readings(entry, lab),
        },
        otherwise=(),
    )
    zeroed = zeroed_before(entry, entries)
    is_never_launched = _is_never_launched(entry, entries, read.observed)
    blocks = dict.fromkeys(x.block for x in read.observed.launches if not x.refused and is_never_launched)
    choices = tuple(
        replace(
            c,
            zeroed=tuple(r for p, r in zip(kernel.parameters, c.roles, strict=True) if p.name in zeroed),
            origins=replace(c.origins, kernel=kernel_origin, template=entry.template_origin),
        )
        for c in interpretations(entry, roles, settings, variant, lab, list(blocks))
    )
    return VariantBinding(
        variant=variant.name,
        kernel=kernel,
        expression=entry.expression,
        interpretations=choices,
        requested=requested_launch(entry.sites),
        takes_sizes=not choices[0].launch.exact,
        is_never_launched=is_never_launched,
    )


def _of_other_data(
    entries: Sequence[Entry], lab: Lab, observed: ObservedRuns
) -> tuple[str, Mapping[str, object]] | None:
    """Why none of the kernels is the lab's, of the first that works on other data; None where that is not so of all."""
    reasons = [_other_data(e, lab, observed) if e.reason is None else "" for e in entries]
    are_others = [bool(r) or is_of_another_task(e.kernel.name, lab) for r, e in zip(reasons, entries, strict=True)]
    if not any(reasons) or not all(are_others):
        return None
    reason, entry = next((r, e) for r, e in zip(reasons, entries, strict=True) if r)
    lengths = entry.lengths(observed)
    arrays = unequal_lengths(entry.kernel, lengths, lab) or ()
    shown = {name: f"{array}[{lengths[array]}]" for name, array in zip(("first", "second"), arrays, strict=False)}
    return reason, {"kernel": entry.kernel.name, "file": entry.kernel.file, "line": entry.kernel.line, **shown}


def _is_never_launched(entry: Entry, entries: Sequence[Entry], observed: ObservedRuns) -> bool:
    """Whether its program launches others, and names this one only where it is written: it ended, or joins no names."""
    file, name = entry.kernel.file, entry.kernel.name
    runs = [run for run in observed.runs if file in run.files and run.launches and not run.probe and not run.forgiven]
    if entry.sites or not runs or any(x.kernel == name for run in runs for x in run.launches):
        return False
    declared = re.compile(rf"\b__global__\b(?:[^;{{}}()]|__launch_bounds__\s*\([^()]*\))*\b{name}\s*\(")
    texts = {f.source.path: f.source.text for e in entries for f in (e.parsed, *e.parsed.headers)}
    plain = [_ASKED_OF.sub(" ", _STRING.sub('""', without_comments(text))) for text in texts.values()]
    is_clear = any(run.ended for run in runs) or "##" not in "".join(plain)
    return is_clear and all(len(re.findall(rf"\b{name}\b", text)) == len(declared.findall(text)) for text in plain)


def _listed(entries: Sequence[Entry]) -> list[str]:
    are_several = len({e.kernel.file for e in entries}) > 1
    return list(dict.fromkeys(f"{e.kernel.name} ({e.kernel.file})" if are_several else e.kernel.name for e in entries))


def _readings(entry: Entry, lab: Lab) -> list[tuple[str, ...]]:
    """Return the possible roles of its parameters, likeliest first; placeholders where their types are unknown."""
    if entry.has_undeclared_type:
        return [("=0",) * len(entry.kernel.parameters)]
    found = role_assignments(entry.kernel, lab, entry.seen, entry.seen_elsewhere, entry.offset)
    named = by_columns(found, entry.shape.text, entry.parsed, entry.shape.constants, lab)
    readings = [as_written(entry, lab, roles) for roles in named]
    if not entry.is_filled:
        return readings
    # What the memory was filled with may hold at the usual sizes alone: weights of so many neighbours.
    usual = {p.name: p.usual for p in lab.parameters if p.is_size and p.usual is not None}
    values = [entry.value_of(p.name) for p in entry.kernel.parameters]
    return [
        tuple(f"={v}" if v is not None and usual.get(r) == v else r for r, v in zip(roles, values, strict=True))
        for roles in readings
    ]
