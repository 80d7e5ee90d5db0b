"""Grading as a whole: one submission through all its stages (`pipeline`), a group side by side, the self-test.

Puts together what other rooms do, and is imported by `proposing`, `cli` and `notebook` alone.
"""
