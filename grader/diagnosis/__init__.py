"""Why an output is wrong: its first wrong element, the rule of the wrong values, where they lie."""
