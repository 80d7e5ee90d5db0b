"""A program's module without the library functions that programs hardly ever come to.

Machine code for all of the C++ library that a program is linked with takes longer to make than the program runs:
`std::cout` alone brings the formats of money, dates and wide characters.  So functions of the library that are not in
`called_functions.txt` are left empty, and a run that comes to one of them is begun anew with the whole module: it does
the same again, as all that it sees is counted.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

LISTED = Path(__file__).with_name("called_functions.txt")
"""Made by `scripts/list_called_functions.py` of the programs in `tests/programs`."""
FIRST_OF_LIBRARY = frozenset(
    {"__wrap_malloc", "__wrap_calloc", "__wrap_realloc", "__wrap_aligned_alloc", "grader_malloc"}
)
"""Of `toolchain/support`, which is linked right behind the program's own files."""
_HEADER = b"\0asm\1\0\0\0"
_CUSTOM, _IMPORT, _CODE = 0, 2, 10
_UNREACHABLE = b"\x00\x00\x0b"
"""A body: no locals, trap, end."""


@dataclass(frozen=True, slots=True)
class Lean:
    """A module; left_out: indices of the functions whose bodies are empty, which trap when they are called."""

    module: bytes
    left_out: frozenset[int]


@functools.cache
def called() -> frozenset[str]:
    """Functions of the library that programs do call, by their mangled names."""
    return frozenset(LISTED.read_text(encoding="utf-8").split())


@dataclass(frozen=True, slots=True)
class Layout:
    """A module taken apart.  sections: kind and all bytes of each; bodies, names: of functions, by index."""

    sections: tuple[tuple[int, bytes], ...]
    names: dict[int, str]
    bodies: dict[int, bytes]

    @classmethod
    def of(cls, module: bytes) -> Layout:
        """Raises IndexError or UnicodeDecodeError where the module is not one of our linker's."""
        names: dict[int, str] = {}
        bodies: dict[int, bytes] = {}
        sections = []
        imports = 0
        for kind, start, content, end in _sections(module):
            sections.append((kind, module[start:end]))
            if kind == _IMPORT:
                imports = _imported_functions(module, content)
            elif kind == _CUSTOM:
                names = _function_names(module, content, end) or names
            elif kind == _CODE:
                count, at = number(module, content)
                for index in range(imports, imports + count):
                    size, at = number(module, at)
                    bodies[index] = module[at : at + size]
                    at += size
        return cls(tuple(sections), names, bodies)

    def library(self) -> list[int]:
        """Indices of the library's functions, which come after the program's own; none where that cannot be told."""
        first = min((index for index, name in self.names.items() if name in FIRST_OF_LIBRARY), default=None)
        return [] if first is None else [index for index in self.bodies if index >= first and index in self.names]

    def with_bodies(self, changed: Mapping[int, bytes]) -> bytes:
        """The module with other bodies in place of some."""
        parts = [_HEADER]
        for kind, section in self.sections:
            if kind != _CODE:
                parts.append(section)
                continue
            bodies = [changed.get(index, body) for index, body in self.bodies.items()]
            code = _encoded(len(bodies)) + b"".join(_encoded(len(body)) + body for body in bodies)
            parts += [bytes([_CODE]), _encoded(len(code)), code]
        return b"".join(parts)


def lean(module: bytes, keep: frozenset[str]) -> Lean:
    """`module` with the library's functions emptied, but for `keep`; as it is where it is not laid out as ours are.

    The program's own functions come before them and keep their places, so lines of a backtrace stay true.
    """
    try:
        layout = Layout.of(module)
    except (IndexError, UnicodeDecodeError):
        return Lean(module, frozenset())
    left_out = frozenset(index for index in layout.library() if layout.names[index] not in keep)
    return Lean(layout.with_bodies(dict.fromkeys(left_out, _UNREACHABLE)), left_out)


def _sections(module: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Kind, start, start of the content, and end of each section."""
    at = len(_HEADER)
    while at < len(module):
        size, content = number(module, at + 1)
        yield module[at], at, content, content + size
        at = content + size


def _imported_functions(module: bytes, at: int) -> int:
    count, at = number(module, at)
    functions = 0
    for _import in range(count):
        for _name in range(2):
            size, at = number(module, at)
            at += size
        kind = module[at]
        at += 1
        if kind == 0:
            functions += 1
            at = number(module, at)[1]
        elif kind == 3:
            at += 2
        else:
            # A table or a memory of the program's own is never imported, nor a tag.
            raise IndexError
    return functions


def _function_names(module: bytes, at: int, end: int) -> dict[int, str]:
    """Names by index, where the custom section at `at` is the one that has them."""
    size, at = number(module, at)
    names: dict[int, str] = {}
    if module[at : at + size] != b"name":
        return names
    at += size
    while at < end:
        kind = module[at]
        size, at = number(module, at + 1)
        if kind == 1:
            count, place = number(module, at)
            for _entry in range(count):
                index, place = number(module, place)
                length, place = number(module, place)
                names[index] = module[place : place + length].decode()
                place += length
        at += size
    return names


def number(module: bytes, at: int) -> tuple[int, int]:
    """A number in LEB128, and where it ends."""
    value = shift = 0
    while True:
        byte = module[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _encoded(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
