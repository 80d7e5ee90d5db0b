"""The GPU's part in grading: results and times, measured by the lab's own kernels, and thresholds for it."""
