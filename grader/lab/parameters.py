"""The parameters of a lab: what each can be, and the signature of a function that they stand in."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of parameter.

    is_array: it is memory that a pointer leads to.
    is_read: what the oracle gives it counts; else nobody may read it before it is written.
    is_written: what is in it afterwards is compared with what the oracle expects.
    is_size: a whole number of which shapes are made.  Neither an array nor a size: a number like any other, drawn from
      the lab's values.
    interfaces: of the labs that have such parameters.
    """

    name: str
    is_array: bool = False
    is_read: bool = True
    is_written: bool = False
    is_size: bool = False
    interfaces: tuple[str, ...] = ("kernel", "function", "program")

    @property
    def is_number(self) -> bool:
        """Whether it is passed by value, and no size."""
        return not self.is_array and not self.is_size


KINDS = {
    kind.name: kind
    for kind in (
        Kind("input", is_array=True),
        Kind("output", is_array=True, is_read=False, is_written=True),
        Kind("in_out", is_array=True, is_written=True, interfaces=("function", "program")),
        # Room to work in: nothing is in it before, and nobody looks at it afterwards.
        Kind("scratch", is_array=True, is_read=False, interfaces=("function",)),
        Kind("size", is_size=True),
        Kind("scalar", interfaces=("function", "program")),
    )
}
"""Kinds of parameters, by the name that lab files use."""


_SIGNATURE = re.compile(
    r'\s*(?:extern\s*"C"\s*)?(?P<returns>[\w\s:*]+?)\s*\b(?P<name>[A-Za-z_]\w*)\s*\((?P<rest>[^()]*)\)\s*;?\s*'
)
KERNEL = "__global__"
_TOKEN = re.compile(r"\w+|::|[*&\[\]<>,]")
_BUILT_IN = frozenset({"void", "bool", "char", "short", "int", "long", "float", "double", "signed", "unsigned"})
_PASSED_OVER = frozenset({"volatile", "register", "struct", "restrict", "__restrict", "__restrict__", "__host__"})

DTYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "char": "int8",
    "signed char": "int8",
    "int8_t": "int8",
    "unsigned char": "uint8",
    "uint8_t": "uint8",
    "short": "int16",
    "int16_t": "int16",
    "unsigned short": "uint16",
    "uint16_t": "uint16",
    "int": "int32",
    "int32_t": "int32",
    "unsigned": "uint32",
    "uint32_t": "uint32",
    "long long": "int64",
    "int64_t": "int64",
    "unsigned long long": "uint64",
    "uint64_t": "uint64",
    "size_t": "uint64",
    "bool": "uint8",
}
"""NumPy's names of the types that a function's arrays and numbers can have, by C++'s; false is 0 and true is 1."""
VECTORS = {
    f"{name}{lanes}": (dtype, lanes)
    for lanes in (2, 3, 4)
    for name, dtype in {
        **{name: DTYPES[name] for name in ("float", "double", "char", "short", "int")},
        **{f"u{name}": DTYPES[f"unsigned {name}"] for name in ("char", "short")},
        "uint": "uint32",
    }.items()
}
"""The types that arrays can have besides, by CUDA's names: NumPy's of an element, and how many there are."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a function.

    type: of what is passed by value, or pointed to: "float", "unsigned long long".  pointers: 0 for a value.
    is_const: what a pointer points to is not to be written.
    """

    name: str
    type: str
    pointers: int = 0
    is_const: bool = False

    @property
    def spelled(self) -> str:
        """Its type as one writes it."""
        const = "const " if self.is_const and self.pointers else ""
        return f"{const}{self.type}{' ' * bool(self.pointers)}{'*' * self.pointers}"

    def is_like(self, other: Argument) -> bool:
        """Whether both are of one type, whatever their names are."""
        return self.spelled == other.spelled


@dataclass(frozen=True, slots=True)
class Signature:
    """A function's name, what it returns, and its parameters in order."""

    name: str
    returns: str
    arguments: tuple[Argument, ...]
    is_kernel: bool = False

    @property
    def spelled(self) -> str:
        """The parameter as one writes it."""
        inner = ", ".join(f"{a.spelled}{'' if a.pointers else ' '}{a.name}" for a in self.arguments)
        return f"{'__global__ ' * self.is_kernel}{self.returns} {self.name}({inner})"


def signature_of(text: str) -> Signature | None:
    """The signature that stands in a lab file; None where the text is none."""
    is_kernel = text.lstrip().startswith(KERNEL)
    match = _SIGNATURE.fullmatch(text.replace(KERNEL, "", 1) if is_kernel else text)
    if match is None:
        return None
    arguments = arguments_of(match["rest"])
    returns = argument_of(match["returns"])
    if arguments is None or returns is None or returns.name or any(not a.name for a in arguments):
        return None
    return Signature(match["name"], returns.spelled, tuple(arguments), is_kernel)


def arguments_of(text: str, alias: Callable[[str], str | None] = lambda _name: None) -> list[Argument] | None:
    """The parameters between a function's brackets; None where they cannot be read.

    alias: what a name of a type stands for, None where it is none of the program's.
    """
    parts = [part for part in _split(text) if part.strip()]
    if [part.strip() for part in parts] == ["void"]:
        return []
    arguments = [argument_of(part.partition("=")[0], alias) for part in parts]
    return [a for a in arguments if a is not None] if None not in arguments else None


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "(<[") - (character in ")>]")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def argument_of(text: str, alias: Callable[[str], str | None] = lambda _name: None) -> Argument | None:
    """One parameter, with its name or without; None where it is more than a plain type and stars."""
    text = re.sub(r"\[[^\]]*\]", "[]", text)
    if re.sub(r"[\w\s*&:\[\]]", "", text):
        return None
    words: list[str] = []
    pointers, references, is_const = 0, 0, False
    for token in _TOKEN.findall(text):
        if token in "*[":
            pointers += 1
        elif token == "&":
            references += 1
        elif token == "const":
            # Behind a star it is the pointer that does not change, which is the function's own business.
            is_const = is_const or not pointers
        elif token not in _PASSED_OVER and token not in {"]", "::", "std"}:
            words.append(token)
    built_in = [word for word in words if word in _BUILT_IN]
    others = [word for word in words if word not in _BUILT_IN]
    if built_in:
        if len(others) > 1:
            return None
        name, kind = (others or [""])[0], _built_in(built_in)
    elif 1 <= len(others) <= 2:
        kind, name = others[0], others[1] if len(others) == 2 else ""
        meant = alias(kind)
        aliased = argument_of(meant) if meant is not None and meant != kind else None
        if aliased is not None:
            kind, pointers, is_const = aliased.type, pointers + aliased.pointers, is_const or aliased.is_const
    else:
        return None
    kind = "half" if kind == "__half" else kind
    return Argument(name, kind + "&" * references, pointers, is_const and bool(pointers))


def _built_in(words: list[str]) -> str:
    """The words of a type of C++'s own in their usual order, those left out that say nothing."""
    longs = words.count("long")
    if "char" in words:
        sign = next((word for word in ("unsigned", "signed") if word in words), "")
        return f"{sign} char".strip()
    if "double" in words or "float" in words or "bool" in words or "void" in words:
        return " ".join(word for word in words if word not in {"signed", "int"})
    sign = "unsigned " if "unsigned" in words else ""
    if "short" in words:
        return f"{sign}short"
    if longs:
        return f"{sign}{' '.join(['long'] * longs)}"
    return "unsigned" if sign else "int"
