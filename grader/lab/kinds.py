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
    """

    name: str
    is_array: bool = False
    is_read: bool = True
    is_written: bool = False
    is_size: bool = False

    @property
    def is_number(self) -> bool:
        """Whether it is passed by value, and no size."""
        return not self.is_array and not self.is_size


KINDS = {
    kind.name: kind
    for kind in (
        Kind("input", is_array=True),
        Kind("output", is_array=True, is_read=False, is_written=True),
        Kind("in_out", is_array=True, is_written=True),
        Kind("size", is_size=True),
        Kind("scalar"),
    )
}
"""By the name that lab files call it."""
