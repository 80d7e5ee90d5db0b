"""A submission's kernels run at the sizes of a lab: cases, the interpretation that fits, evidence.

What comes of it is `evidence.Evidence`, which `checks` judge; nothing is judged here.
"""
