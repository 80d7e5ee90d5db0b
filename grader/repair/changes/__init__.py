"""Changes of one place that may be what a kernel lacks, a file a kind; `repair.change` is what each is."""
