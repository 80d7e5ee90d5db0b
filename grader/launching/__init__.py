"""A kernel made ready to run at given sizes, and run: what every stage that runs something is made of."""
