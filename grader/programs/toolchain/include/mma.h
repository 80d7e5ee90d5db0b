// Names of tensor cores' fragments; what they do is device code.
#pragma once
#include "cuda_fp16.h"
#include "cuda_bf16.h"
namespace nvcuda {
namespace wmma {
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32 {};
}
template <class Use, int m, int n, int k, class T, class Layout = void> struct fragment {
    enum { num_elements = 8, num_storage_elements = 8 };
};
}
}
