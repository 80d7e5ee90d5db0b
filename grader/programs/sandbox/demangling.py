"""Mangled names of kernels and of types as C++ writes them: the plain part of the Itanium C++ ABI's grammar.

https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling.  What is written is what `__cxa_demangle` of LLVM writes.
That would be half of the machine code made for a program, so it is left to names that this part cannot read: of
lambdas, with expressions, of functions within functions, with packs of parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

MOST_STEPS = 2_000
"""Types of one name: those that stand for others double with each level."""
_BUILTIN = {
    "v": "void",
    "w": "wchar_t",
    "b": "bool",
    "c": "char",
    "a": "signed char",
    "h": "unsigned char",
    "s": "short",
    "t": "unsigned short",
    "i": "int",
    "j": "unsigned int",
    "l": "long",
    "m": "unsigned long",
    "x": "long long",
    "y": "unsigned long long",
    "f": "float",
    "d": "double",
    "e": "long double",
}
_SUFFIX = {"i": "", "j": "u", "l": "l", "m": "ul", "x": "ll", "y": "ull"}
"""Suffixes of a number by its type; types not listed are written before it."""
_QUALIFIERS = {"r": " restrict", "V": " volatile", "K": " const"}
"""In the order of a mangled name; they are written the other way round."""
_POINTERS = {"P": "*", "R": "&", "O": "&&"}
_NUMBER = re.compile(r"(n?)(\d+)E")
_LENGTH = re.compile(r"[1-9]\d*")
_INDEX = re.compile(r"([0-9A-Z]*)_")


class _Other(Exception):
    """The name is not of the part that is read here."""


@dataclass(frozen=True, slots=True)
class _Type:
    """A type or a name, as what stands before and behind what it is the type of."""

    left: str
    right: str = ""
    is_array: bool = False
    is_reference: bool = False

    def __str__(self) -> str:
        return self.left + self.right


def demangled(name: str) -> str | None:
    """What `name` stands for, a function's with its parameters, a type's alone; None where that is not read here."""
    reader = _Reader(name)
    try:
        text = reader.encoding() if name.startswith("_Z") else str(reader.type())
    except (_Other, IndexError, ValueError, RecursionError):
        return None
    return text if reader.at == len(name) else None


@dataclass(slots=True)
class _Reader:
    text: str
    at: int = 0
    steps: int = 0
    known: list[_Type] = field(default_factory=list)
    """What was read and may be referred to."""
    arguments: list[_Type] = field(default_factory=list)
    """Arguments of the template whose instance the function is."""
    is_instance: bool = False
    """Whether the name that was read last ends with a template's arguments."""

    def takes(self, start: str) -> bool:
        """Whether the rest begins with `start`, which is passed over then."""
        is_next = self.text.startswith(start, self.at)
        self.at += len(start) * is_next
        return is_next

    def matched(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            raise _Other
        self.at = match.end()
        return match

    def keep(self, one: _Type) -> _Type:
        self.known.append(one)
        return one

    def encoding(self) -> str:
        self.at = 2
        name = self.name(is_function=True)
        if self.at == len(self.text):
            return str(name)
        returned = f"{self.type()} " if self.is_instance else ""
        parameters = []
        if not (self.text[self.at :] == "v" and self.takes("v")):
            while self.at < len(self.text):
                parameters.append(str(self.type()))
            if not parameters or "void" in parameters:
                raise _Other
        return f"{returned}{name}({', '.join(parameters)})"

    def name(self, is_function: bool = False) -> _Type:
        if self.takes("N"):
            return self.nested(is_function)
        is_known = self.text[self.at] == "S" and self.text[self.at + 1] != "t"
        if is_known:
            one = self.substitution()
        else:
            scope = "std::" if self.takes("St") else ""
            one = _Type(scope + self.source_name())
        is_instance = self.text.startswith("I", self.at)
        if is_instance:
            if not is_known:
                self.keep(one)
            one = _Type(f"{one}{self.template_arguments(is_function)}")
        elif is_known:
            raise _Other
        if is_function:
            self.is_instance = is_instance
        return one

    def nested(self, is_function: bool) -> _Type:
        """The rest of a name within namespaces and classes."""
        one: _Type | None = None
        is_instance = False
        while not self.takes("E"):
            first, second = self.text[self.at], self.text[self.at + 1]
            is_instance = first == "I"
            if first == "S" and one is None:
                # What is known already is not kept again.
                one = _Type("std") if second == "t" and self.takes("St") else self.substitution()
                continue
            if first == "I" and one is not None:
                one = _Type(f"{one}{self.template_arguments(is_function)}")
            else:
                name = self.source_name()
                one = _Type(name if one is None else f"{one}::{name}")
            self.keep(one)
        if one is None or not self.known:
            raise _Other
        self.known.pop()
        if is_function:
            self.is_instance = is_instance
        return one

    def source_name(self) -> str:
        # A name that its file has for itself.
        self.takes("L")
        length = int(self.matched(_LENGTH).group())
        name = self.text[self.at : self.at + length]
        self.at += length
        if len(name) != length or self.text.startswith("B", self.at):
            raise _Other
        return "(anonymous namespace)" if name.startswith("_GLOBAL__N") else name

    def substitution(self) -> _Type:
        if not self.takes("S"):
            raise _Other
        number = self.matched(_INDEX).group(1)
        return self.known[int(number, 36) + 1 if number else 0]

    def template_arguments(self, is_function: bool = False) -> str:
        if not self.takes("I"):
            raise _Other
        arguments: list[_Type] = []
        if is_function:
            self.arguments = arguments
        while not self.takes("E"):
            arguments.append(self.literal() if self.takes("L") else self.type())
        return f"<{', '.join(map(str, arguments))}>"

    def literal(self) -> _Type:
        kind = self.text[self.at]
        self.at += 1
        sign, digits = self.matched(_NUMBER).groups()
        number = "-" * bool(sign) + digits
        if kind == "b" and number in "01":
            return _Type("true" if number == "1" else "false")
        if kind in _SUFFIX:
            return _Type(number + _SUFFIX[kind])
        if kind not in "cahst":
            raise _Other
        return _Type(f"({_BUILTIN[kind]}){number}")

    def type(self) -> _Type:
        self.steps += 1
        if self.steps > MOST_STEPS or sum(len(one.left) for one in self.known[-4:]) > MOST_STEPS:
            raise _Other
        first = self.text[self.at]
        if first in _BUILTIN:
            self.at += 1
            return _Type(_BUILTIN[first])
        if first in _QUALIFIERS:
            qualifiers = "".join([text for mark, text in _QUALIFIERS.items() if self.takes(mark)][::-1])
            inner = self.type()
            return self.keep(_Type(inner.left + qualifiers, inner.right, inner.is_array, inner.is_reference))
        if first in _POINTERS:
            self.at += 1
            inner = self.type()
            if inner.is_reference:
                raise _Other
            mark = _POINTERS[first]
            if inner.is_array:
                return self.keep(_Type(f"{inner.left} ({mark}", f"){inner.right}", is_reference=first != "P"))
            return self.keep(_Type(inner.left + mark, inner.right, is_reference=first != "P"))
        if first == "A":
            self.at += 1
            size = self.matched(_LENGTH).group()
            if not self.takes("_"):
                raise _Other
            inner = self.type()
            further = inner.right.lstrip() if inner.is_array else inner.right
            return self.keep(_Type(inner.left, f" [{size}]{further}", is_array=True))
        if first == "T":
            self.at += 1
            number = self.matched(_INDEX).group(1)
            if not (number == "" or number.isdigit()) or self.text.startswith("I", self.at):
                raise _Other
            return self.keep(self.arguments[int(number) + 1 if number else 0])
        if first == "S" and self.text[self.at + 1] != "t":
            one = self.substitution()
            if not self.text.startswith("I", self.at):
                return one
            return self.keep(_Type(f"{one}{self.template_arguments()}"))
        if first in "CDFGMUu":
            raise _Other
        return self.keep(self.name())
