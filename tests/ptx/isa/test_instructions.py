"""Every instruction against exact arithmetic in Python, over edge values and random bits."""

from __future__ import annotations

import pytest

from tests.ptx.isa.isa_case import Case, operand_rows
from tests.ptx.isa.isa_cases import CASES
from tests.ptx.isa.isa_run import emulate


@pytest.mark.parametrize("item", CASES, ids=str)
def test_agrees_with_exact_arithmetic(item: Case) -> None:
    rows = operand_rows(item, 110)
    got = emulate(item, rows)
    assert len(got) == len(rows)
    for operands, result in zip(rows, got, strict=True):
        expected = item.oracle(*operands)
        expected = expected if isinstance(expected, tuple) else (expected,)
        assert [hex(x) for x in result] == [hex(x) for x in expected], [hex(x) for x in operands]
