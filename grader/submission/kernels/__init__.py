"""What a kernel is and what a launch is, as the text of a file shows them, and what was seen of them (`records`).

Knows no lab.
"""
