"""Generated code, compiled and kept with its program."""

from __future__ import annotations

import atexit
import weakref
from dataclasses import dataclass
from functools import cache
from typing import Any

from grader.ptx.errors import UnsupportedInstruction
from grader.ptx.machine.code import Code
from grader.ptx.native.generate import Generator
from grader.ptx.native.kernel import Generated
from grader.ptx.native.load_store import Unfit


@dataclass
class Compiled:
    """A kernel's machine code (`wasmtime.Module`) and where its regions lie."""

    module: Any
    generated: Generated


@cache
def engine() -> Any:
    """The WebAssembly engine of this process."""
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
    """Let go of what the runtime owns while its functions are still there to do it."""
    for thing in list(_OPEN):
        thing.close()


def kept(thing: Any) -> Any:
    """What is closed before the process ends."""
    _OPEN.add(thing)
    return thing


def compiled(code: Code, observed: bool) -> Compiled | None:
    """Machine code of a kernel, made at first use; None where the kernel has something that it cannot do."""
    kept: dict[tuple[str, bool], Compiled | None]
    kept = code.program.module.derived.setdefault("native", {})
    key = (code.name, observed)
    if key not in kept:
        kept[key] = _compile(code, observed)
    return kept[key]


def _compile(code: Code, observed: bool) -> Compiled | None:
    try:
        import wasmtime
    except ImportError:
        # There is no wheel for some platforms: everything is slower there, and nothing else.
        return None
    try:
        generated = Generator(code, observed).generate()
    except (Unfit, UnsupportedInstruction):
        return None
    binary = bytes(wasmtime.wat2wasm(generated.text))
    return Compiled(kept(wasmtime.Module(engine(), binary)), generated)
