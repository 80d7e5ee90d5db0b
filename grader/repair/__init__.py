"""The smallest change that makes a kernel right, or a right one faster: compiled, run and graded as if handed in."""
