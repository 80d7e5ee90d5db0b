"""Which kernel is which variant, what its parameters mean, how it is launched."""
