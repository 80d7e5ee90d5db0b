"""How a program ends that asks for too much, or goes astray, and what has no answer: what it printed comes out."""

from __future__ import annotations

from pathlib import Path

from grader.programs.execution import run_each
from grader.programs.records import RunLimits, Start
from grader.programs.sources import Sources

TEXT = r"""#include <cstdio>
#include <cstdlib>
#include <cublas_v2.h>
#include <curand.h>
#include <cusolverDn.h>
__global__ void k() {}
int main(int argc, char **argv) {
    cublasHandle_t blas; cublasCreate(&blas); double *matrix; cudaMalloc((void **)&matrix, 8 * 64 * 64);
    printf("one\n");
    printf("two\n");
    switch (atoi(argv[1])) {
        case 0: {
            double alpha = 1;
            printf("%d\n", cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, 46000, 46000, 46000, &alpha, matrix, 46000,
                                       matrix, 46000, &alpha, matrix, 46000));
            break;
        }
        case 1: *(volatile int *)(1LL << 40) = 1; break;
        case 2: for (volatile long i = 0;; ++i) {} break;
        case 3: {
            cusolverDnHandle_t solver; cusolverDnCreate(&solver);
            cudaMemset(matrix, 0xff, 8 * 64 * 64);
            double *values; int *info, size, told = -7; cudaMalloc(&values, 8 * 64); cudaMalloc(&info, 4);
            double *work; cusolverDnDgesvd_bufferSize(solver, 64, 64, &size); cudaMalloc(&work, 8 * size);
            int status = cusolverDnDgesvd(solver, 'N', 'N', 64, 64, matrix, 64, values, NULL, 64, NULL, 64, work, size,
                                          NULL, info);
            cudaMemcpy(&told, info, 4, cudaMemcpyDeviceToHost);
            printf("%d %d\n", status, told > 0);
            break;
        }
        case 4: {
            curandGenerator_t generator; curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
            for (double mean : {-1.0, 0.0, 1e300, 400000.0})
                printf("%d\n", curandGeneratePoisson(generator, (unsigned *)matrix, 64, mean));
        }
    }
}
"""
PRINTED = b"one\ntwo\n"


def test_what_a_program_has_printed_comes_out_however_it_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text(TEXT)
    starts = [Start(arguments=(str(number),)) for number in range(5)]
    runs = run_each(Sources([path]), starts, RunLimits(host_instructions=100_000_000))
    ends = [run.cause.id if run.cause is not None else run.exit for run in runs]
    assert ends == ["programs.too_much_computed", "programs.segmentation_fault", "programs.host_limit", 0, 0]
    assert [run.stdout for run in runs[:3]] == [PRINTED] * 3
    # A factorisation that does not converge is no error of the call's: its `info` tells.
    assert runs[3].stdout == PRINTED + b"0 1\n"
    # CURAND_STATUS_OUT_OF_RANGE, as documented.
    assert runs[4].stdout == PRINTED + b"104\n104\n104\n0\n"


def test_memory_is_called_as_the_program_does_whatever_else_its_line_takes_the_address_of(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text(TEXT)
    (run,) = run_each(Sources([path]), [Start(arguments=("5",))], RunLimits())
    assert [f.message.data["array"] for f in run.findings if f.message.id == "programs.leak"] == ["matrix"]


HOST_MEMORY = r"""#include <cstdio>
#include <cstdlib>
#include <vector>
__global__ void twice(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] *= 2; }
int main(int argc, char **argv) {
    const int mode = atoi(argv[1]), n = 1000;
    float *h = new float[mode == 1 ? n / 2 : n];
    std::vector<float> v(mode == 2 ? n / 2 : n);
    for (int i = 0; i < n; i++)
        h[i] = i;
    double *line = new double[mode == 8 ? n / 2 : n];
    for (int i = 0; i < n; i++)
        line[i] = 0;
    for (int i = 0; i < n; i++)
        v[i] = i + line[i];
    printf("%g\n", line[argc]);
    delete[] line;
    float *d, *pinned, *r = (float *)malloc(mode == 5 ? n : 4 * n);
    cudaMallocHost(&pinned, mode == 3 ? n : 4 * n);
    for (int i = 0; i < n; i++)
        pinned[i] = v[i];
    cudaMalloc(&d, 4 * n);
    if (mode == 4)
        free(r);
    cudaMemcpy(d, h, 4 * n, cudaMemcpyHostToDevice);
    twice<<<4, 256>>>(d, n);
    cudaMemcpy(r, d, 4 * n, cudaMemcpyDeviceToHost);
    if (mode == 6)
        delete[] h;
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += r[i] - h[i];
    r = (float *)realloc(r, 8 * n);
    r[2 * n - 1] = sum;
    if (mode == 7)
        free(r);
    free(r);
    if (mode != 6)
        delete[] h;
    cudaFree(d);
    cudaFreeHost(pinned);
    for (int i = 0; i < 100; i++)
        free(calloc(i, 1000 + i));
}
"""
"""By mode: nothing wrong; an array of half the length by new, a vector, page-locked memory; a copy into one that is
freed, and into one that is too short; an array used after it was freed; one that is freed twice; an array of
half the length that is cleared at once."""


def test_the_host_beyond_its_arrays_and_with_freed_ones_is_told_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text(HOST_MEMORY)
    starts = [Start(arguments=(str(number),)) for number in range(9)]
    runs = run_each(Sources([path]), starts, RunLimits())
    told = [[(f.message.id.removeprefix("programs."), f.line) for f in run.findings] for run in runs]
    assert told == [
        [],
        [("host_beyond", 10), ("copy_beyond_from", 25)],
        [("host_beyond", 15)],
        [("host_beyond", 21)],
        [("copy_freed_to", 27)],
        [("copy_beyond_to", 27)],
        [("host_freed", 32)],
        [("host_freed_again", 37)],
        [("host_beyond_somewhere", 11)],
    ]
    assert [run.exit for run in runs] == [0] * 9
    beyond, freed, again = (runs[mode].findings[0].message.data for mode in (1, 6, 7))
    assert beyond == {"at": 7, "bytes": 2000, "offset": 2000}
    assert freed == {"at": 7, "freed": 29}
    assert again == {"at": 33, "freed": 36}


IN_ROUNDS = r"""#include <cstdlib>
#include <vector>
static float *made(size_t bytes) { float *p; cudaMalloc(&p, bytes); return p; }
static void give_back(float *one, float *two) { cudaFree(one); cudaFree(two); }
int main(int argc, char **argv) {
    int which = atoi(argv[1]);
    std::vector<float *> kept;
    for (size_t n = 1; n <= 6; n++) {
        float *d_in, *d_out, *buffers[3];
        cudaMalloc(&d_in, 1000 * n);
        if (which == 0) { cudaMalloc(&d_out, 1000 * n); cudaFree(d_in); }
        if (which == 1) { float *one = made(1000 * n), *two = made(2000 * n); give_back(one, two); cudaFree(d_in); }
        if (which == 2) { for (float *&one : buffers) cudaMalloc(&one, 4 * n); cudaFree(d_in); }
        if (which == 4) { float *own; cudaMalloc(&own, 1000 * n); kept.push_back(own); cudaFree(d_in); }
        if (which == 3) { cudaMalloc(&kept.emplace_back(), 1000 * n); cudaFree(d_in); }
    }
    for (volatile long i = 0;; ++i) {}
    for (float *one : kept) cudaFree(one);
}
"""


def test_what_each_round_allocates_and_none_frees_is_told_of_a_program_that_was_stopped(tmp_path: Path) -> None:
    """Not what is freed by another name, in each round or at the end."""
    path = tmp_path / "a.cu"
    path.write_text(IN_ROUNDS)
    starts = [Start(arguments=(str(number),)) for number in range(5)]
    runs = run_each(Sources([path]), starts, RunLimits(host_instructions=20_000_000))
    told = [[f for f in run.findings if f.message.id == "programs.leak"] for run in runs]
    assert [[(f.message.data["array"], f.line) for f in leaks] for leaks in told] == [[("d_out", 11)], [], [], [], []]
