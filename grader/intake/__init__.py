"""What learning systems export, taken in: archives read safely, whose work each file is, when it was handed in."""
