// Inline assembly: scopes that hide registers, labels used twice, guards, predicates, several statements a line.
extern "C" __global__ void assembly(int* out, int n) {
    int i = threadIdx.x, lane, value = n;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
#pragma unroll
    for (int k = 0; k < 2; ++k)
        asm volatile("{ .reg .pred p, q; .reg .b32 t<3>; mov.u32 t2, 7; setp.lt.and.s32 p|q, %0, t2, 1;\n"
                     "  @p add.s32 %0, %0, 1; @!q bra done; { .reg .f32 t2; mov.f32 t2, 1.5; } \n"
                     "  mad.lo.s32 %0, %0, (2 + 3) * 4, -0x10; done: }"
                     : "+r"(value));
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; @p st.global.u32 [%0+4], %1; /* one; two */ @!p exit; }"
                 :
                 : "l"(out + i), "r"(n)
                 : "memory");
    out[i] = value + lane;
}
