"""Looking instructions up: what is unknown is refused by name."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from grader.ptx.isa.instructions import lookup
from grader.ptx.limits import UnsupportedInstruction
from tests.ptx.isa.isa_case import Case, operand_rows
from tests.ptx.isa.isa_cases import CASES
from tests.ptx.isa.isa_run import to_lanes

START_UP = set(
    subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    ).stdout.split()
)
"""What an interpreter loads by itself, such as the hooks of editable installs."""


@pytest.mark.parametrize(
    "spelling",
    [
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16",
        "add",
        "add.f8",
        "add.frob.f32",
        "add.sat.u32",
        "add.rn.s32",
        "fma.f32",
        "fma.rn.rz.f32",
        "mul.s32",
        "mul.wide.u64",
        "mul.lo.f32",
        "div.f32",
        "div.rn.sat.f32",
        "rcp.approx.f64",
        "ex2.f32",
        "tanh.approx.ftz.f32",
        "setp.lt.b32",
        "setp.ltu.s32",
        "setp.lo.s32",
        "setp.nand.eq.u32",
        "shf.l.b32",
        "lop3.xor.b32",
        "prmt.b32.abc",
        "bfe.b32",
        "cvt.f32.s32",
        "cvt.s32.f32",
        "cvt.f16.f32",
        "cvt.rp.tf32.f32",
        "cvt.rzi.rn.s32.f32",
        "min.xorsign.f32",
        "min.relu.u32",
        "dp4a.u32",
        "add.sat.cc.u32",
        "selp.f16x2",
        "fma.rn.ftz.bf16",
        "ex2.approx.bf16",
        "mov.b32",
    ],
)
def test_refuses_with_the_full_name(spelling: str) -> None:
    opcode, *modifiers = spelling.split(".")
    with pytest.raises(UnsupportedInstruction) as caught:
        lookup(opcode, tuple(modifiers))
    assert caught.value.text == spelling


def test_two_destinations_only_where_they_mean_something() -> None:
    assert len(lookup("setp", ("lt", "f32"), 2).outputs) == 2
    for spelling in ("add.f32", "setp.lt.f16", "lop3.b32"):
        opcode, *modifiers = spelling.split(".")
        with pytest.raises(UnsupportedInstruction, match="2 destinations"):
            lookup(opcode, tuple(modifiers), 2)


def test_is_cached() -> None:
    assert lookup("add", ("s32",)) is lookup("add", ("s32",))


def test_import_brings_numpy_only_and_no_tables() -> None:
    code = "import sys, grader.ptx.isa.instructions; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = run.stdout.split()
    packages = {name.partition(".")[0] for name in loaded if not name.startswith("__editable__")}
    # numpy.random is compiled with Cython, whose run time shows as modules of its own.
    packages = {name for name in packages if "cython" not in name}
    assert packages - sys.stdlib_module_names <= {"grader", "numpy"} | START_UP
    assert "grader.ptx.isa.floating" not in loaded


@pytest.mark.parametrize("item", [c for c in CASES if len(c.inputs) > 1 and not c.carry_in], ids=str)
def test_one_value_for_all_lanes_broadcasts(item: Case) -> None:
    opcode, *modifiers = item.spelling.split(".")
    semantics = lookup(opcode, tuple(modifiers), len(item.outputs))
    fixed = dict(item.immediates)
    lanes = [
        to_lanes(list(c), d) for c, d in zip(zip(*operand_rows(item, 8), strict=True), semantics.inputs, strict=True)
    ]
    lanes = [x[:1] if i in fixed else x for i, x in enumerate(lanes)]
    for uniform in set(range(len(lanes))) - fixed.keys():
        short = [x[:1] if i == uniform else x for i, x in enumerate(lanes)]
        full = [np.repeat(x[:1], x.size) if i == uniform else x for i, x in enumerate(lanes)]
        with np.errstate(all="ignore"):
            one, many = semantics.compute(*short), semantics.compute(*full)
        one, many = (x if isinstance(x, tuple) else (x,) for x in (one, many))
        for a, b in zip(one, many, strict=True):
            assert a.dtype == b.dtype
            assert np.broadcast_to(a, b.shape).tobytes() == b.tobytes()
