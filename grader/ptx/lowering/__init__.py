"""Turns functions into steps that the machine runs: `lower`, a file a family of instructions.

All that does not depend on a launch is decided here, once.
"""
