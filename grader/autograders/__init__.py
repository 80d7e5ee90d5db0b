"""What other services run the grader by: packages and workflows for one lab, written by `grade autograder`."""
