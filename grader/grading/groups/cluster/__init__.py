"""Gradings handed to an executor, of this process or of a cluster: what travels, what runs there, what comes back."""
