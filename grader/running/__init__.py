"""A submission's kernels run at the sizes of a lab: cases, the interpretation that fits, evidence."""
