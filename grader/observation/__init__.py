"""A submission's whole programs run once each, before it is bound to a lab: what they launched decides over their text."""
