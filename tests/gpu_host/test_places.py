"""Where the arrays of a launch lie: apart from each other, and every byte that is none's is watched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.gpu.device.launch import SLOT_BYTES, places_of
from grader.gpu.device.memory import GUARD_BYTES
from grader.gpu.messages import Array

sizes = st.one_of(st.integers(0, 5000), st.integers((1 << 18) - 2, (1 << 18) + 2), st.integers(0, 3 << 20))
arrays = st.lists(st.tuples(sizes, st.booleans()), max_size=8).map(
    lambda rows: [Array(f"a{i}", "float32", 4, count, is_output) for i, (count, is_output) in enumerate(rows)]
)


@given(arrays)
def test_every_byte_is_an_array_s_its_original_s_or_watched(arrays: list[Array]) -> None:
    places = places_of(arrays)
    parts = [(places.arrays[a.name], a.nbytes) for a in arrays]
    parts += [zone for zones in places.zones.values() for zone in zones]
    parts += [(places.originals[a.name], -(-a.nbytes // 256) * 256) for a in arrays if not a.is_output]
    position = 0
    for offset, nbytes in sorted(part for part in parts if part[1]):
        assert offset == position
        position += nbytes
    assert position == places.nbytes


@given(arrays)
def test_arrays_are_aligned_and_far_from_each_other(arrays: list[Array]) -> None:
    places = places_of(arrays)
    for array in arrays:
        at = places.arrays[array.name]
        assert at % 256 == 0
        assert (at - GUARD_BYTES) % SLOT_BYTES == 0 or array.nbytes < 1 << 20
        before, behind = places.zones[array.name]
        assert before[1] >= GUARD_BYTES and behind[1] >= GUARD_BYTES
    assert set(places.originals) == {a.name for a in arrays if not a.is_output}
