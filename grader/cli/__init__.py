"""The command line: a file a group of commands, `options` what several have, `serve_app` the page of `grade serve`.

It turns errors into one line and an exit code; what a command does is asked of `grading`, `programs`, `proposing`.
"""
