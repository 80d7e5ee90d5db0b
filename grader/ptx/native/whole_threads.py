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
from grader.ptx.frontend.nodes import Instruction, Special
from grader.ptx.isa.instructions import facts
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.machine.code import Code
from grader.ptx.native.generate import Compiled, Generator, machine_code
from grader.ptx.native.inlining import MOST_INSTRUCTIONS, Inlined, inlined
from grader.ptx.native.layout import STORED, Unfit, local_type
from grader.ptx.native.pieces import Generated, is_call_of
from grader.ptx.native.thread_bodies import (
    PLAIN,
    REMEMBER,
    Body,
    copied_bytes,
    in_vector,
    loose_registers,
    update_of,
    vector_registers,
)
from grader.ptx.native.threads import FILLS, Meetings, Node, Places, Region, nodes_of

ROUNDS = 1 << 28
"""A thread that goes round its loops so often between two barriers is left to the interpreter."""
ROUNDS_OF_TRIES = 1 << 20
"""The same where a loop tries an update, or for a lock, until it gets through."""
_RARE = ("__assertfail", "vprintf")
"""Functions that hardly any thread of a kernel worth this calls: who comes to one gives the attempt up."""


LOCALS = """(local $rounds i32) (local $p i32) (local $a i64) (local $flags i32)
 (local $ti i32) (local $ui i32) (local $q i32)
 (local $tl i64) (local $ul i64) (local $tf f32) (local $uf f32) (local $td f64) (local $ud f64) (local $tv v128)"""
"""What instructions need for a moment."""


def unset(kind: str) -> str:
    """What a register of a WebAssembly type holds that nobody has set."""
    if kind[0] == "i":
        return f"({kind}.const -1)"
    return f"({kind}.const nan:0x{'7fffff' if kind == 'f32' else 'fffffffffffff'})"


@dataclass
class WholeThreads:
    """A kernel's text, where its fields lie, the code that it was made of, and how many threads go together."""

    generated: Generated
    places: Places
    whole: Inlined
    together: int = 1
    _compiled: Compiled | None = None

    def compiled(self) -> Compiled | None:
        """Return its machine code; None where there is no WebAssembly runtime for this platform."""
        if self._compiled is None:
            module = machine_code(self.generated.text)
            self._compiled = None if module is None else Compiled(module, self.generated)
        return self._compiled


class Writer(Generator):
    """Turns one kernel into text.  Raises Unfit where it cannot."""

    body: type[Body] = Body
    on_store = f"(if (i32.eqz (i32.load offset={STORED} (local.get $entry))) (then (call $numpy (local.get $entry))))"

    def __init__(self, code: Code) -> None:
        super().__init__(code, observed=False, counts_work=False)
        self.places = Places(self.static.take(16), self.static.take(8), self.static.take(16 * FILLS))
        self._size = 0
        self._threads = 1
        self._nodes: list[Node] = []
        self._meetings: dict[int, Node] = {}
        self._loose = loose_registers(code)
        self._vectors = vector_registers(code)
        tries = any(loop.spins for loop in code.loop_at_header.values())
        self._rounds = ROUNDS_OF_TRIES if tries else ROUNDS

    def write(self) -> None:
        """Write the module's text and its regions to `out`."""
        out, static, code = self.out, self.static, self.code
        for variable in code.function.parameters:
            out.parameters[variable.name] = static.take(max(variable.size_bytes, 1), 16)
        out.visits = static.take(8 * len(code.blocks))
        self._check()
        # Their places in a frame come before those of registers.
        names = {o.name for b in code.blocks for i in b.instructions for o in i.operands if isinstance(o, Special)}
        out.specials.update({name: number for number, name in enumerate(sorted(names & PLAIN))})
        self._nodes = self._cut()
        self._meetings = {number: node for number, node in enumerate(self._nodes) if node.meeting is not None}
        starts = [0, *sorted({node.successors[0] for node in self._meetings.values()})]
        if len(set(starts)) < len(starts):
            raise Unfit("a barrier before the first block")
        parts = [*self._globals(), REMEMBER, *self._functions(starts)]
        out.text = self.kernel.finish(self.prelude() + "\n".join(parts) + ")")
        out.end = static.end

    def _cut(self) -> list[Node]:
        return nodes_of(self.code)

    def _regions(self, starts: Sequence[int]) -> list[Region]:
        successors = [() if node.meeting is not None else node.successors for node in self._nodes]
        return [Region.of(start, successors) for start in starts]

    def _functions(self, starts: Sequence[int]) -> list[str]:
        functions = [self._function(region) for region in self._regions(starts)]
        return [*functions, *Meetings(self.kernel, self.places, self._meetings).texts(starts)]

    def _is_refused(self, instruction: Instruction) -> bool:
        if instruction.opcode == "call":
            return not is_call_of(instruction, *_RARE)
        if instruction.opcode == "cp":
            return copied_bytes(instruction) is None
        if facts(instruction.opcode).memory == "fence":
            return False
        if instruction.opcode not in ("atom", "red"):
            return super()._is_refused(instruction)
        return update_of(instruction) is None

    def _waits(self) -> bool:
        # Its turn at a lock or an update comes to who goes alone; what threads do that have not begun never does.
        return any(decision.polls for decision in self.code.graph.exit_decisions)

    @staticmethod
    def _globals() -> list[str]:
        return [f"(global $block_{axis} (mut i32) (i32.const 0))" for axis in "xyz"]

    # -- from one barrier to the next --------------------------------------------------

    def _function(self, region: Region) -> str:
        """Run a thread from a place on; the result is 0 where it has returned, else 1 + the node of its barrier."""
        body = self.body(self.kernel, self._loose, self._vectors)
        self._body, self._region = body, region
        inside = "\n".join(self._tree(region.start))
        live = self._needed(region.start)
        begin = []
        for index in sorted(live):
            if region.start:
                begin.append(body.back(index))
            else:
                ones = unset(local_type(self.registers[index]))
                begin.append(f"(local.set $r{index} {in_vector(ones) if index in self._vectors else ones})")
        names = sorted(body.read | body.set | live)
        groups = " ".join(f"(local $place{n} i32) (local $flags{n} i32)" for n in range(1, body.groups + 1))
        locals_ = " ".join(map(body.local, names))
        return f"""(func $from_{region.start} (param $f i32) (param $l i32) (param $lane i32) (result i32)
 {LOCALS}
 {locals_}
 {groups}
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
            over = f"(if (i32.gt_u {count} (i32.const {self._rounds})) (then unreachable))"
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
        if self._size > MOST_INSTRUCTIONS:
            raise Unfit("too many instructions")
        if self._is_given_up(node):
            return ["unreachable"]
        text = self._before(number)
        if node.is_first:
            at = self.out.visits + 8 * block.index
            text.append(
                f"(i64.store (i32.const {at}) (i64.add (i64.load (i32.const {at})) (i64.const {self._threads})))"
            )
        if node.meeting is not None:
            text += self._body.lines(node.instructions)
            exchanged = {register.index for register in sources(node.meeting)}
            kept = self._needed(node.successors[0]) - {register.index for register in destinations(node.meeting)}
            return [*text, *self._kept(kept, exchanged), f"(return (i32.const {1 + number}))"]
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
        taken, other = successors if not last.guard.negated else successors[::-1]
        return [*text, *self._fork(number, last.guard.register.index, taken, other)]

    @staticmethod
    def _is_given_up(node: Node) -> bool:
        return bool(node.instructions) and is_call_of(node.instructions[-1], *_RARE)

    def _before(self, number: int) -> list[str]:
        """What has to be looked at before a node is begun."""
        return []

    def _kept(self, needed: set[int], exchanged: set[int]) -> list[str]:
        """Keep registers for what follows a meeting, and for the instruction of a warp that it is."""
        return [self._body.kept(index) for index in sorted(needed | exchanged)]

    def _fork(self, here: int, condition: int, taken: int, other: int) -> list[str]:
        return [
            f"(if {self._body._read_index(condition)} (then",
            *self._branch(here, taken),
            ") (else",
            *self._branch(here, other),
            "))",
        ]

    def _branch(self, here: int, target: int) -> list[str]:
        region = self._region
        if region.order[target] <= region.order[here]:
            return [f"(br $L{target})"]
        if target in region.merges:
            return [f"(br $B{target})"]
        return self._tree(target)


def written_by(writer_class: type[Writer], code: Code, kind: str, together: int = 1) -> WholeThreads | None:
    """Return a kernel's text of a kind, made at first use; None where the writer has found something unfit."""
    derived: dict[str, WholeThreads | None] = code.program.module.derived.setdefault(kind, {})
    if code.name not in derived:
        whole = inlined(code)
        writer = writer_class(whole.code)
        try:
            writer.write()
        except (Unfit, UnsupportedInstruction, RecursionError):
            derived[code.name] = None
        else:
            derived[code.name] = WholeThreads(writer.out, writer.places, whole, together)
    return derived[code.name]


def written(code: Code) -> WholeThreads | None:
    """Return a kernel's text, made at first use; None where it has something unfit."""
    return written_by(Writer, code, "whole threads")
