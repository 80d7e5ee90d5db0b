"""Structs that launches hand over, field by field: the kernels, what was seen of the fields, and what the text gives
each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from grader.submission import lexical
from grader.submission.cpp.parse import arguments_in
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
_Given = tuple[dict[str, str], int]
"""What each field gets, as the text has it, and the line in which that begins."""


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
    hosts = {parsed.file: _Host(without_comments(parsed.source.text)) for parsed in files}
    flat_sites = [
        _flat_site(s, hosts[s.file], *taken[s.kernel], places) if s.kernel in taken and s.file in hosts else s
        for s in sites
    ]

    def of_run(run: SeenRun) -> SeenRun:
        launches = (
            msgspec.structs.replace(x, arguments=with_fields_seen(*taken[x.kernel], x.arguments))
            if x.kernel in taken
            else x
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


@dataclass(frozen=True, slots=True)
class _Host:
    """A file's text without its comments; by struct and variable where the variable's fields are set, in order."""

    text: str
    settings: dict[tuple[str, str], list[tuple[int, Mapping[str, str]]]] = field(default_factory=dict)

    def set_before(self, line: int, struct: str, variable: str, fields: Sequence[str]) -> _Given | None:
        """What each field of a variable gets in the lines before one; None where not all of them are read."""
        if (struct, variable) not in self.settings:
            self.settings[struct, variable] = self._settings(struct, variable, fields)
        found: dict[str, str] = {}
        first = 0
        lexical.spend(len(self.settings[struct, variable]))
        for at, values in self.settings[struct, variable]:
            if at >= line:
                break
            # A declaration begins anew.
            if not first or len(values) == len(fields):
                first = at
            found |= values
        return (found, first) if set(found) == set(fields) else None

    def _settings(self, struct: str, variable: str, fields: Sequence[str]) -> list[tuple[int, Mapping[str, str]]]:
        """Declarations with an initialiser, which set all fields, and assignments to one."""
        lexical.spend_on(len(self.text))
        pattern = (
            rf"\b{struct}\s++{variable}\s*+=?+\s*+(?:{struct}\s*+)?+\{{(?P<list>[^{{}}]{{0,{MAX_TEXT}}}+)\}}"
            rf"|\b{variable}\s*+\.\s*+(?P<field>\w++)\s*+=(?!=)\s*+(?P<value>[^;{{}}]{{1,200}}+);"
        )
        settings: list[tuple[int, Mapping[str, str]]] = []
        line, counted = 1, 0
        for match in re.finditer(pattern, self.text):
            line += self.text.count("\n", counted, match.start())
            counted = match.start()
            if match["field"] is None:
                settings.append((line, _listed(match["list"], fields) or {}))
            elif match["field"] in fields:
                settings.append((line, {match["field"]: match["value"].strip()}))
        return settings


def _flat_site(
    site: LaunchSite,
    host: _Host,
    parsed: ParsedFile,
    kernel: Kernel,
    places: dict[tuple[str, int], tuple[str, int]],
) -> LaunchSite:
    """A launch with what its text gives each field in the struct's place; as it is where that cannot be read."""
    if len(site.arguments) != len(kernel.parameters):
        return site
    texts: list[str] = []
    for given, parameter in zip(site.arguments, kernel.parameters, strict=True):
        name = _type_of(parameter.type_text, parsed)
        if not name:
            texts.append(given)
            continue
        fields = [one.name for one in fields_of(parsed, name)]
        read = _given(host, name, given.strip(), fields, site.line)
        if read is None:
            return site
        values, line = read
        texts += [values[one] for one in fields]
        places[site.kernel, site.line] = (given.strip(), line)
    return replace(site, arguments=tuple(texts))


def _given(host: _Host, struct: str, argument: str, fields: Sequence[str], line: int) -> _Given | None:
    """What each field of a struct gets that is handed over in a line; None where not all of them are read."""
    written = re.fullmatch(rf"(?:{struct}\s*+)?+\{{(?P<list>[^{{}}]{{0,{MAX_TEXT}}}+)\}}", argument)
    if written is not None:
        values = _listed(written["list"], fields)
        return (values, line) if values is not None else None
    return host.set_before(line, struct, argument, fields) if re.fullmatch(r"\w+", argument) else None


def _listed(text: str, fields: Sequence[str]) -> dict[str, str] | None:
    """The values of an initialiser by field; None where these are not as many."""
    values = [value for value in arguments_in(text, 0, len(text)) if value]
    if values and all(value.startswith(".") for value in values):
        named = [value[1:].partition("=") for value in values]
        found = {name.strip(): value.strip() for name, _sign, value in named}
        return found if set(found) == set(fields) else None
    return dict(zip(fields, values, strict=True)) if len(values) == len(fields) else None
