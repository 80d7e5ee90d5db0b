"""How much a kernel does what the lab's own kernels do, for variants that a lab's records do not tell apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.errors import UsageError
from grader.lab.records import Lab, Variant
from grader.submission.cpp.parse import parse
from grader.submission.files.source import decode
from grader.submission.kernels.kernel import kernels_in
from grader.submission.kernels.records import Kernel
from grader.submission.kernels.shape import KernelShape

AXES = 4.0
STAGED = 3.0

_SECOND_AXIS = re.compile(r"\b(?:blockIdx|threadIdx)\s*\.\s*y\b")
_STORED = re.compile(r"\b(\w+)\s*(?:\[[^\]=;]{0,120}\]\s*)+=(?!=)\s*([^;]{1,300});")
_WORD = re.compile(r"[A-Za-z_]\w*+")


@dataclass(frozen=True, slots=True)
class Profile:
    """has_rows: its threads are numbered along two axes.  staged: roles of the arrays copied to shared memory."""

    has_rows: bool
    staged: frozenset[str]


def profile_of(kernel: Kernel, shape: KernelShape, roles: Sequence[str]) -> Profile:
    """What a kernel does, whose parameters have these roles."""
    by_name = {p.name: role for p, role in zip(kernel.parameters, roles, strict=False) if p.is_pointer}
    shared = {array.name for array in kernel.shared_arrays}
    staged = {
        by_name[word]
        for target, value in _STORED.findall(shape.text)
        if target in shared
        for word in _WORD.findall(value)
        if word in by_name
    }
    return Profile(_SECOND_AXIS.search(shape.text) is not None, frozenset(staged))


def alike(lab: Lab) -> list[Variant]:
    """Variants that some other one equals in all that its record says a kernel does."""
    keys = [(variant.shared_memory, variant.padded) for variant in lab.variants]
    return [
        variant
        for variant, key in zip(lab.variants, keys, strict=True)
        if variant.shared_memory and keys.count(key) > 1
    ]


def profiles(lab: Lab) -> dict[str, Profile]:
    """Those of the lab's own kernels, of variants that are `alike`."""
    found = {}
    for variant in alike(lab):
        reference = variant.reference
        try:
            parsed = parse(decode(reference.file))
        except UsageError:
            # It is told where the lab's own kernels are needed.
            continue
        kernel = next((k for k in kernels_in(parsed) if k.name == reference.kernel), None)
        if kernel is not None:
            found[variant.name] = profile_of(kernel, KernelShape(parsed, kernel, {}), reference.arguments)
    return found


def likeness(profile: Profile, of_variants: Mapping[str, Profile]) -> dict[str, float]:
    """By variant, what speaks for or against it."""
    found = {}
    for name, other in of_variants.items():
        score = 0.0 if profile.has_rows == other.has_rows else -AXES
        if profile.staged and other.staged:
            score += STAGED if profile.staged == other.staged else -STAGED
        found[name] = score
    return found
