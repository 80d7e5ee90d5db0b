"""PTX of several files linked to one module: what is one and the same, what stays apart, where lines are."""

from __future__ import annotations

import numpy as np
import pytest

from grader.programs.device_linking import DefinedTwice, linked_ptx
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.memory import Device

HEADER = ".version 8.0\n.target sm_75\n.address_size 64\n\n"


def kernel(name: str, body: str, linkage: str = ".visible ") -> str:
    """A kernel that stores %r1 into the int at its parameter."""
    return (
        f"{linkage}.entry {name}(\n\t.param .u64 {name}_param_0\n)\n{{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n"
        f"\t.loc\t1 3 1\n\tld.param.u64 %rd1, [{name}_param_0];\n{body}\tst.global.u32 [%rd1], %r1;\n\tret;\n\n}}\n"
    )


CALL = (
    "\t{ // callseq 0, 0\n\t.param .b32 retval0;\n\tcall.uni (retval0), \n\tgiven, \n\t(\n\t);\n"
    "\tld.param.b32 %r1, [retval0];\n\t}\n"
)
DECLARED = ".extern .func  (.param .b32 func_retval0) given\n()\n;\n"
WEAK = ".weak .func  (.param .b32 func_retval0) given\n()\n;\n"


def given(value: int, linkage: str = ".visible ") -> str:
    return (
        f"{linkage}.func  (.param .b32 func_retval0) given()\n{{\n\t.reg .b32 %r<2>;\n\t.loc\t1 7 3\n"
        f'\tmov.u32 %r1, {value};\n\tst.param.b32 [func_retval0], %r1;\n\tret;\n\n}}\n\t.file\t1 "/given.cu"\n'
    )


def loaded(variable: str) -> str:
    return f"\tld.global.u32 %r1, [{variable}];\n"


FIRST, SECOND = ".global .align 4 .u32 count = 3;\n", ".global .align 4 .u32 count = 4;\n"
SUFFIXED = ".extern .global .align 4 .u32 count;\n.visible .global .align 4 .u32 count__static__{}a9 = {};\n"


@pytest.mark.parametrize(
    ("texts", "stored"),
    [
        pytest.param([DECLARED + kernel("k", CALL), given(5)], {"k": 5}, id="defined_behind"),
        pytest.param([given(5), DECLARED + kernel("k", CALL)], {"k": 5}, id="defined_before"),
        pytest.param(
            [WEAK + kernel("k", CALL) + given(6, ".weak "), WEAK + given(6, ".weak ")], {"k": 6}, id="weak_stands_once"
        ),
        pytest.param(
            [kernel("k", CALL) + given(1, ""), kernel("m", CALL) + given(2, "")], {"k": 1, "m": 2}, id="own_functions"
        ),
        pytest.param(
            [FIRST + kernel("k", loaded("count")), SECOND + kernel("m", loaded("count"))],
            {"k": 3, "m": 4},
            id="own_variables",
        ),
        pytest.param(
            [FIRST + kernel("k", loaded("count")), ".visible " + SECOND + kernel("m", loaded("count"))],
            {"k": 3, "m": 4},
            id="own_before_one_for_all",
        ),
        pytest.param(
            [".extern .global .align 4 .u32 count;\n" + kernel("k", loaded("count")), ".visible " + SECOND],
            {"k": 4},
            id="extern_variable",
        ),
        pytest.param(
            [kernel("k", "\tmov.u32 %r1, 1;\n"), kernel("k", "\tmov.u32 %r1, 2;\n", "")],
            {"k": 1, "k$_file1": 2},
            id="own_kernel",
        ),
        pytest.param(
            [
                SUFFIXED.format(1, 3) + kernel("k", loaded("count")),
                SUFFIXED.format(2, 4) + kernel("m", loaded("count")),
            ],
            {"k": 3, "m": 4},
            id="names_of_clangs",
        ),
    ],
)
def test_each_kernel_has_what_its_file_means(texts: list[str], stored: dict[str, int]) -> None:
    assert stored_by([HEADER + text for text in texts], list(stored)) == stored


def stored_by(texts: list[str], kernels: list[str]) -> dict[str, int]:
    """What each kernel stores."""
    module = parse(linked_ptx(texts))
    device = Device()
    results = {}
    for name in kernels:
        output = device.buffer("output", 4)
        launch(module, Launch(name, (1, 1, 1), (1, 1, 1), [output], device=device))
        results[name] = int(output.read(np.int32)[0])
    return results


def test_lines_are_of_their_own_files() -> None:
    text = linked_ptx([HEADER + DECLARED + kernel("k", CALL) + '\t.file\t1 "/main.cu"\n', HEADER + given(5)])
    module = parse(text)
    assert {name: function.location.file for name, function in module.functions.items()} == {
        "k": "/main.cu",
        "given": "/given.cu",
    }
    # Declared as what it is from there on.
    assert ".extern" not in text
    assert text.count(".address_size") == 1


def test_names_that_a_compiler_numbers_stay_apart() -> None:
    """NVRTC calls texts `$str` and `$str$1`; inline assembly may close a scope in the first column."""
    texts = [
        ".global .align 4 .u32 $str = 1;\n.global .align 4 .u32 $str$1 = 2;\n"
        + kernel("k", "{\n}\n" + loaded("$str$1")),
        ".global .align 4 .u32 $str = 3;\n.global .align 4 .u32 $str$1 = 4;\n" + kernel("m", loaded("$str$1")),
    ]
    assert stored_by([HEADER + text for text in texts], ["k", "m"]) == {"k": 2, "m": 4}


def test_what_two_files_define_is_an_error() -> None:
    with pytest.raises(DefinedTwice) as raised:
        linked_ptx([HEADER + given(1), HEADER + given(2)])
    assert raised.value.names == ["given"]


def test_what_no_file_defines_stays_open() -> None:
    text = linked_ptx([HEADER + DECLARED + kernel("k", CALL), HEADER + DECLARED + kernel("m", CALL)])
    assert text.count(".extern .func") == 1


def test_what_clang_only_keeps_is_left_out() -> None:
    kept = ".global .align 8 .u64 __clang_gpu_used_external[2] = {generic(factor), k};\n"
    declared = ".weak .entry k(\n\t.param .u64 k_param_0\n)\n;\n.extern .const .align 4 .u32 factor;\n"
    text = linked_ptx(
        [declared + kept + kernel("k", "\tmov.u32 %r1, 1;\n", ".weak "), ".visible .const .u32 factor;\n"]
    )
    assert "__clang" not in text and text.count(".entry k(") == text.count("factor;") == 1
