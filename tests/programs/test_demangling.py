"""Names of C++ as `__cxa_demangle` of the library writes them, which a program asks: whole ones, and garbled."""

from __future__ import annotations

import random
from pathlib import Path

from grader.programs.execution import run_program
from grader.programs.records import Start
from grader.programs.sandbox.demangling import demangled
from grader.programs.sources import Sources

ORACLE = """#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
int main() {
    static char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        for (char *end = line; *end; end++) if (*end == '\\n') *end = 0;
        char *text = abi::__cxa_demangle(line, 0, 0, 0);
        puts(text ? text : "");
        free(text);
    }
}
"""
READ = """\
_Z9transposePKfPfii _Z5tiledILi16EfEvPKT0_PS0_i _ZL6kernelPf _ZN12_GLOBAL__N_16kernelEPf _ZN2ns5tiledIfLb1EEEvPT_S2_
_Z1kPA32_f _Z1kPA32_KfPA8_A4_d _Z1kRA4_KiPA2_A3_f _Z1kPPKcS1_RKd _Z1kIN2ns6structIiEEEvT_PS3_
_Z1k4dim3S_P6float4PK6float4 _Z1kI6float4Lj5EEvPT_ _Z1kILc65ELs3ELm7ELl1ELy2ELx3ELin5EEvv
_ZN1aIiE1bIfEEvPT_PS0_ _ZN1a1b1cEP1dPN1a1eE _Z1kv _Z1kVPi
_Z1kPVKi _Z1kPrVKfS0_ _Z1kSt4pairIifE _ZNSt4pairIifE1fEv _Z1kOiRPi _ZN6MatrixIfE4multERKS0_S2_ _Z5count _Z1kIKfEvPT_
_Z1kIfEvPT_PKS0_N2ns1AIS0_EE _Z1kIPfEvT_PS1_ _Z1kIfLi4EEvPA4_T_ _Z4sumsIdLj256EEvPKT_PS0_mjlxyhatsbwe _Z1kPPPi
St13runtime_error 13runtime_error N2ns5ErrorE PKc i St9bad_alloc NSt3__112out_of_rangeE
"""
LEFT = """\
_Z3mapIZ4mainEUlfE_EvPfT_ _Z1kIJifEEvDpT_ _Z1kPFviE _Z1kIRfEvT_RS1_ _Z1kSt6vectorIiSaIiEE _Z1kILi3EEvRAT__f _Z1kiv _Z
_Z1
"""


def test_what_is_read_is_written_as_the_library_does(tmp_path: Path) -> None:
    chance, marks = random.Random(4), "_ZNEISTKPRAVvifjlLb0123456789abcStd"
    read, left = READ.split(), LEFT.split()
    names = [*read, *left]
    for name in [*read, *left] * 25:
        at = chance.randrange(len(name))
        names.append(name[:at] + chance.choice(("", chance.choice(marks), name[at:][:1] * 2)) + name[at + 1 :])
    (tmp_path / "oracle.cu").write_text(ORACLE)
    got = run_program(Sources([tmp_path / "oracle.cu"]), Start([], "\n".join(names).encode()))
    right = dict(zip(names, got.stdout.decode().split("\n"), strict=False))
    assert len(right) == len(set(names))
    found = {name: text for name in right if (text := demangled(name)) is not None}
    assert {name: right[name] for name in found} == found
    assert found.keys() >= set(read) and not found.keys() & set(left)


def test_a_name_that_grows_without_end_is_left_to_the_library() -> None:
    doubled = "_Z1kI" + "1aI1bS_" * 5 + "E" * 5 + "Evv"
    assert len(demangled(doubled) or "") < 5_000
    for name in ("_Z" + "9" * 5000, "_Z1k" + "P" * 5000 + "i", "_Z1kI" + "1aI" * 5000, "_Z1kS" + "Z" * 5000 + "_"):
        assert demangled(name) is None
