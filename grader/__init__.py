"""Automated grader and reference harness for CUDA lab assignments."""

from importlib import import_module

__version__ = "0.1.0"


def load_ipython_extension(shell: object) -> None:
    """What IPython calls for `%load_ext grader`: it then knows the magic `%%grade LAB`."""
    import_module("grader.notebook").register(shell)
