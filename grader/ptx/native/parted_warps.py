"""A kernel as WebAssembly, thread by thread, where threads of one warp may wait at different places.

What `whole_threads.py` makes has all threads of a warp meet at one shuffle or vote after the other.  Here each goes on
to whatever meeting it comes to; one takes place when all threads that its mask names, and that have not returned, wait
there with that mask.  Of several the first in the order of the code does, but threads one iteration ahead wait for
those inside the loop, as in the interpreter, so that threads which part meet again.  Who is active at an `activemask`
is who waits there by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from grader.ptx.frontend.nodes import Address, Immediate, Instruction, Operand, Register, Vector
from grader.ptx.isa.instructions import is_barrier
from grader.ptx.machine.code import Code
from grader.ptx.native import layout
from grader.ptx.native.layout import Unfit, local_type
from grader.ptx.native.matrices import FragmentBody, Products, is_of_fragments, is_product
from grader.ptx.native.pieces import FRAME_BYTES, Kernel
from grader.ptx.native.threads import Meetings, Node, Places, meets, nodes_of, of_warp
from grader.ptx.native.whole_threads import WholeThreads, Writer, written_by

_AT = -3
"""The number of a slot in a frame, as of a register: the node that a thread begins at, or −1 − where it waits."""
_OF_PARTS = ("activemask", "match", "redux", "elect")
_REDUCED = {
    ("add", "s32"): "(i32.add {0} {1})",
    ("add", "u32"): "(i32.add {0} {1})",
    ("min", "s32"): "(select {0} {1} (i32.lt_s {0} {1}))",
    ("max", "s32"): "(select {0} {1} (i32.gt_s {0} {1}))",
    ("min", "u32"): "(select {0} {1} (i32.lt_u {0} {1}))",
    ("max", "u32"): "(select {0} {1} (i32.gt_u {0} {1}))",
    ("and", "b32"): "(i32.and {0} {1})",
    ("or", "b32"): "(i32.or {0} {1})",
    ("xor", "b32"): "(i32.xor {0} {1})",
}


def _meets(instruction: Instruction) -> bool:
    return meets(instruction) or instruction.opcode in _OF_PARTS or is_product(instruction)


class _Writer(Writer):
    """Turns one kernel into text.  Raises Unfit where it cannot."""

    body = FragmentBody

    def _cut(self) -> list[Node]:
        return nodes_of(self.code, meeting=_meets)

    def _is_refused(self, instruction: Instruction) -> bool:
        if instruction.opcode in _OF_PARTS or is_of_fragments(instruction):
            return False
        return super()._is_refused(instruction)

    @staticmethod
    def _is_plain_barrier(instruction: Instruction) -> bool:
        return "warp" in instruction.modifiers or Writer._is_plain_barrier(instruction)

    def _functions(self, starts: Sequence[int]) -> list[str]:
        if not any(of_warp(node) for node in self._meetings.values()):
            raise Unfit("no meeting of a warp")
        functions = [self._function(region) for region in self._regions(starts)]
        bodies = sorted((loop.body for loop in self.code.loop_at_header.values()), key=len)
        loops = [{n for n, node in enumerate(self._nodes) if node.block.index in body} for body in bodies]
        return [*functions, *_PartedMeetings(self.kernel, self.places, self._meetings, loops).texts(starts)]


class _PartedMeetings(Meetings):
    """Writes what goes on around the functions of single threads.

    loops: the nodes of each, inner loops before those around them.
    """

    def __init__(self, kernel: Kernel, places: Places, meetings: Mapping[int, Node], loops: Sequence[Set[int]]) -> None:
        super().__init__(kernel, places, meetings)
        self._loops = loops
        self._waiting = [[n for n, node in sorted(meetings.items()) if n in loop and of_warp(node)] for loop in loops]
        """Where threads of a warp meet in each loop."""

    def texts(self, starts: Sequence[int]) -> list[str]:
        self._values, self._masks = self._scratch, self._kernel.static.take(8 * 32)
        self._products = Products(self._kernel, _each, self._value)
        exchanges = [self._exchange(number, node) for number, node in self._meetings.items() if of_warp(node)]
        return [*self._products.functions.values(), *exchanges, self._warp(starts), self._run()]

    def _warp(self, starts: Sequence[int]) -> str:
        done, at = (f"(i32.load offset={self._kernel.slot(number)} (local.get $g))" for number in (-1, _AT))
        put_done, put_at = (f"i32.store offset={self._kernel.slot(number)} (local.get $g)" for number in (-1, _AT))
        begin = "(local.set $g (local.get $f)) (local.set $gl (local.get $l)) (local.set $k (local.get $lane))"
        go_on = f"""(local.set $g (i32.add (local.get $g) (i32.const {FRAME_BYTES})))
  (local.set $gl (i32.add (local.get $gl) (i32.const {layout.LANE_BYTES})))
  (local.set $k (i32.add (local.get $k) (i32.const 1)))"""
        run = "\n".join(
            f"(if (i32.eq (local.get $to) (i32.const {start})) (then (local.set $to"
            f" (call $from_{start} (local.get $g) (local.get $gl) (local.get $k))) {self._ahead(start)} (br $gone)))"
            for start in starts
        )
        bit = "(i32.shl (i32.const 1) (local.get $k))"
        counted = [number for number, places in enumerate(self._waiting) if len(places) > 1]
        ahead = " ".join(f"(local $ahead{number} i32) (local $first{number} i32)" for number in counted)
        not_ahead = " ".join(
            f"(local.set $ahead{number} (i32.and (local.get $ahead{number}) (i32.xor {bit} (i32.const -1))))"
            for number in counted
        )
        # Where all of a loop have come back, they have met at its header.
        inside = "\n".join(
            f"(if (i32.eq (local.get $first{number}) (i32.const -1))"
            f" (then (local.set $ahead{number} (i32.const 0)))"
            f" (else (if (i32.eqz (i32.and (local.get $those) (i32.xor (local.get $ahead{number}) (i32.const -1))))"
            f" (then {self._meet(self._waiting[number], 'ge_u', f'$first{number}')}))))"
            for number in counted
        )
        firsts = " ".join(f"(local.set $first{number} (i32.const -1))" for number in counted)
        behind = "\n".join(
            f"(if (i32.and (i32.lt_u (i32.sub (local.get $to) (i32.const {1 + min(self._loops[number])}))"
            f" (i32.const {max(self._loops[number]) - min(self._loops[number]) + 1}))"
            f" (i32.and (i32.eqz (i32.and (local.get $ahead{number}) {bit}))"
            f" (i32.lt_u (local.get $to) (local.get $first{number}))))"
            f" (then (local.set $first{number} (local.get $to))))"
            for number in counted
        )
        meet = self._meet(
            [number for number, node in sorted(self._meetings.items()) if of_warp(node)], "ge_u", "$least"
        )
        more = "(i32.lt_u (local.get $k) (local.get $n))"
        return f"""(func $warp (param $at i32) (param $f i32) (param $l i32) (param $lane i32) (param $n i32)
 (result i32)
 (local $g i32) (local $gl i32) (local $k i32) (local $to i32) (local $least i32) (local $all i32)
 (local $those i32) {ahead}
 {begin}
 (loop $threads
  (if (i32.eqz (local.get $at)) (then ({put_done} (i32.const 0))))
  ({put_at} (local.get $at))
  {go_on}
  (br_if $threads {more}))
 (loop $on
  {begin}
  (local.set $least (i32.const -1)) {firsts}
  (loop $threads
   (block $passed
    (br_if $passed {done})
    (local.set $to {at})
    (if (i32.ge_s (local.get $to) (i32.const 0)) (then
     {not_ahead}
     (block $gone
      {run}
      unreachable)
     (if (i32.eqz (local.get $to)) (then ({put_done} (i32.const 1)) (br $passed)))
     (local.set $to (i32.sub (i32.const 0) (local.get $to)))
     ({put_at} (local.get $to))))
    (local.set $to (i32.sub (i32.const 0) (local.get $to)))
    (if (i32.lt_u (local.get $to) (local.get $least)) (then
     (local.set $least (local.get $to)) (local.set $those (i32.const 0))))
    (if (i32.eq (local.get $to) (local.get $least)) (then {_added("$those", bit)}))
    {behind})
   {go_on}
   (br_if $threads {more}))
  {inside}
  {meet}
  {begin}
  (local.set $all (i32.const 0))
  (loop $threads
   (block $passed
    (br_if $passed {done})
    (local.set $to (i32.sub (i32.const 0) {at}))
    (if (i32.eqz (local.get $all)) (then (local.set $all (local.get $to))))
    (if (i32.ne (local.get $all) (local.get $to)) (then unreachable)))
   {go_on}
   (br_if $threads {more})))
 (local.get $all))"""

    def _meet(self, places: Sequence[int], compare: str, first: str) -> str:
        """Have the first meeting take place that can, of those that lie so to a place where threads wait."""
        return "\n".join(
            f"(if (i32.{compare} (i32.const {1 + number}) (local.get {first})) (then"
            f" (br_if $on (call $exchange_{number} (local.get $f) (local.get $l)"
            " (i32.sub (local.get $n) (local.get $lane))))))"
            for number in places
        )

    def _ahead(self, start: int) -> str:
        """Note of a thread that has come back to `$to` of which loop it is one iteration ahead."""
        if start == 0:
            return ""
        # It began behind the meeting before.
        lines = [f"(br_if $same (i32.gt_u (i32.sub (local.get $to) (i32.const 1)) (i32.const {start - 1})))"]
        for number, loop in enumerate(self._loops):
            if start - 1 in loop:
                note = ""
                if len(self._waiting[number]) > 1:
                    note = _added(f"$ahead{number}", "(i32.shl (i32.const 1) (local.get $k))")
                lines.append(f"(if (i32.ge_u (local.get $to) (i32.const {1 + min(loop)})) (then {note} (br $same)))")
        return f"(block $same {' '.join(lines)})" if len(lines) > 1 else ""

    def _exchange(self, number: int, node: Node) -> str:
        """Have those who wait there meet as far as all of their masks have come; the result is whether any did."""
        meeting = node.meeting
        assert meeting is not None
        done, at = (f"(i32.load offset={self._kernel.slot(place)} (local.get $g))" for place in (-1, _AT))
        value, mask, put = self._parts(meeting)
        keep = [f"(i32.store {self._mask()} {mask})" if mask else "", value]
        gather = f"""(if (i32.eqz {done}) (then
   (local.set $alive (i32.or (local.get $alive) (i32.shl (i32.const 1) (local.get $k))))
   (if (i32.eq {at} (i32.const {-1 - number})) (then
    (local.set $here (i32.or (local.get $here) (i32.shl (i32.const 1) (local.get $k))))
    {" ".join(keep)}))))"""
        after = ""
        if meeting.opcode == "activemask":
            after = _each("$here", f"(i32.store {self._mask()} (local.get $here))")
        same = f"""(if (i32.eq (i32.load {self._mask()}) (local.get $mask))
    (then (local.set $same (i32.or (local.get $same) (i32.shl (i32.const 1) (local.get $k))))))"""
        first = "(i32.ctz (local.get $left))"
        gone = f"(i32.store offset={self._kernel.slot(_AT)} (local.get $g) (i32.const {node.successors[0]}))"
        return f"""(func $exchange_{number} (param $f i32) (param $l i32) (param $n i32) (result i32)
 (local $g i32) (local $k i32) (local $b i32) (local $c i32) (local $segment i32) (local $j i32) (local $holds i32)
 (local $alive i32) (local $here i32) (local $left i32) (local $mask i32) (local $same i32) (local $went i32)
 (local $rest i32) (local $votes i32) (local $next i32)
 (local.set $g (local.get $f))
 (loop $lanes
  {gather}
  (local.set $g (i32.add (local.get $g) (i32.const {FRAME_BYTES})))
  (br_if $lanes (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 1))) (local.get $n))))
 (if (i32.eqz (local.get $here)) (then (return (i32.const 0))))
 {after}
 (local.set $left (local.get $here))
 (loop $groups
  (local.set $mask (i32.load (i32.add (i32.const {self._masks}) (i32.shl {first} (i32.const 3)))))
  (local.set $same (i32.const 0))
  {_each("$left", same)}
  (local.set $left (i32.and (local.get $left) (i32.xor (local.get $same) (i32.const -1))))
  (if (i32.and (local.get $same) (i32.xor (local.get $mask) (i32.const -1))) (then unreachable))
  (if (i32.eqz (i32.and (i32.and (local.get $mask) (local.get $alive)) (i32.xor (local.get $same) (i32.const -1))))
   (then
    {put}
    {_each("$same", gone)}
    (local.set $went (i32.const 1))))
  (br_if $groups (local.get $left)))
 (local.get $went))"""

    def _mask(self) -> str:
        return f"(i32.add (i32.const {self._masks}) (i32.shl (local.get $k) (i32.const 3)))"

    def _value(self, lane: str = "$k") -> str:
        return f"(i32.add (i32.const {self._values}) (i32.shl (local.get {lane}) (i32.const 3)))"

    def _parts(self, meeting: Instruction) -> tuple[str, str, str]:
        """(what a thread brings, its mask, what those named `$same` do), of an instruction of a warp.

        Raises Unfit.
        """
        here, modifiers = "(local.get $g)", meeting.modifiers
        if is_barrier(meeting.opcode):
            return "", self._frame(meeting.operands[0], here), ""
        whole = "(if (i32.ne (local.get $same) (i32.const -1)) (then unreachable))"
        if meeting.opcode == "ldmatrix":
            return self._address(meeting.operands[1]), "(i32.const -1)", whole + self._products.matrices(meeting)
        if is_product(meeting):
            return "", "(i32.const -1)", whole + self._products.text(meeting)
        target, *operands = meeting.operands
        targets = target.elements if isinstance(target, Vector) else (target,)
        if meeting.opcode == "activemask":
            return "", "", _each("$same", self._store(target, "(local.get $same)"))
        mask = self._frame(operands[-1], here)
        if meeting.opcode == "elect":
            leads = "(i32.eq (local.get $k) (i32.ctz (local.get $same)))"
            stores = [self._store(targets[0], "(i32.ctz (local.get $same))"), self._store(targets[1], leads)]
            return "", mask, _each("$same", *stores)
        value, wide = self._brought(operands[0], here)
        if meeting.opcode == "match" and modifiers[1:2] == ("sync",):
            return value, mask, self._matched(modifiers, targets, wide)
        is_plain = modifiers[:1] == ("sync",) and len(modifiers) == 3 and not wide
        if not is_plain:
            raise Unfit(meeting.text)
        if meeting.opcode == "shfl":
            return value, mask, self._shuffle(modifiers, operands, targets)
        if meeting.opcode == "vote":
            return value, mask, self._vote(modifiers, targets)
        return value, mask, self._reduce(modifiers, targets)

    def _shuffle(self, modifiers: Sequence[str], operands: Sequence[Operand], targets: Sequence[Operand]) -> str:
        *lines, result, holds = self._shuffled(modifiers, operands, targets)
        # What a lane has that takes no part is nobody's to say.
        takes_part = "(i32.and (i32.shr_u (local.get $same) (local.get $j)) (i32.const 1))"
        return _each("$same", *lines, f"(if (i32.eqz {takes_part}) (then unreachable))", result, holds)

    def _vote(self, modifiers: Sequence[str], targets: Sequence[Operand]) -> str:
        holds = f"(i32.ne (i32.load {self._value()}) (i32.const 0))"
        result = self._voted(modifiers).replace("(i32.const -1)", "(local.get $same)")
        if modifiers[1] == "uni":
            result = "(i32.or (i32.eqz (local.get $votes)) (i32.eq (local.get $votes) (local.get $same)))"
        votes = _each("$same", _added("$votes", f"(i32.shl {holds} (local.get $k))"))
        return f"(local.set $votes (i32.const 0)) {votes} {_each('$same', self._store(targets[0], result))}"

    def _matched(self, modifiers: Sequence[str], targets: Sequence[Operand], wide: bool) -> str:
        load = "i64" if wide else "i32"
        equal = f"({load}.eq ({load}.load {self._value()}) ({load}.load {self._value('$j')}))"
        same = _each("$same", _added("$votes", f"(i32.shl {equal} (local.get $j))"), lane="$j", rest="$next")
        alike = "(i32.eq (local.get $votes) (local.get $same))"
        result = "(local.get $votes)"
        if modifiers[0] == "all":
            result = f"(select (local.get $same) (i32.const 0) {alike})"
        stores = [self._store(targets[0], result), *(self._store(target, alike) for target in targets[1:])]
        return _each("$same", f"(local.set $votes (i32.const 0)) {same}", *stores)

    def _reduce(self, modifiers: Sequence[str], targets: Sequence[Operand]) -> str:
        if (modifiers[1], modifiers[2]) not in _REDUCED:
            raise Unfit(str(modifiers))
        first = f"(i32.load (i32.add (i32.const {self._values}) (i32.shl (i32.ctz (local.get $same)) (i32.const 3))))"
        others = "(i32.and (local.get $same) (i32.sub (local.get $same) (i32.const 1)))"
        both = _REDUCED[modifiers[1], modifiers[2]].format("(local.get $votes)", f"(i32.load {self._value()})")
        return f"""(local.set $votes {first}) (local.set $c {others})
    {_each("$c", f"(local.set $votes {both})")}
    {_each("$same", self._store(targets[0], "(local.get $votes)"))}"""

    def _address(self, operand: Operand) -> str:
        if not isinstance(operand, Address) or not isinstance(operand.base, Register):
            raise Unfit(str(operand))
        slot = self._kernel.slot(operand.base.index)
        load = "i64.load32_u" if local_type(operand.base) == "i32" else "i64.load"
        address = f"(i64.add ({load} offset={slot} (local.get $g)) (i64.const {operand.offset}))"
        return f"(i64.store {self._value()} {address})"

    def _brought(self, operand: Operand, frame: str) -> tuple[str, bool]:
        """Write down what a thread brings to a meeting; whether that has eight bytes."""
        if isinstance(operand, Register) and local_type(operand) in ("i64", "f64"):
            kept = f"(i64.load offset={self._kernel.slot(operand.index)} {frame})"
            return f"(i64.store {self._value()} {kept})", True
        if isinstance(operand, Immediate):
            return f"(i64.store {self._value()} (i64.const {operand.value}))", False
        return f"(i32.store {self._value()} {self._frame(operand, frame)})", False


def _added(bits: str, more: str) -> str:
    return f"(local.set {bits} (i32.or (local.get {bits}) {more}))"


def _each(lanes: str, *lines: str, lane: str = "$k", rest: str = "$rest") -> str:
    """Do something for each lane of a set; the frame of `$k` is `$g`."""
    place = f"(local.set $g (i32.add (local.get $f) (i32.mul (local.get $k) (i32.const {FRAME_BYTES}))))"
    return f"""(local.set {rest} (local.get {lanes}))
  (block {rest}_none (loop {rest}_next
   (br_if {rest}_none (i32.eqz (local.get {rest})))
   (local.set {lane} (i32.ctz (local.get {rest})))
   {place if lane == "$k" else ""}
   {" ".join(lines)}
   (local.set {rest} (i32.and (local.get {rest}) (i32.sub (local.get {rest}) (i32.const 1))))
   (br {rest}_next)))"""


def written(code: Code) -> WholeThreads | None:
    """Return a kernel's text, made at first use; None where no threads of a warp meet, or it has something unfit."""
    return written_by(_Writer, code, "parted warps")
