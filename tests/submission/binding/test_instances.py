"""Templates: which instance is which variant, with which arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.errors import FileError
from grader.submission.binding.bind import bind
from grader.submission.folder import VariantSettings, find_sources
from grader.submission.source import decode
from tests.submission.binding.kernels import binding, settings
from tests.submission.labs import FLIP, bound


def test_templates_without_a_launch_get_plausible_arguments() -> None:
    text = (
        "template <typename T, int TILE, int BLOCK_ROWS> __global__ void padded(const T *a, T *b) {"
        " __shared__ T t[TILE][TILE + 1]; for (int j = 0; j < TILE; j += BLOCK_ROWS) t[j][0] = a[j]; b[0] = t[0][1]; }"
    )
    found = binding(bound(text), "padded")
    assert found.expression == "padded<float, 32, 8>"
    assert found.kernel.shared_arrays[0].dims == (32, 33)
    assert [p.dtype for p in found.kernel.parameters] == ["float32", "float32"]
    assert (found.interpretations[0].launch.block, found.interpretations[0].launch.tile) == ((32, 8, 1), (32, 32))


@pytest.mark.parametrize(
    ("head", "launch", "variant", "expression", "dims"),
    [
        ("int S, int PAD = 1", "tile<16>", "padded", "tile<16, 1>", (16, 17)),
        ("int S = 8, int PAD = S / 4", "tile<>", "padded", "tile<8, 2>", (8, 10)),
        ("int S = 8, int PAD = 1", "tile<32, 0>", "shared", "tile<32, 0>", (32, 32)),
    ],
)
def test_templates_take_their_default_arguments(
    head: str, launch: str, variant: str, expression: str, dims: tuple[int, int]
) -> None:
    text = (
        f"template <{head}> __global__ void tile(const float *a, float *b) {{"
        " __shared__ float t[S][S + PAD]; t[0][0] = a[0]; b[0] = t[0][0]; }\n"
        f"int main() {{ {launch}<<<1, 32>>>(p, q); }}"
    )
    found = binding(bound(text), variant)
    assert found.expression == expression
    assert found.kernel.shared_arrays[0].dims == dims


def test_templates_take_the_arguments_they_are_launched_with() -> None:
    text = (
        "template <class T, int S> __global__ void tile(const T *a, T *b) { __shared__ T t[S][S]; t[0][0] = a[0];"
        " b[0] = t[0][0]; } int main() { tile<double, 2 * 8><<<1, dim3(16, 16)>>>(a, b); }"
    )
    found = binding(bound(text), "shared")
    assert found.expression == "tile<double, 16>"
    assert found.kernel.shared_arrays[0].dims == (16, 16)
    assert found.kernel.parameters[0].dtype == "float64"


TILES = (
    "template <int S, int PAD> __global__ void tile(const float *a, float *b, int rows, int cols) {"
    " __shared__ float t[S][S + PAD]; t[0][0] = a[0]; b[0] = t[0][0]; }\n"
    "const int SIDE = 32;\nint main() {%s}"
)

LAUNCHES = " tile<SIDE, 2><<<g, dim3(32, 8)>>>(p, q, r, c); tile<SIDE, 1><<<g, dim3(32, 32)>>>(p, q, r, c); "


@pytest.mark.parametrize(
    ("launches", "shared", "padded", "expressions", "blocks"),
    [
        # Two of one kind, which nothing but the student tells apart.
        (LAUNCHES, "tile<32, 2>", "tile<SIDE,1>", ("tile<32, 2>", "tile<32, 1>"), ((32, 8), (32, 32))),
        (LAUNCHES, "tile<32, 1>", "tile<32, 2>", ("tile<32, 1>", "tile<32, 2>"), ((32, 32), (32, 8))),
        # One that the program does not launch; what is left out is as it is launched.
        (LAUNCHES, "tile<16, 0>", "tile<32>", ("tile<16, 0>", "tile<32, 2>"), (None, (32, 8))),
        ("", "tile<16, 0>", "a::tile< 16, 1 >", ("tile<16, 0>", "tile<16, 1>"), (None, None)),
    ],
)
def test_a_template_may_be_two_variants_by_its_arguments(
    launches: str,
    shared: str,
    padded: str,
    expressions: tuple[str, str],
    blocks: tuple[tuple[int, int] | None, tuple[int, int] | None],
) -> None:
    chosen = settings(shared=VariantSettings(kernel=shared), padded=VariantSettings(kernel=padded))
    submission = bound(TILES % launches, settings=chosen)
    found = [binding(submission, name) for name in ("shared", "padded")]
    assert tuple(b.expression for b in found) == expressions
    assert [b.interpretations[0].origins.kernel for b in found] == ["stated", "stated"]
    for one, block in zip(found, blocks, strict=True):
        assert block is None or one.interpretations[0].launch.block == (*block, 1)


def test_one_instance_is_one_variant(tmp_path: Path) -> None:
    (tmp_path / "flip.cu").write_text(TILES % LAUNCHES)
    (tmp_path / "submission.yaml").write_text("labs: {flip: {variants: {shared: tile, padded: 'tile<32, 2>'}}}\n")
    found = find_sources(tmp_path, "flip")
    with pytest.raises(FileError, match="template arguments tell two"):
        bind(found, [decode(file) for file in found.files], FLIP)


def test_other_instances_of_a_named_one_are_other_variants() -> None:
    text = TILES % " tile<32, 0><<<g, dim3(32, 8)>>>(p, q, r, c); tile<32, 1><<<g, dim3(32, 8)>>>(p, q, r, c); "
    submission = bound(text, settings=settings(padded=VariantSettings(kernel="tile<32, 1>")))
    assert [binding(submission, name).expression for name in ("shared", "padded")] == ["tile<32, 0>", "tile<32, 1>"]


def test_of_a_templates_launches_the_one_with_the_labs_type_counts() -> None:
    text = (
        "template <class T, int S> __global__ void tile(const T *a, T *b) { __shared__ T t[S][S]; t[0][0] = a[0];"
        " b[0] = t[0][0]; } int main() { tile<int, 8><<<1, dim3(8, 8)>>>(a, b);"
        " tile<float, 16><<<1, dim3(16, 16)>>>(c, d); }"
    )
    found = binding(bound(text), "shared")
    assert found.expression == "tile<float, 16>"
    assert (found.kernel.parameters[0].dtype, found.interpretations[0].launch.block) == ("float32", (16, 16, 1))


def test_of_instances_that_a_switch_chooses_among_the_one_of_the_block_s_size_is_graded() -> None:
    text = (
        "template <int S> __global__ void tile(const float *a, float *b) { __shared__ float t[S][S]; t[0][0] = a[0];"
        " b[0] = t[0][0]; }\n"
        "void run(int s, float *a, float *b) { dim3 block(16, 16); switch (s) {\n"
        "case 8: tile<8><<<1, block>>>(a, b); break;\ncase 16: tile<16><<<1, block>>>(a, b); break; } }"
    )
    assert binding(bound(text), "shared").expression == "tile<16>"
