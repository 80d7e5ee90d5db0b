"""What users see of a result: terminal, HTML, PDF.  Everything here is a function of `grader.result` records."""
