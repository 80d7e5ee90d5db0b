"""A submission's programs, each run once before it is bound to a lab: what they launched decides over their text."""
