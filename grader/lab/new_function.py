"""The skeleton of a lab that asks for a function: what a signature says of its parameters, sizes, data and kernels.

The skeleton's function adds up what it reads, element by element: a lab that works, to be changed step by step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from grader.errors import UsageError
from grader.lab.signature import DTYPES, Argument, signature_of
from grader.message import msg

SKELETON = "new_function_lab"
"""Folder of the skeleton among the templates."""
SIGNATURE = "void solve(const float *in, float *out, int n)"
"""Of a function of which nothing else is said."""
_SIZE = re.compile(
    r"(?:n|m|k|l|nx|ny|nz|w|h|rows?|cols?|columns?|width|height|depth|batch|stride|num\w*|n_\w+|\w*(?:size|count|len|length))",
    re.IGNORECASE,
)
"""Names of whole numbers that are sizes and no other numbers."""
_EXTENTS = {1: ([256, 1024], [1, 255, 1000], 4096), 2: ([16, 32], [1, 17, 33], 64), 3: ([8, 16], [1, 7, 9], 16)}
"""By the number of sizes: multiples of usual blocks, other values, and one that is observed."""
_MORE = ([4, 8], [1, 3, 5], 8)


def placeholders(text: str, memory: str) -> dict[str, str]:
    """What stands for each @NAME@ in the skeleton's files, of a signature as C++ spells it.

    memory: where the function's pointers lead, "device" or "host".

    Raises
    ------
    UsageError : nothing can be made of the signature: it does not parse, or there is nothing to read, write or count.
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
    sizes = [a.name for a in whole if _SIZE.fullmatch(a.name)] or [a.name for a in whole[:1]]
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
