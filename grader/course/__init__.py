"""A course round its gradings: who belongs to it, when work was due, what the teacher decided.

Works on results and on files that teachers and learning systems wrote; grades nothing.
"""
