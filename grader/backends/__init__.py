"""What a launch is and what comes of it; the emulator as one that runs it."""
