"""Which kernel is which variant, what its parameters mean, how it is launched: `bind`.

A file a question: `assign`, `roles`, `sizes`, `blocks`, `plans`; `reconcile` says who is believed first.
"""
