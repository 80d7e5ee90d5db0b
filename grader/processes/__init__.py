"""Child processes: started with limits, asked by messages on a socket, given a deadline, replaced when they die.

Knows nothing of what they are for, and nothing else of the project.
"""
