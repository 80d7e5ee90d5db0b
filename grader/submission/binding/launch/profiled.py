"""What a launch's formulas come to at the sizes that a lab has profiled (`observe` in its file)."""

from __future__ import annotations

from grader.device_limits import is_possible_block
from grader.lab import formula
from grader.lab.records import Lab, LaunchRule

Block = tuple[int, int, int]


def block_at(formulas: tuple[str, ...], otherwise: Block, lab: Lab) -> Block:
    """The block at the profiled sizes, where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        x, y, z = [*(formula.integer(text, sizes) for text in formulas), 1, 1, 1][:3]
    except formula.FormulaError:
        return otherwise
    return (x, y, z) if formulas and is_possible_block((x, y, z)) else otherwise


def shared_bytes_at(shared_formula: str, block: Block, lab: Lab, otherwise: int) -> int:
    """Dynamic shared memory at the profiled sizes, where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        threads = block[0] * block[1] * block[2]
        return formula.integer(shared_formula, {**sizes, "threads": threads}) if shared_formula else otherwise
    except formula.FormulaError:
        return otherwise


def lab_block(rule: LaunchRule, lab: Lab) -> Block:
    """The lab's block, at the profiled sizes where it depends on them."""
    sizes = next((cases.observe for cases in lab.cases.values()), {})
    try:
        return rule.block_at(sizes)
    except formula.FormulaError:
        return 32, 1, 1
