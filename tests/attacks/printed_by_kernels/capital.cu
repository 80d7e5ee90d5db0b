@{whole.replace("""const int r = blockIdx.y * TILE + threadIdx.y;""", """const int r = blockIdx.y * TILE + threadIdx.y;\n    if (r + c == 0) printf("%A|%.2a|%20a\\n", 0.1, 3.14159, -2.0);""")}@
