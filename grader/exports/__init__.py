"""A group's results as files: one module an export, each a function of the list of results."""
