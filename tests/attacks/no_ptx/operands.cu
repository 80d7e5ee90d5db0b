@{whole.replace("""const int r = blockIdx.y * TILE + threadIdx.y;""", """const int r = blockIdx.y * TILE + threadIdx.y;\n    asm volatile("add.u32 %%nothing, 1;");""")}@
