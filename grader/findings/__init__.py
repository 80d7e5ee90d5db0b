"""What is to be mended in one submission, a line each, in the formats that editors and services read."""
