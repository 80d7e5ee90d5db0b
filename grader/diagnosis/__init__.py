"""Why an output is wrong: its first wrong element, the rule of the wrong values, where they lie.

Works on arrays and on the history of a launch's memory; launches nothing, and decides no points.
"""
