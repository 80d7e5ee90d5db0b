"""The GPU: `device` runs in a process beside the student's kernel, `process` starts that and `session` asks it.

`bench`, `runs` and `part` make times and results of the answers; on what `profilers` say no mark depends.
"""
