"""PTX types and registers as WebAssembly has them."""

from __future__ import annotations

from grader.ptx.frontend.nodes import Register

TYPES: dict[str, tuple[str, int, bool]] = {
    "pred": ("i32", 0, False),
    **{f"{kind}{bits}": ("i32", bits, kind == "s") for kind in "usb" for bits in (8, 16, 32)},
    **{f"{kind}64": ("i64", 64, kind == "s") for kind in "usb"},
    "f32": ("f32", 32, False),
    "f64": ("f64", 64, False),
}
"""Of a PTX type: WebAssembly type, bits (0 for predicates), whether it is signed."""


def local_type(register: Register) -> str:
    """The WebAssembly type of the local that holds a register."""
    name = register.type
    if name in ("f32", "f64"):
        return name
    return "i64" if name.endswith("64") else "i32"


def register_bits(register: Register) -> int:
    """Width of a register, 0 for a predicate."""
    name = register.type
    if name == "pred":
        return 0
    return 32 if name.endswith("x2") else int(name.lstrip("busf"))


def converted(expression: str, have: str, want: str, signed: bool = False) -> str:
    """The bits of a value in another WebAssembly type: cut, or extended."""
    if have == want:
        return expression
    if have in ("f32", "f64"):
        whole = "i32" if have == "f32" else "i64"
        return converted(f"({whole}.reinterpret_{have} {expression})", whole, want, signed)
    if want in ("f32", "f64"):
        whole = "i32" if want == "f32" else "i64"
        return f"({want}.reinterpret_{whole} {converted(expression, have, whole, signed)})"
    if want == "i32":
        return f"(i32.wrap_i64 {expression})"
    return f"(i64.extend_i32_{'s' if signed else 'u'} {expression})"
