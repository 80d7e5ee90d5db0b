"""What a time follows from on a GPU: its data file, and what PTX instructions come to on a multiprocessor: by which
pipe, in how many machine instructions, how late.

The assembler makes machine code of PTX: it drops conversions and copies, folds address arithmetic into multiply-adds
and into the offsets of loads, and writes divisions out.  The counts here are what its output shows for compute
capability 7.5 to 9.0; latencies of dependent issue are classes, whose cycles are a device's (`device.Latencies`).

Within a basic block the assembler moves loads up to where their addresses are known, and no further than a store or
a barrier before them: so a block is scheduled by its data flow, and blocks follow one another in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec
import yaml

from grader.devices import DEVICE_FILE, GPUS, gpus
from grader.errors import UsageError
from grader.message import msg
from grader.ptx.frontend.nodes import (
    Address,
    Function,
    Immediate,
    Instruction,
    Negated,
    Operand,
    Register,
    Selected,
    Symbol,
    Vector,
)
from grader.ptx.isa.instructions import facts


@dataclass(frozen=True, slots=True)
class Processor:
    """One GPU.

    clock_ghz: of the multiprocessors under load.  rates: warp instructions that a multiprocessor begins in a cycle,
    by pipe. latency: cycles, by class.  architecture: what it is compiled
    for.  most_warps, most_blocks, shared_bytes: of a multiprocessor.  l1_bytes: of shared memory and L1 cache
    together.  l2_bytes_per_second, dram_bytes_per_second: what a streaming kernel gets.  dram_fetch_bytes: least that
    memory is read by.  block_cycles: between the starts of two blocks on one multiprocessor.  launch_us: of a kernel
    that does nothing.  is_checked: whether predicted times were compared with measured ones.
    sources: where each figure is from.
    """

    name: str
    is_checked: bool
    architecture: str
    multiprocessors: int
    clock_ghz: float
    most_warps: int
    most_blocks: int
    shared_bytes: int
    rates: dict[str, float]
    latency: dict[str, float]
    l1_bytes: int
    l2_bytes: int
    l2_bytes_per_second: float
    dram_bytes_per_second: float
    dram_fetch_bytes: int
    block_cycles: float
    launch_us: float
    sources: dict[str, str]

    def cache_bytes(self, resident: int, shared_bytes: int) -> int:
        """The bytes of a multiprocessor that are left as L1 cache beside the shared memory of so many blocks."""
        return max(self.l1_bytes - self.shared_bytes, self.l1_bytes - resident * (shared_bytes + 1024))


REGISTERS = 65536
"""Registers of a multiprocessor, on every supported device."""


def resident_blocks(processor: Processor, threads: int, registers: int, shared_bytes: int) -> int:
    """Blocks that a multiprocessor holds at once (0: it cannot hold one); registers: of a thread."""
    warps = -(-threads // 32)
    # Registers are a quadrant's, and given to warps by 256.
    of_warp = max(256, -(-registers * 32 // 256) * 256)
    by_registers = 4 * (REGISTERS // 4 // of_warp) // warps
    # From capability 8.0 on the system takes 1 KB of each block's shared memory.
    reserved = 0 if processor.architecture == "sm_75" else 1024
    by_shared = processor.shared_bytes // max(1, shared_bytes + reserved)
    return min(processor.most_blocks, processor.most_warps // warps, by_registers, by_shared)


OTHER_MODELS = frozenset(["ti", "super", "laptop", "max", "pcie", "nvl"])
"""Words of names that tell another device from the one that is called the same without them."""


def named_like(full_name: str) -> str:
    """The device by the driver's full name for it ("NVIDIA GeForce RTX 4090"); "" where no file describes it."""
    words = [word for word in re.split(r"[^a-z0-9]+", full_name.lower()) if word not in ("nvidia", "geforce", "tesla")]
    name = "".join(words[: 2 if words[:1] == ["rtx"] else 1])
    return name if name in gpus() and not OTHER_MODELS & set(words) else ""


def read_device(name: str) -> Processor:
    """The device of that name, or the one that a file `….yaml` describes.

    Raises UsageError: there is no such device, or no such file, or it lacks something.
    """
    if name.endswith(DEVICE_FILE):
        return _read_file(Path(name))
    path = GPUS / f"{name.lower()}{DEVICE_FILE}"
    if path.stem not in gpus():
        raise UsageError(msg("predict.unknown_device", name=name, allowed=", ".join(gpus())))
    return Processor(**yaml.safe_load(path.read_text("utf-8")))


def _read_file(path: Path) -> Processor:
    try:
        processor = msgspec.convert(yaml.safe_load(path.read_text("utf-8")), Processor)
    except OSError as error:
        raise UsageError(msg("predict.device_file", file=str(path), why=error.strerror or "")) from error
    except (msgspec.ValidationError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(msg("predict.device_file", file=str(path), why=str(error))) from error
    t4 = read_device("t4")
    for part in ("rates", "latency"):
        lacking = sorted(set(getattr(t4, part)) - set(getattr(processor, part)))
        if lacking:
            raise UsageError(msg("predict.device_lacks", file=str(path), what=f"{part}.{lacking[0]}"))
    return processor


PIPES = ("fma", "alu", "imad", "special", "double", "memory", "control")
"""fma: float32.  alu: integers, comparisons, selections.  imad: integer multiply-adds.  special: reciprocals, roots,
exponentials, conversions.  double: float64.  memory: whatever goes through load/store units, shuffles too.
control: branches, barriers."""


@dataclass(frozen=True, slots=True)
class Cost:
    """One PTX instruction.

    slots: machine instructions by pipe.  latency: class of its result's latency, a field of `device.Latencies`.
    times: how often that latency stands one after the other.
    """

    slots: tuple[tuple[str, float], ...]
    latency: str
    times: float = 1.0

    @property
    def issued(self) -> float:
        return sum(count for _pipe, count in self.slots)


_FREE = Cost((), "none")
_FAMILIES: dict[str, Cost] = {
    "alu": Cost((("alu", 1),), "alu"),
    "alu64": Cost((("alu", 2),), "alu", 1.5),
    "alu64x3": Cost((("alu", 3),), "alu", 2),
    "imad": Cost((("imad", 1),), "imad"),
    "imad64": Cost((("imad", 3), ("alu", 1)), "imad", 2.5),
    "fma": Cost((("fma", 1),), "fma"),
    "double": Cost((("double", 1),), "double"),
    "special": Cost((("special", 1),), "special"),
    "special2": Cost((("special", 1), ("fma", 1)), "special", 1.3),
    "convert": Cost((("special", 1),), "convert"),
    "memory": Cost((("memory", 1),), "none"),
    "shuffle": Cost((("memory", 1),), "shuffle"),
    "control": Cost((("control", 1),), "none"),
    "branch": Cost((("control", 1),), "branch"),
    "barrier": Cost((("control", 1),), "barrier"),
    # Written out by the assembler, with a branch to a slow path that numbers of usual size do not take.
    "divide": Cost((("special", 1), ("fma", 7), ("alu", 2), ("control", 2)), "divide"),
    "root": Cost((("special", 1), ("fma", 5), ("alu", 2), ("control", 2)), "root"),
    "reciprocal": Cost((("special", 1), ("fma", 3), ("alu", 2), ("control", 2)), "root"),
    "divide_fast": Cost((("special", 1), ("fma", 3)), "special", 1.5),
    "divide_integer": Cost((("special", 3), ("imad", 6), ("alu", 9)), "divide_integer"),
    "divide_long": Cost((("special", 4), ("imad", 24), ("alu", 40), ("control", 4)), "divide_integer", 3),
    "divide_double": Cost((("special", 1), ("double", 9), ("alu", 4), ("control", 2)), "double", 10),
    "matrix": Cost((("fma", 8),), "fma", 4),
}
_LOGIC = {"and", "or", "xor", "not", "cnot", "shl", "shr", "shf", "lop3", "prmt", "bfe", "bfi", "popc", "clz", "bfind"}


@lru_cache(maxsize=4096)
def _family(opcode: str, modifiers: tuple[str, ...]) -> str:  # a table in code
    types = [m for m in modifiers if (m[:1] in "usbf" and m[1:3] in ("8", "16", "32", "64")) or m == "pred"]
    kind = types[-1] if types else "b32"
    wide, floating = kind.endswith("64"), kind.startswith("f")
    if opcode in ("ld", "st", "atom", "red", "ldu", "tex", "suld", "sust", "ldmatrix", "cp"):
        return "" if "param" in modifiers else "memory"
    if opcode in ("shfl", "vote", "match", "redux", "activemask", "elect"):
        return "shuffle"
    if opcode in ("bra", "brx", "ret", "exit", "call"):
        return "branch"
    if opcode in ("bar", "barrier"):
        return "barrier"
    if opcode in ("membar", "fence", "trap", "brkpt", "mbarrier"):
        return "control"
    if opcode in ("wmma", "mma"):
        return "matrix"
    if opcode in ("mov", "cvta", "isspacep") or facts(opcode).hint:
        return ""
    if opcode in ("ex2", "lg2", "sin", "cos", "rsqrt", "tanh"):
        return "special2" if opcode in ("sin", "cos") or "ftz" not in modifiers else "special"
    if opcode in ("sqrt", "rcp"):
        if kind == "f64":
            return "divide_double"
        return "special2" if "approx" in modifiers else "root" if opcode == "sqrt" else "reciprocal"
    if opcode in ("div", "rem"):
        if floating:
            fast = "approx" in modifiers or "full" in modifiers
            return "divide_double" if wide else "divide_fast" if fast else "divide"
        return "divide_long" if wide else "divide_integer"
    if opcode == "cvt":
        to, source = (types[0], types[1]) if len(types) > 1 else (kind, kind)
        if to[0] == "f" or source[0] == "f":
            return "convert"
        return "" if to[1:] == source[1:] or (to[0] != "s" and int(to[1:]) <= int(source[1:])) or to == "u64" else "alu"
    if opcode in ("setp", "set", "selp", "slct", "min", "max", "abs", "neg"):
        if kind == "f64" and opcode not in ("selp", "neg", "abs"):
            return "double"
        return "alu64" if wide and opcode != "neg" else "alu"
    if opcode in _LOGIC:
        return "" if kind == "pred" else "alu64" if wide else "alu"
    if floating:
        return "double" if kind == "f64" else "fma"
    if opcode in ("mul", "mad", "mul24", "mad24"):
        return "imad64" if wide and "wide" not in modifiers else "imad"
    return "alu64" if wide else "alu"


def cost_of(instruction: Instruction) -> Cost:
    """The cost of one instruction by itself; `schedule` finds what the assembler makes of several."""
    name = _family(instruction.opcode, instruction.modifiers)
    return _FAMILIES[name] if name else _FREE


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction of a block: what it costs, which earlier steps of the block it waits for, which registers.

    inside: numbers of steps.  reads: registers set before the block, which it waits for.  writes: registers it sets.
    memory: "load", "store", "atomic" or "", of global, shared or local memory.  after: the step (a store, a barrier)
    that it may not be moved before, -1 for none.
    """

    instruction: Instruction
    cost: Cost
    inside: tuple[int, ...]
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    memory: str
    after: int


@dataclass(frozen=True, slots=True)
class Schedule:
    """A basic block: its steps, and what they come to together.

    joined: ids of shared loads that the assembler joins with an earlier one (to 16 bytes), if they are aligned so.
    unrolled: iterations that the assembler lets be on their way together, where the block is a loop.
    by_line: of each source line the machine instructions by pipe, and the barriers.
    """

    steps: tuple[Step, ...]
    issued: float
    by_pipe: tuple[tuple[str, float], ...]
    barriers: int
    joined: frozenset[int]
    unrolled: int
    by_line: tuple[tuple[int, tuple[tuple[str, float], ...], int], ...]


SPACES = ("global", "shared", "local")
"""Stores to one of these forbid that loads from it are moved before them, of others not; a generic address counts as
global."""


def schedule(instructions: tuple[Instruction, ...], aligned: Collection[int] | None = None) -> Schedule:
    """A basic block as the assembler leaves it; aligned: of `aligned_loads`, None where all are taken to be."""
    costs = [cost_of(instruction) for instruction in instructions]
    _fold(instructions, costs)
    setter: dict[int, int] = {}
    steps: list[Step] = []
    # The last step of each space that later ones of the space may not be moved before.
    fences = dict.fromkeys(SPACES, -1)
    for number, instruction in enumerate(instructions):
        used = list(dict.fromkeys(_sources(instruction)))
        inside = tuple(setter[register] for register in used if register in setter)
        reads = tuple(register for register in used if register not in setter)
        fact = facts(instruction.opcode)
        is_memory = (
            fact.memory in ("load", "store", "atomic", "texture", "copy") and "param" not in instruction.modifiers
        )
        memory = (
            ("atomic" if fact.memory == "atomic" else "store" if fact.memory == "store" else "load")
            if is_memory
            else ""
        )
        barrier = fact.ends == "barrier" or fact.memory == "fence"
        spaces = SPACES if barrier else tuple(s for s in SPACES if s in instruction.modifiers) or ("global",)
        # What is certainly read-only may pass a store.
        is_ordered = barrier or (memory and "nc" not in instruction.modifiers)
        after = max(fences[space] for space in spaces) if is_ordered else -1
        written = tuple(_targets(instruction))
        for register in written:
            setter[register] = number
        if barrier or memory in ("store", "atomic"):
            fences.update(dict.fromkeys(spaces, number))
        steps.append(Step(instruction, costs[number], inside, reads, written, memory, after))
    by_pipe: dict[str, float] = {}
    by_line: dict[int, dict[str, float]] = {}
    barriers: dict[int, int] = {}
    for step in steps:
        line = step.instruction.location.line
        of_line = by_line.setdefault(line, {})
        for pipe, count in step.cost.slots:
            by_pipe[pipe] = by_pipe.get(pipe, 0.0) + count
            of_line[pipe] = of_line.get(pipe, 0.0) + count
        barriers[line] = barriers.get(line, 0) + (facts(step.instruction.opcode).ends == "barrier")
    return Schedule(
        tuple(steps),
        sum(step.cost.issued for step in steps),
        tuple(by_pipe.items()),
        sum(barriers.values()),
        _joined(instructions, aligned),
        _unrolled(instructions),
        tuple((line, tuple(pipes.items()), barriers[line]) for line, pipes in by_line.items()),
    )


MOST_TOGETHER, MOST_UNROLLED = 16, 4
"""Loads that the assembler begins before it waits for the first, and iterations that it unrolls."""


def _unrolled(instructions: tuple[Instruction, ...]) -> int:
    """How many iterations of a loop of this block the assembler lets be on their way together.

    It unrolls four times where a count goes by a constant step and nothing keeps loads in their place, and begins as
    many loads as registers are for (seen in machine code of sums and matrix products; loads for double precision stay
    where they are).
    """
    loads = 0
    stepped: set[int] = set()
    counts = False
    for instruction in instructions:
        fact, operands = facts(instruction.opcode), instruction.operands
        if (
            fact.memory in ("store", "atomic", "fence", "copy")
            or fact.ends == "barrier"
            or "f64" in instruction.modifiers
        ):
            return 1
        loads += fact.memory == "load" and "param" not in instruction.modifiers
        if instruction.opcode in ("add", "sub") and operands[0] == operands[1] and isinstance(operands[2], Immediate):
            stepped.update(_targets(instruction))
        if instruction.opcode == "setp":
            counts = any(register in stepped for register in _sources(instruction))
    return max(1, min(MOST_UNROLLED, MOST_TOGETHER // loads)) if counts and loads else 1


def aligned_loads(function: Function) -> frozenset[int]:
    """Ids of loads from shared memory whose base the assembler can tell to be a multiple of 16 bytes: from sums of
    products with constants, not from a row's length that the kernel is given (on an H200 products of such rows took as
    long as their loads of 4 bytes one by one)."""
    body = [instruction for instruction in function.body if isinstance(instruction, Instruction)]
    zeros: dict[int, int] = {}

    def bits(operand: Operand) -> int:
        if isinstance(operand, Register):
            return zeros.get(operand.index, WORD_BITS)
        if not isinstance(operand, (Immediate, Symbol)):
            return 0
        number = operand.value if isinstance(operand, Immediate) else operand.offset
        low_zeros = (number & -number).bit_length() - 1 if number else WORD_BITS
        return min(low_zeros, JOINED_BITS) if isinstance(operand, Symbol) else low_zeros

    is_changed = True
    while is_changed:
        is_changed = False
        for instruction in body:
            low_zeros = _low_zeros(instruction, bits)
            for register in _targets(instruction):
                if low_zeros < zeros.get(register, WORD_BITS):
                    zeros[register], is_changed = low_zeros, True
    return frozenset(
        id(instruction)
        for instruction in body
        for operand in instruction.operands
        if instruction.opcode == "ld" and isinstance(operand, Address) and isinstance(operand.base, Register)
        if zeros.get(operand.base.index, WORD_BITS) >= JOINED_BITS
    )


WORD_BITS, JOINED_BITS = 32, 4


def _low_zeros(instruction: Instruction, bits: Callable[[Operand], int]) -> int:
    """How many low bits of an instruction's result are certainly 0."""
    opcode, given = instruction.opcode, instruction.operands[1:]
    if opcode in ("mov", "cvt", "cvta") and len(given) == 1:
        return bits(given[0])
    if opcode == "shl" and isinstance(given[1], Immediate):
        return bits(given[0]) + given[1].value
    if opcode in ("mul", "mad") and "hi" not in instruction.modifiers:
        product = bits(given[0]) + bits(given[1])
        return min(product, bits(given[2])) if opcode == "mad" else product
    if opcode in ("add", "sub", "or", "min", "max") and len(given) == 2:
        return min(map(bits, given))
    return max(map(bits, given)) if opcode == "and" else 0


def _joined(instructions: tuple[Instruction, ...], aligned: Collection[int] | None = None) -> frozenset[int]:
    first: set[tuple[int, int]] = set()
    joined: set[int] = set()
    for instruction in instructions:
        if facts(instruction.opcode).memory == "store" or facts(instruction.opcode).ends == "barrier":
            first.clear()
        address = next((operand for operand in instruction.operands if isinstance(operand, Address)), None)
        scalar = (
            instruction.opcode == "ld" and "shared" in instruction.modifiers and instruction.modifiers[-1][1:] == "32"
        )
        if not scalar or address is None or not isinstance(address.base, Register):
            continue
        if aligned is not None and id(instruction) not in aligned:
            continue
        key = (address.base.index, address.offset // 16)
        if key in first:
            joined.add(id(instruction))
        first.add(key)
    return frozenset(joined)


def _fold(instructions: tuple[Instruction, ...], costs: list[Cost]) -> None:
    """Take out what the assembler folds: a product into the sum that alone uses it, a constant into an address, a
    product of float32 numbers likewise (fused already in PTX), an even check of a loop's end with its branch."""
    uses: dict[int, int] = {}
    for instruction in instructions:
        for register in _sources(instruction):
            uses[register] = uses.get(register, 0) + 1
    made_by: dict[int, int] = {}
    for number, instruction in enumerate(instructions):
        opcode, modifiers, operands = instruction.opcode, instruction.modifiers, instruction.operands
        if opcode == "add" and modifiers[-1:] in (("s64",), ("u64",)):
            constant = any(isinstance(operand, Immediate) for operand in operands[1:])
            products = [
                made_by[o.index]
                for o in operands[1:]
                if isinstance(o, Register)
                and o.index in made_by
                and (instructions[made_by[o.index]].opcode, instructions[made_by[o.index]].modifiers[:1])
                == ("mul", ("wide",))
            ]
            if products:
                # One multiply-add of 32 bits into 64.
                costs[products[0]] = _FREE
                costs[number] = _FAMILIES["imad"]
            elif constant and isinstance(operands[0], Register) and operands[0] not in operands[1:]:
                costs[number] = _FREE if uses.get(operands[0].index, 0) <= 2 else costs[number]
        for register in _targets(instruction):
            made_by[register] = number


def _registers(operand: Operand | None) -> Iterator[int]:
    if isinstance(operand, Register):
        yield operand.index
    elif isinstance(operand, (Negated, Selected)):
        yield operand.register.index
    elif isinstance(operand, Address) and isinstance(operand.base, Register):
        yield operand.base.index
    elif isinstance(operand, Vector):
        for element in operand.elements:
            yield from _registers(element)


def _sources(instruction: Instruction) -> Iterator[int]:
    if instruction.guard is not None:
        yield instruction.guard.register.index
    operands = instruction.operands
    for operand in operands[1:] if facts(instruction.opcode).writes_first else operands:
        yield from _registers(operand)


def _targets(instruction: Instruction) -> Iterator[int]:
    if facts(instruction.opcode).writes_first and instruction.operands:
        yield from _registers(instruction.operands[0])
