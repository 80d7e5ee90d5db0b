"""The smallest change that makes a kernel right, or a right one faster: compiled, run and graded as if handed in.

`search` and `program` try what the files of changes propose, `screen` at a small size first.  No mark depends on it.
"""
