"""A kernel as WebAssembly that carries four neighbouring threads at a time from one barrier to the next.

They go together as long as a condition is the same for all four; where it is not, each goes on by itself to the next
barrier, by a function that can begin at every node.  After it they go together again if what must be in equal steps is.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.ptx.dataflow import destinations
from grader.ptx.machine.code import Code
from grader.ptx.native.layout import LANE_BYTES, Unfit, local_type
from grader.ptx.native.pieces import FRAME_BYTES
from grader.ptx.native.quad_accesses import QuadBody
from grader.ptx.native.quad_bodies import LANES, TEMPORARIES, may_wrap, strides_of
from grader.ptx.native.thread_bodies import Body
from grader.ptx.native.threads import Meetings, Node, Region, nodes_of
from grader.ptx.native.whole_threads import LOCALS, WholeThreads, Writer, unset, written_by

_APART, _RETURNED = 1, 2
"""States of four threads: each by itself; all of them at their end (0: together)."""
_STATE = -2
"""The number of a slot in a frame, as of a register; -1 is whether a thread has returned."""
_FIRST_OF_QUADS = -1000


class _Writer(Writer):
    """Turns one kernel into text.  Raises Unfit where it cannot."""

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._strides = strides_of(code)
        self._every: list[int] = []
        self._exchanged: dict[int, set[int]] = {}
        self._is_alone = False

    def _cut(self) -> list[Node]:
        return nodes_of(self.code, lambda instruction: may_wrap(instruction, self._strides) is not None)

    def _functions(self, starts: Sequence[int]) -> list[str]:
        self._every = sorted(set().union(*(self._needed(number) for number in range(len(self._nodes)))))
        for node in self._meetings.values():
            assert node.meeting is not None
            results = {register.index for register in destinations(node.meeting)}
            if self._exchanged.setdefault(node.successors[0], results) != results:
                raise Unfit("one node after several exchanges")
        self._threads = LANES
        together = [self._function(region) for region in self._regions(starts)]
        packed = [self._pack(start) for start in starts if start]
        self._threads, self._is_alone = 1, True
        around = _QuadMeetings(self.kernel, self.places, self._meetings).texts(starts)
        return [*together, *packed, self._alone(), self._unpack(), _four(self.kernel.slot), *around]

    # -- frames ------------------------------------------------------------------------

    def _place(self, index: int) -> int:
        """Where the first thread's frame has what all four threads have in a register."""
        size = 2 * len(self._body_of_four.parts(index)) or 1
        places = [self.kernel.slot(_FIRST_OF_QUADS - LANES * index - part) for part in range(size)]
        return places[0]

    @property
    def _body_of_four(self) -> QuadBody:
        return QuadBody(self.kernel, self._loose, self._strides)

    def _put(self, index: int) -> list[str]:
        """Keep what all four threads have in a register."""
        body, at = self._body_of_four, self._place(index)
        names = body.parts(index)
        if not names:
            kind = local_type(self.registers[index])
            return [f"({kind}.store offset={at} (local.get $f) (local.get $r{index}))"]
        return [f"(v128.store offset={at + 16 * n} (local.get $f) (local.get {name}))" for n, name in enumerate(names)]

    def _get(self, index: int) -> list[str]:
        body, at = self._body_of_four, self._place(index)
        names = body.parts(index)
        if not names:
            return [f"(local.set $r{index} ({local_type(self.registers[index])}.load offset={at} (local.get $f)))"]
        return [f"(local.set {name} (v128.load offset={at + 16 * n} (local.get $f)))" for n, name in enumerate(names)]

    def _bits(self, index: int) -> tuple[str, int]:
        """(WebAssembly type, bytes) of one thread's number in a frame."""
        return ("i64", 8) if local_type(self.registers[index]) in ("i64", "f64") else ("i32", 4)

    def _unpack(self) -> str:
        """Give each of four threads its registers."""
        lines = []
        for index in self._every:
            kind, size = self._bits(index)
            step, at, slot = self._body_of_four.step(index), self._place(index), self.kernel.slot(index)
            for lane in range(LANES):
                value = f"({kind}.load offset={at + (size * lane if step is None else 0)} (local.get $f))"
                if step is None and self.registers[index].type == "pred":
                    value = f"(i32.and {value} (i32.const 1))"
                if step:
                    value = f"({kind}.add {value} ({kind}.const {step * lane}))"
                lines.append(f"({kind}.store offset={slot} {_frame(lane)} {value})")
        return f"(func $unpack (param $f i32) {' '.join(lines)})"

    def _pack(self, start: int) -> str:
        """Take registers from four threads; 0 where some are not in steps as they must be."""
        lines = []
        for index in sorted(self._needed(start) - self._exchanged[start]):
            kind, size = self._bits(index)
            step, at, slot = self._body_of_four.step(index), self._place(index), self.kernel.slot(index)
            value = [f"({kind}.load offset={slot} {_frame(lane)})" for lane in range(LANES)]
            if step is None:
                if self.registers[index].type == "pred":
                    value = [f"(i32.sub (i32.const 0) {v})" for v in value]
                lines += [f"({kind}.store offset={at + size * n} (local.get $f) {v})" for n, v in enumerate(value)]
                continue
            temporary = f"$t{kind[1:]}"
            lines.append(f"(local.set {temporary} {value[0]})")
            for lane in range(1, LANES):
                wanted = f"({kind}.add (local.get {temporary}) ({kind}.const {step * lane}))"
                lines.append(f"(if ({kind}.ne {value[lane]} {wanted}) (then (return (i32.const 0))))")
            lines.append(f"({kind}.store offset={at} (local.get $f) (local.get {temporary}))")
        text = "\n".join(lines)
        return (
            f"(func $pack_{start} (param $f i32) (result i32) (local $t32 i32) (local $t64 i64) {text} (i32.const 1))"
        )

    # -- together ----------------------------------------------------------------------

    def _function(self, region: Region) -> str:
        """Run four threads from a place on, as `Writer._function` does one."""
        body = self._body_of_four
        self._body, self._region = body, region
        inside = "\n".join(self._tree(region.start))
        begin = []
        live = self._needed(region.start)
        exchanged = self._exchanged.get(region.start, set())
        for index in sorted(live):
            if not region.start:
                begin.append(body.to_all(index, unset(local_type(self.registers[index]))))
            elif index in exchanged:
                begin += self._received(index)
            else:
                begin += self._get(index)
        groups = " ".join(
            f"(local $place{n} i32) (local $flags{n} i32) (local $side{n} i32) (local $places{n} v128)"
            for n in range(1, body.groups + 1)
        )
        locals_ = " ".join(map(body.local, sorted(body.read | body.set | live)))
        return f"""(func $together_{region.start} (param $f i32) (param $l i32) (param $lane i32) (result i32)
 {LOCALS} (local $d0 v128) (local $d1 v128) (local $m i32) {TEMPORARIES}
 {locals_}
 {groups}
 {" ".join(begin)}
 {inside}
 unreachable)"""

    def _received(self, index: int) -> list[str]:
        """Load what an instruction of the warp has left in the frames of four threads."""
        body = self._body
        assert isinstance(body, QuadBody)
        kind, slot = local_type(self.registers[index]), self.kernel.slot(index)
        if body.step(index) is not None or kind not in ("i32", "f32"):
            return [body.to_all(index, f"({kind}.load offset={slot} (local.get $f))")]
        name = body.parts(index)[0]
        lines = []
        for lane in range(LANES):
            value = f"({kind}.load offset={slot} {_frame(lane)})"
            if self.registers[index].type == "pred":
                value = f"(i32.sub (i32.const 0) {value})"
            lines.append(f"(local.set {name} ({kind}x4.replace_lane {lane} (local.get {name}) {value}))")
        body.set.add(index)
        return lines

    def _parted(self, live: set[int], mask: str, taken: int, other: int) -> list[str]:
        """Have each thread go on by itself."""
        kept = [line for index in sorted(live) for line in self._put(index)]
        four = f"(call $four (local.get $f) (local.get $l) (local.get $lane) {mask}"
        return [*kept, "(call $unpack (local.get $f))", f"(return {four} (i32.const {taken}) (i32.const {other})))"]

    def _before(self, number: int) -> list[str]:
        node = self._nodes[number]
        widened = may_wrap(node.instructions[0], self._strides) if node.instructions else None
        if self._is_alone or widened is None:
            return []
        register, signed, step = widened
        reach = (LANES - 1) * abs(step)
        least, most = (-(1 << 31), (1 << 31) - 1) if signed else (0, (1 << 32) - 1)
        compare, bound = ("gt", most - reach) if step > 0 else ("lt", least + reach)
        first = self._body._read_index(register.index)
        beyond = f"(i32.{compare}_{'s' if signed else 'u'} {first} (i32.const {bound}))"
        return [f"(if {beyond} (then", *self._parted(self._needed(number), "(i32.const 0)", number, number), "))"]

    def _kept(self, needed: set[int], exchanged: set[int]) -> list[str]:
        if self._is_alone:
            return super()._kept(needed, exchanged)
        body = self._body
        assert isinstance(body, QuadBody)
        lines = [line for index in sorted(needed) for line in self._put(index)]
        for index in sorted(exchanged):
            kind, slot = local_type(self.registers[index]), self.kernel.slot(index)
            lines += [f"({kind}.store offset={slot} {_frame(k)} {body.of_lane(index, k)})" for k in range(LANES)]
        return lines

    def _fork(self, here: int, condition: int, taken: int, other: int) -> list[str]:
        body = self._body
        if self._is_alone or not isinstance(body, QuadBody) or not body.parts(condition):
            return super()._fork(here, condition, taken, other)
        body.read.add(condition)
        live = self._needed(taken) | self._needed(other)
        every = (1 << LANES) - 1
        some = f"(i32.and (i32.ne (local.get $m) (i32.const 0)) (i32.ne (local.get $m) (i32.const {every})))"
        return [
            f"(local.set $m (i32x4.bitmask (local.get {body.parts(condition)[0]})))",
            f"(if {some} (then",
            *self._parted(live, "(local.get $m)", taken, other),
            "))",
            "(if (local.get $m) (then",
            *self._branch(here, taken),
            ") (else",
            *self._branch(here, other),
            "))",
        ]

    # -- one by one --------------------------------------------------------------------

    def _branch(self, here: int, target: int) -> list[str]:
        if not self._is_alone:
            return super()._branch(here, target)
        text = [f"(local.set $at (i32.const {target}))"]
        if target <= here:
            count = "(local.tee $rounds (i32.add (local.get $rounds) (i32.const 1)))"
            text.append(f"(if (i32.gt_u {count} (i32.const {self._rounds})) (then unreachable))")
        return [*text, "(br $nodes)"]

    def _reached(self) -> set[int]:
        """Return the nodes that threads can come to."""
        reached, left = set(), [0]
        while left:
            number = left.pop()
            if number not in reached:
                reached.add(number)
                left += () if self._is_given_up(self._nodes[number]) else self._nodes[number].successors
        return reached

    def _alone(self) -> str:
        """Run one thread from any node on to where it meets others."""
        self._body = body = Body(self.kernel, self._loose, self._vectors)
        count = len(self._nodes)
        inner = [f"(br_table {' '.join(f'$N{n}' for n in range(count))} (local.get $at))"]
        reached = self._reached()
        for number in range(count):
            inner += [")", *(self._one(number) if number in reached else ["unreachable"])]
        begin = [body.back(index) for index in self._every]
        groups = " ".join(f"(local $place{n} i32) (local $flags{n} i32)" for n in range(1, body.groups + 1))
        locals_ = " ".join(map(body.local, sorted(body.read | body.set | set(self._every))))
        opened = " ".join(f"(block $N{n}" for n in reversed(range(count)))
        return f"""(func $alone (param $f i32) (param $l i32) (param $lane i32) (param $at i32) (result i32)
 {LOCALS}
 {locals_}
 {groups}
 {" ".join(begin)}
 (loop $nodes {opened}
 {chr(10).join(inner)}
 ) unreachable)"""


def _frame(lane: int) -> str:
    """The frame of one of four threads."""
    if not lane:
        return "(local.get $f)"
    return f"(i32.add (local.get $f) (i32.mul (i32.const {lane}) (i32.const {FRAME_BYTES})))"


def _four(slot_of: object) -> str:
    """Run four threads one by one, of which those in `$m` begin at `$taken` and the rest at `$other`."""
    assert callable(slot_of)
    state, done = slot_of(_STATE), slot_of(-1)
    return f"""(func $four (param $f i32) (param $l i32) (param $lane i32) (param $m i32) (param $taken i32)
 (param $other i32) (result i32)
 (local $to i32) (local $all i32) (local $k i32)
 (i32.store offset={state} (local.get $f) (i32.const {_APART}))
 (loop $threads
  (block $passed
   (br_if $passed (i32.load offset={done} (local.get $f)))
   (local.set $to (call $alone (local.get $f) (local.get $l) (local.get $lane)
    (select (local.get $taken) (local.get $other) (i32.and (local.get $m) (i32.const 1)))))
   (if (i32.eqz (local.get $to)) (then (i32.store offset={done} (local.get $f) (i32.const 1)) (br $passed)))
   (if (i32.eqz (local.get $all)) (then (local.set $all (local.get $to))))
   (if (i32.ne (local.get $all) (local.get $to)) (then unreachable)))
  (local.set $m (i32.shr_u (local.get $m) (i32.const 1)))
  (local.set $f (i32.add (local.get $f) (i32.const {FRAME_BYTES})))
  (local.set $l (i32.add (local.get $l) (i32.const {LANE_BYTES})))
  (local.set $lane (i32.add (local.get $lane) (i32.const 1)))
  (br_if $threads (i32.lt_u (local.tee $k (i32.add (local.get $k) (i32.const 1))) (i32.const {LANES}))))
 (local.get $all))"""


class _QuadMeetings(Meetings):
    """Writes what goes on around the functions of four threads."""

    def _lanes_from(self, start: int) -> str:
        state, done = self._kernel.slot(_STATE), self._kernel.slot(-1)
        here = "(local.get $f) (local.get $l) (local.get $lane)"

        def returned(value: int) -> str:
            return " ".join(f"(i32.store offset={done} {_frame(k)} (i32.const {value}))" for k in range(LANES))

        if start:
            loads = [f"(i32.load offset={done} {_frame(k)})" for k in range(LANES)]
            any_done = f"(i32.or (i32.or {loads[0]} {loads[1]}) (i32.or {loads[2]} {loads[3]}))"
            begin = f"""(br_if $passed (i32.eq (i32.load offset={state} (local.get $f)) (i32.const {_RETURNED})))
   (if (i32.load offset={state} (local.get $f)) (then
    (if (if (result i32) {any_done} (then (i32.const 1)) (else (i32.eqz (call $pack_{start} (local.get $f))))) (then
     (local.set $to (call $four {here} (i32.const 0) (i32.const {start}) (i32.const {start}))) (br $gone)))
    (i32.store offset={state} (local.get $f) (i32.const 0))))"""
        else:
            begin = f"(i32.store offset={state} (local.get $f) (i32.const 0)) {returned(0)}"
        return f"""(func $lanes_from_{start} (param $f i32) (param $l i32) (param $lane i32) (param $n i32) (result i32)
 (local $to i32) (local $all i32)
 (loop $threads
  (block $passed
   (block $gone
   {begin}
   (local.set $to (call $together_{start} {here}))
   (if (i32.eqz (i32.or (local.get $to) (i32.load offset={state} (local.get $f))))
    (then (i32.store offset={state} (local.get $f) (i32.const {_RETURNED})) {returned(1)})))
   (br_if $passed (i32.eqz (local.get $to)))
   (if (i32.eqz (local.get $all)) (then (local.set $all (local.get $to))))
   (if (i32.ne (local.get $all) (local.get $to)) (then unreachable)))
  (local.set $f (i32.add (local.get $f) (i32.mul (i32.const {LANES}) (i32.const {FRAME_BYTES}))))
  (local.set $l (i32.add (local.get $l) (i32.const {LANES * LANE_BYTES})))
  (local.set $lane (i32.add (local.get $lane) (i32.const {LANES})))
  (br_if $threads (i32.lt_u (local.get $lane) (local.get $n))))
 (local.get $all))"""


def written(code: Code) -> WholeThreads | None:
    """Return a kernel's text, made at first use; None where it has something unfit."""
    return written_by(_Writer, code, "quads", LANES)
