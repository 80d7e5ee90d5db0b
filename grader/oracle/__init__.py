"""What must come out of a kernel, whether it did, and what each output element depends on."""
