"""What a lab file says of a function or a whole program that is asked for in place of kernels, and the skeleton of a
lab of a function.

Of a program it says how it is started, and where its arrays lie.  The skeleton's function adds up what it reads,
element by element: a lab that works, to be changed step by step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Literal

import numpy as np

from grader.errors import FileError, UsageError
from grader.lab.checks import BankConflictSettings, CoalescingSettings, CorrectSettings, SpeedupSettings
from grader.lab.parameters import DTYPES, VECTORS, Argument, Kind, argument_of, signature_of
from grader.lab.parts import Part, check_known, sibling
from grader.lab.records import COPIED, STDOUT, FileRule, FunctionRule, Lab, Parameter, ProgramRule
from grader.message import msg
from grader.yaml_file import KeyPath, YamlFile, choose

KEYS = {
    **dict.fromkeys(("launch", "best"), ("kernel",)),
    **dict.fromkeys(("memory", "harness"), ("function",)),
    **dict.fromkeys(("arguments", "stdin"), ("program",)),
    **dict.fromkeys(("signature", "files"), ("function", "program")),
}
"""Keys at the top of a lab file that only labs of some interfaces have."""
OF_KERNELS = ("l2", "host_memory", "predict")
"""Keys of `timing` that mean something of a single launch only."""


_ASKED = re.compile(r'grader_argument\s*<(?P<type>[^>]*)>\s*\(\s*(?:"(?P<name>[^"\n]*)")?')
"""What a harness asks for, by a name that stands there."""


def check_keys(file: YamlFile, interface: str) -> None:
    """Refuse a key at the top that does not apply to what the lab asks for."""
    for key, interfaces in KEYS.items():
        if (key,) in file.lines and interface not in interfaces:
            raise file.error(msg("labs.only_interface", interface=", ".join(interfaces)), (key,))
    for key in OF_KERNELS if interface != "kernel" else ():
        if ("timing", key) in file.lines:
            raise file.error(msg("labs.only_interface", interface="kernel"), ("timing", key))


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
    signatures: Sequence[str],
    memory: Literal["host", "device", ""],
    harness: str,
    parameters: tuple[Parameter, ...],
) -> tuple[FunctionRule, tuple[Parameter, ...]]:
    """The function that is asked for, and the parameters with the types that it gives them.

    harness: the lab's own file that calls it: then there may be several, kernels among them, and their parameters may
    be other ones.

    Raises FileError: there is no signature, it does not parse, or its parameters are not the lab's.
    """
    if not any(signatures):
        raise file.error(msg("labs.missing_key", backend="signature"))
    if not memory:
        raise file.error(msg("labs.missing_key", backend="memory"))
    at: KeyPath = ("signature",)
    if harness:
        called = [(text, signature_of(text)) for text in signatures]
        for text, one in called:
            if one is None:
                raise file.error(msg("labs.signature_form", got=text), at)
        first, *more = (one for _text, one in called if one is not None)
        return FunctionRule(first, memory, harness, tuple(more)), parameters
    parsed = signature_of(signatures[0])
    if parsed is None:
        raise file.error(msg("labs.signature", got=signatures[0], types=", ".join(DTYPES)), at)
    if len(signatures) > 1 or parsed.is_kernel:
        raise file.error(msg("labs.signature_of_harness"), at)
    if parsed.returns != "void":
        raise file.error(msg("labs.signature_returns", got=parsed.returns), at)
    names = [argument.name for argument in parsed.arguments]
    expected = [parameter.name for parameter in parameters]
    for name in names:
        if name not in expected:
            raise file.error(msg("labs.unknown_name_here", name=name, allowed=choose(name, expected)), at)
    for name in expected:
        if names.count(name) != 1:
            raise file.error(msg("labs.signature_lacks", name=name, signature=parsed.spelled), ("parameters", name))
    by_name = {argument.name: argument for argument in parsed.arguments}
    typed = tuple(_typed(file, parameter, by_name[parameter.name]) for parameter in parameters)
    return FunctionRule(parsed, memory), typed


def check_harness(path: Path, parameters: Sequence[Parameter]) -> None:
    """Refuse a harness that does not call, asks for what the lab has not, or for another type, or leaves something out.

    Raises FileError: at the harness's line.
    """
    text = path.read_text("utf-8", "replace")
    for name in ("grader_call_begins", "grader_call_ends"):
        if name not in text:
            raise FileError(msg("labs.harness_calls", name=name), path)
    by_name = {parameter.name: parameter for parameter in parameters}
    asked = set()
    for match in _ASKED.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        name = match["name"]
        if name is None:
            # By its place, which may be computed.
            return
        if name not in by_name:
            raise FileError(msg("labs.harness_asks", name=name, allowed=choose(name, by_name)), path, line)
        asked.add(name)
        parameter, given = by_name[name], argument_of(match["type"])
        if given is None or given.type not in DTYPES:
            continue
        if DTYPES[given.type] != parameter.dtype or bool(given.pointers) != parameter.is_array:
            wanted = f"{parameter.dtype}{' *' if parameter.is_array else ''}"
            raise FileError(msg("labs.harness_type", name=name, wanted=wanted, got=match["type"].strip()), path, line)
    for name in by_name:
        if name not in asked:
            raise FileError(msg("labs.harness_lacks", name=name), path)


def _typed(file: YamlFile, parameter: Parameter, argument: Argument) -> Parameter:
    """The parameter with the type that the signature gives it.  FileError where it cannot be what the lab says."""
    keys: KeyPath = ("parameters", parameter.name)
    dtype, lanes = VECTORS.get(argument.type, (DTYPES.get(argument.type, ""), 1))
    is_only_read = parameter.is_input and not parameter.is_output
    if not dtype or argument.pointers != parameter.is_array or argument.is_const != is_only_read:
        wanted = ("const T *" if is_only_read else "T *") if parameter.is_array else "T"
        message = msg(
            "labs.signature_type",
            kind=parameter.kind.name,
            wanted=wanted,
            got=argument.spelled,
            types=", ".join([*DTYPES, *(VECTORS if parameter.is_array else ())]),
        )
        raise file.error(message, keys)
    if lanes > 1 and parameter.shape[-1:] != (lanes,):
        shape = f"[{', '.join(map(str, parameter.shape))}]"
        raise file.error(msg("labs.signature_lanes", type=argument.type, lanes=lanes, got=shape), (*keys, "shape"))
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


SKELETON = "new_function_lab"
"""Folder of the skeleton among the templates."""
SIGNATURE = "void solve(const float *in, float *out, int n)"
"""The signature of a lab's function where the lab does not give one."""
_SIZE = re.compile(
    r"(?:n|m|k|l|nx|ny|nz|w|h|rows?|cols?|columns?|width|height|depth|batch|stride|num\w*|n_\w+|\w*(?:size|count|len|length))",
    re.IGNORECASE,
)
"""Names of whole numbers that are sizes and no other numbers."""


def is_size_name(name: str) -> bool:
    """Whether a whole number of that name is most likely a size."""
    return _SIZE.fullmatch(name) is not None


_EXTENTS = {1: ([256, 1024], [1, 255, 1000], 4096), 2: ([16, 32], [1, 17, 33], 64), 3: ([8, 16], [1, 7, 9], 16)}
"""By the number of sizes: multiples of usual blocks, other values, and one that is observed."""
_MORE = ([4, 8], [1, 3, 5], 8)


def placeholders(text: str, memory: str) -> dict[str, str]:
    """What stands for each @NAME@ in the skeleton's files, of a signature as C++ spells it.

    memory: where the function's pointers lead, "device" or "host".

    Raises UsageError: nothing can be made of the signature: it does not parse, or there is nothing to read, write or
    count.
    """
    signature = signature_of(text)
    refused = UsageError(msg("labs.new_signature", got=text, types=", ".join(DTYPES)))
    if signature is None or signature.returns != "void":
        raise refused
    arguments = signature.arguments
    if any(a.type not in DTYPES or a.pointers > 1 for a in arguments):
        raise refused
    read = [a for a in arguments if a.pointers and a.is_const]
    written = [a for a in arguments if a.pointers and not a.is_const]
    in_place = [] if read else written
    whole = [a for a in arguments if not a.pointers and np.dtype(DTYPES[a.type]).kind in "iu"]
    sizes = [a.name for a in whole if is_size_name(a.name)] or [a.name for a in whole[:1]]
    numbers = [a for a in arguments if not a.pointers and a.name not in sizes]
    names = {a.name for a in arguments}
    if not written or not sizes or len(names) != len(arguments):
        raise refused
    given = read or in_place
    index = next(name for name in ("i", "at", "place", "i_") if name not in names)
    factor = numbers[0].name if numbers else ""
    total = " + ".join(f"{a.name}[{index}]" for a in given)
    total = f"({total})" if factor and len(given) > 1 else total
    # In place, what nobody has touched is not to be right.
    value = (f"{factor} * " if factor else "") + total + (" + 1" if in_place else "")
    elements = " * ".join([f"(long long){sizes[0]}", *sizes[1:]]) if len(sizes) > 1 else sizes[0]
    correct, ragged, observed = _EXTENTS.get(len(sizes), _MORE)
    summed = " + ".join(f'inputs["{a.name}"].astype(np.float64)' for a in given)
    summed = f"({summed})" if factor and len(given) > 1 else summed
    summed = (f'inputs["{factor}"] * ' if factor else "") + summed + (" + 1" if in_place else "")
    is_host = memory == "host"
    return {
        "SIGNATURE": signature.spelled,
        "FUNCTION": signature.name,
        "MEMORY": memory,
        "PARAMETERS": "\n".join(f"  {a.name}: {_kind(a, sizes, in_place)}" for a in arguments),
        "CORRECT": _rows([dict.fromkeys(sizes, value) for value in correct]),
        "RAGGED": _rows([{n: ragged[(i + k) % len(ragged)] for k, n in enumerate(sizes)} for i in range(len(ragged))]),
        "OBSERVE": _rows([dict.fromkeys(sizes, observed)])[1:-1],
        "SHAPE": "(" + ", ".join(f"sizes['{name}']" for name in sizes).replace("'", '"') + ",)",
        "DRAWN": ", ".join(f'"{a.name}": {_drawn(a)}' for a in given),
        "EXPECTED": summed,
        "RETURNED": ", ".join(f'"{a.name}": result' for a in written),
        "FORMULA": " = ".join([*(f"`{a.name}[{index}]`" for a in written), f"`{value}`"]),
        "WHERE_EN": f"Its pointers lead to the {memory}'s memory.",
        "WHERE_RU": "Её указатели ведут в память " + ("CPU." if is_host else "GPU."),
        "KERNEL": f"{signature.name}_kernel",
        "DECLARED": ", ".join(f"{a.spelled}{'' if a.pointers else ' '}{a.name}" for a in arguments),
        "PASSED": ", ".join(f"d_{a.name}" if a.pointers and is_host else a.name for a in arguments),
        "INDEX": index,
        "ELEMENTS": elements,
        "COMPUTED": "        " + " = ".join([*(f"{a.name}[{index}]" for a in written), value]) + ";",
        "BEFORE": "".join(_to_device(a, elements, a in given) for a in (*read, *written)) if is_host else "",
        "AFTER": _to_host(written, read, elements) if is_host else "",
    }


def _kind(argument: Argument, sizes: Sequence[str], in_place: Sequence[Argument]) -> str:
    if argument.pointers:
        kind = "in_out" if argument in in_place else "input" if argument.is_const else "output"
        return f"{{kind: {kind}, shape: [{', '.join(sizes)}]}}"
    if argument.name in sizes:
        return "{kind: size}"
    return "{kind: scalar, values: [2.5, -0.75]}" if _is_float(argument) else "{kind: scalar, values: [2, 1]}"


def _is_float(argument: Argument) -> bool:
    return np.dtype(DTYPES[argument.type]).kind == "f"


def _rows(rows: Sequence[dict[str, int]]) -> str:
    return "[" + ", ".join("{" + ", ".join(f"{n}: {v}" for n, v in row.items()) + "}" for row in rows) + "]"


def _drawn(argument: Argument) -> str:
    return "rng.random(shape)" if _is_float(argument) else "rng.integers(0, 10, shape)"


def _to_device(argument: Argument, elements: str, is_read: bool) -> str:
    name, size = argument.name, f"{elements} * sizeof({argument.type})"
    text = f"    {argument.type} *d_{name};\n    cudaMalloc(&d_{name}, {size});\n"
    return text + (f"    cudaMemcpy(d_{name}, {name}, {size}, cudaMemcpyHostToDevice);\n" if is_read else "")


def _to_host(written: Sequence[Argument], read: Sequence[Argument], elements: str) -> str:
    back = [
        f"    cudaMemcpy({a.name}, d_{a.name}, {elements} * sizeof({a.type}), cudaMemcpyDeviceToHost);\n"
        for a in written
    ]
    return "".join([*back, *(f"    cudaFree(d_{a.name});\n" for a in (*read, *written))])


FORMATS = {"bin": (".bin", ".dat"), "text": (".txt",), "csv": (".csv",), "pgm": (".pgm",), "ppm": (".ppm",), "wb": ()}
"""Formats of files, with the suffixes that mean one where the lab file names none."""
CHANNELS = {"pgm": 1, "ppm": 3}
"""Numbers that a picture has at each place."""
_PLACE = re.compile(r"\{(\w*)\}")
_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)*")


class FilePart(Part, frozen=True):
    """What a parameter's part of a lab file says of where it lies."""

    file: str = ""
    format: str = ""
    header: list[str] = []
    label: str = ""


def file_rule(file: YamlFile, keys: KeyPath, part: FilePart, is_output: bool, is_array: bool) -> FileRule | None:
    """Where an array lies; None where the file says nothing of it.  FileError where that is no place for it."""
    given = [key for key in ("format", "header", "label") if getattr(part, key)]
    if not part.file:
        if given:
            raise file.error(msg("labs.needs_file"), (*keys, given[0]))
        return None
    if not is_array:
        raise file.error(msg("labs.only_kind", kind="input, output, in_out"), (*keys, "file"))
    printed, copied = part.file == STDOUT, part.file == COPIED
    if (printed or copied) and not is_output:
        raise file.error(msg("labs.only_kind", kind="output"), (*keys, "file"))
    if part.label and not printed:
        raise file.error(msg("labs.only_stdout"), (*keys, "label"))
    if copied and given:
        raise file.error(msg("labs.needs_file"), (*keys, given[0]))
    name = PurePosixPath(part.file)
    if not _NAME.fullmatch(part.file) or ".." in name.parts:
        raise file.error(msg("labs.file_name", got=part.file), (*keys, "file"))
    kind = part.format or next((f for f, suffixes in FORMATS.items() if name.suffix.lower() in suffixes), "")
    kind = "text" if (printed or copied) and not part.format else kind
    if kind not in FORMATS:
        key, got = ("format", part.format) if part.format else ("file", part.file)
        raise file.error(msg("labs.file_format", got=got, allowed=choose(kind, FORMATS)), (*keys, key))
    if printed and kind != "text":
        raise file.error(msg("labs.file_format", got=kind, allowed=choose(kind, ["text"])), (*keys, "format"))
    if part.header and (kind not in ("bin", "text", "csv") or printed):
        raise file.error(msg("labs.no_header", format=STDOUT if printed else kind), (*keys, "header"))
    return FileRule(part.file, kind, tuple(part.header), part.label)


def check_file(file: YamlFile, parameter: Parameter, sizes: Sequence[str]) -> None:
    """Refuse a file whose format cannot hold the parameter's array."""
    keys: KeyPath = ("parameters", parameter.name)
    rule = parameter.file
    if rule is None:
        return
    check_known(file, (*keys, "header"), rule.header, sizes)
    if rule.format in CHANNELS:
        channels = CHANNELS[rule.format]
        fits = parameter.shape[2:] == ((channels,) if channels > 1 else ()) and len(parameter.shape) >= 2
        if not fits or parameter.dtype != "uint8":
            shape = "[height, width, 3]" if channels > 1 else "[height, width]"
            got = f"{parameter.dtype} [{', '.join(map(str, parameter.shape))}]"
            raise file.error(msg("labs.picture", format=rule.format, allowed=f"uint8 {shape}", got=got), keys)


def program_of(
    file: YamlFile, arguments: Sequence[str], stdin: str, signatures: Sequence[str], parameters: Sequence[Parameter]
) -> ProgramRule:
    """How the program is started.

    Raises FileError: a place holder that nothing stands for, an array that the program is not handed or that nobody
    finds afterwards, two arrays in one file, a signature that does not parse.
    """
    by_name = {parameter.name: parameter for parameter in parameters}
    placed: list[tuple[KeyPath, str]] = [(("arguments", i), word) for i, word in enumerate(arguments)]
    placed.append((("stdin",), stdin))
    handed: set[str] = set()
    for keys, text in placed:
        for name in _PLACE.findall(text):
            if name not in by_name:
                raise file.error(msg("labs.unknown_name_here", name=name, allowed=choose(name, by_name)), keys)
            parameter = by_name[name]
            at_hand = parameter.file is not None and parameter.file.name not in (STDOUT, COPIED)
            if parameter.is_array and not at_hand and (keys != ("stdin",) or not parameter.is_input):
                raise file.error(msg("labs.not_handed", name=name), keys)
            handed.add(name)
    by_file: dict[str, str] = {}
    for name, parameter in by_name.items():
        rule, keys = parameter.file, ("parameters", name)
        if (parameter.is_input and rule is None and name not in handed) or (
            parameter.kind.is_number and name not in handed
        ):
            raise file.error(msg("labs.never_handed", place=f"{{{name}}}"), keys)
        if parameter.is_output and rule is None:
            raise file.error(msg("labs.no_output_file", stdout=STDOUT, copied=COPIED), keys)
        if rule is not None and rule.name != COPIED:
            if rule.name in by_file and (rule.name != STDOUT or not rule.label):
                raise file.error(msg("labs.file_twice", file=rule.name, name=by_file[rule.name]), (*keys, "file"))
            by_file[rule.name] = name
    if len(signatures) > 1:
        raise file.error(msg("labs.signature_of_harness"), ("signature",))
    parsed = signature_of(signatures[0]) if any(signatures) else None
    if any(signatures) and parsed is None:
        raise file.error(msg("labs.signature_form", got=signatures[0]), ("signature",))
    return ProgramRule(tuple(arguments), stdin, parsed)


def check_thresholds(file: YamlFile, lab: Lab) -> None:
    """Refuse shares of points that are none, and thresholds that are better than the best."""
    for variant in lab.variants:
        for spec in variant.checks:
            at: KeyPath = ("variants", variant.name, "checks", spec.check)
            rows: list[tuple[KeyPath, float, float]]
            match spec.settings:
                case CorrectSettings(partial=share):
                    rows = [(("partial",), 1.0, share)]
                case CoalescingSettings(max_ratio=most, partial=partial):
                    rows = [
                        (("max_ratio",), most, 0.0),
                        *((("partial", i), p.ratio, p.share) for i, p in enumerate(partial)),
                    ]
                case BankConflictSettings(partial=ways):
                    rows = [(("partial", i), p.ways, p.share) for i, p in enumerate(ways)]
                case _:
                    rows = []
            for place, least, share in rows:
                if not 0 <= share <= 1:
                    raise file.error(msg("labs.share", got=share), (*at, *place))
                if least < 1:
                    raise file.error(msg("labs.below_best", got=least), (*at, *place))
    _check_speed(file, lab)


def _check_speed(file: YamlFile, lab: Lab) -> None:
    """Refuse a check of speed that does not say what it compares with, or how points follow, or says either twice."""
    names = [variant.name for variant in lab.variants]
    for variant in lab.variants:
        speed, at = variant.settings_of(SpeedupSettings), ("variants", variant.name, "checks", "speedup")
        if speed is None:
            continue
        if lab.timing is None:
            raise file.error(msg("labs.speed_untimed"), at)
        if bool(speed.against) == speed.own:
            raise file.error(msg("labs.speed_against", allowed=", ".join(names)), at)
        if speed.against:
            check_known(file, (*at, "against"), [speed.against], names)
        if speed.own and (lab.makes_launches or variant is lab.variants[0]):
            raise file.error(msg("labs.speed_own", first=names[0]), (*at, "own"))
        if (speed.full > 0) + (speed.time is not None) + bool(speed.classes) != 1:
            raise file.error(msg("labs.speed_scale"), at)
        if speed.full and not 0 < speed.minimum <= speed.full:
            raise file.error(msg("labs.speed_order", least=speed.minimum, most=speed.full), (*at, "minimum"))
        if speed.time is not None and not 0 < speed.time.full < speed.time.none:
            raise file.error(msg("labs.speed_order", least=speed.time.full, most=speed.time.none), (*at, "time"))
        for i, one in enumerate(speed.classes):
            if (one.speedup > 0) == (one.time > 0) or not 0 < one.share <= 1:
                raise file.error(msg("labs.speed_class"), (*at, "classes", i))
        rows = sorted(speed.classes, key=lambda one: one.least) if speed.classes else []
        for i, (low, high) in enumerate(pairwise(rows)):
            if low.least == high.least or low.share >= high.share:
                raise file.error(msg("labs.speed_classes"), (*at, "classes", i))


def filled_in(text: str, values: dict[str, str]) -> str:
    """A text of `ProgramRule` with what its place holders stand for."""
    return _PLACE.sub(lambda match: values[match[1]], text)


def lab_files(file: YamlFile, references: Path, names: Sequence[str]) -> dict[str, Path]:
    """The lab's own files that go with what is handed in, by name.  FileError where one is not there."""
    paths = {}
    for i, name in enumerate(names):
        if not _NAME.fullmatch(name) or ".." in PurePosixPath(name).parts:
            raise file.error(msg("labs.file_name", got=name), ("files", i))
        paths[name] = sibling(file, references / name, ("files", i))
    return paths
