"""Tests of gradings that are handed to an executor."""
