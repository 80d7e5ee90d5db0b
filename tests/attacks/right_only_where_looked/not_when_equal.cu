@{whole.replace("""const int c = blockIdx.x * TILE + threadIdx.x;""", """const int c = blockIdx.x * TILE + threadIdx.x;\n    if (src[0] == src[1]) return;""")}@
