"""Runs the blocks of a kernel side by side: groups of threads, who goes next, and where they meet.

`scheduler` is the way in; the steps are made by `lowering`, and observers are told of every access.
"""
