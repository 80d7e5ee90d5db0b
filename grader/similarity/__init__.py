"""Which submissions are alike beyond what chance and the task explain: a hint for the teacher, never a mark."""
