"""A kernel as a WebAssembly module: one function that runs a set of lanes from block to block.

The lanes go through each piece of a block one after the other; pieces are cut so that what lanes can see of each
other is what they see when they go in step (every load of all lanes before the next store, stores one by one).
Registers live in memory, a frame for each lane, and in locals within a piece.  What was generated is compiled once and
kept with its program, beside what it calls of the host's.
"""

from __future__ import annotations

import atexit
import re
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from grader.ptx.dataflow import destinations, sources
from grader.ptx.frontend.nodes import Immediate, Instruction, Negated, Register, Special, Symbol, Vector
from grader.ptx.isa.instructions import Semantics, facts, is_barrier, lookup
from grader.ptx.isa.rounding import float64_to_float32, fma_f64
from grader.ptx.limits import UnsupportedInstruction
from grader.ptx.lowering import warps
from grader.ptx.machine.code import Code, CodeBlock
from grader.ptx.machine.operands import is_emulated
from grader.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW, WINDOW_BITS
from grader.ptx.native import layout
from grader.ptx.native.arithmetic import express
from grader.ptx.native.layout import CONTEXT, OBSERVED_SPACES, Unfit, local_type, transfer_of
from grader.ptx.native.pieces import WARPS, Generated, Kernel, Piece, header, is_refused

_CLOCKS = ("clock", "globaltimer")


class Generator:
    """Turns one kernel into text.  Raises Unfit where it cannot."""

    on_store = ""
    """Done before a global array, whose record is `$entry`, is noted as stored to."""

    def __init__(self, code: Code, observed: bool, counts_work: bool) -> None:
        self.kernel = Kernel(code, observed)
        self.counts_work = counts_work
        self.code = code
        self.observed = observed
        self.registers = self.kernel.registers
        self.static, self.out = self.kernel.static, self.kernel.out

    # -- the whole ---------------------------------------------------------------------

    def generate(self) -> Generated:
        out, static, code = self.out, self.static, self.code
        for variable in code.function.parameters:
            out.parameters[variable.name] = static.take(max(variable.size_bytes, 1), 16)
        out.visits = static.take(layout.VISIT_BYTES * len(code.blocks))
        out.stops = static.take(len(code.blocks))
        self._check()
        names = {o.name for b in code.blocks for i in b.instructions for o in i.operands if isinstance(o, Special)}
        for name in sorted(names):
            if not is_emulated(name) or name.startswith(_CLOCKS):
                raise Unfit(f"%{name}")
            out.specials[name] = len(out.specials)
        bodies = [self._block(block) for block in code.blocks]
        out.text = self.kernel.finish(self._module(bodies))
        out.end = static.end
        return out

    def _check(self) -> None:
        for block in self.code.blocks:
            for instruction in block.instructions:
                if self._is_refused(instruction):
                    raise Unfit(instruction.text)
                if is_barrier(instruction.opcode) and not self._is_plain_barrier(instruction):
                    raise Unfit(instruction.text)
                if instruction.opcode in ("ld", "ldu", "st"):
                    transfer = transfer_of(instruction, self.code.program.space_of)
                    self.out.narrow |= transfer.space in OBSERVED_SPACES and transfer.spec.width < 4
        if self._waits():
            raise Unfit("a loop that waits for another thread")

    def _waits(self) -> bool:
        return any(info.spins for info in self.code.loop_at_header.values())

    def _is_refused(self, instruction: Instruction) -> bool:
        return is_refused(instruction)

    @staticmethod
    def _is_plain_barrier(instruction: Instruction) -> bool:
        modifiers = [m for m in instruction.modifiers if m not in ("cta", "aligned")]
        operands = instruction.operands
        if modifiers == ["warp", "sync"]:
            return operands == (Immediate(0xFFFFFFFF),) or operands == (Immediate(-1),)
        return modifiers == ["sync"] and len(operands) == 1 and isinstance(operands[0], Immediate)

    def prelude(self) -> str:
        """Return the start of every module: its imports, the runtime, quick ways to places."""
        runtime = (Path(__file__).parent / "runtime.wat").read_text(encoding="utf-8")
        scratch = CONTEXT["SCRATCH"]
        names = {**CONTEXT, "BANKS": scratch, "WORDS": scratch + 64, "ADDRESSES": scratch + 64 + 4096}
        names |= {"SHARED_HIGH": SHARED_WINDOW >> WINDOW_BITS, "LOCAL_HIGH": LOCAL_WINDOW >> WINDOW_BITS}
        names["UNIT_LOG"] = 0 if self.out.narrow else 2
        for name, offset in names.items():
            runtime = runtime.replace("{" + name + "}", str(offset))
        runtime = runtime.replace("{ON_STORE}", self.on_store)
        ways = "\n".join(way.text(self.observed, 1 if self.out.narrow else 4) for way in sorted(self.out.ways, key=str))
        return f"""(module
(import "host" "memory" (memory 1))
(import "host" "numpy" (func $numpy (param i32)))
(import "host" "fma64" (func $fma64_at_length (param i64 i64 i64) (result i64)))
(import "host" "function" (func $function_at_length (param i32 i32) (result i32)))
(global $observe i32 (i32.const {int(self.observed)}))
{runtime}
{ways}
"""

    def _module(self, bodies: list[str]) -> str:
        locals_ = " ".join(f"(local $r{r.index} {local_type(r)})" for r in self.registers.values())
        count = len(bodies)
        opened = "\n".join(f"(block $B{k}" for k in reversed(range(count)))
        table = " ".join(f"$B{k}" for k in range(count))
        inner = [f"(br_table {table} $out (local.get $b))"]
        for body in bodies:
            inner += [")", body]
        context = CONTEXT
        return f"""{self.prelude()}(func $run (export "run")
 (local $b i32) (local $back i32) (local $n i32) (local $status i32) (local $first i32) (local $fuel i64)
 (local $issued i64) (local $k i32) (local $end i32) (local $w i32) (local $lane i32) (local $f i32) (local $l i32)
 (local $l8 i32) (local $p i32) (local $a i64) (local $count i32) (local $list i32) (local $space i32)
 (local $ti i32) (local $ui i32) (local $q i32) (local $tl i64) (local $ul i64) (local $tf f32) (local $uf f32)
 (local $td f64) (local $ud f64) {locals_}
 (global.set $frames (i32.load (i32.const {context["FRAMES"]})))
 (global.set $lanes (i32.load (i32.const {context["LANES"]})))
 (global.set $races (i32.load (i32.const {context["RACES"]})))
 (local.set $b (i32.load (i32.const {context["BLOCK"]})))
 (local.set $back (i32.load (i32.const {context["BACK"]})))
 (local.set $n (i32.load (i32.const {context["N"]})))
 (local.set $list (i32.load (i32.const {context["LIST"]})))
 (local.set $fuel (i64.load (i32.const {context["FUEL"]})))
 (local.set $issued (i64.load (i32.const {context["ISSUED"]})))
 (local.set $first (i32.const 1))
 (block $out
 (loop $dispatch
 (if (local.get $first) (then (local.set $first (i32.const 0)))
  (else (if (i32.load8_u offset={self.out.stops} (local.get $b))
   (then (local.set $status (i32.const {layout.STOPPED})) (br $out)))))
 {opened}
 {chr(10).join(inner)}
 ))
 (i32.store (i32.const {context["STATUS"]}) (local.get $status))
 (i32.store (i32.const {context["BLOCK"]}) (local.get $b))
 (i32.store (i32.const {context["BACK"]}) (local.get $back))
 (i64.store (i32.const {context["FUEL"]}) (local.get $fuel))
 (i64.store (i32.const {context["ISSUED"]}) (local.get $issued))
))"""

    # -- blocks ------------------------------------------------------------------------

    def _block(self, block: CodeBlock) -> str:
        size, code = block.size, self.code
        if block.instructions and block.last.opcode == "call":
            # An assertion that fails: the interpreter says which.
            return "unreachable"
        loop = code.loop_at_header.get(block.index)
        visit = self.out.visits + layout.VISIT_BYTES * block.index
        text = [
            "(local.set $fuel (i64.sub (local.get $fuel)"
            f" (i64.mul (i64.const {size}) (i64.extend_i32_u (local.get $n)))))",
            "(if (i64.lt_s (local.get $fuel) (i64.const 0))"
            f" (then (local.set $status (i32.const {layout.SPENT})) (br $out)))",
            header(self.kernel, block.index, loop) if loop is not None else "",
            f"(local.set $issued (i64.add (local.get $issued) (i64.const {size})))",
            f"(call $bump (i32.const {visit}) (local.get $n))",
            f"(call $bump (i32.const {visit + 8}) {WARPS})",
        ]
        if self.counts_work:
            text.append(f"(call $bump (i32.const {visit + 16}) (i32.load (i32.const {CONTEXT['PLACES']})))")
        body, last = self._body_and_last(block)
        predicate = last.guard.register.index if last is not None and last.guard is not None else None
        pieces = self._pieces(body)
        successors = self.code.graph.blocks[block.index].successors
        leaving = set().union(*(code.live_in[s] for s in successors)) if successors else set()
        if predicate is not None:
            leaving = leaving | {predicate}
            text.append("(local.set $count (i32.const 0))")
            if not pieces or pieces[-1][0] == "numpy":
                pieces.append(("plain", []))
        needed: list[set[int]] = [set(leaving)]
        for _, instructions in reversed(pieces):
            live = set(needed[-1])
            for instruction in reversed(instructions):
                live -= {r.index for r in destinations(instruction)}
                live |= {r.index for r in sources(instruction)}
            needed.append(live)
        needed.reverse()
        for number, (kind, instructions) in enumerate(pieces):
            if kind == "numpy":
                self.out.numpy.append(instructions[0])
                results = {r.index for r in destinations(instructions[0])} & needed[number + 1]
                for index in sorted(results | {r.index for r in sources(instructions[0])}):
                    self.kernel.slot(index)
                text.append(f"(call $numpy (i32.const {len(self.out.numpy) - 1}))")
            elif kind == "refused":
                text.append("unreachable")
                return "\n".join(text)
            else:
                counted = predicate if number == len(pieces) - 1 else None
                text.append(Piece(self.kernel).text(instructions, needed[number + 1], counted))
        text.append(self._leave(block, last, successors))
        return "\n".join(text)

    def _body_and_last(self, block: CodeBlock) -> tuple[tuple[Instruction, ...], Instruction | None]:
        if block.instructions and (facts(block.last.opcode).ends or block.last.opcode == "trap"):
            return block.instructions[:-1], block.last
        return block.instructions, None

    def _edge(self, origin: int, target: int) -> str:
        back = int((origin, target) in self.code.back_edges)
        return f"(local.set $b (i32.const {target})) (local.set $back (i32.const {back}))"

    def _leave(self, block: CodeBlock, last: Instruction | None, successors: tuple[int, ...]) -> str:
        here = block.index
        if last is None:
            return f"{self._edge(here, block.next)} (br $dispatch)"
        if facts(last.opcode).ends == "leave":
            return f"(local.set $status (i32.const {layout.RETURNED})) (br $out)"
        if "warp" in last.modifiers:
            # Whole warps have met already.
            met = f"(i32.eq (local.get $n) (i32.shl {WARPS} (i32.const 5)))"
            return f"(if (i32.eqz {met}) (then unreachable)) {self._edge(here, successors[0])} (br $dispatch)"
        if is_barrier(last.opcode):
            return f"(local.set $status (i32.const {layout.BARRIER})) (br $out)"
        if last.opcode == "trap":
            return "unreachable"
        if last.guard is None:
            return f"{self._edge(here, successors[0])} (br $dispatch)"
        # $count lanes have a true predicate.
        whole, none = (successors[0], successors[1]) if not last.guard.negated else (successors[1], successors[0])
        return f"""(if (i32.eqz (local.get $count)) (then {self._edge(here, none)})
(else (if (i32.eq (local.get $count) (local.get $n)) (then {self._edge(here, whole)})
(else (local.set $status (i32.const {layout.PARTED})) (br $out)))))
(br $dispatch)"""

    def _pieces(self, body: tuple[Instruction, ...]) -> list[tuple[str, list[Instruction]]]:
        pieces: list[tuple[str, list[Instruction]]] = []
        current: list[Instruction] = []
        loads = stores = False

        def close() -> None:
            nonlocal current, loads, stores
            if current:
                pieces.append(("plain", current))
            current, loads, stores = [], False, False

        for instruction in body:
            opcode = instruction.opcode
            if facts(opcode).hint:
                continue
            if opcode in ("ld", "ldu", "st"):
                transfer = transfer_of(instruction, self.code.program.space_of)
                if transfer.space in OBSERVED_SPACES:
                    if stores or (loads and not transfer.is_load):
                        close()
                    loads |= transfer.is_load
                    stores |= not transfer.is_load
                current.append(instruction)
            elif opcode in ("mov", "cvta") or self._expressible(instruction):
                current.append(instruction)
            else:
                close()
                left = opcode in warps.EXCHANGES or self._computable(instruction)
                pieces.append(("numpy" if left else "refused", [instruction]))
        close()
        return pieces

    def _expressible(self, instruction: Instruction) -> bool:
        if instruction.opcode in ("mov", "cvta"):
            return True
        if not self._fits(instruction) or self._semantics(instruction) is None:
            return False
        return express(instruction, lambda operand, name: "") is not None

    def _fits(self, instruction: Instruction) -> bool:
        return all(
            isinstance(o, (Register, Immediate, Special, Negated))
            or (isinstance(o, Vector) and o is instruction.operands[0])
            or (isinstance(o, Symbol) and instruction.modifiers[-1][1:] in ("32", "64"))
            for o in instruction.operands
        )

    def _semantics(self, instruction: Instruction) -> Semantics | None:
        """Return the semantics of an instruction; None where they do not fit how it is written."""
        if not instruction.operands:
            return None
        first, *rest = instruction.operands
        targets = first.elements if isinstance(first, Vector) else (first,)
        try:
            semantics = lookup(instruction.opcode, instruction.modifiers, len(targets))
        except UnsupportedInstruction:
            return None
        return semantics if len(semantics.inputs) == len(rest) else None

    def _computable(self, instruction: Instruction) -> bool:
        """Whether `isa/` can compute it from registers and numbers."""
        semantics = self._semantics(instruction)
        if semantics is None or semantics.reads_carry or semantics.writes_carry:
            return False
        return all(isinstance(o, (Register, Immediate, Special, Negated)) for o in instruction.operands[1:])


def fma64(a: int, b: int, c: int) -> int:
    """Compute a fused product of float64 bits that generated code is not certain of."""
    mask = (1 << 64) - 1
    x, y, z = (np.array([bits & mask], np.uint64).view(np.float64) for bits in (a, b, c))
    with np.errstate(all="ignore"):
        return int(fma_f64(x, y, z).view(np.int64)[0])


def function_f32(number: int, bits: int) -> int:
    """Compute a function of float32 bits that generated code is not certain of; number: which, as in `runtime.wat`."""
    from grader.ptx.isa.floating import FUNCTIONS

    function = FUNCTIONS[("ex2", "lg2", "sin", "cos")[number]]
    with np.errstate(all="ignore"):
        result = function(np.array([bits & 0xFFFFFFFF], np.uint32).view(np.float32).astype(np.float64))
        return int(float64_to_float32(result, "rn").view(np.int32)[0])


def imports(store: Any, numpy_call: Callable[[int], None]) -> list[Any]:
    """Return what generated code imports besides memory; numpy_call: carries out what is left to `isa/`."""
    import wasmtime

    i32, i64 = wasmtime.ValType.i32(), wasmtime.ValType.i64()
    return [
        wasmtime.Func(store, wasmtime.FuncType([i32], []), numpy_call),
        wasmtime.Func(store, wasmtime.FuncType([i64, i64, i64], [i64]), fma64),
        wasmtime.Func(store, wasmtime.FuncType([i32, i32], [i32]), function_f32),
    ]


@dataclass
class Compiled:
    """A kernel's machine code (`wasmtime.Module`) and where its regions lie."""

    module: Any
    generated: Generated


@cache
def engine() -> Any:
    import wasmtime

    config = wasmtime.Config()
    # No threads of its own: graders fork, and a machine's cores are its students'.
    config.parallel_compilation = False
    # Fused products with one rounding, on every machine.
    config.wasm_relaxed_simd = True
    config.wasm_relaxed_simd_deterministic = True
    return kept(wasmtime.Engine(config))


_OPEN: weakref.WeakSet[Any] = weakref.WeakSet()


@atexit.register
def _close() -> None:
    """Close what the runtime owns while its functions are still loaded."""
    for thing in list(_OPEN):
        thing.close()


def kept(thing: Any) -> Any:
    """Have an object closed before the process ends, and return it."""
    _OPEN.add(thing)
    return thing


_PIECES = re.compile(r"^(?=  \(func \$|\()", re.MULTILINE)
_CALLED = re.compile(r"call (\$\w+)")


def _without_unused(text: str) -> str:
    """A module's text without those functions of `runtime.wat`, which alone are indented, that nothing calls."""
    pieces = _PIECES.split(text)
    functions = {piece.split(maxsplit=2)[1]: piece for piece in pieces if piece.startswith("  (func $")}
    left = {name for piece in pieces if not piece.startswith("  (func $") for name in _CALLED.findall(piece)}
    used: set[str] = set()
    while left:
        name = left.pop()
        if name in functions and name not in used:
            used.add(name)
            left.update(_CALLED.findall(functions[name]))
    return "".join(p for p in pieces if not p.startswith("  (func $") or p.split(maxsplit=2)[1] in used)


def machine_code(text: str) -> Any:
    """A `wasmtime.Module` of WebAssembly text; None where there is no runtime for this platform.

    Everything is slower there, and nothing else.
    """
    try:
        import wasmtime
    except ImportError:
        return None
    return kept(wasmtime.Module(engine(), bytes(wasmtime.wat2wasm(_without_unused(text)))))


def compiled(code: Code, observed: bool, counts_work: bool) -> Compiled | None:
    """Return a kernel's machine code, made at first use; None where generated code cannot do what it does."""
    kept: dict[tuple[str, bool, bool], Compiled | None]
    kept = code.program.module.derived.setdefault("native", {})
    key = (code.name, observed, counts_work)
    if key not in kept:
        kept[key] = _compile(code, observed, counts_work)
    return kept[key]


def _compile(code: Code, observed: bool, counts_work: bool) -> Compiled | None:
    try:
        generated = Generator(code, observed, counts_work).generate()
    except (Unfit, UnsupportedInstruction):
        return None
    module = machine_code(generated.text)
    return None if module is None else Compiled(module, generated)
