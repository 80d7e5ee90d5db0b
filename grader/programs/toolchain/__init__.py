"""Host code → WebAssembly: the C and C++ library, our headers, the confined compiler."""
