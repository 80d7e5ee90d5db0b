"""The CUDA runtime as a program sees it: one file a family of calls, `HANDLERS` of each by name.

A handler takes the `State` and the call's arguments as numbers, none of which it may trust, and returns a CUDA error
or another number.  What a call finds out goes into the state's records.
"""
