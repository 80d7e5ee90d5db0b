"""Everything that runs in the GPU process, beside a student's kernel.  Imports messages and CUDA only."""
