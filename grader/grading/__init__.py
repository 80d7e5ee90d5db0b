"""Grading as a whole: one submission through all its stages, a group side by side, the self-test."""
