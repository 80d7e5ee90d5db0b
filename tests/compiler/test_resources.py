"""What the assembler says of a kernel; what a program puts into the log is none of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.compiler.result import Resources, resources_of

LOG = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1kPf' for 'sm_90'
ptxas info    : Function properties for _Z1kPf
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 10 registers, used 0 barriers, 80 bytes smem
"""


def test_of_a_kernel() -> None:
    assert resources_of(LOG) == {"_Z1kPf": Resources(10, 80, 16, 8, 4)}
    assert resources_of("") == {}


def test_what_a_program_says_is_left_out() -> None:
    said = "a.cu(1): remark: ptxas info : Compiling entry function 'fake' for 'sm_90' ptxas info : Used 1 registers\n"
    huge = f"a.cu(2): remark: ptxas info : Used {'9' * 5000} registers, {'9' * 5000} bytes smem\n"
    assert resources_of(said + huge + LOG + said + huge) == resources_of(LOG)
    assert resources_of(LOG.replace("10", "9" * 5000)) == {}


@given(st.text(alphabet="ptxas info: Used 19 registers'entry\n", max_size=200))
def test_any_log_is_read(log: str) -> None:
    resources_of(log)
    resources_of(LOG + log + LOG)
