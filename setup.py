"""Copies the folders that hold data (labs, references, templates, kernels of the self-test) into the wheel.

In the checkout, and in an editable install of it, `grader.files.data_root` finds them where they are.
"""

from pathlib import Path
from shutil import copytree, ignore_patterns, rmtree

from setuptools import setup
from setuptools.command.build_py import build_py

DATA_FOLDERS = ("assignments", "reference", "templates", "tests/kernels")


class BuildWithData(build_py):
    """`build_py`, then the data folders as `grader/data/<folder>`."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib, "grader", "data")
        rmtree(target, ignore_errors=True)
        for folder in DATA_FOLDERS:
            copytree(Path(__file__).parent / folder, target / folder, ignore=ignore_patterns("__pycache__", "*.pyc"))


setup(cmdclass={"build_py": BuildWithData})
