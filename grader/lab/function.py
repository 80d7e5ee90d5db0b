"""What a lab file says of a function that is asked for in place of kernels: `interface: function`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grader.lab.records import FunctionRule, Parameter
from grader.lab.signature import DTYPES, Argument, signature_of
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose

OF_FUNCTION = ("signature", "memory")
OF_KERNELS = ("launch", "timing", "best", "sweeps", "repairs")
"""Keys of a lab file that only labs of the one interface have."""


def check_keys(file: YamlFile, is_function: bool) -> None:
    """Refuse a key at the top that does not apply to what the lab asks for."""
    for key in OF_KERNELS if is_function else OF_FUNCTION:
        if (key,) in file.lines:
            raise file.error(msg("labs.only_interface", interface="kernel" if is_function else "function"), (key,))


def check_of_function(
    file: YamlFile, keys: KeyPath, kind: str, values: Sequence[float], initial: float | None, is_function: bool
) -> None:
    """Refuse kinds and keys of a parameter that only a function's can have, and those of another kind."""
    if not is_function and kind in ("in_out", "scalar"):
        raise file.error(msg("labs.only_interface", interface="function"), (*keys, "kind"))
    if kind == "scalar" and not values:
        raise file.error(msg("labs.missing_values"), keys)
    if values and kind != "scalar":
        raise file.error(msg("labs.only_kind", kind="scalar"), (*keys, "values"))
    if initial is not None and (kind != "output" or not is_function):
        raise file.error(msg("labs.only_kind", kind="output"), (*keys, "initial"))


def function_of(
    file: YamlFile, interface: str, signature: str, memory: str, parameters: tuple[Parameter, ...]
) -> tuple[FunctionRule | None, tuple[Parameter, ...]]:
    """The function that is asked for, None where kernels are; the parameters with the types that it gives them.

    Raises
    ------
    FileError : there is no signature, it does not parse, or its parameters are not the lab's.
    """
    if interface == "kernel":
        return None, parameters
    for key, value in (("signature", signature), ("memory", memory)):
        if not value:
            raise file.error(msg("labs.missing_key", backend=key))
    at: KeyPath = ("signature",)
    parsed = signature_of(signature)
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
    return FunctionRule(parsed, "device" if memory == "device" else "host"), typed


def _typed(file: YamlFile, parameter: Parameter, argument: Argument) -> Parameter:
    """The parameter with the type that the signature gives it.  FileError where it cannot be what the lab says."""
    keys: KeyPath = ("parameters", parameter.name)
    dtype = DTYPES.get(argument.type, "")
    if not dtype or argument.pointers != parameter.is_array or argument.is_const != (parameter.kind == "input"):
        wanted = {"input": "const T *", "output": "T *", "in_out": "T *", "size": "int", "scalar": "T"}[parameter.kind]
        told = msg(
            "labs.signature_type", kind=parameter.kind, wanted=wanted, got=argument.spelled, types=", ".join(DTYPES)
        )
        raise file.error(told, keys)
    is_float = np.dtype(dtype).kind == "f"
    if parameter.kind == "size" and is_float:
        raise file.error(msg("labs.signature_size", got=argument.spelled), keys)
    if parameter.dtype not in ("", dtype):
        raise file.error(msg("labs.signature_dtype", got=parameter.dtype, allowed=dtype), (*keys, "dtype"))
    numbers = [*parameter.values, *([parameter.initial] if parameter.initial is not None else [])]
    for number in numbers:
        if not is_float and not (number.is_integer() and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max):
            key = "values" if parameter.values else "initial"
            raise file.error(msg("labs.signature_number", got=f"{number:g}", dtype=dtype), (*keys, key))
    return replace(parameter, dtype=dtype)
