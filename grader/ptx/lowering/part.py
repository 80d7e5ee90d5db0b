"""The part of a module that launches of some kernels follow from, and what it is known again by.

No launch can tell what else is compiled with its kernel: it is run in a module that holds nothing else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from grader.ptx.frontend.locations import LOC
from grader.ptx.frontend.nodes import Instruction, Module, SourceLocation
from grader.ptx.lowering.program import program_of

_LABEL = re.compile(r"\$L__BB\d+")
"""As NVRTC begins the name of a label, with the number of its function in the text."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some kernels of a module with all that they may call or name, as a module.

    content: equal where the same is computed, on whatever lines of the source it stands.
    places: where each function and each of their instructions comes from, in the order of the text.
    """

    module: Module
    content: bytes
    places: tuple[SourceLocation, ...]

    @property
    def seed(self) -> int:
        """A number that follows from the content, the same on every machine."""
        return int.from_bytes(self.content[:4], "little")


def part_of(module: Module, entries: Iterable[str]) -> Part:
    """The part of a module that some of its kernels need; of those that are not there, nothing."""
    program = program_of(module)
    reachable: set[str] = set()
    used: set[str] = set()
    for entry in entries:
        reachable |= program.reachable(entry)
        used |= program.used_by(entry)
    functions = {name: function for name, function in module.functions.items() if name in reachable}
    # What lives in global memory is there for every launch; shared memory is a kernel's own.
    variables = {n: v for n, v in module.variables.items() if v.space != "shared" or n in used}
    part = replace(module, functions=functions, variables=variables, derived={})
    digest = hashlib.blake2b(digest_size=20)
    digest.update(repr((module.version, module.target, variables)).encode())
    places = []
    for name, function in functions.items():
        text = _LABEL.sub("$L", LOC.sub("", function.text))
        digest.update(repr((name, text)).encode())
        places.append(function.location)
        places += [item.location for item in function.body if isinstance(item, Instruction)]
    return Part(part, digest.digest(), tuple(places))
