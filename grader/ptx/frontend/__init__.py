"""From PTX text to plain records: `parser.parse`; `nodes` are the records.

Knows how PTX is written, and nothing of what it does.
"""
