"""Every export that a group gets."""

from __future__ import annotations

from grader.exports import page, roster, table
from grader.exports.entries import Export

EXPORTS: tuple[Export, ...] = (table.EXPORT, page.EXPORT, roster.EXPORT)
