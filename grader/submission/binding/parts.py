"""Launches of one kernel over parts of the same arrays, which an argument tells where they begin, seen as one launch.

A kernel that adds that number to its block's, in the one place where it speaks of either, does in them what a single
launch of all their blocks does from the beginning.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import msgspec

from grader.submission.cpp.constants import Constants, Lookup
from grader.submission.cpp.syntax import Expression, Number
from grader.submission.cpp.tree import ParsedFile, text_without_comments
from grader.submission.kernels.kernel import kernels_in, local_values
from grader.submission.kernels.records import ObservedRuns, SeenLaunch, SeenRun, each_once

_WORD = re.compile(r"\w+")
_BLOCK = re.compile(r"\bblockIdx\s*\.\s*([xyz])\b")
_OF_GRID = re.compile(r"\b(?:gridDim|this_grid|grid_group|asm)\b")
_KNOWS_BLOCKS = re.compile(r"\b(?:blockIdx|gridDim|this_grid|grid_group|asm)\b")
_VALUE = re.compile(r"(?<![=!<>+\-*/%&|^])=(?!=)([^=;{}?,]*)(?=[;,])")
_SUM = re.compile(r"[\w\s.+*()]*")
_BUILT_IN = re.compile(r"\b(threadIdx|blockIdx|blockDim)\s*\.\s*([xyz])\b")
_AXES = "xyz"
_INTEGERS = frozenset(["int32", "uint32", "int64", "uint64"])
_THREADS = (0, 0, 0), (1, 1, 1), (3, 5, 7)
"""Threads of a sum of products: what is the same for these is so for all."""


@dataclass(frozen=True, slots=True)
class _Offset:
    """A parameter that is added to the number of a block along an axis, in a sum of these values."""

    parameter: str
    axis: int
    text: str
    constants: Constants
    values: Lookup

    def blocks(self, value: int, block: tuple[int, int, int]) -> int | None:
        """To how many blocks a value comes, None where it is no whole number of them, or the sum is not known."""
        slopes = {self._slopes(thread, block) for thread in _THREADS}
        first = next(iter(slopes))
        if len(slopes) > 1 or first is None:
            return None
        per_value, per_block = first
        return value * per_value // per_block if value * per_value % per_block == 0 else None

    def _slopes(self, thread: tuple[int, int, int], block: tuple[int, int, int]) -> tuple[int, int] | None:
        """By how much the sum grows with the parameter, and with the block's number."""
        none, with_value, with_block, with_both = (
            self._sum(value, number, thread, block) for value, number in ((0, 0), (1, 0), (0, 1), (1, 1))
        )
        if none is None or with_value is None or with_block is None or with_both is None:
            return None
        slopes = with_value - none, with_block - none
        return slopes if min(slopes) > 0 and with_both - none == sum(slopes) else None

    def _sum(self, value: int, number: int, thread: tuple[int, int, int], block: tuple[int, int, int]) -> int | None:
        of_axes = {"threadIdx": thread, "blockIdx": (number,) * 3, "blockDim": block}
        text = _BUILT_IN.sub(lambda match: str(of_axes[match[1]][_AXES.index(match[2])]), self.text)
        own: dict[str, Expression] = {self.parameter: Number(value)}
        return self.constants.integer(text, lambda name: own.get(name) or self.values(name))


def in_whole(observed: ObservedRuns, files: Sequence[ParsedFile]) -> ObservedRuns:
    """What was seen, with one launch for those that follow each other over parts of the same arrays, from the beginning
    and without a gap; it has all their blocks, and says which parameter tells the parts (`SeenLaunch.offset`).

    The order of launches and copies is left out of runs in which there are any.
    """
    offsets = {kernel: offset for parsed in files for kernel, offset in _offsets(parsed).items()}
    by_run = [_groups(run, offsets) for run in observed.runs]
    in_parts = {group.first.kernel for groups in by_run for group in groups if len(group.members) > 1}
    if not in_parts:
        return observed
    runs = (_with_whole(run, groups, in_parts, offsets) for run, groups in zip(observed.runs, by_run, strict=True))
    return replace(observed, runs=tuple(runs))


def _offsets(parsed: ParsedFile) -> dict[str, _Offset]:
    """The parameter of each kernel that tells where a part begins, where its text shows that."""
    items = [(one, item) for one in (parsed, *parsed.headers) for item in one.items if not item.is_kernel]
    elsewhere = [one.text(item.node) for one, item in items if item.is_device or item.kind == "type"]
    elsewhere += [macro.body for macro in parsed.constants.macros.values()]
    if any(_KNOWS_BLOCKS.search(text) for text in elsewhere):
        return {}
    offsets = {}
    for kernel in kernels_in(parsed):
        body = parsed.functions[kernel.name].node.child_by_field_name("body")
        text = text_without_comments(parsed, body) if body is not None else ""
        numbers = [p.name for p in kernel.parameters if not p.is_pointer and p.dtype in _INTEGERS]
        if _OF_GRID.search(text):
            continue
        # Counted once: a text may have thousands of values.
        all_axes, words = Counter(_BLOCK.findall(text)), Counter(_WORD.findall(text))
        if words["blockIdx"] != all_axes.total():
            continue
        for match in _VALUE.finditer(text):
            axes = _BLOCK.findall(match[1])
            if len(axes) != 1 or all_axes[axes[0]] != 1:
                continue
            of_value = set(_WORD.findall(match[1]))
            added = [name for name in numbers if name in of_value and words[name] == 1]
            if added and _SUM.fullmatch(match[1]):
                values = local_values(parsed, body) if body is not None else dict[str, Expression]().get
                offsets[kernel.name] = _Offset(added[0], _AXES.index(axes[0]), match[1], parsed.constants, values)
    return offsets


@dataclass(slots=True)
class _Group:
    """Launches over parts: their places in `SeenRun.launches`, the last one's in the order, and all their blocks."""

    first: SeenLaunch
    buffers: tuple[int, ...]
    members: list[int]
    last: int
    blocks: int


def _groups(run: SeenRun, offsets: Mapping[str, _Offset]) -> list[_Group]:
    groups: list[_Group] = []
    open_groups: dict[str, _Group] = {}
    for number, step in enumerate(run.order):
        launch = run.launches[step.launch] if step.launch >= 0 else None
        offset = offsets.get(launch.kernel) if launch is not None else None
        if launch is None or offset is None:
            continue
        begin = _begin(launch, offset)
        group = open_groups.get(launch.kernel)
        is_next = group is not None and begin == group.blocks and step.buffers == group.buffers
        arrays = [buffer for buffer in step.buffers if buffer]
        if len(set(arrays)) < len(arrays):
            # A part may go on with what another one made of the same array.
            is_next = False
        if group is not None and is_next and _is_alike(group.first, launch, offset) and not _is_cut(run, group, number):
            group.members.append(step.launch)
            group.last, group.blocks = number, group.blocks + launch.grid[offset.axis]
        elif begin == 0:
            open_groups[launch.kernel] = _Group(launch, step.buffers, [step.launch], number, launch.grid[offset.axis])
            groups.append(open_groups[launch.kernel])
        else:
            open_groups.pop(launch.kernel, None)
    return groups


def _begin(launch: SeenLaunch, offset: _Offset) -> int | None:
    """The first block of a launch, counted from the beginning of its arrays."""
    value = next((a.value for a in launch.arguments if a.name == offset.parameter), None)
    is_whole = isinstance(value, int) and not launch.refused and launch.exchanged is None and not launch.swapped
    return offset.blocks(value, launch.block) if is_whole and isinstance(value, int) else None


def _is_alike(one: SeenLaunch, other: SeenLaunch, offset: _Offset) -> bool:
    """Whether two launches differ in nothing but where they begin, and in their blocks along that axis."""

    def rest(launch: SeenLaunch) -> tuple[object, ...]:
        grid = [count for axis, count in enumerate(launch.grid) if axis != offset.axis]
        given = [(a.name, a.value, a.buffer, a.offset_bytes) for a in launch.arguments if a.name != offset.parameter]
        return launch.file, launch.template_arguments, launch.block, launch.shared_bytes, launch.change, grid, given

    return rest(one) == rest(other)


def _is_cut(run: SeenRun, group: _Group, number: int) -> bool:
    """Whether a whole array was copied or set between the last launch of a group and another one of the order."""
    return any(c.is_whole and c.serial in group.buffers and group.last < c.launches <= number for c in run.copies)


def _with_whole(
    run: SeenRun, groups: Sequence[_Group], in_parts: AbstractSet[str], offsets: Mapping[str, _Offset]
) -> SeenRun:
    whole: dict[int, SeenLaunch] = {}
    grouped: set[int] = set()
    for group in groups:
        if group.first.kernel in in_parts:
            offset = offsets[group.first.kernel]
            grid = [group.blocks if axis == offset.axis else n for axis, n in enumerate(group.first.grid)]
            made = msgspec.structs.replace(group.first, grid=(grid[0], grid[1], grid[2]), offset=offset.parameter)
            whole.setdefault(group.members[0], made)
            grouped.update(group.members)
    places = range(len(run.launches))
    launches = [whole.get(n, run.launches[n]) for n in places if n in whole or n not in grouped]
    return replace(run, launches=each_once(launches), order=(), copies=()) if whole else run
