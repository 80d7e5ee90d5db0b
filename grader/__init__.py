"""Automated grader and reference harness for CUDA lab assignments."""

__version__ = "0.1.0"
