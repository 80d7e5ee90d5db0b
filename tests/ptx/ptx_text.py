"""Small PTX texts for tests, and look-ups in what was parsed."""

from __future__ import annotations

from grader.ptx.frontend.nodes import Function, Instruction
from grader.ptx.frontend.parser import parse

HEADER = ".version 9.0\n.target sm_75\n.address_size 64\n"

REGISTERS = """
  .reg .pred %p<9>;
  .reg .b16 %rs<9>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<9>;
  .reg .f64 %fd<9>;
"""


def module_text(body: str, before: str = "") -> str:
    """A module with one kernel `k(.param .u64 k_param_0)` of that body."""
    return f"{HEADER}{before}\n.visible .entry k(.param .u64 k_param_0)\n{{{REGISTERS}{body}\n}}\n"


def kernel(body: str, before: str = "") -> Function:
    """The parsed kernel of `module_text`."""
    return parse(module_text(body, before)).functions["k"]


def instructions(function: Function) -> list[Instruction]:
    """The instructions of a function, without its labels."""
    return [item for item in function.body if isinstance(item, Instruction)]


def only(body: str, before: str = "") -> Instruction:
    """The single instruction of a body."""
    (instruction,) = instructions(kernel(body, before))
    return instruction


def full_opcode(instruction: Instruction) -> str:
    return ".".join((instruction.opcode, *instruction.modifiers))
