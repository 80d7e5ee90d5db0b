"""What `submission.yaml` states of kernels and of their parameters, refused at its line where it cannot be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader import yaml_file
from grader.lab.records import Lab, Variant
from grader.message import msg
from grader.submission.binding.entries import Entry, instance_of
from grader.submission.files.folder import FoundSubmission
from grader.submission.files.submission_yaml import VariantSettings
from grader.submission.kernels.records import Kernel


def stated_kernels(
    found: FoundSubmission, settings: Mapping[str, VariantSettings], entries: Sequence[Entry], lab: Lab
) -> dict[str, Entry]:
    """The kernels that `submission.yaml` names, by variant."""
    given: dict[str, Entry] = {}
    for variant, chosen in settings.items():
        if chosen.kernel is None:
            continue
        name, arguments = _instance(chosen.kernel)
        entry = instance_of(entries, name, arguments, lab)
        if entry is None:
            known = next((e.kernel for e in entries if e.kernel.name == name), None)
            if known is not None:
                expected = len(known.template_parameters)
                message = msg("submission.template_arguments", kernel=name, got=len(arguments), expected=expected)
                raise found.settings_error(message, lab.id, variant, "kernel")
            allowed = yaml_file.choose(name, {e.kernel.name for e in entries})
            raise found.settings_error(
                msg("submission.no_kernel", kernel=chosen.kernel, allowed=allowed), lab.id, variant, "kernel"
            )
        twice = next(
            (v for v, e in given.items() if (e.kernel.file, e.expression) == (entry.kernel.file, entry.expression)),
            None,
        )
        if twice is not None and entry.kernel.template_parameters:
            message = msg("submission.instance_twice", kernel=entry.expression, other=twice)
            raise found.settings_error(message, lab.id, variant, "kernel")
        if twice is not None:
            raise found.settings_error(
                msg("submission.kernel_twice", kernel=chosen.kernel, other=twice), lab.id, variant, "kernel"
            )
        given[variant] = entry
    return given


def _instance(text: str) -> tuple[str, list[str]]:
    """ "tiled<32, 1>" as "tiled" and its template arguments; a kernel's namespace is left out."""
    name, _bracket, inner = text.partition("<")
    arguments = [argument.strip() for argument in inner.rpartition(">")[0].split(",")] if inner else []
    return name.strip().rpartition("::")[2], [argument for argument in arguments if argument]


def stated_roles(
    arguments: Sequence[str], kernel: Kernel, found: FoundSubmission, variant: Variant, lab: Lab
) -> tuple[str, ...]:
    """The roles that `submission.yaml` gives, if the kernel can have them."""
    allowed = [parameter.name for parameter in lab.parameters]
    for index, role in enumerate(arguments):
        if role not in allowed:
            message = msg("submission.no_parameter", role=role, allowed=yaml_file.choose(role, allowed))
            raise found.settings_error(message, lab.id, variant.name, "arguments", index)
    if len(arguments) != len(kernel.parameters):
        message = msg("submission.roles", got=len(arguments), kernel=kernel.name, expected=len(kernel.parameters))
        raise found.settings_error(message, lab.id, variant.name, "arguments")
    for role, parameter in zip(arguments, kernel.parameters, strict=True):
        if parameter.is_pointer != lab.parameter(role).is_array:
            message = msg("submission.cannot_be", name=parameter.name, kernel=kernel.name, role=role)
            raise found.settings_error(message, lab.id, variant.name, "arguments")
    missing = [p.name for p in lab.parameters if p.is_array and p.name not in arguments]
    if missing:
        message = msg("submission.missing_roles", roles=", ".join(missing))
        raise found.settings_error(message, lab.id, variant.name, "arguments")
    return tuple(arguments)
