"""Faults that fail no call of the runtime, and make results wrong without a word."""
