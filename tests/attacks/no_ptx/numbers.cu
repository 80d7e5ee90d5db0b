@{whole.replace("""const int r = blockIdx.y * TILE + threadIdx.y;""", """const int r = blockIdx.y * TILE + threadIdx.y;\n    asm volatile("mov.u32 %r1, 99999999999999999999999;");""")}@
