"""A student's files: read, parsed, bound to the lab's variants, made compilable.  Nothing is compiled or run here."""
