"""A student's files: which they are, what `submission.yaml` says of them, their bytes as text."""
