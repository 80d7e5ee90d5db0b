"""`grade`, and `python -m grader`: where the process begins."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded is no traceback."""
    try:
        from grader.processes.limits import one_blas_thread, seldom_look_for_garbage

        one_blas_thread()
        seldom_look_for_garbage()
        from grader.cli import main as command_line

        command_line.main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
