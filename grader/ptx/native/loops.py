"""Loops that return to the same state, found in generated code as `grader.ptx.machine.non_termination` finds them."""

from __future__ import annotations

from grader.ptx.machine.code import LoopInfo
from grader.ptx.native.kernel import LANE, Kernel
from grader.ptx.native.layout import CONTEXT

_STATE_BYTES = 32
"""Arrivals, arrivals at which to renew, set of lanes (i32), version of memory (i64), where the values lie (i32)."""


def header(kernel: Kernel, block: int, loop: LoopInfo) -> str:
    """What is done on coming to a loop's header: Brent's search for a cycle, unreachable where there is one."""
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
    token = f"(i32.load (i32.const {CONTEXT['TOKEN']}))"
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
