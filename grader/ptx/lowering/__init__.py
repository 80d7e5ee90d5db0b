"""Turns functions into steps that the machine runs."""
