"""How long kernels take: measured by a device that is handed in (plan, clock, statistics, verdict, store), and
predicted without one from what a kernel executes and addresses (`prediction`).
"""
