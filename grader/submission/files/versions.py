"""Which programs that lie side by side are one lab's: `naive.cu`, `tiled.cu`, `padded.cu`, each with its `main`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from grader.lab.records import Variant

_NO_WORD = re.compile(r"\d+")
_NOT_OF_NAME = re.compile(r"[\W_]+")
_LAST_NUMBER = re.compile(r"(.*?)(\d{1,4})(\D*)", re.ASCII | re.DOTALL)
_TASKS = re.compile(
    r"lab|labs|laba|labwork|lr|laboratory|tasks?|t|ex|exercises?|hw|homework|assignment|a|problem|p|question|q|work|week"
    r"|day|lesson|lecture|lec|chapter|ch|module|cuda|cu|main|prog|program|project|zad|zadanie|zadacha|dz|kr|pr|prac"
    r"|practice|praktika|rabota|cwiczenie|tp|td|uebung|лаб|лаба|лабораторная|лабораторнаяработа|лр|работа|задание|задача"
    r"|зад|дз|кр|пр|практика|практическая|занятие|урок|неделя|упражнение"
)


def versions_among(
    programs: Mapping[Path, str], lab_id: str, known_labs: Collection[str], variants: Sequence[Variant]
) -> list[Path]:
    """Those of `programs`, each with its name, that their names make the lab's; none where that is not clear.

    Those called after the lab; else, where two are called after different variants of it, all called after any; else
    all where they are numbered versions: `v1`, `v2`.
    """
    others = {_plain(name) for name in known_labs} - {_plain(lab_id)}
    own = {file: name for file, name in programs.items() if not any(other in _plain(name) for other in others)}
    by_lab = [file for file, name in own.items() if _plain(lab_id) in _plain(name)]
    if by_lab:
        return by_lab
    named: Mapping[Path, set[str]] = {file: _variants_named(name, variants) for file, name in own.items()}
    of_one = {name for found in named.values() if len(found) == 1 for name in found}
    if len(of_one) > 1:
        return [file for file, found in named.items() if found]
    return list(programs) if _are_numbered(list(programs.values())) else []


def _are_numbered(names: Sequence[str]) -> bool:
    """Whether programs are called alike but for their last number, and not as a term's tasks are: `task1`, `task2`.

    Of `task1_1`, `task1_2` the first number tells the task.
    """
    numbered = [_LAST_NUMBER.fullmatch(name.lower()) for name in names]
    found = [match.groups() for match in numbered if match is not None]
    heads = {(_plain(head), _plain(tail)) for head, _number, tail in found}
    numbers = {int(number) for _head, number, _tail in found}
    if len(found) != len(names) or len(heads) != 1 or len(numbers) != len(names) or len(names) < 2:
        return False
    ((head, tail),) = heads
    return bool(head or tail) and not _TASKS.fullmatch(head or tail)


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
