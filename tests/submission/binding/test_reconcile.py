"""What was seen of a program, beside what its text says: before the text was changed too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations

import msgspec
import pytest

from grader.lab.labs import find
from grader.submission.binding.grids import formulas_of
from grader.submission.binding.reconcile import OF_LAUNCHES, Fact, first, places_read_true, weakest_of, with_observed
from grader.submission.cpp.constants import Constants
from grader.submission.cpp.syntax import Number
from grader.submission.folder import LabSettings, VariantSettings
from grader.submission.kernels.records import LaunchSite, ObservedRuns, SeenArgument, SeenLaunch, SeenRun
from grader.submission.records import ORIGINS, Origin, Origins, VariantBinding
from tests.submission.labs import LINE, bound

READ = LaunchSite("k", 9, (16, 16, 1), (16, 16), 0, file="a.cu", block_expressions=())
SEEN = SeenLaunch("k", (), "a.cu", 9, (4, 4, 1), (16, 16, 1), 0, (SeenArgument("n", "int", 64),))
OBSERVED = ObservedRuns((SeenRun(("a.cu",), (SEEN,), ended=True),))


def test_a_changed_programs_launch_follows_its_text_where_that_was_true() -> None:
    [site] = with_observed([READ], OBSERVED)
    assert (site.block, site.grid, site.observed) == ((16, 16, 1), (4, 4, 1), True)
    smaller = replace(READ, block=(8, 8, 1), tile=(8, 8))
    [site] = with_observed([smaller], OBSERVED, frozenset([("k", "a.cu", 9)]))
    # Its arguments are those that were seen; how many blocks there are follows from the text again.
    assert (site.block, site.grid, site.tile) == ((8, 8, 1), None, (8, 8))
    assert site.seen == SEEN.arguments and site.observed


def at(n: int, blocks: int) -> SeenLaunch:
    return msgspec.structs.replace(SEEN, grid=(blocks, 1, 1), arguments=(SeenArgument("n", "int", n),))


def probed(*launches: SeenLaunch) -> list[tuple[int, object]]:
    """Blocks and sizes of what else was seen of the first launch."""
    site = with_observed([READ], ObservedRuns((SeenRun(("a.cu",), launches, ended=True),)))[0]
    return [(probe.grid[0], probe.arguments[0].value) for probe in site.probes]


def test_a_programs_own_loop_over_sizes_shows_the_grid_at_others() -> None:
    assert probed(at(64, 16), at(128, 64), at(256, 256)) == [(16, 64), (256, 256)]
    # A loop over grids at one size says nothing of sizes.
    assert probed(at(64, 16), at(64, 32), at(128, 32)) == []
    # That the block is another there is told of the block.
    assert probed(at(64, 16), msgspec.structs.replace(at(128, 64), block=(32, 8, 1))) == [(64, 128)]


def test_a_constant_that_was_changed_along_with_the_sizes_is_no_block_at_another_size() -> None:
    runs = (SeenRun(("a.cu",), (at(128, 64),), ended=True),)
    for threads, kept in (((16, 16, 1), 1), ((125, 16, 1), 1), ((61, 16, 1), 0)):
        other = msgspec.structs.replace(at(125, 61), block=threads)
        [site] = with_observed([READ], ObservedRuns((*runs, SeenRun(("a.cu",), (other,), probe=True, ended=True))))
        assert len(site.probes) == kept


def test_tiles_may_be_numbered_along_one_axis() -> None:
    site = LaunchSite("k", 9, (256, 1, 1), (), 0, grid=(64, 1, 1), observed=True)
    probes = [((16, 1, 1), [{"n": 64}]), ((256, 1, 1), [{"n": 256}])]
    found = formulas_of(site, lambda *_of: None, ("n", "n"), (256, 1), [{"n": 128}], find("matmul"), probes)
    assert found == ("((n) // 16) * ((n) // 16)", "1")
    # As many at every size.
    probes = [((64, 1, 1), [{"n": 64}])]
    found = formulas_of(site, lambda *_of: None, ("n", "n"), (256, 1), [{"n": 128}], find("matmul"), probes)
    assert found == ("64", "1")


def test_where_the_text_was_wrong_what_was_seen_holds() -> None:
    wrong = replace(READ, block=(8, 8, 1))
    sites = with_observed([wrong], OBSERVED)
    assert places_read_true(sites) == frozenset()
    [site] = with_observed([wrong], OBSERVED, places_read_true(sites))
    assert (site.block, site.grid) == ((16, 16, 1), (4, 4, 1))


@pytest.mark.parametrize(
    ("limit", "seen_bytes", "block", "has_block", "has_bytes"),
    [
        ("256", 384, 96, True, True),
        ("MOST", 384, 96, True, True),
        # The text is of another launch, or says another size of the memory.
        ("64", 384, 96, False, True),
        ("256", 400, 96, True, False),
        ("UNKNOWN", 384, 96, False, True),
    ],
)
def test_the_text_holds_where_it_agrees_at_the_sizes_that_were_seen(
    limit: str, seen_bytes: int, block: int, has_block: bool, has_bytes: bool
) -> None:
    constants = Constants(values={"MOST": Number(256)})
    expressions = [constants.parse(text) for text in (f"n < {limit} ? n : {limit}", "4 * n")]
    read = replace(
        READ,
        block=(256, 1, 1),
        shared_bytes=4096,
        arguments=("n",),
        block_expressions=tuple(e for e in expressions[:1] if e is not None),
        shared_expression=expressions[1],
    )
    arguments = (SeenArgument("n", "int", 96),)
    seen = msgspec.structs.replace(SEEN, block=(block, 1, 1), shared_bytes=seen_bytes, arguments=arguments)
    observed = ObservedRuns((SeenRun(("a.cu",), (seen,), ended=True),))
    [site] = with_observed([read], observed, constants={"a.cu": constants})
    assert (site.block, site.shared_bytes) == ((block, 1, 1), seen_bytes)
    assert (bool(site.block_expressions), site.shared_expression is not None) == (has_block, has_bytes)
    # Of 16 elements nobody knows whether they are a part of the block's.
    assert site.tile == ()
    for tile, at_seen in (((256,), (96,)), ((1,), (1,)), ((None,), (None,))):
        [site] = with_observed([replace(read, tile=tile)], observed, constants={"a.cu": constants})
        assert site.tile == (at_seen if has_block else ())


def test_instances_of_a_template_on_one_line_are_not_confused() -> None:
    reads = [replace(READ, block=(8, 8, 1), template_arguments=(text,)) for text in ("8", "9")]
    seen = msgspec.structs.replace(SEEN, template_arguments=("17",))
    observed = ObservedRuns((SeenRun(("a.cu",), (seen,), ended=True),))
    [site] = with_observed(reads, observed, frozenset([("k", "a.cu", 9)]))
    assert (site.block, site.template_arguments) == ((16, 16, 1), ("17",))


SHARED = """template <int TILE, typename V = float, int HALF = TILE / 2>
__global__ void shared(const V *in, V *out, int n) {
    extern __shared__ float part[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x] = in[i]; __syncthreads(); if (i < n) out[i] = part[threadIdx.x];
}
"""


def origins(text: str, settings: VariantSettings | None = None) -> Origins:
    found = bound(text, LINE, LabSettings(variants={"shared": settings}) if settings else None).bindings["shared"]
    assert isinstance(found, VariantBinding)
    return found.interpretations[0].origins


@pytest.mark.parametrize("count", range(1, len(ORIGINS) + 1))
def test_the_first_in_the_list_that_knows_is_believed(count: int) -> None:
    assert ORIGINS == ("stated", "observed", "read", "inferred", "lab")
    subsets: list[tuple[Origin, ...]] = list(combinations(ORIGINS, count))
    for knowing in subsets:
        known: dict[Origin, Origin] = {origin: origin for origin in knowing}
        values: dict[Origin, Callable[[], Origin | None]] = {o: partial(known.get, o) for o in reversed(ORIGINS)}
        assert first(values, otherwise="lab") == Fact(knowing[0], knowing[0])
    assert first({"read": lambda: None}, otherwise=7) == Fact(7, "lab")
    # What is known and is nothing is known all the same.
    assert first({"read": lambda: 0, "inferred": lambda: 1}, otherwise=2) == Fact(0, "read")
    about: dict[Origin, Callable[[], str | None]] = {"stated": lambda: "said", "observed": lambda: "seen"}
    assert first(about, otherwise="") == Fact("said", "stated")
    assert first(about, otherwise="", among=OF_LAUNCHES) == Fact("seen", "observed")
    assert weakest_of(["stated", "inferred", "read"]) == "inferred"


def test_host_code_says_how_a_kernel_is_launched_and_instantiated() -> None:
    main = "int main() { shared<64, float, 32><<<(n + 63) / 64, 64, 64 * sizeof(float)>>>(p, q, n); }"
    assert origins(SHARED + main) == Origins(
        kernel="inferred",
        arguments="inferred",
        template="read",
        block="read",
        tile="read",
        covers="lab",
        shared_bytes="read",
    )


def test_without_host_code_the_kernel_and_then_the_lab_say() -> None:
    found = origins(SHARED)
    # What a block covers along the axis is what the kernel multiplies `blockIdx.x` by.
    assert (found.template, found.block, found.tile, found.shared_bytes) == ("lab", "lab", "inferred", "lab")
    text = SHARED.replace("int TILE,", "int TILE = 64,").replace(
        "extern __shared__ float part[]", "__shared__ float part[TILE]"
    )
    found = origins(text.replace("blockDim.x", "TILE"))
    assert (found.template, found.block, found.shared_bytes) == ("inferred", "inferred", "inferred")


def test_of_a_template_the_weakest_argument_counts() -> None:
    main = "int main() { shared<64><<<n / 64, 64>>>(p, q, n); }"
    assert origins(SHARED + main).template == "inferred"


def test_what_the_student_states_outweighs_host_code() -> None:
    main = "int main() { shared<64, float, 32><<<(n + 63) / 64, 64, 64 * sizeof(float)>>>(p, q, n); }"
    stated = VariantSettings(kernel="shared", arguments=["in", "out", "n"], block=[128], shared_bytes=512)
    assert origins(SHARED + main, stated) == Origins(
        kernel="stated",
        arguments="stated",
        template="read",
        block="stated",
        # Where the settings say nothing of it, the host code's division is still read.
        tile="read",
        covers="lab",
        shared_bytes="stated",
    )


@pytest.mark.parametrize(
    ("ended", "blocks", "seen"),
    [(False, 65, [(16, 16, 1), (32, 8, 1)]), (False, 16, [(16, 16, 1)]), (True, 65, [(16, 16, 1)])],
)
def test_what_a_run_that_was_cut_short_did_not_come_to_is_seen_in_another(
    ended: bool, blocks: int, seen: list[tuple[int, int, int]]
) -> None:
    whole = msgspec.structs.replace(SEEN, block=(32, 8, 1), grid=(blocks, 1, 1))
    runs = SeenRun(("a.cu",), (SEEN,), ended=ended), SeenRun(("a.cu",), (whole,), ended=True, results=True)
    assert [launch.block for launch in ObservedRuns(runs).launches] == seen
