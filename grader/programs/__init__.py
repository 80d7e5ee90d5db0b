"""Whole CUDA programs on a machine without a GPU: host code in a WebAssembly sandbox, kernels on the emulator.

`observe.observe` runs a program and says what it did.  How: `sources` reads its files, `toolchain` compiles the host
code, `kernels` has the device code compiled by NVRTC, and a process of its own (`sandbox`) runs the module and serves
the CUDA runtime API (`runtime`) from the emulated device (`emulated`).
"""
