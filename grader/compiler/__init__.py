"""Students' kernels to PTX and CUBIN, in a process of their own that can read nothing but NVRTC's files.

`process` is asked, `worker` answers; `result` is what they say to each other.  Knows no lab and no submission.
"""
