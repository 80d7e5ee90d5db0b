"""Runs CUDA kernels without a GPU: executes PTX on NumPy vectors and counts what a GPU would have to do.

`frontend` reads PTX, `isa` is what instructions compute, `lowering` makes steps of them, `machine` schedules warps,
`observers` watch every access, `native` does launches of few threads and whole loops as WebAssembly.  Usable by itself;
imports NumPy and, in `native`, wasmtime.  Nothing is loaded with it: records alone are read by many.

>>> import numpy as np
>>> from grader.ptx.frontend.parser import parse
>>> from grader.ptx.launch import Launch, launch
>>> from grader.ptx.memory import Device
>>> text = '''
... .version 8.0
... .target sm_75
... .address_size 64
... .visible .entry twice(.param .u64 p)
... {
...     .reg .b64 %a<4>;
...     .reg .b32 %r<2>;
...     .reg .f32 %f<3>;
...     ld.param.u64 %a0, [p];
...     mov.u32 %r0, %tid.x;
...     mul.wide.u32 %a1, %r0, 4;
...     add.s64 %a2, %a0, %a1;
...     ld.global.f32 %f0, [%a2];
...     add.f32 %f1, %f0, %f0;
...     st.global.f32 [%a2], %f1;
...     ret;
... }
... '''
>>> device = Device()
>>> data = device.buffer("data", np.arange(4, dtype=np.float32))
>>> report = launch(parse(text), Launch("twice", grid=(1,), block=(4,), arguments=[data], observe=True))
>>> data.read(np.float32)
array([0., 2., 4., 6.], dtype=float32)
>>> report.counters.total("sectors", "global", "load")
1
"""
