"""The smallest change that makes a kernel right, or a right one faster: compiled, run and graded as if handed in.

No mark depends on it.  Who searches: `search` each kernel, `program` what kernels share, `host` host code,
`of_function` functions and programs by running them, `of_cost` those of them that are right and cost too much, `faster`
right kernels, by predicted times.  What they try comes from files of one kind of change each; `ranking` puts the
changes of kernels in order, by the `clues` that a fault gives.  `screen` runs a change at a small size, where the
`symptom` shows; what passes is graded in full (`verified`, which also writes the result).  `function`, `nodes` and
`launch_sites` are a program's text as changes see it.
"""
