"""What instructions compute, and the facts about every opcode that other rooms need.

`instructions` names a function for each; the others are these functions, on arrays of lanes, without state.
"""
