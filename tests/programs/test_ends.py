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
