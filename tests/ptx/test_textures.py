"""Textures and surfaces: values as the CUDA C++ Programming Guide defines them ("Texture Fetching")."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.compiler.process import CompilerProcess
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.lowering.textures import BORDER, CLAMP, MIRROR, WRAP, Format, Image, Surface, Texture
from grader.ptx.memory import Device

FLOAT = Format("float", 32, 1)


def image(values: np.ndarray, kind: Format = FLOAT) -> Image:
    """values: (depth, height, width[, channels])."""
    raw = np.ascontiguousarray(values)
    depth, height, width = raw.shape[:3]
    row = width * kind.texel_bytes
    storage = SimpleNamespace(data=raw.reshape(-1).view(np.uint8).copy(), valid=None)
    return Image(storage, 0, kind, width, height, depth, row, row * height)


def place(index: int, extent: int, mode: int, normalised: bool) -> int | None:
    if mode == BORDER:
        return index if 0 <= index < extent else None
    if normalised and mode == WRAP:
        return index % extent
    if normalised and mode == MIRROR:
        index %= 2 * extent
        return index if index < extent else 2 * extent - 1 - index
    return min(max(index, 0), extent - 1)


def filtered(texels: np.ndarray, at: float, mode: int, normalised: bool, linear: bool) -> float:
    """One dimension, one value at a time, in the guide's own words."""
    extent = len(texels)

    def texel(index: int) -> float:
        found = place(index, extent, mode, normalised)
        return -1.0 if found is None else float(texels[found])

    if normalised:
        if mode == WRAP:
            at = at - math.floor(at)
        elif mode == MIRROR:
            whole = math.floor(at)
            at = at - whole if whole % 2 == 0 else 1 - (at - whole)
        at *= extent
    if not linear:
        return texel(math.floor(at))
    position = math.floor((at - 0.5) * 256 + 0.5) / 256
    low = math.floor(position)
    part = position - low
    return (1 - part) * texel(low) + (part * texel(low + 1) if part else 0.0)


@given(
    texels=st.lists(st.integers(-50, 50), min_size=1, max_size=9),
    at=st.lists(st.integers(-4096, 4096).map(lambda n: n / 256), min_size=1, max_size=8),
    mode=st.sampled_from([CLAMP, WRAP, MIRROR, BORDER]),
    normalised=st.booleans(),
    linear=st.booleans(),
)
def test_one_dimension_is_read_as_the_guide_says(
    texels: list[int], at: list[float], mode: int, normalised: bool, linear: bool
) -> None:
    values = np.array(texels, np.float32)
    texture = Texture(image(values[None, None]), (mode,) * 3, linear, normalised, border=(-1.0, 0.0, 0.0, 0.0))
    got = texture.read([np.array(at, np.float32)])[:, 0].view(np.float32)
    wanted = [filtered(values, one, mode, normalised, linear) for one in at]
    if linear and mode == BORDER:
        # The one row is filtered with the border above it.
        wanted = [(one - 1) / 2 for one in wanted]
    assert got.tolist() == np.array(wanted, np.float32).tolist()


@given(x=st.integers(-8, 40).map(lambda n: n / 8), y=st.integers(-8, 40).map(lambda n: n / 8))
def test_two_dimensions_are_filtered_one_after_the_other(x: float, y: float) -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4) ** 2
    texture = Texture(image(values[None]), linear=True)
    got = texture.read([np.array([x], np.float32), np.array([y], np.float32)])[0, 0].view(np.float32)
    rows = np.array([filtered(row, x, CLAMP, False, True) for row in values])
    assert got == np.float32(filtered(rows, y, CLAMP, False, True))


def test_missing_channels_are_nothing_and_the_last_is_one() -> None:
    two = Texture(image(np.array([[[[3.0, 4.0]]]], np.float32), Format("float", 32, 2)))
    assert two.read([np.zeros(1, np.float32)])[0].view(np.float32).tolist() == [3, 4, 0, 1]
    signed = Texture(image(np.array([[[-5]]], np.int8), Format("signed", 8, 1)))
    assert signed.read([np.zeros(1, np.float32)])[0].view(np.int32).tolist() == [-5, 0, 0, 1]


@pytest.mark.parametrize(
    ("kind", "texel", "number"),
    [
        (Format("unsigned", 8, 1), 255, 1.0),
        (Format("unsigned", 16, 1), 13107, 0.2),
        (Format("signed", 8, 1), -128, -1.0),
        (Format("signed", 16, 1), -32767, -1.0),
    ],
)
def test_integers_are_read_as_fractions(kind: Format, texel: int, number: float) -> None:
    texture = Texture(image(np.array([[[texel]]], kind.dtype), kind), as_float=True)
    assert texture.read([np.zeros(1, np.float32)])[0, :1].view(np.float32) == np.float32(number)


def test_linear_memory_is_nothing_outside() -> None:
    texture = Texture(image(np.array([[[7, 8]]], np.int32), Format("signed", 32, 1)))
    assert texture.fetch([np.array([-1, 0, 1, 2], np.int32)])[:, 0].tolist() == [0, 7, 8, 0]


def test_a_surface_has_edges() -> None:
    surface = Surface(image(np.zeros((1, 2, 3), np.float32)))
    x, y = np.array([-4, 0, 8, 12, 2, 4]), np.array([0, 0, 1, 0, 0, 2])
    assert surface.place(x, y, np.zeros(6), 4, "trap")[1].tolist() == [False, True, True, False, False, False]
    moved, inside = surface.place(x, y, np.zeros(6), 4, "clamp")
    assert moved[inside].tolist() == [0, 0, 20, 8, 16]


KERNEL = """
extern "C" __global__ void k(cudaTextureObject_t t, cudaSurfaceObject_t s, float *out)
{
    int x = threadIdx.x, y = blockIdx.x;
    out[y * 40 + x] = tex2D<float>(t, x + 0.5f, y) + tex2DLayered<float>(t, 0.0f, 0.0f, y);
    surf2Dwrite((float)x, s, x * 4, y);
}
"""


@pytest.fixture(scope="module")
def ptx() -> str:
    with CompilerProcess() as compiler:
        result = compiler.compile({"t.cu": KERNEL}, ["k"], "compute_75")
    assert result.ok, result.log
    return result.ptx if isinstance(result.ptx, str) else result.ptx.decode()


def run(ptx: str, device: Device, texture: int, surface: int) -> tuple[np.ndarray, list[tuple[str, int, int]]]:
    out = device.buffer("out", 2 * 40 * 4)
    what = Launch("k", (2,), (40,), [np.uint64(texture), np.uint64(surface), out], device=device, observe=True)
    report = launch(parse(ptx), what)
    return out.read(np.float32, (2, 40)), [(h.detail, h.line, h.count) for h in report.hazards]


def test_a_kernel_reads_and_writes_by_coordinates(ptx: str) -> None:
    device = Device()
    texels = np.arange(80, dtype=np.float32).reshape(2, 40)
    source = image(texels[None])
    target = image(np.zeros((1, 2, 40), np.float32))
    device.textures |= {1: Texture(source, linear=True), 2: Surface(target)}
    out, hazards = run(ptx, device, 1, 2)
    # Row y lies half a texel above: row 0 is clamped, row 1 lies half-way.
    halfway = (texels[0] + texels[1]) / 2
    assert out.tolist() == [texels[0].tolist(), halfway.tolist()]
    assert target.storage.data.view(np.float32).reshape(2, 40).tolist() == [list(range(40))] * 2
    assert hazards == []


def test_layers_are_clamped_and_not_filtered() -> None:
    layered = image(np.array([[[1.0]], [[2.0]]], np.float32))
    texture = Texture(layered, linear=True)
    zero = np.zeros(4, np.float32)
    got = texture.read([zero, zero], np.array([-1, 0, 1, 9], np.int32))[:, 0].view(np.float32)
    assert got.tolist() == [1, 1, 2, 2]


def test_what_does_not_exist_or_lies_outside_is_told_with_its_line(ptx: str) -> None:
    device = Device()
    texture = Texture(image(np.ones((1, 2, 40), np.float32)))
    device.textures |= {1: texture, 2: Surface(image(np.zeros((1, 2, 39), np.float32)))}
    assert run(ptx, device, 1, 2)[1] == [("outside_surface", 6, 2)]
    out, hazards = run(ptx, device, 7, 1)
    assert out.tolist() == [[0.0] * 40] * 2
    assert hazards == [("no_texture", 5, 80), ("no_texture", 5, 80), ("no_surface", 6, 80)]
    device.textures[1] = replace(texture, linear=True)
    assert run(ptx, device, 1, 2)[1] == [("outside_surface", 6, 2)]
