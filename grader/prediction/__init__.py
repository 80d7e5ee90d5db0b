"""Times predicted from what a kernel executes and addresses, without a GPU: see `model`."""
