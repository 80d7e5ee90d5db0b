"""Sweeps in lab.yaml: what they become, what stands where nothing is said, and what is refused, with its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.errors import FileError
from grader.files import data_root
from grader.lab import labs
from grader.lab.file import load
from grader.lab.parts import METRICS
from grader.lab.records import Lab, Sweep

SHIPPED = data_root() / "assignments"

TILE = """
sweeps:
  tile:
    title: {en: Side, ru: Сторона}
    x: {name: t, label: {en: T, ru: T}, constants: [tile], values: [8, 16, 32]}
"""


def lab_with(tmp_path: Path, sweeps: str) -> Lab:
    """A copy of a shipped lab with other sweeps."""
    source = SHIPPED / "transpose"
    text = re.sub(r"\nsweeps:\n(?:  .*\n)+", "\n", (source / "lab.yaml").read_text("utf-8"))
    assert "sweeps" not in text
    text = text.replace("../../reference", str(data_root() / "reference"))
    text = re.sub(r"selftest: .*\n", "", text)
    folder = tmp_path / "flip"
    folder.mkdir()
    (folder / "lab.yaml").write_text(text + sweeps, "utf-8")
    for language in ("en", "ru"):
        (folder / f"task.{language}.md").write_text("…", "utf-8")
    return load(folder)


def only(lab: Lab) -> Sweep:
    (sweep,) = lab.sweeps
    return sweep


def test_what_stands_where_nothing_is_said(tmp_path: Path) -> None:
    sweep = only(lab_with(tmp_path, TILE))
    assert (sweep.id, sweep.title["ru"], sweep.variants) == ("tile", "Сторона", ("naive", "shared", "padded"))
    assert sweep.x.values == {"emulator": (8, 16, 32), "gpu": (8, 16, 32)}
    assert sweep.base == {"emulator": {"rows": 256, "cols": 256}, "gpu": {"rows": 256, "cols": 256}}
    assert sweep.metrics == {"emulator": ("sectors", "instructions"), "gpu": ("time",)}
    assert sweep.lines is None and sweep.host_memory == ()


def test_everything_said(tmp_path: Path) -> None:
    text = """
sweeps:
  size:
    title: {en: Size, ru: Размер}
    variants: [padded, naive]
    x: {name: n, label: {en: N, ru: N}, sizes: {rows: n, cols: 2 * n}, values: {emulator: [32], gpu: [64, 128]}}
    lines: {name: s, label: {en: S, ru: S}, block: [s, 'min(s, 8)'], unroll: true, values: [4, 8]}
    sizes: {gpu: {rows: 4096}}
    metrics: {emulator: [wavefronts], gpu: [gb_per_s, time]}
"""
    sweep = only(lab_with(tmp_path, text))
    # In the lab's order, whatever the order in the file.
    assert sweep.variants == ("naive", "padded")
    assert sweep.x.sizes == {"rows": "n", "cols": "2 * n"}
    assert sweep.x.values == {"emulator": (32,), "gpu": (64, 128)}
    assert sweep.lines is not None and sweep.lines.unroll and sweep.lines.block == ("s", "min(s, 8)")
    assert sweep.base["gpu"] == {"rows": 4096, "cols": 256}
    assert sweep.metrics == {"emulator": ("wavefronts",), "gpu": ("gb_per_s", "time")}


def test_kinds_of_host_memory_have_metrics_of_their_own(tmp_path: Path) -> None:
    sweep = only(lab_with(tmp_path, TILE + "    host_memory: [pinned, mapped]\n"))
    assert sweep.host_memory == ("pinned", "mapped")
    assert sweep.metrics == {"emulator": ("bus_bytes",), "gpu": ("total_time",)}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("  tile:\n", "  Tile:\n", ["sweeps.Tile", "lower-case"]),
        ("title:", "titel:", ["sweeps.tile.titel", "did you mean `title`"]),
        ("constants: [tile], ", "", ["sweeps.tile.x", "changes nothing"]),
        ("constants: [tile]", "constants: ['(']", ["x.constants[0]", "not a regular expression"]),
        ("name: t,", "name: rows,", ["x.name", "rows"]),
        ("values: [8, 16, 32]", "values: [8, 32, 16]", ["x.values", "ascend"]),
        ("values: [8, 16, 32]", "values: [0, 16]", ["x.values", "from 1"]),
        ("values: [8, 16, 32]", "values: []", ["x.values", "one to 16 values (got 0)"]),
        ("values: [8, 16, 32]", "values: {gpu: [8]}", ["x.values", "missing key `emulator`"]),
        ("constants: [tile]", "block: [t, q]", ["x.block[1]", "unknown name 'q'", "allowed: cols, rows, t"]),
        ("constants: [tile]", "sizes: {row: t}", ["x.sizes.row", "did you mean `rows`"]),
        ("constants: [tile]", "sizes: {rows: cols}", ["x.sizes.rows", "unknown name 'cols'"]),
        ("constants: [tile]", "block: [t, 1, 1, 1]", ["x.block", "one to three"]),
    ],
)
def test_faults_are_named_with_their_line(tmp_path: Path, old: str, new: str, words: list[str]) -> None:
    assert TILE.count(old) == 1
    with pytest.raises(FileError) as error:
        lab_with(tmp_path, TILE.replace(old, new))
    assert re.search(r"lab\.yaml:\d+: ", str(error.value))
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("variants: [naiv]", ["variants[0]", "did you mean `naive`"]),
        ("sizes: {cpu: {rows: 4}}", ["sizes.cpu", "allowed: emulator, gpu"]),
        ("sizes: {gpu: {rows: 0}}", ["sizes.gpu.rows", "at least 1"]),
        ("metrics: {gpu: [sectors]}", ["metrics.gpu[0]", "unknown metric 'sectors'", "gb_per_s"]),
        ("metrics: {gpu: []}", ["metrics.gpu", "at least one"]),
        ("metrics: {gpu: [total_time]}", ["total_time is only for"]),
        ("host_memory: [paged]", ["host_memory[0]", "paged"]),
        ("lines: {name: t, label: {en: S, ru: S}, unroll: true, values: [1]}", ["lines.name", "'t'"]),
        (
            "lines: {name: s, label: {en: S, ru: S}, unroll: true, values: [1]}\n    host_memory: [mapped]",
            ["host_memory", "not both"],
        ),
    ],
)
def test_faults_beside_the_axis(tmp_path: Path, extra: str, words: list[str]) -> None:
    with pytest.raises(FileError) as error:
        lab_with(tmp_path, f"{TILE}    {extra}\n")
    for word in words:
        assert word in str(error.value)


def test_rates_need_to_know_what_is_timed(tmp_path: Path) -> None:
    from grader.lab.parts import sweeps_of
    from grader.yaml_file import read

    lab = lab_with(tmp_path, TILE + "    metrics: {gpu: [gb_per_s]}\n")
    file = read(lab.path)
    assert isinstance(file.data, dict)
    with pytest.raises(FileError, match="gb_per_s needs the lab's `timing`"):
        sweeps_of(file, file.data["sweeps"], ["naive"], ["rows", "cols"], lab.cases, is_timed=False, interface="kernel")


@pytest.mark.parametrize("name", sorted(labs.folders()))
def test_the_shipped_labs_declare_sweeps(name: str) -> None:
    lab = labs.find(name)
    assert lab.sweeps
    for sweep in lab.sweeps:
        for backend, names in sweep.metrics.items():
            assert set(names) <= set(METRICS[backend])


def families(name: str) -> dict[str, Sweep]:
    return {sweep.id: sweep for sweep in labs.find(name).sweeps}


def test_the_graphs_that_the_sources_ask_for() -> None:
    found = families("matmul")
    lines = found["block_size"].lines
    assert lines is not None and lines.sizes == {"n": "n"} and found["block_size"].x.block == ("s", "s")
    assert found["unrolling"].x.unroll and len(found["unrolling"].variants) == 5
    assert found["threads"].variants == ("row", "column") and found["threads"].x.block == ("t",)
    assert all(sweep.metrics["gpu"] == ("time", "gflop_per_s") for sweep in found.values())
    assert families("batch-square")["order"].x.values["gpu"] == (2, 3, 4, 5, 6, 7, 8, 9, 10)
    assert len(families("box-blur")["host_memory"].host_memory) == 4
