"""Grading as a whole: `pipeline` grades one submission, `session` does it for a user, one or a group; the self-test.

`group`, `workers` and `cluster` grade many side by side; `paths`, `cache` and `tables` keep a run's folder,
`rescoring` shows and scores it again.  `sweeps` are series of runs for graphs (`called`: of functions and programs),
`predictions` are times on a GPU that is not there, `recording` makes the result.  Imported by `proposing`, `cli` and
`notebook` alone.
"""
