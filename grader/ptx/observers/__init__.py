"""What watches a launch: traffic, hazards, provenance; none of them changes a result.

`interface` is what an observer is and what it is told.
"""
