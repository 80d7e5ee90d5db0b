"""One run of one program: its module instantiated, its calls served by the runtime, how it came to its end."""

from __future__ import annotations

import functools
import gc
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from grader.message import msg
from grader.processes.channel import Channel
from grader.programs.card import Card, OpenCard
from grader.programs.device import Device, TooSlow
from grader.programs.emulated import EmulatedDevice
from grader.programs.moved import ProgramText, SourceLines
from grader.programs.records import LIMITS, NO_LIMIT, Observation
from grader.programs.runtime import table
from grader.programs.runtime.devices import model_of
from grader.programs.runtime.launch_plans import again
from grader.programs.runtime.memory import tell_left
from grader.programs.runtime.ordering import NOWHERE, Place
from grader.programs.runtime.silent import tell_short, tell_unread
from grader.programs.runtime.state import ProgramEnded, State
from grader.programs.runtime.streams import clock_read
from grader.programs.runtime.table import Calls
from grader.programs.sandbox import wasi
from grader.programs.sandbox.early import EarlyUse, TooEarly
from grader.programs.sandbox.ends import (
    OWN_ENDS,
    Crossed,
    Crossings,
    Stopped,
    cause_of_trap,
    look_for_crossing,
    look_for_passed,
)
from grader.programs.sandbox.guest import BadPointer, Guest, Heap, Meter, Stop, exception_header, read_exception
from grader.programs.sandbox.module import Fuel, bound, called, has_other_names, lean
from grader.programs.sandbox.process import Again, Code, Order, Printed, Wanted
from grader.programs.sandbox.wasi import MAX_OUTPUT_BYTES, Surroundings, Wasi

KEPT_OUTPUT = 1 << 20
MAX_MARKS = 2000
FLUSH_INSTRUCTIONS = 10_000_000
"""What the host may execute more, for what its library still holds of the output when it is ended."""
CALL_INSTRUCTIONS = 40_000
"""What a call of ours counts as, so that a program that does nothing else ends as soon as one that computes."""
MOST_OWED = 100 * CALL_INSTRUCTIONS
"""Of launches that are made again and again, counted together: to count one takes a tenth of its time."""


@functools.cache
def engine(memory_bytes: int) -> Any:
    """Return the engine that runs programs; memory_bytes: their memory grows as far, and stays in its place.

    That place is known to a GPU's driver, and to what closes pages of it (`early.py`).
    """
    import wasmtime

    config = wasmtime.Config()
    config.wasm_memory64 = True
    config.wasm_exceptions = True
    config.consume_fuel = True
    config.cranelift_opt_level = "none"  # clang has optimised it: loops take as long, recursion goes deeper
    # Its file in memory counts as one to the limit on files.
    config.memory_init_cow = False
    config.max_wasm_stack = 2 << 20
    config.memory_may_move = False
    config.memory_reservation = memory_bytes
    return wasmtime.Engine(config)


@functools.lru_cache(maxsize=2)
def _machine_code(module: bytes, memory_bytes: int) -> Any:
    """A module compiled, for this run and those that follow it.

    Raises wasmtime.WasmtimeError: it is none.
    """
    import wasmtime

    return wasmtime.Module(engine(memory_bytes), module)


_NEEDED_WHOLE: set[bytes] = set()
"""Modules of which a run of this process has come to a function that was left out: those after it have all."""


class NotWhole(Exception):
    """The program has come to a function that was left out of its module."""


class ProgramRun:
    """One run of one program, its kernels on a GPU where one is open."""

    def __init__(self, order: Order, channel: Channel[Order | Again | Code], card: OpenCard | None = None) -> None:
        self._card = card
        self._order = order
        self._limits = order.limits
        self._channel = channel
        # Of the tries so far, in case there is another: it prints the same.
        self._said = {1: 0, 2: 0}
        self._repeated = {1: 0, 2: 0}
        self._early: EarlyUse | None = None
        self._used: Card | None = None
        self._crossed = Crossings()
        self._begin()

    def _begin(self) -> None:
        """Make all state anew, as if nothing had been run."""
        order = self._order
        self._printed: dict[int, bytearray] = {1: bytearray(), 2: bytearray()}
        self._repeated = {to: max(said, self._repeated[to]) for to, said in self._said.items()}
        self._said = {1: 0, 2: 0}
        self._marks: list[tuple[int, int, int]] = []
        self._guest: Any = None
        self._fuel: Any = None
        self._charged = self._owed = 0
        self._bound: list[Any] = []
        self._heap = Heap(None)
        self.state = State(
            self._card.model if self._card is not None else model_of(order.model),
            ProgramText(
                SourceLines(order.sources),
                order.units,
                order.parameters,
                frozenset((file, line) for file, line in order.unused),
                order.speaks,
            ),
            self._ask_for_code,
            lambda raw: self._emit(1, raw),
            self._limits,
            self._device,
        )
        self.state.calls = Calls(order.calls)
        self.state.is_linked = order.is_linked
        self._wasi = Wasi(
            lambda: self._guest,
            Surroundings(list(order.arguments), order.stdin, dict(order.files)),
            self._emit,
            self._now_ns,
            self._timed_ns,
            self.state.meter,
        )

    def _device(self, meter: Meter) -> Device:
        if self._card is None:
            return EmulatedDevice(meter, self._limits.executes)

        self._used = Card(
            self._card, meter, lambda address, size: self._guest.lent(address, size), self._limits.launch_seconds
        )
        return self._used

    def close(self) -> bool:
        """Give back what the run had of a GPU; whether another can be made in this process."""
        return self._used is None or self._used.close()

    def _emit(self, descriptor: int, data: bytes) -> None:
        kept = self._printed[descriptor]
        if len(self._marks) < MAX_MARKS:
            self._marks.append((descriptor, len(kept), self.state.launch_count))
        kept += data[: max(0, KEPT_OUTPUT - len(kept))]
        fresh = data[max(0, self._repeated[descriptor] - self._said[descriptor]) :]
        self._said[descriptor] += len(data)
        if fresh:
            self._channel.send(Printed(descriptor, bytes(fresh)))

    def _now_ns(self) -> int:
        return self.state.now_ns

    def _timed_ns(self) -> int:

        return clock_read(self.state)

    def _ask_for_code(self, wanted: Wanted) -> Code:

        self._channel.send(wanted)
        answer = self._channel.receive()
        assert isinstance(answer, Code)
        return answer

    def run(self) -> Observation:
        """Run to the end, whatever that is."""
        module, left_out = self._order.module, frozenset[int]()
        # Kernels without a limit may take far longer than all machine code of the library, and would be run once more.
        is_short = not self._limits.executes or self._limits.kernel_instructions < NO_LIMIT
        if is_short and module not in _NEEDED_WHOLE:
            part = lean(module, called(with_names=has_other_names(module)))
            module, left_out = part.module, part.left_out
        too_early: TooEarly | None = None
        while True:
            try:
                return self._run(module, left_out, is_watched=too_early is None)
            except NotWhole:
                module, left_out = self._order.module, frozenset()
                _NEEDED_WHOLE.add(module)
            except TooEarly as early:
                too_early = TooEarly(early.message, early.place)
            except Crossed as crossed:
                self._crossed.note(crossed.crossing)
            except Stopped as stopped:
                self._crossed.note_stop(stopped.place)
            # What the run held goes before the next one begins.
            self._early = None
            gc.collect()
            self._begin()
            # Once is enough to tell; what the program does then, it does as if nothing had been seen.
            if too_early is not None:
                self.state.tell("not_waited", "error", too_early.message, too_early.place)
            self._crossed.tell(self.state)

    def _run(self, code_of_host: bytes, left_out: frozenset[int], is_watched: bool) -> Observation:
        """The run of one module.  Raises NotWhole: it came to one of the functions `left_out`."""
        import wasmtime

        store = wasmtime.Store(engine(self._limits.host_bytes))
        store.set_limits(memory_size=self._limits.host_bytes, memories=1, instances=1, tables=4, table_elements=1 << 20)
        self._fuel, self._charged = Fuel(store, self._limits.host_instructions), 0
        state = self.state
        exports: Any = None
        cause = code = None
        try:
            module = _machine_code(code_of_host, self._limits.host_bytes)
            linker = wasmtime.Linker(engine(self._limits.host_bytes))
            for item in module.imports:
                linker.define(store, item.module, item.name or "", self._function(store, item))
            exports = linker.instantiate(store, module).exports(store)
            memory = exports["memory"]
            assert isinstance(memory, wasmtime.Memory)
            self._guest = state.guest = Guest(store, memory, state.meter)
            state.meter.spend = self._spend
            state.host_fuel = lambda: self._limits.host_instructions - self._fuel.left - self._charged
            if is_watched and self._card is None:
                self._early = EarlyUse(state, memory, store)
            is_fenced = self._crossed.is_open and not self._limits.falsifies
            fences = self._early.memory if self._early is not None and is_fenced else None
            self._guest.heap = self._heap = Heap(fences, self._crossed.stop or Stop(), self._crossed.short)
            state.call_guest = partial(self._call_guest, store, exports)
            if state.calls.times_program:
                state.gpu.begin_timing()
            exports["_start"](store)
            code = 0
            self._look_for_early()
        except ProgramEnded as end:
            cause, code = end.cause, end.code
            self._look_for_early()
            if cause is not None:
                self._print_held(store, exports)
        except wasmtime.WasmtimeError as error:
            cause = msg("programs.not_runnable", reason=str(error).split("\n")[0][:200])
        except wasmtime.Trap as error:
            if left_out and error.frames and error.frames[0].func_index in left_out:
                raise NotWhole from error
            place = self._place_of(error)
            if self._crossed.stop is not None:
                raise Stopped(place) from error
            if self._early is not None and self._early.memory is not None:
                look_for_crossing(self._heap, self._early.memory.crossed, place)
            self._look_for_early(partial(self._place_of, error))
            cause = (
                self._uncaught(store, exports, left_out) or cause_of_trap(state, error, self._card) or self._too_long()
            )
            self._print_held(store, exports)
            kind = "too_large" if cause.id in LIMITS else "crash"
            state.tell(kind, "error", cause, place)
        finally:
            if self._early is not None:
                self._early.end()
        if self._wasi.is_cut:
            state.tell("output_cut", "remark", msg("programs.output_cut", limit=MAX_OUTPUT_BYTES >> 20), NOWHERE)
        state.calls.program_ended(code, state.asked)
        state.finish(code, crashed=cause is not None and cause.id in OWN_ENDS)
        if state.calls.times_program and code is not None:
            state.calls.results[-1].times = state.gpu.end_timing()
        if code is not None and cause is None:
            tell_short(state)
            tell_unread(state, code)
        elif cause is not None and cause.id in LIMITS:
            tell_short(state, is_whole=False)
            tell_left(state)
        return Observation(
            code,
            state.launches,
            state.findings,
            cause,
            bytes(self._printed[1]),
            bytes(self._printed[2]),
            self._marks,
            calls=state.calls.results,
            asked=state.asked,
            files={
                name: bytes(self._wasi.files[name][:most])
                for name, most in self._order.wanted.items()
                if name in self._wasi.files
            },
            opened=self._wasi.opened,
            device=self._card.model.name if self._card is not None else "",
            copies=state.copies,
            times=state.times if self._limits.marks_times else None,
            falsified=state.falsified,
            largest=state.largest,
        )

    def _look_for_early(self, place_of_trap: Callable[[], Place] | None = None) -> None:
        if self._early is not None:
            self._early.look(place_of_trap)
            look_for_passed(self._heap, self._early.memory)

    def _place_of(self, error: Any) -> Any:
        """Return the innermost line of the program's own files in the backtrace of a crash."""
        # The longest name first: `main.cu` may lie in a folder, too.
        names = sorted(self._order.sources, key=len, reverse=True)
        for match in re.finditer(r"^(.*):(\d{1,9}):\d+$", str(error), re.M):
            name = next((name for name in names if match[1].endswith(("/" + name, " " + name))), None)
            if name is not None:
                return Place(int(match[2]), name)
        return NOWHERE

    def _print_held(self, store: Any, exports: Any) -> None:
        """What the program's library still holds of its output comes out where the program is ended, as on a terminal,
        where lines are written as they end."""
        import wasmtime

        if exports is None:
            return
        self._fuel.give()
        left, self._fuel.left = self._fuel.left, FLUSH_INSTRUCTIONS
        # A program that has written over its own buffers gives nothing more.
        with suppress(wasmtime.Trap, wasmtime.WasmtimeError, ProgramEnded, BadPointer):
            exports["fflush"](store, 0)
        self._fuel.left = left

    def _uncaught(self, store: Any, exports: Any, left_out: frozenset[int]) -> Any:
        """The end of a program by an exception that no function catches, None for none; what C++ says of it is printed.

        Raises NotWhole: its `what()` is one of the functions `left_out`.
        """
        import wasmtime

        header = exception_header(store)
        if header is None:
            return None

        def call(function: str | int, *values: int) -> Any:
            if isinstance(function, str):
                return exports[function](store, *values)
            return exports["__indirect_function_table"].get(store, function)(store, *values)

        try:
            # As on a terminal, where lines are written as they end.
            call("fflush", 0)
            thrown = read_exception(self._guest, exports, header, call)
        except wasmtime.Trap as error:
            if error.frames and error.frames[0].func_index in left_out:
                raise NotWhole from error
            return None
        except (BadPointer, TypeError, wasmtime.WasmtimeError):
            # What lies there is no exception, or its what() no function of that type.
            return None
        self._emit(2, thrown.terminate_text.encode(errors="replace"))
        return msg("programs.uncaught", exception=thrown.short)

    def _too_long(self) -> Any:

        billions = self._limits.host_instructions / 1e9
        if self._limits.executes and not self._limits.passes_over:
            return msg("programs.host_limit", limit=f"{billions:g}")
        return msg("programs.too_long", limit=int(billions))

    def _function(self, store: Any, item: Any) -> Any:
        """Return the function that serves an import.  Raises ProgramEnded where none has its types."""
        import wasmtime

        if not isinstance(item.type, wasmtime.FuncType):
            raise ProgramEnded(msg("programs.unknown_function", name=item.name))
        served = self._handler(item.module, item.name)
        kinds = "".join("f" if str(kind).startswith("f") else "i" for kind in item.type.params)
        results = [str(kind) for kind in item.type.results]
        if served is None or served[0] != kinds or results not in ([], ["i32"], ["i64"]):
            raise ProgramEnded(msg("programs.unknown_function", name=item.name))
        function, kept = bound(store, item.type, served[1])
        self._bound.append(kept)
        return function

    def _call_guest(self, store: Any, exports: Any, name: str, *values: Any) -> Any:
        self._fuel.give()
        try:
            return exports[name](store, *values)
        finally:
            self._fuel.take()

    def _handler(self, module: str, name: str) -> tuple[str, Callable[..., int]] | None:

        if module == "wasi_snapshot_preview1":
            function = wasi.HANDLERS.get(name)
            if function is None:
                return None
            count = len(inspect.signature(function).parameters) - 1
            return "i" * count, self._guarded(getattr(self._wasi, name))
        if module == "grader" and name == "room":
            return "i", self._room
        if module == "grader" and name in ("fence", "unfence"):
            return ("iiii", self._fence) if name == "fence" else ("i", self._unfence)
        if module == "grader" and name == "no_memory":

            def no_memory(size: int) -> int:
                asked, limit = size & (1 << 64) - 1, self._limits.host_bytes
                used = self._guest.size() >> 20
                if self._limits.executes and not self._limits.passes_over:
                    raise ProgramEnded(msg("programs.host_memory", bytes=asked, used=used, limit=limit >> 20))
                raise ProgramEnded(msg("programs.no_host_memory", bytes=asked, used=used, limit=limit >> 30))

            return "i", no_memory
        entry = table.find(self.state, module, name)
        if entry is None:
            return None
        served = self._guarded(entry[1])
        is_launch = (module, name) == ("cuda", "cudaLaunch")
        return entry[0], self._shortened(partial(again, self.state), served) if is_launch else served

    def _room(self, size: int) -> int:
        return self._heap.room(size)

    def _fence(self, address: int, size: int, block: int, taken: int) -> int:
        return self._heap.allocated(address, size, block, taken)

    def _unfence(self, address: int) -> int:
        return self._heap.freed(address)

    def _spend(self, instructions: int) -> None:
        """Count what a call does beyond that, before it does it.  Raises ProgramEnded: so much is not left."""
        left = self._fuel.held
        if left is None:
            left = self._fuel.left
        if left < instructions <= CALL_INSTRUCTIONS:
            # So little is done; the program ends at its own next instruction, whose line can be told.
            instructions = left
        if instructions > left:
            raise ProgramEnded(self._too_long())
        self._fuel.left = left - instructions
        # The time that a program reads off its clocks knows nothing of it.
        self._charged += instructions

    def _shortened(self, planned: Callable[..., int | None], served: Callable[..., int]) -> Callable[..., int]:
        """Return `served`, where `planned` does not do it, which is None then."""

        def call(*values: int) -> int:
            if self._owed < MOST_OWED:
                try:
                    code = planned(*values)
                except BadPointer:
                    code = None
                if code is not None:
                    self._owed += CALL_INSTRUCTIONS
                    return code
            return served(*values)

        return call

    def _guarded(self, function: Callable[..., int]) -> Callable[..., int]:
        """Return `function` with its cost counted and errors turned into the program's end."""

        def call(*values: Any) -> int:
            # The program comes to its end at its own next instruction where no more is left.
            cost = min(self._fuel.take(), CALL_INSTRUCTIONS + self._owed)
            self._fuel.held -= cost
            self._owed = 0
            self._charged += cost
            if self._early is not None:
                self._early.enter()
            try:
                return function(*values)
            except BadPointer as error:
                raise ProgramEnded(msg("programs.bad_address", address=str(error))) from error
            except TooSlow as error:
                raise ProgramEnded(msg("programs.hangs", seconds=int(error.seconds))) from error
            except (OverflowError, MemoryError) as error:
                raise ProgramEnded(msg("programs.bad_address", address=type(error).__name__)) from error
            finally:
                if self._early is not None:
                    self._early.leave()
                if self._heap.is_fenced and self.state.hollow and self.state.launch_count:
                    # What a program does with results that are none says nothing of it.
                    self._heap.open()
                self._fuel.give()

        return call
