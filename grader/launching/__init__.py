"""A kernel made ready to run at given sizes, and run: what every stage that runs something is made of.

`backend` is the interface of what runs a launch, `emulator` the one that is always there; `trial` compares outputs.
"""
