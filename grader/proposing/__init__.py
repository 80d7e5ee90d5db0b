"""`grade new-lab NAME --from FILE`: a lab proposed from a teacher's solution, by running it; the teacher goes on.

`solution` reads the file, `probing` calls its functions, `writing` has the lab's files.
"""
