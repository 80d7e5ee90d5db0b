"""Programs that are other code on other devices, or use what only newer ones have.

One that does not compile for the oldest device is compiled for the next on which it does.  And one that asks for the
device that it is compiled for, or copies asynchronously, which only newer devices do, is other code on these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.compiler.result import CompileResult

NEWER = {"compute_75": ("compute_80", "compute_90")}
"""Virtual architectures that are tried after one, in this order.  A device's own (sm_…) is what the program runs on."""
_LACKING = re.compile(
    r'identifier "__\w+" is undefined|no instance of overloaded function "atomic|is not supported for this GPU arch'
    r'|namespace "cooperative_groups(?:::\w+)*" has no member|no suitable user-defined conversion from "__(?:nv_b|h)'
    r'|incomplete type "nvcuda::wmma|name followed by "::" must be a class or namespace name'
    r"|requires \.target sm_\w+ or higher|not supported on \.target"
)
"""What is said of a function or type that headers declare for newer devices only, slips read so as well; and what the
assembler says of an instruction that they alone have."""

KNOWN = (80, 86, 87, 89, 90, 100, 120)
"""Virtual architectures after 75 that every NVRTC 13 compiles for."""
ALWAYS_ASKED = (80, 90, 120)
"""Those of them for which a program is compiled that asks for its device, whatever numbers it compares that with."""
_COPIES = re.compile(r"\bmemcpy_async|__pipeline_|\bcuda/pipeline\b|\bcp\.async")
"""What copies to shared memory asynchronously: to the oldest device these are loads and stores."""
_ASKS = re.compile(
    # A name may be put together of two, and the compiler's own function takes it as text.
    r"__CUDA_ARCH|__nvvm_reflect|\bNV_(?:IF_|DISPATCH|PROVIDES|IS_|HAS_)|_PTX_ARCH|\bcuda/arch|\barch_id\b|\barch_traits"
    r"|__CUDA_MINIMUM_ARCH__|__CUDA_AMPERE|##"
)
_NUMBER = re.compile(r"\b\d{2,4}\b")


def copies_asynchronously(texts: Iterable[str]) -> bool:
    """Whether a program's texts speak of asynchronous copies."""
    return any(_COPIES.search(text) for text in texts)


def asks_for_device(texts: Iterable[str]) -> bool:
    """Whether a program's texts may ask for the architecture that they are compiled for."""
    return any(_ASKS.search(text) for text in texts)


def other_targets(texts: Iterable[str]) -> tuple[str, ...]:
    """Newer virtual architectures for which a program may be other code than for the oldest, oldest first.

    A program that asks is looked at on both sides of every number that it may compare the answer with.
    """
    texts = tuple(texts)
    wanted: set[int] = {80} if copies_asynchronously(texts) else set()
    if asks_for_device(texts):
        wanted |= set(ALWAYS_ASKED)
        numbers = {int(number) for text in texts for number in _NUMBER.findall(text)}
        for number in numbers | {number // 10 for number in numbers if number >= 100}:
            below = [known for known in KNOWN if known < number]
            from_there = [known for known in KNOWN if known >= number]
            if below and from_there:
                # Past a device that is named as well: what is said may hold for that one alone.
                wanted |= {below[-1], *from_there[: 1 + (number in KNOWN)]}
    return tuple(f"compute_{target}" for target in sorted(wanted))


def for_oldest(
    compile_for: Callable[[str], CompileResult], architecture: str, texts: Iterable[str] = ()
) -> tuple[str, CompileResult]:
    """The architecture that a program of these texts was compiled for, by `compile_for`, and what came of it.

    Where it compiles for none, what is said is what was said of the first.
    """
    first = compile_for(architecture)
    if first.ok or not (
        any(_lacks(d.message) for d in first.diagnostics if d.severity == "error")
        # `#if __CUDA_ARCH__ < 800`, `#error`: the words are the program's own.
        or (first.reason == "errors" and architecture in NEWER and asks_for_device(texts))
    ):
        return architecture, first
    for newer in NEWER.get(architecture, ()):
        result = compile_for(newer)
        if result.ok or result.reason == "missing_entry":
            return newer, result
    return architecture, first


def _lacks(said: object) -> bool:
    return isinstance(said, str) and bool(_LACKING.search(said))
