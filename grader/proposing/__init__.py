"""`grade new-lab NAME --from FILE`: a lab proposed from a teacher's solution, by running it; the teacher goes on.

`solution` reads the file and makes parameters of its sizes; `probing` calls its functions with arrays of ours, tells
roles by what is touched and tries lines of NumPy on what came out; `programs` runs it as a whole and `contents` tells
what its files hold; `proposal` is what was found out, `writing` the lab's files made of it.
"""
