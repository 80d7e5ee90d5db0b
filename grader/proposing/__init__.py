"""`grade new-lab NAME --from FILE`: a lab proposed from a teacher's solution, by running it; the teacher goes on."""
