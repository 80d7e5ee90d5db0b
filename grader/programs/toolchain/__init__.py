"""Host code → WebAssembly: the C and C++ library, our headers, the confined compiler.

`compile` is the way in; the compiler may do anything that a hostile source makes it do, so it is `confined`.
"""
