"""The memory that the grader shares with its GPU process: inputs in their places, results out of theirs."""

from __future__ import annotations

import mmap
import os

import numpy as np
import pytest

from grader.gpu.messages import PROGRESS_BYTES, Array, Scalar
from grader.gpu.process import SharedBuffer
from grader.gpu.session import launch_message
from grader.launching.backend import BufferArgument, LaunchRequest, ScalarArgument


def request(count: int) -> LaunchRequest:
    values = np.arange(count, dtype=np.float64)
    arguments: list[BufferArgument | ScalarArgument] = [
        BufferArgument("in", (count,), "float64", values, is_output=False),
        BufferArgument("out", (2, count), "int16", None, is_output=True),
        ScalarArgument(-2, "int32"),
    ]
    return LaunchRequest("k", (7, 1, 1), (32, 2, 1), 16, arguments)


@pytest.mark.parametrize("counts", [(5,), (5, 40_000), (40_000, 5)])
def test_inputs_are_where_the_message_says_and_results_come_from_there(counts: tuple[int, ...]) -> None:
    buffer = SharedBuffer()
    for count in counts:
        asked = request(count)
        buffer.clear()
        message = launch_message("m", asked, buffer.place(asked))
        descriptor = buffer.fill()
        one, two, number = message.arguments
        assert isinstance(one, Array) and isinstance(two, Array)
        assert (one.dtype, one.nbytes, one.is_output) == ("float64", 8 * count, False)
        assert (two.dtype, two.nbytes, two.is_output) == ("int16", 4 * count, True)
        assert number == Scalar(b"\xfe\xff\xff\xff")
        # As the other process has it.
        with mmap.mmap(descriptor, os.fstat(descriptor).st_size) as view:
            assert view[one.offset : one.offset + one.nbytes] == np.arange(count, dtype=np.float64).tobytes()
            result = np.arange(2 * count).astype(np.int16)
            view[two.offset : two.offset + two.nbytes] = result.tobytes()
        buffers = [a for a in asked.arguments if isinstance(a, BufferArgument)]
        np.testing.assert_array_equal(buffer.array(buffers[1]), result.reshape(2, count))
        assert buffer.content()[one.offset : one.offset + one.nbytes] == np.arange(count, dtype=np.float64).tobytes()
    buffer.close()


def test_the_kernel_at_work_is_known_afterwards_and_forgotten_with_the_next_request() -> None:
    buffer = SharedBuffer()
    assert buffer.progress() == ""
    descriptor = buffer.fill()
    os.pwrite(descriptor, b"student:naive".ljust(PROGRESS_BYTES, b"\0"), 0)
    assert buffer.progress() == "student:naive"
    buffer.fill()
    assert buffer.progress() == ""
    buffer.close()
