"""What a parameter of a lab can be, as facts that are asked: a kind is looked up here, and compared nowhere else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of parameter.

    is_array: it is memory that a pointer leads to.
    is_read: what the oracle gives it counts; else nobody may read it before it is written.
    is_written: what is in it afterwards is compared with what the oracle expects.
    is_size: a whole number of which shapes are made.  Neither an array nor a size: a number like any other, drawn from
      the lab's values.
    interfaces: of the labs that have such parameters.
    """

    name: str
    is_array: bool = False
    is_read: bool = True
    is_written: bool = False
    is_size: bool = False
    interfaces: tuple[str, ...] = ("kernel", "function", "program")

    @property
    def is_number(self) -> bool:
        """Whether it is passed by value, and no size."""
        return not self.is_array and not self.is_size


KINDS = {
    kind.name: kind
    for kind in (
        Kind("input", is_array=True),
        Kind("output", is_array=True, is_read=False, is_written=True),
        Kind("in_out", is_array=True, is_written=True, interfaces=("function", "program")),
        # Room to work in: nothing is in it before, and nobody looks at it afterwards.
        Kind("scratch", is_array=True, is_read=False, interfaces=("function",)),
        Kind("size", is_size=True),
        Kind("scalar", interfaces=("function", "program")),
    )
}
"""By the name that lab files call it."""
