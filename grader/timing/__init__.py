"""How kernels are timed: plan, clock, statistics, verdict, store.  Knows no device: it is handed what measures."""
