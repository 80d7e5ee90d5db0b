"""Tests of what is taken in."""
