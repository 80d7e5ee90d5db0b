"""How a kernel is launched: its block, what that covers, its grid and its shared memory."""
