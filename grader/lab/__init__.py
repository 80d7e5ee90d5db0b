"""What a lab is, as records, and the arithmetic that lab files and launches may use.

`file` reads `lab.yaml`, `expected` asks the oracle, `compare` says whether an output is what it must be.  Knows no
submission.
"""
