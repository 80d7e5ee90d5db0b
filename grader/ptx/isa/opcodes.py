"""Facts about opcodes, in one place: what ends a block, what touches memory, what is written, how it is written down.

Liveness, control flow, lowering, provenance and the check of an instruction's form all read this table.  An opcode
that it does not name computes: its first operand is written, all others are read.
"""

from __future__ import annotations

from dataclasses import dataclass

MANY = 64


@dataclass(frozen=True, slots=True)
class OpcodeFacts:
    """One opcode.

    ends: what it does to a block: "" (nothing), "branch", "leave" (of the function or the grid); "barrier", "call":
    threads may be held behind it.
    collective: every lane named in its member mask, the last operand, executes it together.
    memory: "load", "store", "atomic", "fence", "texture" (read by coordinates), "surface" (written so), "copy" (from
    one place to another), or "".
    writes_first: its first operand is written (an address is never).
    operands: fewest and most; modifiers: fewest.
    idle: a thread that has nothing else before it is as good as gone.
    exchanges: its result comes from other lanes of the warp.
    hint: it changes nothing that a program could see.
    fragments: its operands are parts of matrices that a whole warp holds.
    checked: its operands are of the usual form.
    """

    ends: str = ""
    collective: bool = False
    memory: str = ""
    writes_first: bool = True
    operands: tuple[int, int] = (1, MANY)
    modifiers: int = 0
    idle: bool = False
    exchanges: bool = False
    hint: bool = False
    fragments: bool = False
    checked: bool = True


_READS = OpcodeFacts(writes_first=False, operands=(0, MANY), checked=False)
_BARRIER = OpcodeFacts("barrier", writes_first=False, operands=(0, 4))
_FENCE = OpcodeFacts(memory="fence", writes_first=False, operands=(0, MANY))
_HINT = OpcodeFacts(writes_first=False, operands=(0, MANY), hint=True)
_TRAP = OpcodeFacts(writes_first=False, operands=(0, 0))

OPCODES: dict[str, OpcodeFacts] = (
    {
        "bra": OpcodeFacts("branch", writes_first=False, operands=(1, 1), idle=True),
        "brx": OpcodeFacts("branch", writes_first=False, operands=(2, 2)),
        "ret": OpcodeFacts("leave", writes_first=False, operands=(0, 0), idle=True),
        "exit": OpcodeFacts("leave", writes_first=False, operands=(0, 0), idle=True),
        "trap": _TRAP,
        "brkpt": _TRAP,
        "call": OpcodeFacts("call", writes_first=False, operands=(3, 4)),
        "bar": _BARRIER,
        "barrier": _BARRIER,
        "shfl": OpcodeFacts(collective=True, exchanges=True, operands=(5, 5), modifiers=3),
        "vote": OpcodeFacts(collective=True, exchanges=True, operands=(3, 3), modifiers=2),
        "match": OpcodeFacts(collective=True, exchanges=True, operands=(3, 3), modifiers=3),
        "redux": OpcodeFacts(collective=True, exchanges=True, operands=(3, 3), modifiers=3),
        "activemask": OpcodeFacts(exchanges=True, operands=(1, 1)),
        "ld": OpcodeFacts(memory="load", operands=(2, 3), modifiers=1),
        "ldu": OpcodeFacts(memory="load", operands=(2, 2), modifiers=1),
        "st": OpcodeFacts(memory="store", writes_first=False, operands=(2, 3), modifiers=1),
        "atom": OpcodeFacts(memory="atomic", operands=(3, 5), modifiers=2),
        "red": OpcodeFacts(memory="atomic", writes_first=False, operands=(2, 4), modifiers=2),
        "tex": OpcodeFacts(memory="texture", operands=(2, 4), modifiers=3),
        "suld": OpcodeFacts(memory="texture", operands=(2, 2), modifiers=3),
        "sust": OpcodeFacts(memory="surface", writes_first=False, operands=(2, 2), modifiers=3),
        "wmma": OpcodeFacts(
            collective=True, exchanges=True, operands=(2, MANY), modifiers=4, fragments=True, checked=False
        ),
        "mma": OpcodeFacts(
            collective=True, exchanges=True, operands=(4, MANY), modifiers=4, fragments=True, checked=False
        ),
        "ldmatrix": OpcodeFacts(
            collective=True, memory="matrix", operands=(2, 2), modifiers=4, fragments=True, checked=False
        ),
        "elect": OpcodeFacts(collective=True, exchanges=True, operands=(2, 2), modifiers=1),
        "cp": OpcodeFacts(memory="copy", writes_first=False, operands=(0, MANY), modifiers=2, checked=False),
        "mbarrier": OpcodeFacts(memory="atomic", operands=(1, 4), modifiers=2, checked=False),
        "membar": _FENCE,
        "fence": _FENCE,
        "mov": OpcodeFacts(operands=(2, 2), modifiers=1),
        "cvta": OpcodeFacts(operands=(2, 2), modifiers=2),
        "isspacep": OpcodeFacts(operands=(2, 2), modifiers=1),
    }
    | dict.fromkeys(
        (
            "pmevent",
            "stmatrix",
            "setmaxnreg",
            "stackrestore",
            "sured",
        ),
        _READS,
    )
    | dict.fromkeys(
        ("applypriority", "discard", "griddepcontrol", "nanosleep", "pragma", "prefetch", "prefetchu"), _HINT
    )
)
"""PTX ISA, chapter "Instruction set"."""

_COMPUTES = OpcodeFacts()


def facts(opcode: str) -> OpcodeFacts:
    """What is known of an opcode."""
    return OPCODES.get(opcode, _COMPUTES)


def is_barrier(opcode: str) -> bool:
    """Whether threads meet at it."""
    return facts(opcode).ends == "barrier"


_NAMES = """
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx call
    clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta discard div dp2a dp4a elect ex2 exit fence fma
    fns getctarank griddepcontrol isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier
    membar min mma mov movmatrix mul mul24 multimem nanosleep neg not or pmevent popc prefetch prefetchu prmt rcp red
    redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl shl shr sin slct sqrt st stackrestore stacksave stmatrix
    sub subc suld suq sured sust szext tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd
    vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4
    wgmma wmma xor pragma
"""
MNEMONICS = frozenset(_NAMES.split())
