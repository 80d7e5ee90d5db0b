"""Which programs that lie side by side are one lab's: `naive.cu`, `tiled.cu`, `padded.cu`, each with its `main`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from grader.lab.records import Variant

_NO_WORD = re.compile(r"\d+")
_NOT_OF_NAME = re.compile(r"[\W_]+")


def versions_among(
    programs: Sequence[Path], lab_id: str, known_labs: Collection[str], variants: Sequence[Variant]
) -> list[Path]:
    """Those of `programs` that their names make the lab's; none where that is not clear.

    Those called after the lab; else, where two are called after different variants of it, all called after any.
    """
    others = {_plain(name) for name in known_labs} - {_plain(lab_id)}
    own = [file for file in programs if not any(other in _plain(file.stem) for other in others)]
    by_lab = [file for file in own if _plain(lab_id) in _plain(file.stem)]
    if by_lab:
        return by_lab
    named: Mapping[Path, set[str]] = {file: _variants_named(file.stem, variants) for file in own}
    of_one = {name for found in named.values() if len(found) == 1 for name in found}
    return [file for file, found in named.items() if found] if len(of_one) > 1 else []


def _variants_named(stem: str, variants: Sequence[Variant]) -> set[str]:
    """The variants that a file's name may mean by its first words; a number alone means none."""
    ranks: dict[str, int] = {}
    for variant in variants:
        for rank, pattern in enumerate(variant.names):
            found = re.search(pattern, stem, re.IGNORECASE)
            if found is not None and not _NO_WORD.fullmatch(found.group()):
                ranks[variant.name] = rank
                break
    return {name for name, rank in ranks.items() if rank == min(ranks.values())}


def _plain(name: str) -> str:
    """A name's letters and digits: `box-blur`, `box_blur` and `BoxBlur` are the same."""
    return _NOT_OF_NAME.sub("", name).lower()
