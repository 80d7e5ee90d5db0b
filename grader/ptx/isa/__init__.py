"""What instructions compute, and the facts about every opcode that other rooms need."""
