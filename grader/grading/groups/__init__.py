"""A group: many submissions side by side, in processes of this machine or on a cluster."""
