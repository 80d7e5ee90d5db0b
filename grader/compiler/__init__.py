"""Students' kernels to PTX and CUBIN, in a process of their own that can read nothing but NVRTC's files."""
