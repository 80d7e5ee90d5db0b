"""Device code that a program links as it runs: the driver's linker, on which that of nvJitLink stands.

What is linked is PTX here, as what NVRTC gives for machine code and for its intermediate code is.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from grader.programs.device_linking import DefinedTwice, linked_ptx
from grader.programs.runtime.libraries.calls import MAX_HANDLES
from grader.programs.runtime.modules import INSTRUCTIONS_PER_BYTE, MAX_SOURCE_BYTES
from grader.programs.runtime.ordering import Place
from grader.programs.runtime.state import CudaError, Handlers, State

_INVALID_VALUE, _OUT_OF_MEMORY, _INVALID_IMAGE, _INVALID_HANDLE = 1, 2, 200, 400
MAX_TEXTS = 64


@dataclass(slots=True)
class _Link:
    """texts: PTX to be linked.  image: where the program finds what came of it, 0 before."""

    texts: list[str] = field(default_factory=list)
    image: int = 0


def _link(state: State, handle: int) -> _Link:
    link = state.libraries.get(handle, {}).get("link")
    if not isinstance(link, _Link):
        raise CudaError(_INVALID_HANDLE)
    return link


def create(state: State, place: Place, handle: int) -> None:
    if len(state.libraries) >= MAX_HANDLES:
        raise CudaError(_OUT_OF_MEMORY)
    number = state.handle()
    state.libraries[number] = {"link": _Link()}
    state.guest.pack("Q", handle, number)


def add(state: State, place: Place, handle: int, data: int, size: int) -> None:
    link = _link(state, handle)
    if len(link.texts) >= MAX_TEXTS or not 0 < size <= MAX_SOURCE_BYTES:
        raise CudaError(_INVALID_VALUE)
    state.meter.spend(INSTRUCTIONS_PER_BYTE * size)
    text = state.guest.read(data, size).partition(b"\0")[0].decode("utf-8", errors="replace")
    if ".version" not in text[:100_000]:
        raise CudaError(_INVALID_IMAGE)
    link.texts.append(text)


def complete(state: State, place: Place, handle: int, image: int, size: int) -> None:
    link = _link(state, handle)
    if not link.texts:
        raise CudaError(_INVALID_VALUE)
    state.meter.spend(INSTRUCTIONS_PER_BYTE * sum(map(len, link.texts)))
    try:
        raw = linked_ptx(link.texts).encode() + b"\0"
    except DefinedTwice as error:
        raise CudaError(_INVALID_IMAGE) from error
    _release(state, link)
    link.image = int(state.call_guest("grader_malloc", len(raw)))
    state.guest.write(link.image, raw)
    state.guest.pack("Q", image, link.image)
    state.guest.pack("Q", size, len(raw))


def destroy(state: State, place: Place, handle: int) -> None:
    _release(state, _link(state, handle))
    del state.libraries[handle]


def _release(state: State, link: _Link) -> None:
    if link.image:
        state.call_guest("grader_free", link.image)
    link.image = 0


HANDLERS: Handlers = {
    "cuLinkCreate": ("i", create),
    "cuLinkAddData": ("iii", add),
    "cuLinkComplete": ("iii", complete),
    "cuLinkDestroy": ("i", destroy),
}
