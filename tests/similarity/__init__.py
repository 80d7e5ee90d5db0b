"""Tests of the search for similar submissions."""
