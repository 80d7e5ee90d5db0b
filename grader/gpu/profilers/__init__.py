"""Other tools asked about a kernel on the GPU, when they are installed and permitted; no mark depends on them."""
