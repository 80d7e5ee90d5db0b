"""A kernel as WebAssembly that carries its threads from one barrier to the next, one thread after the other.

What `generate.py` makes keeps the lanes of a warp in step, for observers.  Where nobody watches, and what was watched
of the launch had no hazard, the order of threads between two barriers shows in nothing that they compute; a thread can
then keep its registers in locals from barrier to barrier, in loops and conditions of WebAssembly's own.  There is a
function for each place where threads begin: the kernel's first block, and what follows each barrier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Address, Immediate, Instruction, Operand, Register, Special
from grader.ptx.isa.instructions import facts
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.machine.code import Code
from grader.ptx.native.arithmetic import canonical, with_any_nan
from grader.ptx.native.generate import Compiled, Generator, machine_code
from grader.ptx.native.layout import KEPT_BYTES, TYPES, Unfit, Way, converted, local_type
from grader.ptx.native.pieces import Generated, Kernel, Piece
from grader.ptx.native.threads import FILLS, Meetings, Node, Places, Region, nodes_of

ROUNDS = 1 << 26
"""A thread that goes round its loops so often between two barriers is left to the interpreter."""
_MOST_INSTRUCTIONS = 6000
"""Of all functions of a kernel together, beyond which compiling them takes seconds."""
_ON_ANY_NAN = frozenset(
    {"add", "sub", "mul", "fma", "mad", "div", "setp", "min", "max", "sqrt", "rcp", "rsqrt", "neg", "abs"}
)
"""Arithmetic on float32 that gives the same whichever NaN it is given."""
_COORDINATES = {f"ctaid.{axis}": f"(global.get $block_{axis})" for axis in "xyz"}
_PLAIN = {f"{name}.{axis}" for name in ("tid", "ntid", "nctaid") for axis in "xyz"} | {"laneid"}


@dataclass
class WholeThreads:
    """A kernel's text, and where its fields lie."""

    generated: Generated
    places: Places
    _compiled: Compiled | None = None

    def compiled(self) -> Compiled | None:
        """Return its machine code; None where there is no WebAssembly runtime for this platform."""
        if self._compiled is None:
            module = machine_code(self.generated.text)
            self._compiled = None if module is None else Compiled(module, self.generated)
        return self._compiled


class _Body(Piece):
    """Writes the instructions of one thread with its registers in locals."""

    def __init__(self, kernel: Kernel, loose: set[int]) -> None:
        super().__init__(kernel)
        self.read: set[int] = set()
        self.set: set[int] = set()
        self._loose = loose
        self._is_arithmetic = False

    def lines(self, instructions: Sequence[Instruction]) -> list[str]:
        self._lines = []
        for instruction in instructions:
            opcode = instruction.opcode
            if facts(opcode).hint:
                continue
            if opcode in ("ld", "ldu", "st"):
                self._transfer(instruction)
            elif opcode == "mov":
                self._move(instruction)
            elif opcode == "cvta":
                self._convert_address(instruction)
            elif opcode in ("atom", "red"):
                self._update(instruction)
            else:
                self._compute(instruction)
        return self._lines

    def _compute(self, instruction: Instruction) -> None:
        self._is_arithmetic = instruction.opcode in _ON_ANY_NAN and instruction.modifiers[-1:] == ("f32",)
        super()._compute(instruction)
        self._is_arithmetic = False

    def _read_index(self, index: int) -> str:
        self.read.add(index)
        return f"(local.get $r{index})"

    def _set(self, index: int, expression: str) -> None:
        self.set.add(index)
        if index in self._loose:
            expression = with_any_nan(expression)
        self._lines.append(f"(local.set $r{index} {expression})")

    def _raw(self, operand: Operand, size_bits: int) -> tuple[str, str]:
        if isinstance(operand, Special):
            if operand.name in _COORDINATES:
                return _COORDINATES[operand.name], "i32"
            if operand.name not in _PLAIN:
                raise Unfit(f"%{operand.name}")
        expression, kind = super()._raw(operand, size_bits)
        if isinstance(operand, Register) and operand.index in self._loose and not self._is_arithmetic:
            expression = canonical(expression)
        return expression, kind

    def _update(self, instruction: Instruction) -> None:
        """Write an atomic update whose order does not matter: nobody reads the old value."""
        update = _update_of(instruction)
        assert update is not None
        space, operation, name = update
        *_, address, value = instruction.operands
        kind, bits, signed = TYPES[name]
        if not isinstance(address, Address) or address.base is None:
            raise Unfit(instruction.text)
        expression, have = self._raw(address.base, 64)
        place = f"(i64.add {converted(expression, have, 'i64')} (i64.const {address.offset}))"
        operand = self._read(value, name)
        self._lines.append(f"(local.set $a {place})")
        # It is written already, and written to.
        for way in (Way(space, "load", bits // 8), Way(space, "store", bits // 8)):
            self.out.ways.add(way)
            self._lines += self._find(way, self.static.take(KEPT_BYTES))
        before, letter = f"({kind}.load (local.get $p))", "i" if kind == "i32" else "l"
        if operation in ("min", "max"):
            compare = f"{kind}.{'lt' if operation == 'min' else 'gt'}_{'s' if signed else 'u'}"
            old, new = f"(local.tee $t{letter} {before})", f"(local.tee $u{letter} {operand})"
            after = f"(select {old} {new} ({compare} (local.get $t{letter}) (local.get $u{letter})))"
        else:
            after = f"({kind}.{operation} {before} {operand})"
        self._lines.append(f"({kind}.store (local.get $p) {after})")

    def _note_change(self) -> None:
        """Nothing to note: no loop is compared with its past."""

    def _find(self, way: Way, kept: int) -> list[str]:
        """Look in the array of the last access first, if what is loaded is written."""
        quick = self.static.take(_QUICK_BYTES, 8)
        log = way.width.bit_length() - 1
        flags = "(i32.add (local.get $p) (local.get $flags))"
        written = []
        for offset in range(0, way.width, 8):
            size = min(way.width - offset, 8)
            kind, narrow = ("i64", "") if size == 8 else ("i32", "" if size == 4 else f"{8 * size}")
            ones = f"({kind}.const {int.from_bytes(bytes([1]) * size, 'little')})"
            if way.op == "store":
                written.append(f"({kind}.store{narrow} offset={offset} {flags} {ones})")
            else:
                load = f"({kind}.load{narrow}{'_u' if narrow else ''} offset={offset} {flags})"
                written.append(f"(br_if $slow ({kind}.ne {load} {ones}))")
        # Rotated, an offset that is no multiple of the width is beyond every array.
        place = f"(i64.rotr (i64.sub (local.get $a) (i64.load (i32.const {quick}))) (i64.const {log}))"
        return [
            "(block $found (block $slow",
            f"(br_if $slow (i64.ge_u {place} (i64.load offset=8 (i32.const {quick}))))",
            f"(local.set $p (i32.add (i32.wrap_i64 (local.get $a)) (i32.load offset=16 (i32.const {quick}))))",
            f"(if (local.tee $flags (i32.load offset=20 (i32.const {quick}))) (then {' '.join(written)}))",
            "(br $found))",
            *super()._find(way, kept),
            f"(call $remember (i32.const {kept}) (i32.const {quick}) (i32.const {log})))",
        ]


_QUICK_BYTES = 24
_REMEMBER = """(func $remember (param $kept i32) (param $quick i32) (param $log i32)
 (i64.store (local.get $quick) (i64.load (local.get $kept)))
 (i64.store offset=8 (local.get $quick) (i64.const 0))
 (if (i64.eqz (i64.load offset=8 (local.get $kept))) (then (return)))
 (i64.store offset=8 (local.get $quick) (i64.shr_u
  (i64.add (i64.load offset=8 (local.get $kept))
   (i64.sub (i64.shl (i64.const 1) (i64.extend_i32_u (local.get $log))) (i64.const 1)))
  (i64.extend_i32_u (local.get $log))))
 (i32.store offset=16 (local.get $quick)
  (i32.sub (i32.load offset=16 (local.get $kept)) (i32.wrap_i64 (i64.load (local.get $kept)))))
 (i32.store offset=20 (local.get $quick) (if (result i32) (i32.load offset=20 (local.get $kept))
  (then (i32.sub (i32.load offset=20 (local.get $kept)) (i32.load offset=16 (local.get $kept))))
  (else (i32.const 0)))))"""
"""Of an access the array that it went to last: its address, how many places it has of this width, what makes linear
memory's address of an address, and of that its flags'."""


_SCOPES = frozenset({"relaxed", "cta", "cluster", "gpu", "sys", "global", "shared", "shared::cta"})


def _update_of(instruction: Instruction) -> tuple[str, str, str] | None:
    """(space, operation, type) of an atomic whose order among others like it changes nothing in memory."""
    modifiers = instruction.modifiers
    rest = [modifier for modifier in modifiers if modifier not in _SCOPES]
    space = (
        "shared" if "shared" in modifiers or "shared::cta" in modifiers else "global" if "global" in modifiers else ""
    )
    if len(rest) != 2 or not space or rest[0] not in ("add", "min", "max", "and", "or", "xor"):
        return None
    return (space, rest[0], rest[1]) if rest[1] in ("u32", "s32", "b32", "u64", "s64", "b64") else None


def _loose(code: Code) -> set[int]:
    """float32 registers that hold nothing but numbers and results of arithmetic.

    Which NaN such a result is matters where its bits are looked at, and need not be settled before.
    """
    loose = {register.index for register in code.function.registers if register.type == "f32"}
    loose -= set(code.live_in[0])
    changed = True
    while changed:
        changed = False
        for block in code.blocks:
            for instruction in block.instructions:
                if instruction.opcode in _ON_ANY_NAN and instruction.modifiers[-1:] == ("f32",):
                    continue
                source = instruction.operands[-1] if instruction.opcode == "mov" else None
                if isinstance(source, Immediate) and source.value & 0x7FFFFFFF <= 0x7F800000:
                    continue
                if isinstance(source, Register) and source.index in loose:
                    continue
                written = loose & {register.index for register in destinations(instruction)}
                loose -= written
                changed |= bool(written)
    return loose


class _Writer(Generator):
    """Turns one kernel into text.  Raises Unfit where it cannot."""

    def __init__(self, code: Code) -> None:
        super().__init__(code, observed=False, counts_work=False)
        self.places = Places(self.static.take(16), self.static.take(8), self.static.take(16 * FILLS))
        self._size = 0
        self._nodes: list[Node] = []
        self._meetings: dict[int, Node] = {}
        self._loose = _loose(code)
        self._read = {r.index for b in code.blocks for i in b.instructions for r in sources(i)}

    def write(self) -> None:
        """Write the module's text and its regions to `out`."""
        out, static, code = self.out, self.static, self.code
        for variable in code.function.parameters:
            out.parameters[variable.name] = static.take(max(variable.size_bytes, 1), 16)
        out.visits = static.take(8 * len(code.blocks))
        self._check()
        # Their places in a frame come before those of registers.
        names = {o.name for b in code.blocks for i in b.instructions for o in i.operands if isinstance(o, Special)}
        out.specials.update({name: number for number, name in enumerate(sorted(names & _PLAIN))})
        self._nodes = nodes = nodes_of(code)
        self._meetings = {number: node for number, node in enumerate(nodes) if node.meeting is not None}
        successors = [() if node.meeting is not None else node.successors for node in nodes]
        starts = [0, *sorted({node.successors[0] for node in self._meetings.values()})]
        if len(set(starts)) < len(starts):
            raise Unfit("a barrier before the first block")
        functions = [self._function(Region.of(start, successors)) for start in starts]
        around = Meetings(self.kernel, self.places, self._meetings).texts(starts)
        parts = [*self._globals(), _REMEMBER, *functions, *around]
        out.text = self.kernel.finish(self.prelude() + "\n".join(parts) + ")")
        out.end = static.end

    def _is_refused(self, instruction: Instruction) -> bool:
        if instruction.opcode not in ("atom", "red"):
            return super()._is_refused(instruction)
        looked_at = {register.index for register in destinations(instruction)} & self._read
        return bool(looked_at) or _update_of(instruction) is None

    @staticmethod
    def _globals() -> list[str]:
        return [f"(global $block_{axis} (mut i32) (i32.const 0))" for axis in "xyz"]

    # -- from one barrier to the next --------------------------------------------------

    def _function(self, region: Region) -> str:
        """Run a thread from a place on; the result is 0 where it has returned, else 1 + the node of its barrier."""
        body = _Body(self.kernel, self._loose)
        self._body, self._region = body, region
        inside = "\n".join(self._tree(region.start))
        live = self._needed(region.start)
        begin = []
        for index in sorted(live):
            kind = local_type(self.registers[index])
            if region.start:
                begin.append(f"(local.set $r{index} ({kind}.load offset={self.kernel.slot(index)} (local.get $f)))")
            else:
                ones = (
                    f"({kind}.const -1)"
                    if kind[0] == "i"
                    else f"({kind}.const nan:0x{'7fffff' if kind == 'f32' else 'fffffffffffff'})"
                )
                begin.append(f"(local.set $r{index} {ones})")
        names = sorted(body.read | body.set | live)
        locals_ = " ".join(f"(local $r{index} {local_type(self.registers[index])})" for index in names)
        return f"""(func $from_{region.start} (param $f i32) (param $l i32) (param $lane i32) (result i32)
 (local $rounds i32) (local $p i32) (local $a i64) (local $flags i32)
 (local $ti i32) (local $ui i32) (local $q i32)
 (local $tl i64) (local $ul i64) (local $tf f32) (local $uf f32) (local $td f64) (local $ud f64) {locals_}
 {" ".join(begin)}
 {inside}
 unreachable)"""

    def _tree(self, block: int) -> list[str]:
        """Write a block and all that it dominates (Ramsey, Beyond Relooper, 2022)."""
        region = self._region
        below = [b for b, above in region.dominator.items() if above == block and b != block and b in region.merges]
        below.sort(key=region.order.__getitem__, reverse=True)
        text = self._within(block, below)
        if block in region.headers:
            count = "(local.tee $rounds (i32.add (local.get $rounds) (i32.const 1)))"
            over = f"(if (i32.gt_u {count} (i32.const {ROUNDS})) (then unreachable))"
            return [f"(loop $L{block}", over, *text, ")"]
        return text

    def _within(self, block: int, below: list[int]) -> list[str]:
        if below:
            return [f"(block $B{below[0]}", *self._within(block, below[1:]), ")", *self._tree(below[0])]
        return self._one(block)

    def _needed(self, number: int) -> set[int]:
        node = self._nodes[number]
        return set(self.code.live_in[node.block.index]) if node.is_first else node.needed

    def _one(self, number: int) -> list[str]:
        node = self._nodes[number]
        block = node.block
        self._size += len(node.instructions)
        if self._size > _MOST_INSTRUCTIONS:
            raise Unfit("too many instructions")
        at = self.out.visits + 8 * block.index
        text = (
            [f"(i64.store (i32.const {at}) (i64.add (i64.load (i32.const {at})) (i64.const 1)))"]
            if node.is_first
            else []
        )
        if node.meeting is not None:
            text += self._body.lines(node.instructions)
            exchanged = {register.index for register in sources(node.meeting)}
            kept = self._needed(node.successors[0]) - {register.index for register in destinations(node.meeting)}
            for index in sorted(kept | exchanged):
                kind = local_type(self.registers[index])
                text.append(f"({kind}.store offset={self.kernel.slot(index)} (local.get $f) (local.get $r{index}))")
                self._body.read.add(index)
            return [*text, f"(return (i32.const {1 + number}))"]
        last = node.instructions[-1] if node.instructions else None
        if last is not None and not (facts(last.opcode).ends or last.opcode == "trap"):
            last = None
        text += self._body.lines(node.instructions[:-1] if last is not None else node.instructions)
        successors = node.successors
        if last is None:
            return [*text, *self._branch(number, successors[0])]
        if facts(last.opcode).ends == "leave":
            return [*text, "(return (i32.const 0))"]
        if last.opcode == "trap":
            return [*text, "unreachable"]
        if last.guard is None:
            return [*text, *self._branch(number, successors[0])]
        condition = self._body._read_index(last.guard.register.index)
        taken, other = successors if not last.guard.negated else successors[::-1]
        return [
            *text,
            f"(if {condition} (then",
            *self._branch(number, taken),
            ") (else",
            *self._branch(number, other),
            "))",
        ]

    def _branch(self, here: int, target: int) -> list[str]:
        region = self._region
        if region.order[target] <= region.order[here]:
            return [f"(br $L{target})"]
        if target in region.merges:
            return [f"(br $B{target})"]
        return self._tree(target)


def written(code: Code) -> WholeThreads | None:
    """Return a kernel's text, made at first use; None where it has something unfit."""
    derived: dict[str, WholeThreads | None] = code.program.module.derived.setdefault("whole threads", {})
    if code.name not in derived:
        writer = _Writer(code)
        try:
            writer.write()
        except (Unfit, UnsupportedInstruction, RecursionError):
            derived[code.name] = None
        else:
            derived[code.name] = WholeThreads(writer.out, writer.places)
    return derived[code.name]
