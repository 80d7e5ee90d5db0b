"""A signal that asks to end is not lost, whatever Python is at when it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.cli.options import Interrupted, end_if_asked, interruptible

pytestmark = pytest.mark.started


class Interrupts:
    """Freed in the moment in which Ctrl-C is pressed."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C, where the tests run in a shell's background too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_in_a_finaliser_is_heard_at_the_next_look() -> None:
    with interruptible():
        end_if_asked()
        dying: Interrupts | None = Interrupts()
        dying = None
        assert dying is None
        with pytest.raises(Interrupted) as told:
            end_if_asked()
    assert told.value.code == 128 + signal.SIGINT
    # What came to one command is not told to the next.
    with interruptible():
        end_if_asked()


def test_ctrl_c_while_the_program_is_loaded_is_no_traceback(tmp_path: Path) -> None:
    # Pressed by what is imported first of all that the command line needs.
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), str(Path(__file__).parent.parent)])
    command = [sys.executable, "-m", "grader", "labs"]
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "")
