"""A course round its gradings: who belongs to it, when work was due, what the teacher decided."""
