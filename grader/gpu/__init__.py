"""The GPU: `device` runs in a process beside the student's kernel, `process` starts that and `session` asks it.

`bench`, `runs` and `part` make results and times of the answers; `functions` runs functions and whole programs, on
`programs.card`.  No mark depends on what `unmarked` measures: other tools on kernels, the oracle on the CPU.
"""
