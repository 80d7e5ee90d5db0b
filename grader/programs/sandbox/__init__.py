"""The process that a program runs in: WebAssembly with limits, no files but those it is handed, no network.

`process` starts it, `worker` is it, `run` is one run; what the program calls is served by `wasi` and `runtime`.
"""
