"""The GPU: `device` runs in a process beside the student's kernel, `process` starts that and `session` asks it.

`bench`, `runs` and `part` make results and times of the answers, `cpu` times the lab's oracle beside them; `functions`
runs functions and whole programs, on `programs.card`.  On what `profilers` say no mark depends.
"""
