"""Tests of a course's files."""
