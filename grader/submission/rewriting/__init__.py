"""The text that is compiled: host code blanked, sizes and arrays made the grader's to choose, changes for sweeps."""
