"""Reports rendered in processes of their own, beside other work."""
