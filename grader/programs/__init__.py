"""Whole CUDA programs on a machine without a GPU: host code in a WebAssembly sandbox, kernels on the emulator.

`execution` runs one program and says what it did; `observation` runs all programs of a submission, some of them several
times (`runs_with_kernels`), and keeps what it saw (`remembered`, `moved`).  How: `starts` says which files are a
program and what it is started with, `sources` reads them, `toolchain` compiles the host code, `kernels` the device
code, as nvcc would, and a process of its own (`sandbox`) runs the module.  That serves the CUDA runtime API
(`runtime`) from a `device`: emulated (`emulated`), or a GPU (`card`).
"""
