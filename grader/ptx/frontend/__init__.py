"""From PTX text to plain records."""
