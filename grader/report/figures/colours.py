"""Colours that all figures share."""

from __future__ import annotations

INK = "#1f2933"
"""Letters, axes, and what is pointed out."""
FAINT = "#d5dbe1"
"""Grids."""
