"""What a lab is, as records, and the arithmetic that lab files and launches may use."""
