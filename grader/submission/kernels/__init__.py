"""What a kernel is and what a launch is, as the text of a file shows them."""
