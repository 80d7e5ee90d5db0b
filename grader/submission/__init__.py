"""A student's files: read, parsed, bound to the lab's variants, made compilable.  Nothing is compiled or run here.

`binding.bind` is the way in; what is known in the end is `records.Submission`.  Each part imports those before it:
`lexical` (characters, in counted steps), `source` (bytes to text) and `folder` (which files), `cpp` (text to trees and
values), `kernels` (kernels and launches in a tree, and the records of what runs showed of them), `records`; `host_text`
(mistakes of host code); `device_code`, `compile_time`, `constant_memory`, `structs` and, for sweeps, `changes` (what is
compiled); `binding`.
"""
