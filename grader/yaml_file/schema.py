"""What a type has at some keys, and where data do not fit it: msgspec's descriptions and complaints, followed."""

from __future__ import annotations

import re

import msgspec

Key = str | int
KeyPath = tuple[Key, ...]


def culprit(kind: type, value: object, place: str) -> KeyPath:
    """Where msgspec found the fault: "$.sizes[2].rows" is ("sizes", 2, "rows").

    msgspec writes [...] for "some value of this mapping".  Which one, is found by asking again for one key at a time.
    """
    keys: KeyPath = ()
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", place):
        if index != "...":
            keys = (*keys, int(index) if index else name)
            continue
        mapping = dig(value, keys)
        found = [
            key
            for key in (mapping if isinstance(mapping, dict) else {})
            if not _converts(kind, with_only(value, keys, key))
        ]
        if not found:
            break
        keys = (*keys, found[0])
    return keys


def _converts(kind: type, value: object) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def with_only(value: object, keys: KeyPath, only: Key) -> object:
    """`value` with the mapping at `keys` reduced to its key `only`."""
    if not keys:
        return {only: value[only]} if isinstance(value, dict) else value
    first, *rest = keys
    if isinstance(value, dict):
        return {k: with_only(v, tuple(rest), only) if k == first else v for k, v in value.items()}
    if isinstance(value, list):
        return [with_only(v, tuple(rest), only) if i == first else v for i, v in enumerate(value)]
    return value


def dig(value: object, keys: KeyPath) -> object:
    """What is at `keys` in nested mappings and lists; None where there is nothing."""
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value


def field_names(kind: type, keys: KeyPath) -> list[str]:
    """Names of the fields of the struct that sits at `keys` inside a struct of type `kind`."""
    info = type_at(kind, keys)
    return [f.encode_name for f in info.fields] if isinstance(info, msgspec.inspect.StructType) else []


def type_at(kind: type, keys: KeyPath) -> object:
    """msgspec's description of what may sit at `keys` inside a struct of type `kind`; None where that is unknown."""
    info: object = msgspec.inspect.type_info(kind)
    for key in keys:
        if isinstance(info, msgspec.inspect.StructType):
            info = next((f.type for f in info.fields if f.encode_name == key), None)
        elif isinstance(info, msgspec.inspect.DictType):
            info = info.value_type
        elif isinstance(info, (msgspec.inspect.ListType, msgspec.inspect.VarTupleType)):
            info = info.item_type
        if isinstance(info, msgspec.inspect.UnionType):
            info = next((t for t in info.types if isinstance(t, msgspec.inspect.StructType)), None)
    return info
