"""C expressions: tokens, macros, trees, and their values as far as a file tells them."""
