"""Structs that launches hand over, field by field: the kernels, what was seen of the fields, and what the text gives
each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from grader.submission.cpp.tree import ParsedFile
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import Kernel, LaunchSite, Observed, SeenRun
from grader.submission.lexical import without_comments
from grader.submission.structs import (
    fields_of,
    plain_type,
    with_fields_seen,
    with_struct_arrays,
    with_struct_parameters,
)

MAX_TEXT = 2000
"""Characters of an initialiser."""


@dataclass(frozen=True, slots=True)
class Flat:
    """Kernels and launches as if each field of a struct were a parameter by itself.

    places: for the launches of a kernel in a line the variable that is the struct, and where that gets its fields.
    """

    kernels: tuple[Kernel, ...]
    sites: tuple[LaunchSite, ...]
    observed: Observed
    places: Mapping[tuple[str, int], tuple[str, int]] = field(default_factory=dict)


def flat(files: Sequence[ParsedFile], sites: Sequence[LaunchSite], observed: Observed) -> Flat:
    """What `files` and their programs' runs tell, with the structs taken apart that the grader can take apart."""
    kernels: list[Kernel] = []
    taken: dict[str, tuple[ParsedFile, Kernel]] = {}
    for parsed in files:
        for kernel in kernels_in(parsed):
            whole = with_struct_parameters(
                parsed, parsed.functions[kernel.name], with_struct_arrays(parsed, kernel), {}
            )[0]
            kernels.append(whole)
            if whole.parameters != kernel.parameters and any(_type_of(p.type_text, parsed) for p in kernel.parameters):
                taken.setdefault(kernel.name, (parsed, kernel))
    if not taken:
        return Flat(tuple(kernels), tuple(sites), observed)
    places: dict[tuple[str, int], tuple[str, int]] = {}
    by_file = {parsed.file: parsed for parsed in files}
    flat_sites = [
        _flat_site(s, by_file.get(s.file), *taken[s.kernel], places) if s.kernel in taken else s for s in sites
    ]

    def of_run(run: SeenRun) -> SeenRun:
        launches = (
            replace(x, arguments=with_fields_seen(*taken[x.kernel], x.arguments)) if x.kernel in taken else x
            for x in run.launches
        )
        return replace(run, launches=tuple(launches))

    return Flat(
        tuple(kernels), tuple(flat_sites), replace(observed, runs=tuple(of_run(run) for run in observed.runs)), places
    )


def _type_of(type_text: str, parsed: ParsedFile) -> str:
    """The struct that a parameter is; "" for any other type."""
    name = plain_type(type_text)
    return name if "*" not in type_text and "&" not in type_text and fields_of(parsed, name) else ""


def _flat_site(
    site: LaunchSite,
    host: ParsedFile | None,
    parsed: ParsedFile,
    kernel: Kernel,
    places: dict[tuple[str, int], tuple[str, int]],
) -> LaunchSite:
    """A launch with what its text gives each field in the struct's place; as it is where that cannot be read."""
    if host is None or len(site.arguments) != len(kernel.parameters):
        return site
    texts: list[str] = []
    for given, parameter in zip(site.arguments, kernel.parameters, strict=True):
        name = _type_of(parameter.type_text, parsed)
        if not name:
            texts.append(given)
            continue
        fields = [one.name for one in fields_of(parsed, name)]
        read = _given(without_comments(host.source.text), name, given.strip(), fields, site.line)
        if read is None:
            return site
        values, line = read
        texts += [values[one] for one in fields]
        places[site.kernel, site.line] = (given.strip(), line)
    return replace(site, arguments=tuple(texts))


def _given(
    text: str, struct: str, variable: str, fields: Sequence[str], before: int
) -> tuple[dict[str, str], int] | None:
    """What each field of a struct gets, as the text has it, and in which line the first does; None: not all are read.

    before: the line of the launch.
    """
    written = re.fullmatch(rf"(?:{struct}\s*)?\{{(?P<list>[^{{}}]*)\}}", variable)
    if written is not None:
        values = _listed(written["list"], fields)
        return (values, before) if values is not None else None
    if not re.fullmatch(r"\w+", variable):
        return None
    end = len("\n".join(text.split("\n")[: before - 1]))
    pattern = rf"\b{struct}\s+{variable}\s*=?\s*(?:{struct}\s*)?\{{(?P<list>[^{{}}]{{0,{MAX_TEXT}}})\}}"
    found: dict[str, str] = {}
    line = 0
    for match in re.finditer(pattern, text[:end]):
        found = _listed(match["list"], fields) or {}
        line = text.count("\n", 0, match.start()) + 1
    for match in re.finditer(rf"\b{variable}\s*\.\s*(\w+)\s*=(?!=)\s*([^;{{}}]{{1,200}});", text[:end]):
        if match[1] in fields:
            found[match[1]] = match[2].strip()
            line = line or text.count("\n", 0, match.start()) + 1
    return (found, line) if set(found) == set(fields) else None


def _listed(text: str, fields: Sequence[str]) -> dict[str, str] | None:
    """The values of an initialiser by field; None where these are not as many."""
    values = [value.strip() for value in re.split(r",(?![^()]*\))", text) if value.strip()]
    if values and all(value.startswith(".") for value in values):
        named = [value[1:].partition("=") for value in values]
        found = {name.strip(): value.strip() for name, _sign, value in named}
        return found if set(found) == set(fields) else None
    return dict(zip(fields, values, strict=True)) if len(values) == len(fields) else None
