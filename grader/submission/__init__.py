"""A student's files: read, parsed, bound to the lab's variants, made compilable.  Nothing is compiled or run here.

`binding.bind` is the way in; what is known in the end is `records.Submission`.
"""
