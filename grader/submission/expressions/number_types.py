"""The plain number types of C++ and CUDA, by NumPy's names."""

from __future__ import annotations

SIZES_OF_TYPES = {
    "char": 1,
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "float16": 2,
    "int32": 4,
    "uint32": 4,
    "float32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
}

DTYPES = {
    "float": "float32",
    "double": "float64",
    "bool": "bool",
    "char": "int8",
    "signed char": "int8",
    "int8_t": "int8",
    "unsigned char": "uint8",
    "uint8_t": "uint8",
    "uchar": "uint8",
    "short": "int16",
    "int16_t": "int16",
    "unsigned short": "uint16",
    "uint16_t": "uint16",
    "ushort": "uint16",
    "int": "int32",
    "signed": "int32",
    "int32_t": "int32",
    "unsigned": "uint32",
    "uint": "uint32",
    "uint32_t": "uint32",
    "long": "int64",
    "long long": "int64",
    "int64_t": "int64",
    "ptrdiff_t": "int64",
    "intptr_t": "int64",
    "unsigned long": "uint64",
    "ulong": "uint64",
    "uintptr_t": "uint64",
    "unsigned long long": "uint64",
    "uint64_t": "uint64",
    "size_t": "uint64",
    "half": "float16",
    "__half": "float16",
}

NUMBER_WORDS = frozenset(word for name in DTYPES for word in name.split())
"""Words that names of number types are made of."""

FORMATS = {
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
"""Of `struct`, for those that have one."""
