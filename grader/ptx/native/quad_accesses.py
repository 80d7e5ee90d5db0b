"""How four neighbouring threads that go together load and store: at one place, side by side, in steps, or anywhere.

Accesses of a basic block from one register on, of one width, are looked up together for all four threads: whether all
are in bounds, and whether what they load was written.  Where that cannot be said at once, each thread looks up its own,
as in `thread_bodies.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from grader.ptx.dataflow import destinations
from grader.ptx.frontend.nodes import Instruction, Register
from grader.ptx.native.layout import KEPT_BYTES, TYPES, Transfer, Way, converted, element_store, local_type, transfer_of
from grader.ptx.native.pieces import Piece
from grader.ptx.native.quad_bodies import LANES, Quad, loads_same
from grader.ptx.native.thread_bodies import FARTHEST, QUICK_BYTES, AccessGroup, flags_of
from grader.ptx.native.vector_arithmetic import high_words, low_words

_LAST = LANES - 1
_ONES = "(v128.const i64x2 0x0101010101010101 0x0101010101010101)"


@dataclass(kw_only=True)
class _Together(AccessGroup):
    """Loads, or stores, of one node from one register on: of one width and space, for all four threads.

    step: bytes from one thread's place to the next one's, None where that is not known.
    """

    width: int
    step: int | None

    @property
    def reach(self) -> int:
        """Bytes from the lowest place to the highest one."""
        offsets = [member.address.offset for member in self.members]
        return max(offsets) - min(offsets) + _LAST * abs(self.step or 0)

    @property
    def first(self) -> int:
        """The first thread's place from the lowest one on, in bytes."""
        return -_LAST * min(self.step or 0, 0)


class QuadBody(Quad):
    """Writes the instructions of four threads, loads and stores among them."""

    _of: dict[int, _Together]
    _is_update = False

    def _group(self, instructions: Sequence[Instruction]) -> None:
        self._of = {}
        groups: dict[tuple[object, ...], _Together] = {}
        versions: dict[int, int] = {}
        for instruction in instructions:
            if instruction.opcode in ("ld", "ldu", "st"):
                transfer = transfer_of(instruction, self.code.program.space_of)
                base, width, offset = transfer.address.base, transfer.spec.width, transfer.address.offset
                if self._is_quick(transfer) and isinstance(base, Register):
                    at = (base.index, versions.get(base.index, 0))
                    key = (transfer.space, transfer.spec.op, width, at, offset % width, offset // FARTHEST)
                    group = groups.setdefault(key, _Together(width=width, step=self.strides[base.index].step))
                    group.members.append(transfer)
                    self._of[id(instruction)] = group
            for register in destinations(instruction):
                versions[register.index] = versions.get(register.index, 0) + 1

    def _is_quick(self, transfer: Transfer) -> bool:
        base = transfer.address.base
        if transfer.space not in ("global", "shared") or not isinstance(base, Register):
            return False
        step = self.strides[base.index].step
        if step is None:
            return local_type(base) == "i64" or transfer.space == "shared"
        # Stores of all threads to one place are done one after the other.
        return step % transfer.spec.width == 0 and (step != 0 or transfer.is_load)

    def _transfer(self, instruction: Instruction) -> None:
        transfer = transfer_of(instruction, self.code.program.space_of)
        group = self._of.get(id(instruction))
        if group is not None:
            self._access(transfer, group)
            return
        if transfer.is_load and self._is_same_of_all(transfer):
            super()._transfer(instruction)
            return
        for lane in self.each_lane():
            start = len(self._lines)
            super()._transfer(instruction)
            self.move_to_lane(start, lane)

    def _is_same_of_all(self, transfer: Transfer) -> bool:
        return loads_same(transfer.space, transfer.address.base, self.strides, self.code)

    def _place(self, transfer: Transfer) -> None:
        # None of these is in a group.
        Piece._place(self, transfer)

    def _find(self, way: Way, kept: int) -> list[str]:
        return super()._find(way, kept) if self._is_update else Piece._find(self, way, kept)

    def _update(self, instruction: Instruction) -> None:
        self._is_update = True
        super()._update(instruction)
        self._is_update = False

    # -- together ----------------------------------------------------------------------

    def _access(self, transfer: Transfer, group: _Together) -> None:
        width = transfer.spec.width
        is_first = not group.number
        if is_first:
            self._begin(group)
        number, apart = group.number, transfer.address.offset - group.lowest + group.first
        lines = self._lines
        self._lines = []
        self._quickly(transfer, group, apart)
        quick, self._lines = self._lines, []
        # The same registers, set on the long way.
        kept = self.static.take(KEPT_BYTES)
        copied = transfer.is_load and self.code.uses.is_copy(transfer.instruction) and transfer.spec.dtype.kind == "u"
        way = Way(transfer.space, transfer.spec.op, width, copied)
        self.out.ways.add(way)
        if transfer.is_load and group.step == 0:
            self._one_by_one(transfer, way, kept)
        else:
            for _lane in self.each_lane():
                self._one_by_one(transfer, way, kept)
        slowly, self._lines = self._lines, lines
        lines += ["(block $reached (block $apart", f"(br_if $apart (i32.eqz (local.get $place{number})))"]
        lines += [*quick, "(br $reached))", *slowly]
        if is_first:
            log = width.bit_length() - 1
            further = group.reach // width
            lines.append(
                f"(call $remember (i32.const {kept}) (i32.const {group.quick}) (i32.const {log}) (i64.const {further}))"
            )
        lines.append(")")

    def _one_by_one(self, transfer: Transfer, way: Way, kept: int) -> None:
        """Look up one thread's access by itself."""
        base = transfer.address.base
        assert base is not None
        expression, have = self._raw(base, 64)
        address = f"(i64.add {converted(expression, have, 'i64')} (i64.const {transfer.address.offset}))"
        self._lines.append(f"(local.set $a {address})")
        self._lines += self._find(way, kept)
        self._move_elements(transfer)

    def _move_elements(self, transfer: Transfer) -> None:
        """Load or store the elements of one thread at `$p`."""
        spec = transfer.spec
        if transfer.is_load:
            self._load_elements(transfer)
            return
        for number, element in enumerate(transfer.elements):
            value = self._read(element, spec.type_name)
            self._lines.append(element_store(spec.type_name, value, number * spec.element_bytes))

    def _begin(self, group: _Together) -> None:
        """Find out whether all accesses of all four threads are in bounds and go to what is written.

        `$place` is 0 if not, else the lowest place; where threads' places lie anyhow the first one's, `$places` all of
        them, and `$side` says whether they lie side by side.
        """
        self.groups += 1
        group.number = number = self.groups
        group.quick = quick = self.static.take(QUICK_BYTES, 8)
        base = group.members[0].address.base
        assert isinstance(base, Register)
        log = group.width.bit_length() - 1
        lines, flags = self._lines, f"(local.get $flags{number})"
        lines.append(f"(local.set $place{number} (i32.const 0))")
        if group.step is None:
            lines += ["(block $apart", *self._places(group, base)]
            place = f"(i32x4.extract_lane 0 (local.get $places{number}))"
        else:
            expression, have = self._raw(base, 64)
            offset = group.lowest - group.first
            address = f"(i64.add {converted(expression, have, 'i64')} (i64.const {offset}))"
            rotated = f"(i64.rotr (i64.sub (local.get $a) (i64.load (i32.const {quick}))) (i64.const {log}))"
            lines += [
                f"(local.set $a {address})",
                f"(block $apart (br_if $apart (i64.ge_u {rotated} (i64.load offset=8 (i32.const {quick}))))",
                f"(local.set $p (i32.add (i32.wrap_i64 (local.get $a)) (i32.load offset=16 (i32.const {quick}))))",
            ]
            place = "(local.get $p)"
        lines.append(f"(if (local.tee $flags{number} (i32.load offset=20 (i32.const {quick}))) (then")
        if group.step is not None:
            lines.append(f"(local.set $flags{number} (i32.add (local.get $p) {flags}))")
        if group.members[0].is_load:
            lines += self._check_flags(group)
        lines.append(f")) (local.set $place{number} {place}))")

    def _places(self, group: _Together, base: Register) -> list[str]:
        """Set the four places of threads whose addresses are anyhow; to `$apart` where one is out of bounds."""
        number, quick, width = group.number, group.quick, group.width
        start = f"(i64.sub (i64.load (i32.const {quick})) (i64.const {group.lowest}))"
        lines = []
        if local_type(base) == "i64":
            pair = self.of_pairs(base)
            assert pair is not None
            for name, half in zip(("$v0", "$v1"), pair, strict=True):
                lines.append(f"(local.set {name} (i64x2.sub {half} (i64x2.splat {start})))")
            halves = ("(local.get $v0)", "(local.get $v1)")
            lines.append(f"(br_if $apart (v128.any_true {high_words(halves)}))")
            low = low_words(halves)
        else:
            # Addresses of shared memory are far below the end of 32 bits.
            low = f"(i32x4.sub {self.of_all(base)} (i32x4.splat (i32.wrap_i64 {start})))"
        lines.append(f"(local.set $places{number} {low})")
        places = f"(local.get $places{number})"
        size = f"(i32.shl (i32.load offset=8 (i32.const {quick})) (i32.const {width.bit_length() - 1}))"
        inside = f"(i32x4.lt_u {places} (i32x4.splat {size}))"
        if width > 1:
            aligned = f"(i32x4.eq (v128.and {places} (i32x4.splat (i32.const {width - 1}))) (v128.const i32x4 0 0 0 0))"
            inside = f"(v128.and {inside} {aligned})"
        steps = " ".join(str(width * lane) for lane in range(LANES))
        beside = f"(i32x4.add (i32x4.splat (i32x4.extract_lane 0 {places})) (v128.const i32x4 {steps}))"
        data = f"(i32.add (i32.load offset=16 (i32.const {quick})) (i32.load (i32.const {quick})))"
        lines += [
            f"(br_if $apart (i32.eqz (i32x4.all_true {inside})))",
            f"(local.set $side{number} (i32x4.all_true (i32x4.eq {places} {beside})))",
            f"(local.set $places{number} (i32x4.add {places} (i32x4.splat {data})))",
        ]
        return lines

    def _check_flags(self, group: _Together) -> list[str]:
        """To `$apart` where something that is loaded was not written."""
        number, lowest, width = group.number, group.lowest, group.width
        flags = f"(local.get $flags{number})"
        offsets = [member.address.offset - lowest for member in group.members]
        if group.step is not None:
            every = [o + group.first + group.step * lane for o in offsets for lane in range(LANES)]
            return list(_unless_written(every, width, flags))
        lines = []
        for lane in range(LANES):
            at = f"(i32.add (i32x4.extract_lane {lane} (local.get $places{number})) {flags})"
            lines += [f"(local.set $p {at})", *_unless_written(offsets, width, "(local.get $p)")]
        return lines

    def _quickly(self, transfer: Transfer, group: _Together, apart: int) -> None:
        """Load or store at places that are known to be good."""
        number, width, step = group.number, group.width, group.step
        place, flags = f"(local.get $place{number})", f"(local.get $flags{number})"
        if step == 0:
            self._lines.append(f"(local.set $p (i32.add {place} (i32.const {apart})))")
            self._move_elements(transfer)
            return
        if step is not None:
            at = f"offset={apart} {place}"
            if step == width and self._side_by_side(transfer, at, f"offset={apart} {flags}", flags):
                return
            self._in_turn(
                transfer, lambda lane: (place, apart + step * lane), lambda lane: (flags, apart + step * lane)
            )
            return

        def of(lane: int) -> tuple[str, int]:
            return f"(i32x4.extract_lane {lane} (local.get $places{number}))", apart

        def flags_at(lane: int) -> tuple[str, int]:
            return f"(i32.add {of(lane)[0]} {flags})", apart

        before, self._lines = self._lines, []
        has_sides = self._side_by_side(
            transfer, f"offset={apart} {place}", f"offset={apart} (i32.add {place} {flags})", flags
        )
        beside, self._lines = self._lines, []
        self._in_turn(transfer, of, flags_at)
        in_turn, self._lines = self._lines, before
        if has_sides:
            self._lines += [f"(if (local.get $side{number}) (then", *beside, ") (else", *in_turn, "))"]
        else:
            self._lines += in_turn

    def _side_by_side(self, transfer: Transfer, at: str, flags_at: str, flags: str) -> bool:
        """Load or store four numbers of four bytes, or of eight, that lie one after the other."""
        spec, (element, *others) = transfer.spec, transfer.elements
        if others or spec.width not in (4, 8) or TYPES[spec.type_name][1] != 8 * spec.width:
            return False
        if transfer.is_load:
            names = self.parts(element.index) if isinstance(element, Register) else []
            if not isinstance(element, Register) or len(names) * 4 != spec.width:
                return False
            self.set.add(element.index)
            for half, name in enumerate(names):
                self.note(f"(local.set {name} (v128.load {_moved(at, 16 * half)}))")
            return True
        if spec.width == 4:
            value = self.of_all(element)
            values = None if value is None else [value]
        else:
            pair = self.of_pairs(element)
            values = None if pair is None else [*pair]
        if values is None:
            return False
        for half, value in enumerate(values):
            self.note(f"(v128.store {_moved(at, 16 * half)} {value})")
            self.note(f"(if {flags} (then (v128.store {_moved(flags_at, 16 * half)} {_ONES})))")
        return True

    def _in_turn(
        self, transfer: Transfer, of: Callable[[int], tuple[str, int]], flags_of_lane: Callable[[int], tuple[str, int]]
    ) -> None:
        for lane in self.each_lane():
            place, offset = of(lane)
            self._lines.append(f"(local.set $p (i32.add {place} (i32.const {offset})))")
            self._move_elements(transfer)
            if not transfer.is_load:
                at, offset = flags_of_lane(lane)
                marks = [
                    f"({k}.store{n} offset={offset + o} {at} {ones})" for k, n, o, ones in flags_of(transfer.spec.width)
                ]
                number = self._of[id(transfer.instruction)].number
                self._lines.append(f"(if (local.get $flags{number}) (then {' '.join(marks)}))")


def _moved(at: str, by: int) -> str:
    """A place further on: `offset=… address`."""
    offset, address = at.removeprefix("offset=").split(" ", 1)
    return f"offset={int(offset) + by} {address}"


def _unless_written(offsets: Iterable[int], width: int, flags: str) -> Iterable[str]:
    """To `$apart` where a flag of what lies at some offsets is not 1; flags are 0 or 1."""
    every = sorted({offset + byte for offset in offsets for byte in range(width)})
    runs: list[list[int]] = []
    for place in every:
        if runs and runs[-1][1] == place:
            runs[-1][1] += 1
        else:
            runs.append([place, place + 1])
    vectors: list[str] = []
    for start, end in runs:
        while end - start >= 16:
            vectors.append(f"(v128.load offset={start} {flags})")
            start += 16
        for kind, size, narrow in (("i64", 8, ""), ("i32", 4, ""), ("i32", 2, "16_u"), ("i32", 1, "8_u")):
            while end - start >= size:
                ones = int.from_bytes(b"\1" * size, "little")
                load = f"({kind}.load{narrow} offset={start} {flags})"
                yield f"(br_if $apart ({kind}.ne {load} ({kind}.const {ones})))"
                start += size
    if vectors:
        together = vectors[0]
        for vector in vectors[1:]:
            together = f"(v128.and {together} {vector})"
        yield f"(br_if $apart (i32.eqz (i8x16.all_true {together})))"
