@{whole.replace("""const int r = blockIdx.y * TILE + threadIdx.y;""", """const int r = blockIdx.y * TILE + threadIdx.y;\n    if (r + c == 0) printf("%a %s %d\\n");""")}@
