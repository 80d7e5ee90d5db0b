"""What a lab file says of a function that is asked for in place of kernels: `interface: function`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from grader.errors import FileError
from grader.lab.kinds import Kind
from grader.lab.records import FunctionRule, Parameter
from grader.lab.signature import DTYPES, Argument, argument_of, signature_of
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose

KEYS = {
    **dict.fromkeys(("launch", "timing", "best", "sweeps", "repairs"), ("kernel",)),
    **dict.fromkeys(("memory", "harness"), ("function",)),
    **dict.fromkeys(("arguments", "stdin"), ("program",)),
    **dict.fromkeys(("signature", "files"), ("function", "program")),
}
"""Keys at the top of a lab file that only labs of some interfaces have."""


_ASKED = re.compile(r'grader_argument\s*<(?P<type>[^>]*)>\s*\(\s*(?:"(?P<name>[^"\n]*)")?')
"""What a harness asks for, by a name that stands there."""


def check_keys(file: YamlFile, interface: str) -> None:
    """Refuse a key at the top that does not apply to what the lab asks for."""
    for key, interfaces in KEYS.items():
        if (key,) in file.lines and interface not in interfaces:
            raise file.error(msg("labs.only_interface", interface=", ".join(interfaces)), (key,))


def check_values(
    file: YamlFile, keys: KeyPath, kind: Kind, values: Sequence[float], initial: float | None, interface: str
) -> None:
    """Refuse kinds and keys of a parameter that this interface has not, and keys of another kind."""
    if interface not in kind.interfaces:
        raise file.error(msg("labs.only_interface", interface=", ".join(kind.interfaces)), (*keys, "kind"))
    if kind.is_number and not values:
        raise file.error(msg("labs.missing_values"), keys)
    if values and not kind.is_number:
        raise file.error(msg("labs.only_kind", kind="scalar"), (*keys, "values"))
    if initial is not None and (not kind.is_written or kind.is_read):
        raise file.error(msg("labs.only_kind", kind="output"), (*keys, "initial"))
    if initial is not None and interface != "function":
        raise file.error(msg("labs.only_interface", interface="function"), (*keys, "initial"))


def function_of(
    file: YamlFile,
    signature: str,
    memory: Literal["host", "device", ""],
    harness: str,
    parameters: tuple[Parameter, ...],
) -> tuple[FunctionRule, tuple[Parameter, ...]]:
    """The function that is asked for, and the parameters with the types that it gives them.

    harness: the lab's own file that calls it: then the function's parameters may be other ones.

    Raises
    ------
    FileError : there is no signature, it does not parse, or its parameters are not the lab's.
    """
    if not signature:
        raise file.error(msg("labs.missing_key", backend="signature"))
    if not memory:
        raise file.error(msg("labs.missing_key", backend="memory"))
    at: KeyPath = ("signature",)
    parsed = signature_of(signature)
    if harness:
        if parsed is None:
            raise file.error(msg("labs.signature_form", got=signature), at)
        return FunctionRule(parsed, memory, harness), parameters
    if parsed is None:
        raise file.error(msg("labs.signature", got=signature, types=", ".join(DTYPES)), at)
    if parsed.returns != "void":
        raise file.error(msg("labs.signature_returns", got=parsed.returns), at)
    names = [argument.name for argument in parsed.arguments]
    known = [parameter.name for parameter in parameters]
    for name in names:
        if name not in known:
            raise file.error(msg("labs.unknown_name", name=name, allowed=choose(name, known)), at)
    for name in known:
        if names.count(name) != 1:
            raise file.error(msg("labs.signature_lacks", name=name, signature=parsed.spelled), ("parameters", name))
    by_name = {argument.name: argument for argument in parsed.arguments}
    typed = tuple(_typed(file, parameter, by_name[parameter.name]) for parameter in parameters)
    return FunctionRule(parsed, memory), typed


def check_harness(path: Path, parameters: Sequence[Parameter]) -> None:
    """Refuse a harness that does not call, asks for what the lab has not, or for another type, or leaves something out.

    Raises
    ------
    FileError : at the harness's line.
    """
    text = path.read_text("utf-8", "replace")
    for name in ("grader_call_begins", "grader_call_ends"):
        if name not in text:
            raise FileError(msg("labs.harness_calls", name=name), path)
    known = {parameter.name: parameter for parameter in parameters}
    asked = set()
    for match in _ASKED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        name = match["name"]
        if name is None:
            # By its place, which may be computed.
            return
        if name not in known:
            raise FileError(msg("labs.harness_asks", name=name, allowed=choose(name, known)), path, line)
        asked.add(name)
        parameter, given = known[name], argument_of(match["type"])
        if given is None or given.type not in DTYPES:
            continue
        if DTYPES[given.type] != parameter.dtype or bool(given.pointers) != parameter.is_array:
            wanted = f"{parameter.dtype}{' *' if parameter.is_array else ''}"
            raise FileError(msg("labs.harness_type", name=name, wanted=wanted, got=match["type"].strip()), path, line)
    for name in known:
        if name not in asked:
            raise FileError(msg("labs.harness_lacks", name=name), path)


def _typed(file: YamlFile, parameter: Parameter, argument: Argument) -> Parameter:
    """The parameter with the type that the signature gives it.  FileError where it cannot be what the lab says."""
    keys: KeyPath = ("parameters", parameter.name)
    dtype = DTYPES.get(argument.type, "")
    is_only_read = parameter.is_input and not parameter.is_output
    if not dtype or argument.pointers != parameter.is_array or argument.is_const != is_only_read:
        wanted = ("const T *" if is_only_read else "T *") if parameter.is_array else "T"
        told = msg(
            "labs.signature_type",
            kind=parameter.kind.name,
            wanted=wanted,
            got=argument.spelled,
            types=", ".join(DTYPES),
        )
        raise file.error(told, keys)
    is_float = np.dtype(dtype).kind == "f"
    if parameter.is_size and is_float:
        raise file.error(msg("labs.signature_size", got=argument.spelled), keys)
    if parameter.dtype not in ("", dtype):
        raise file.error(msg("labs.signature_dtype", got=parameter.dtype, allowed=dtype), (*keys, "dtype"))
    numbers = [*parameter.values, *([parameter.initial] if parameter.initial is not None else [])]
    for number in numbers:
        if not is_float and not (number.is_integer() and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max):
            key = "values" if parameter.values else "initial"
            raise file.error(msg("labs.signature_number", got=f"{number:g}", dtype=dtype), (*keys, key))
    return replace(parameter, dtype=dtype)
