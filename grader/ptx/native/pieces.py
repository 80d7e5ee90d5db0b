"""A kernel on its way to text: what is known of it meanwhile, and the pieces that its blocks are cut into.

All lanes go through a piece one after the other, with registers in locals meanwhile.  Loops that return to the same
state are found in generated code as `grader.ptx.machine.scheduler` finds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.ptx.frontend.nodes import Immediate, Instruction, Negated, Operand, Register, Special, Symbol, Vector
from grader.ptx.isa.instructions import facts
from grader.ptx.machine.code import Code, LoopInfo
from grader.ptx.memory import WINDOWS
from grader.ptx.native import layout
from grader.ptx.native.arithmetic import express

_REFUSED = frozenset({"elect", "call", "brx"})
_REFUSED_MEMORY = frozenset({"atomic", "fence", "texture", "surface", "copy"})


def is_refused(instruction: Instruction) -> bool:
    """Whether generated code cannot have it: atomics and fences, calls and jump tables, products of a warp."""
    opcode = instruction.opcode
    if is_call_of(instruction, "__assertfail"):
        return False
    opcode_facts = facts(opcode)
    return opcode in _REFUSED or opcode_facts.fragments or opcode_facts.memory in _REFUSED_MEMORY


def is_call_of(instruction: Instruction, *names: str) -> bool:
    """Whether an instruction calls one of these functions by its name."""
    target = instruction.operands[1] if instruction.opcode == "call" else None
    return isinstance(target, Symbol) and target.name in names


@dataclass
class Site:
    """A load or store that observers are told of: its counters by space, its buffer, its state while under way."""

    transfer: layout.Transfer
    counters: dict[str, int]
    buffer: int
    event: int


@dataclass
class Generated:
    """A kernel's text and where its regions lie.

    symbols, parameters: where they stand.  slots, specials: places in a lane's frame, of the registers that outlive a
    piece and of special registers.  numpy: instructions left to `isa/`.  counters: by (file, line, space, op, width).
    snapshots: of loops' headers, with the number of registers kept.  ways: quick ways to places that are used.
    narrow: some accesses are narrower than 4 bytes.  visits: executions of blocks, see `VISIT_BYTES`.  stops: a byte
    for each block.
    """

    text: str = ""
    frame_bytes: int = 0
    symbols: dict[tuple[str, int], int] = field(default_factory=dict)
    slots: dict[int, int] = field(default_factory=dict)
    specials: dict[str, int] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)
    numpy: list[Instruction] = field(default_factory=list)
    counters: dict[tuple[str, int, str, str, int], int] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    snapshots: dict[int, tuple[int, int]] = field(default_factory=dict)
    ways: set[layout.Way] = field(default_factory=set)
    narrow: bool = False
    visits: int = 0
    stops: int = 0
    end: int = 0


class Kernel:
    """A kernel under generation: its code, whether it is observed, registers by index, what has been written so far."""

    def __init__(self, code: Code, observed: bool) -> None:
        self.code = code
        self.observed = observed
        self.registers: dict[int, Register] = {r.index: r for r in code.function.registers}
        self.static = layout.Static()
        self.out = Generated()

    def frame_of(self, lane: str) -> str:
        """Expression for the address of a lane's registers."""
        return f"(i32.add (global.get $frames) (i32.mul (i32.const {FRAME_BYTES}) {lane}))"

    def slot(self, index: int) -> int:
        """Where a register stands in a frame, in bytes."""
        return 8 * self.out.slots.setdefault(index, len(self.out.slots) + len(self.out.specials))

    def finish(self, text: str) -> str:
        """Fill the size of a frame into text that leaves it open."""
        lines = (8 * (len(self.out.slots) + len(self.out.specials)) + 63) // 64
        # An odd number of cache lines: frames of neighbouring lanes must not fall on the same sets.
        self.out.frame_bytes = 64 * (lines | 1)
        return text.replace(FRAME_BYTES, str(self.out.frame_bytes))


FRAME_BYTES = "@FRAME"
"""Stands in text until it is known how many registers need a place."""


LANE = "(i32.load (i32.add (local.get $list) (i32.shl (local.get $k) (i32.const 2))))"
"""The number of the `$k`-th lane that runs."""
WARPS = f"(i32.load (i32.const {layout.CONTEXT['WARPS']}))"


_STATE_BYTES = 32
"""Arrivals, arrivals at which to renew, set of lanes (i32), version of memory (i64), where the values lie (i32)."""


def header(kernel: Kernel, block: int, loop: LoopInfo) -> str:
    """Write the code of a loop's header: Brent's search for a cycle, unreachable where there is one."""
    if loop.deciding is None:
        return ""
    state = kernel.static.take(_STATE_BYTES)
    kernel.out.snapshots[block] = (state, len(loop.deciding))

    def field(offset: int, kind: str = "i32") -> str:
        return f"({kind}.load offset={offset} (i32.const {state}))"

    def put(offset: int, value: str, kind: str = "i32") -> str:
        return f"({kind}.store offset={offset} (i32.const {state}) {value})"

    compare, copy = [], []
    for number, index in enumerate(loop.deciding):
        here, there = f"(i64.load offset={kernel.slot(index)} (local.get $f))", f"offset={8 * number} (local.get $p)"
        compare.append(f"(br_if $differs (i64.ne {here} (i64.load {there})))")
        copy.append(f"(i64.store {there} {here})")

    def each(work: list[str]) -> str:
        return f"""(local.set $k (i32.const 0)) (local.set $p {field(24)})
(loop $next
 (local.set $f {kernel.frame_of(LANE)})
 {" ".join(work)}
 (local.set $p (i32.add (local.get $p) (i32.const {8 * len(loop.deciding or ())})))
 (local.set $k (i32.add (local.get $k) (i32.const 1)))
 (br_if $next (i32.lt_u (local.get $k) (local.get $n))))"""

    changed = f"(br_if $differs (i64.ne {field(16, 'i64')} (global.get $version)))" if loop.reads_memory else ""
    token = f"(i32.load (i32.const {layout.CONTEXT['TOKEN']}))"
    doubled = f"(i32.shl (select {field(4)} (i32.const 1) {field(4)}) (i32.const 1))"
    return f"""(if (local.get $back)
(then
 (block $differs
  {changed}
  (br_if $differs (i32.ne {field(8)} {token}))
  {each(compare)}
  unreachable)
 {put(0, f"(i32.add {field(0)} (i32.const 1))")}
 (if (i32.ge_u {field(0)} {field(4)})
  (then {put(4, doubled)} {put(8, token)} {put(16, "(global.get $version)", "i64")} {each(copy)})))
(else {put(0, "(i64.const 0)", "i64")} {put(8, "(i32.const 0)")}))"""


class Piece:
    """Writes the text of one piece."""

    def __init__(self, kernel: Kernel) -> None:
        self.code = kernel.code
        self.observed = kernel.observed
        self.registers = kernel.registers
        self.static, self.out = kernel.static, kernel.out
        self.kernel = kernel
        self._available: set[int] = set()
        self._written: set[int] = set()
        self._lines: list[str] = []
        self._sites: list[Site] = []
        self._uses_lane_record = False

    def text(self, instructions: list[Instruction], needed: set[int], counted: int | None) -> str:
        """All lanes through some instructions.

        needed: registers that are read later on.  counted: a predicate whose true lanes are counted, in `$count`.
        """
        for instruction in instructions:
            if instruction.opcode in ("ld", "ldu", "st"):
                self._transfer(instruction)
            elif instruction.opcode == "mov":
                self._move(instruction)
            elif instruction.opcode == "cvta":
                self._convert_address(instruction)
            else:
                self._compute(instruction)
        if counted is not None:
            self._lines.append(f"(local.set $count (i32.add (local.get $count) {self._read_index(counted)}))")
        for index in sorted(self._written & needed):
            kind = layout.local_type(self.registers[index])
            self._lines.append(f"({kind}.store offset={self.kernel.slot(index)} (local.get $f) (local.get $r{index}))")
        if not self._lines:
            return ""
        start = [f"(local.set $lane {LANE})", f"(local.set $f {self.kernel.frame_of('(local.get $lane)')})"]
        if self._uses_lane_record:
            start.append("(local.set $l (i32.add (global.get $lanes) (i32.shl (local.get $lane) (i32.const 4))))")
        if not self._sites:
            return "\n".join(
                [
                    "(local.set $k (i32.const 0)) (loop $lanes",
                    *start,
                    *self._lines,
                    "(local.set $k (i32.add (local.get $k) (i32.const 1)))",
                    "(br_if $lanes (i32.lt_u (local.get $k) (local.get $n))))",
                ]
            )
        start.append("(local.set $l8 (i32.shl (i32.and (local.get $lane) (i32.const 31)) (i32.const 3)))")
        after = [self._request(site) for site in self._sites]
        ended = [
            f"(call $event_end (i32.const {site.counters['shared']}) (i32.const {site.event}))"
            for site in self._sites
            if "shared" in site.counters
        ]
        return "\n".join(
            [
                f"(local.set $w (i32.load (i32.const {layout.CONTEXT['WARP_TABLE']})))",
                "(local.set $k (i32.const 0)) (local.set $space (i32.const -1)) (loop $warps",
                "(local.set $end (i32.load offset=4 (local.get $w)))",
                "(loop $lanes",
                *start,
                *self._lines,
                "(local.set $k (i32.add (local.get $k) (i32.const 1)))",
                "(br_if $lanes (i32.lt_u (local.get $k) (local.get $end))))",
                *after,
                f"(local.set $w (i32.add (local.get $w) (i32.const {layout.WARP_BYTES})))",
                "(br_if $warps (i32.lt_u (local.get $k) (local.get $n))))",
                *ended,
            ]
        )

    def _compute(self, instruction: Instruction) -> None:
        results = express(instruction, self._read)
        if results is None:
            raise layout.Unfit(instruction.text)
        first = instruction.operands[0]
        targets = first.elements if isinstance(first, Vector) else (first,)
        second = targets[1] if len(targets) > 1 else None
        # Both results of p|q are computed before either is set: a target may be a source.
        if isinstance(second, Register):
            self._lines.append(f"(local.set $q {results[1][0]})")
        if isinstance(targets[0], Register):
            self._write(targets[0], *results[0])
        if isinstance(second, Register):
            self._write(second, "(local.get $q)", "pred")

    def _request(self, site: Site) -> str:
        transfer = site.transfer
        mask = "(i32.load offset=8 (local.get $w))"

        def of(space: str) -> str:
            if space == "global":
                return (
                    f"(call $global_request (i32.const {site.counters[space]}) (i32.const {site.buffer}) {mask}"
                    f" (i64.const {transfer.log}))"
                )
            return (
                f"(call $shared_request (i32.const {site.counters[space]}) (i32.const {site.event})"
                f" (i32.const {site.buffer}) {mask} (i64.const {transfer.log}) (i32.const {int(transfer.is_load)}))"
            )

        if transfer.space != "generic":
            return of(transfer.space)
        where = f"(i32.load offset=136 (i32.const {site.event}))"
        return (
            f"(if (i32.eqz {where}) (then {of('global')})"
            f" (else (if (i32.eq {where} (i32.const 1)) (then {of('shared')}))))"
        )

    def _site(self, transfer: layout.Transfer) -> Site:
        spaces = ("global", "shared") if transfer.space == "generic" else (transfer.space,)
        counters = {}
        for space in spaces:
            at = transfer.instruction.location
            key = (at.file, at.line, space, transfer.spec.op, transfer.spec.width)
            if key not in self.out.counters:
                self.out.counters[key] = self.static.take(layout.COUNTER_BYTES)
            counters[space] = self.out.counters[key]
        site = Site(transfer, counters, self.static.take(256), self.static.take(layout.EVENT_BYTES))
        self.out.sites.append(site)
        return site

    # -- operands ----------------------------------------------------------------------

    def _read_index(self, index: int) -> str:
        if index not in self._available:
            kind = layout.local_type(self.registers[index])
            self._lines.append(f"(local.set $r{index} ({kind}.load offset={self.kernel.slot(index)} (local.get $f)))")
            self._available.add(index)
        return f"(local.get $r{index})"

    def _raw(self, operand: Operand, size_bits: int) -> tuple[str, str]:
        """(expression, WebAssembly type) of an operand's bits; numbers are cut to `size_bits`."""
        if isinstance(operand, Register):
            return self._read_index(operand.index), layout.local_type(operand)
        if isinstance(operand, Negated):
            return f"(i32.eqz {self._read_index(operand.register.index)})", "i32"
        if isinstance(operand, Immediate):
            if size_bits == 0:
                return f"(i32.const {int(bool(operand.value))})", "i32"
            value = operand.value & ((1 << size_bits) - 1)
            kind = "i64" if size_bits == 64 else "i32"
            return f"({kind}.const {value})", kind
        if isinstance(operand, Special):
            return f"(i32.load offset={8 * self.out.specials[operand.name]} (local.get $f))", "i32"
        if isinstance(operand, Symbol):
            key = (operand.name, operand.offset)
            if key not in self.out.symbols:
                self.out.symbols[key] = self.static.take(8, 8)
            return f"(i64.load (i32.const {self.out.symbols[key]}))", "i64"
        raise layout.Unfit(str(operand))

    def _read(self, operand: Operand, name: str) -> str:
        kind, bits, signed = layout.TYPES[name]
        expression, have = self._raw(operand, bits)
        value = layout.converted(expression, have, kind)
        if bits in (8, 16):
            # A narrower register has no bits above its own.
            return f"(i32.extend{bits}_s {value})" if signed else f"(i32.and {value} (i32.const {(1 << bits) - 1}))"
        return value

    def _write(self, target: Register, expression: str, name: str) -> None:
        """Set a register, with a narrower result extended by its own sign."""
        have, bits, signed = layout.TYPES[name]
        want, width = layout.local_type(target), layout.register_bits(target)
        if have == "i32" and 0 < bits < 32:
            kept = min(bits, width) if width else bits
            if width > bits and signed:
                expression = f"(i32.extend{bits}_s {expression})"
                if width == 16:
                    expression = f"(i32.and {expression} (i32.const 65535))"
            else:
                expression = f"(i32.and {expression} (i32.const {(1 << kept) - 1}))"
        elif have == "i32" and width == 16:
            expression = f"(i32.and {expression} (i32.const 65535))"
        self._set(target.index, layout.converted(expression, have, want, signed))

    def _set(self, index: int, expression: str) -> None:
        self._lines.append(f"(local.set $r{index} {expression})")
        self._available.add(index)
        self._written.add(index)

    # -- movement ----------------------------------------------------------------------

    def _move(self, instruction: Instruction) -> None:
        name = instruction.modifiers[-1]
        if name not in layout.TYPES:
            raise layout.Unfit(instruction.text)
        _, bits, _ = layout.TYPES[name]
        target, source = instruction.operands
        if isinstance(source, Vector):
            part = bits // len(source.elements)
            if not isinstance(target, Register):
                raise layout.Unfit(instruction.text)
            kind = "i64" if bits == 64 else "i32"
            total = ""
            for position, element in enumerate(source.elements):
                piece = layout.converted(self._read(element, f"b{part}"), "i32" if part < 64 else "i64", kind)
                if position:
                    piece = f"({kind}.shl {piece} ({kind}.const {part * position}))"
                total = f"({kind}.or {total} {piece})" if total else piece
            self._write(target, total, f"b{bits}")
            return
        if isinstance(target, Vector):
            part = bits // len(target.elements)
            kind = "i64" if bits == 64 else "i32"
            temporary = "$tl" if kind == "i64" else "$ti"
            self._lines.append(f"(local.set {temporary} {self._read(source, f'b{bits}')})")
            for position, element in enumerate(target.elements):
                if isinstance(element, Register):
                    piece = f"({kind}.shr_u (local.get {temporary}) ({kind}.const {part * position}))"
                    self._write(element, layout.converted(piece, kind, "i32"), f"b{part}")
            return
        if not isinstance(target, Register):
            raise layout.Unfit(instruction.text)
        expression, have = self._raw(source, bits)
        self._set(target.index, layout.converted(expression, have, layout.local_type(target)))

    def _convert_address(self, instruction: Instruction) -> None:
        modifiers = instruction.modifiers
        back = modifiers[0] == "to"
        space = modifiers[1 if back else 0].split("::")[0]
        target, source = instruction.operands
        if space not in WINDOWS or not isinstance(target, Register):
            raise layout.Unfit(instruction.text)
        expression, have = self._raw(source, 64)
        if WINDOWS[space]:
            operation = "sub" if back else "add"
            expression = f"(i64.{operation} {layout.converted(expression, have, 'i64')} (i64.const {WINDOWS[space]}))"
            have = "i64"
        self._set(target.index, layout.converted(expression, have, layout.local_type(target)))

    def _transfer(self, instruction: Instruction) -> None:
        transfer = layout.transfer_of(instruction, self.code.program.space_of)
        spec, base = transfer.spec, transfer.address.base
        lines = self._lines
        if (
            transfer.space == "param"
            and transfer.is_load
            and isinstance(base, Symbol)
            and base.name in self.out.parameters
        ):
            start = base.offset + transfer.address.offset
            size = next(p.size_bytes for p in self.code.function.parameters if p.name == base.name)
            if start < 0 or start + spec.width > size or start % spec.width:
                raise layout.Unfit(instruction.text)
            lines.append(f"(local.set $p (i32.const {self.out.parameters[base.name] + start}))")
            self._load_elements(transfer)
            return
        address = "(i64.const 0)"
        if base is not None:
            expression, have = self._raw(base, 64)
            address = layout.converted(expression, have, "i64")
        if transfer.address.offset:
            address = f"(i64.add {address} (i64.const {transfer.address.offset}))"
        values = [] if transfer.is_load else [self._read(e, spec.type_name) for e in transfer.elements]
        lines.append(f"(local.set $a {address})")
        self._place(transfer)
        if transfer.is_load:
            self._load_elements(transfer)
        else:
            if transfer.space in layout.OBSERVED_SPACES:
                self._note_change()
            for number, value in enumerate(values):
                lines.append(layout.element_store(spec.type_name, value, number * spec.element_bytes))

    def _find(self, way: layout.Way, kept: int) -> list[str]:
        """Set `$p` to where a quick way leads; kept: where the way keeps its array."""
        return [f"(local.set $p (call {way.name} (local.get $a) (i32.const {kept}) (local.get $l)))"]

    def _note_change(self) -> None:
        self._lines.append("(global.set $version (i64.add (global.get $version) (i64.const 1)))")

    def _load_elements(self, transfer: layout.Transfer) -> None:
        for number, element in enumerate(transfer.elements):
            if isinstance(element, Register):
                expression, name = layout.element_load(transfer.spec.type_name, number * transfer.spec.element_bytes)
                self._write(element, expression, name)

    def _place(self, transfer: layout.Transfer) -> None:
        """Set `$p` to where the access of this lane goes, and note its address for the request."""
        lines, space, spec = self._lines, transfer.space, transfer.spec
        width = spec.width
        if space in ("local", "param"):
            write = int(not transfer.is_load)
            arguments = f"(local.get $a) (i32.const {width}) (local.get $lane) (i32.const {write})"
            lines.append(f"(local.set $p (call $local_place {arguments}))")
            return
        self._uses_lane_record = True
        if space == "const":
            if not transfer.is_load:
                raise layout.Unfit(transfer.instruction.text)
            lines.append(f"(local.set $p (call $const_load (local.get $a) (i32.const {width}) (local.get $l)))")
            return
        copied = transfer.is_load and self.code.uses.is_copy(transfer.instruction) and spec.dtype.kind == "u"
        if space == "generic":
            arguments = f"(local.get $a) (i32.const {width}) (local.get $l)"
            if transfer.is_load:
                arguments += f" (i32.const {int(copied)})"
            lines.append(f"(local.set $p (call $generic_{spec.op} {arguments} (local.get $lane)))")
        else:
            way = layout.Way(space, spec.op, width, copied)
            self.out.ways.add(way)
            kept = self.static.take(layout.KEPT_BYTES)
            lines += self._find(way, kept)
        if not self.observed:
            return
        site = self._site(transfer)
        self._sites.append(site)
        address = "(local.get $a)"
        if space == "shared":
            address = "(global.get $shared_address)"
        elif space == "generic":
            # All lanes of an access must go to one space: it stands in the event.
            where = f"(i32.load offset=136 (i32.const {site.event}))"
            lines.append(
                f"(if (local.get $k) (then (if (i32.ne {where} (global.get $space)) (then unreachable)))"
                f" (else (i32.store offset=136 (i32.const {site.event}) (global.get $space))))"
            )
            address = "(select (global.get $shared_address) (local.get $a) (i32.eq (global.get $space) (i32.const 1)))"
        lines.append(f"(i64.store offset={site.buffer} (local.get $l8) {address})")
