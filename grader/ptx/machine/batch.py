"""The blocks that run side by side, and the groups of threads that they have parted into.

A batch says where its blocks stand, and what their memory is; what was used up and found out is noted in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grader.ptx.affine import Geometry
from grader.ptx.frontend.nodes import Function, Instruction
from grader.ptx.limits import AT_ONCE, CYCLES, Budget, DeviceTrap, LimitExceeded
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.memory import Device, MemoryArray, Window, local_array
from grader.ptx.observers.interface import NOBODY, BlamedOperation, HazardLog, Observer, Watchers
from grader.ptx.values import UNSIGNED, Array, Lanes, Value, as_array, merge, select


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all batches of a launch.

    addresses: of the module's variables and functions on this device.  shared_bytes: dynamic and total shared memory of
    a block, workspace: address of the grid's barrier, 0 where there is none, both for the special registers.
    """

    device: Device
    hazards: HazardLog
    budget: Budget
    addresses: dict[str, int] = field(default_factory=dict)
    shared_bytes: tuple[int, int] = (0, 0)
    workspace: int = 0


class BlockBatch:
    """Some blocks of a grid, executed side by side.

    Instructions are carried out on it, and observers are told of it; who goes next is the scheduler's matter.
    """

    def __init__(self, setting: Setting, geometry: Geometry, shared: Window, watchers: Watchers) -> None:
        layout = geometry.layout
        self.geometry = geometry
        self.layout = layout
        self.device = setting.device
        self.hazards = setting.hazards
        self.budget = setting.budget
        self.addresses = setting.addresses
        self.shared_bytes = setting.shared_bytes
        self.workspace = setting.workspace
        self.shared = shared
        self.local = Window("local")
        self.watchers = watchers
        self.parameters: dict[str, bytes] = {}
        """Values of the kernel's parameters, by name."""
        self.remarks: dict[tuple[str, int], int] = {}
        self.version = 0
        """Grows whenever memory may have changed."""
        self.retired = np.zeros(layout.blocks * layout.padded, np.bool_)
        """(lanes,) which lanes have returned from the kernel."""
        self.alive = np.full(layout.blocks, layout.threads, np.int64)
        """(blocks,) how many have not."""
        self.clock = 0
        self.specials: dict[str, Value] = {}
        """Values of special registers for all lanes."""
        self.written: dict[int, dict[Any, Any]] = {}
        """Memory that was found written, by the id of a lasting value (see `load_store.check_written`)."""
        self.extensions: dict[str, Any] = {}
        """State that few kernels need, by the name of who keeps it."""
        self._local_symbols: dict[Any, int] = {}
        self._local_bytes = 0

    # -- memory ------------------------------------------------------------------------

    def note_change(self) -> None:
        self.version += 1

    def local_variables(self, depth: int, function: Function) -> dict[str, int]:
        """Addresses of a function's local and `.param` variables, `depth` calls deep.

        A thread has one activation at each depth, and every lane has its own copy, so activations of the same
        function at the same depth share an address however they were called.
        """
        symbols = {}
        for variable in function.variables:
            if variable.space not in ("local", "param"):
                continue
            key = (depth, function.name, variable.name)
            address = self._local_symbols.get(key)
            if address is None:
                if variable.size_bytes > self.budget.limits.local_bytes:
                    line = function.location.line
                    raise DeviceTrap(line, f"{variable.size_bytes} bytes of local memory a thread")
                lanes = self.layout.blocks * self.layout.padded
                self._check_local_memory(variable.size_bytes * lanes, function)
                address = local_array(self.local, variable.name, variable.size_bytes, lanes).base
                self._local_symbols[key] = address
            symbols[variable.name] = address
        return symbols

    def put_parameters(self, parameters: list[tuple[str, bytes]]) -> dict[str, int]:
        """Put the kernel's parameters, (name, bytes) each, into memory, and return their addresses by name."""
        symbols = {}
        self.parameters = dict(parameters)
        for name, raw in parameters:
            data = np.zeros(-(-len(raw) // 16) * 16, np.uint8)
            data[: len(raw)] = np.frombuffer(raw, np.uint8)
            array = MemoryArray(name, "param", self.local.next_base(), len(raw), data, read_only=True)
            self.local.arrays.append(array)
            symbols[name] = array.base
        return symbols

    def _check_local_memory(self, more: int, function: Function) -> None:
        self._local_bytes += more
        if self._local_bytes > self.budget.limits.memory_bytes:
            line, megabytes = function.location.line, self.budget.limits.memory_bytes >> 20
            raise LimitExceeded("memory", line, f"local variables of all threads take more than {megabytes} MiB")

    # -- progress ----------------------------------------------------------------------

    def count(self, block: CodeBlock, lanes: Lanes, times: int = 1) -> None:
        """Count a block that lanes execute; more than once where a loop is carried out at once."""
        budget = self.budget
        size = block.size * times
        budget.thread_instructions += size * lanes.n
        budget.charged += block.charge * lanes.n if times == 1 else size * lanes.n // AT_ONCE
        budget.warp_instructions += size * lanes.n_warps
        budget.issued += size
        block.executions += lanes.n * times
        block.places += lanes.places * times
        self.clock += CYCLES * size

    def pass_time(self, cycles: int) -> None:
        self.clock += cycles

    def retire(self, lanes: Lanes) -> None:
        self.retired[lanes.ids] = True
        if lanes is self.layout.root:
            self.alive[:] = 0
        else:
            self.alive -= np.bincount(lanes.blocks, minlength=self.layout.blocks)

    def remark(self, kind: str, line: int, count: int) -> None:
        """Note something worth knowing that costs no points; the largest count stays."""
        key = (kind, line)
        self.remarks[key] = max(self.remarks.get(key, 0), count)

    def lanes_by_warp(self, lanes: Lanes) -> Array:
        """(warps,) uint32: which lanes of each warp are among these."""
        present = np.zeros(len(self.retired), np.bool_)
        present[lanes.ids] = True
        return _pack(present)

    def absent_by_warp(self, arrived: Array) -> Array:
        """(warps,) uint32: which lanes have not returned and are not among those that arrived, (warps,) uint32."""
        absent: Array = self._existing() & ~_pack(self.retired) & ~arrived
        return absent

    def returned_by_warp(self) -> Array:
        """(warps,) uint32: which lanes have returned."""
        returned: Array = self._existing() & _pack(self.retired)
        return returned

    def _existing(self) -> Array:
        layout = self.layout
        existing: Array | None = layout.root.memo.get("existing")
        if existing is None:
            inside = np.arange(layout.padded) < layout.threads
            existing = layout.root.memo["existing"] = np.tile(_pack(inside), layout.blocks)
        return existing

    def close(self) -> None:
        """Drop everything that holds on to this batch, which is over: it is freed with its last user."""
        self.watchers = NOBODY
        self.specials.clear()
        self.extensions.clear()
        self.geometry.forget()


def _pack(lanes: Array) -> Array:
    """(warps,) uint32 masks of (warps · 32,) flags."""
    return np.packbits(lanes, bitorder="little").view(np.uint32)


@dataclass
class Outcome:
    """What was used up, what was found, who watched.

    remarks: how often each (kind, line) was worth a remark.  sampled_blocks: how many blocks were watched.
    """

    budget: Budget
    hazards: HazardLog
    observers: Sequence[Observer]
    remarks: dict[tuple[str, int], int] = field(default_factory=dict)
    sampled_blocks: int = 0

    def add_remarks(self, batch: BlockBatch) -> None:
        for key, count in batch.remarks.items():
            self.remarks[key] = self.remarks.get(key, 0) + count


@dataclass(slots=True, eq=False)
class Frame:
    """One activation of a function: its registers, and the local addresses of its `.param` and `.local` variables."""

    code: Code
    registers: list[Any]
    symbols: dict[str, int]
    resume: int = -1
    """Block of the *calling* frame at which to go on after this one returns."""


class Group:
    """Lanes that stand at the same place with the same call chain.  `registers` are those of the top frame."""

    __slots__ = ("batch", "block", "chain", "frames", "from_back_edge", "lanes", "registers")

    def __init__(
        self, batch: BlockBatch, lanes: Lanes, frames: list[Frame], block: int, chain: tuple[Any, ...]
    ) -> None:
        self.batch = batch
        self.lanes = lanes
        self.frames = frames
        self.block = block
        self.chain = chain
        self.registers: list[Any] = frames[-1].registers
        self.from_back_edge = False

    def push(self, frame: Frame, link: Any) -> None:
        self.frames.append(frame)
        self.chain = (*self.chain, link)
        self.registers = frame.registers
        self.block = 0

    def pop(self) -> None:
        frame = self.frames.pop()
        self.chain = self.chain[:-1]
        self.registers = self.frames[-1].registers
        self.block = frame.resume

    def part(self, lanes: Lanes) -> Group:
        """A view of some of the lanes for one access: no registers of its own."""
        return Group(self.batch, lanes, self.frames, self.block, self.chain)

    def split(self, lanes: Lanes, block: int) -> Group:
        """Return a group of some lanes, at `block`, with the registers that are still needed there."""
        frames = []
        resume = block
        for depth in range(len(self.frames) - 1, -1, -1):
            frame = self.frames[depth]
            registers: list[Any] = [None] * len(frame.registers)
            for index in frame.code.live_in[resume]:
                registers[index] = select(frame.registers[index], lanes)
            frames.append(Frame(frame.code, registers, frame.symbols, frame.resume))
            resume = frame.resume
        frames.reverse()
        return Group(self.batch, lanes, frames, block, self.chain)


def merge_groups(groups: list[Group]) -> Group:
    """Merge groups that stand at the same place."""
    first = groups[0]
    batch = first.batch
    parts = [group.lanes for group in groups]
    lanes = batch.geometry.union(parts)
    frames = []
    resume = first.block
    for depth in range(len(first.frames) - 1, -1, -1):
        frame = first.frames[depth]
        registers: list[Any] = [None] * len(frame.registers)
        sizes = frame.code.register_bytes
        for index in frame.code.live_in[resume]:
            values = [group.frames[depth].registers[index] for group in groups]
            registers[index] = merge(values, parts, lanes, sizes[index])
        frames.append(Frame(frame.code, registers, frame.symbols, frame.resume))
        resume = frame.resume
    frames.reverse()
    merged = Group(batch, lanes, frames, first.block, first.chain)
    merged.from_back_edge = all(group.from_back_edge for group in groups)
    return merged


ProgramPoint = tuple[Any, ...]
"""Where a group of threads is: its call chain and its block."""


class Queue:
    """The groups of a batch that could run.

    pending: those that stand at one place may be merged when their turn comes.
    """

    __slots__ = ("_batch", "pending")

    def __init__(self, batch: BlockBatch) -> None:
        self._batch = batch
        self.pending: dict[ProgramPoint, list[Group]] = {}

    def add(self, group: Group) -> None:
        """Let a group wait for its turn; one that has only to return does so at once."""
        if len(group.frames) == 1:
            block = group.frames[-1].code.blocks[group.block]
            if block.leaves:
                self._batch.count(block, group.lanes)
                self._batch.retire(group.lanes)
                return
        self.put(group)

    def put(self, group: Group) -> None:
        """Let a group wait for its turn, whatever it has to do."""
        self.pending.setdefault((group.chain, group.block), []).append(group)

    def take(self, point: ProgramPoint) -> Group:
        """Return the groups that stand at a place, as one."""
        groups = self.pending.pop(point)
        return groups[0] if len(groups) == 1 else merge_groups(groups)


U32 = UNSIGNED[4]
FULL = 0xFFFFFFFF


def missing(batch: BlockBatch, lanes: Lanes, mask: Value) -> Array:
    """(n,) uint32: for each lane, the lanes that its mask names, that have not returned and are not among these."""
    absent = batch.absent_by_warp(batch.lanes_by_warp(lanes))
    return np.broadcast_to(as_array(mask, U32), (lanes.n,)) & absent[lanes.ids >> 5]


def remark_returned(group: Group, instruction: Instruction, mask: Value) -> None:
    """Remark on lanes that a member mask names and that have returned: they need not come, but nothing is theirs."""
    batch, lanes = group.batch, group.lanes
    warps, first = np.unique(lanes.ids >> 5, return_index=True)
    returned = batch.returned_by_warp()[warps] & np.broadcast_to(as_array(mask, U32), (lanes.n,))[first]
    count = int(np.unpackbits(returned.view(np.uint8)).sum())
    if count:
        batch.remark("returned_in_mask", instruction.location.line, count)


def report_missing(group: Group, instruction: Instruction, absent: Array) -> None:
    """Report lanes that a member mask names and that did not come: `absent` is (n,), as from `missing`."""
    positions = np.flatnonzero(absent)
    if len(positions):
        first = int(group.lanes.ids[positions[0]])
        blamed = BlamedOperation(instruction, first, "sync")
        group.batch.hazards.add(group.batch.geometry, "warp_sync", "missing_lanes", blamed, len(positions))


def report_outsiders(group: Group, instruction: Instruction, mask: Value) -> None:
    """Report lanes that execute a warp-wide instruction although its member mask leaves them out."""
    if isinstance(mask, int) and mask == FULL:
        return
    lanes = group.lanes
    own = np.uint32(1) << (lanes.ids & 31).astype(np.uint32)
    outside = np.flatnonzero((as_array(mask, U32) & own) == 0)
    if len(outside):
        first = int(lanes.ids[outside[0]])
        blamed = BlamedOperation(instruction, first, "sync")
        group.batch.hazards.add(group.batch.geometry, "warp_sync", "not_a_member", blamed, len(outside))
