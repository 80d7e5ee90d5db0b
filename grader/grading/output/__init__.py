"""What a run leaves in its folder: where it lies, what of it still holds, tables of it, and all of it shown again."""
