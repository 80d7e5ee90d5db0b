"""What is told of faults in whole programs too small for a folder of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.programs.execution import run_program
from grader.programs.sources import Sources


@pytest.mark.slow
def test_an_access_far_beyond_shared_memory_is_no_address_of_the_host(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("""
__global__ void spread(float *out, const float *in) {
    __shared__ float tile[32 * 32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y, width = gridDim.x * 32;
    for (int i = 0; i < 32; i += 8)
        tile[(threadIdx.y + i) * 32 * threadIdx.x] = in[(y + i) * width + x];
    __syncthreads();
    for (int i = 0; i < 32; i += 8)
        out[(y + i) * width + x] = tile[(threadIdx.y + i) * 32 + threadIdx.x];
}
int main() {
    const int n = 1024;
    float *out, *in;
    cudaMalloc(&out, n * n * sizeof(float));
    cudaMalloc(&in, n * n * sizeof(float));
    cudaMemset(in, 0, n * n * sizeof(float));
    spread<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(out, in);
    cudaDeviceSynchronize();
}
""")
    told = {finding.message.id for finding in run_program(Sources([path])).findings if finding.line == 6}
    assert told and not any(name.startswith("programs.") for name in told), told


@pytest.mark.parametrize(("place", "printed"), [(300, "no error"), (2600, "an illegal memory access was encountered")])
def test_an_access_beyond_a_blocks_shared_memory_ends_a_kernel(tmp_path: Path, place: int, printed: str) -> None:
    """The first lies in what the other array has; the second where the block has nothing."""
    path = tmp_path / "a.cu"
    path.write_text(f"""
#include <cstdio>
__global__ void stray(int *out, int place) {{
    __shared__ int first[256], second[256];
    first[threadIdx.x] = second[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (!threadIdx.x) first[place] = 1;
    __syncthreads();
    out[threadIdx.x] = first[threadIdx.x] + second[threadIdx.x];
}}
int main() {{
    int *out;
    cudaMalloc(&out, 256 * sizeof(int));
    stray<<<1, 256>>>(out, {place});
    printf("%s\\n", cudaGetErrorString(cudaDeviceSynchronize()));
    cudaFree(out);
}}
""")
    run = run_program(Sources([path]))
    assert run.stdout.decode() == printed + "\n"


@pytest.mark.parametrize(
    ("copies", "bytes_copied"),
    [
        # Rows that leave gaps, parts that overlap, the beginning alone.
        ("cudaMemcpy2D(in, 16, host, 16, 4, 8, cudaMemcpyHostToDevice);", 32),
        ("cudaMemcpy(in, host, 40, H); cudaMemcpy(in + 8, host, 40, H);", 72),
        ("cudaMemcpy(in, host, 100, H);", 100),
    ],
)
def test_bytes_that_are_copied_to_an_array_count_once(tmp_path: Path, copies: str, bytes_copied: int) -> None:
    path = tmp_path / "a.cu"
    path.write_text(f"""
#define H cudaMemcpyHostToDevice
__global__ void doubled(const float *in, float *out) {{ out[threadIdx.x] = 2 * in[threadIdx.x]; }}
int main() {{
    float *in, *out, host[32] = {{}};
    cudaMalloc(&in, sizeof host);
    cudaMalloc(&out, sizeof host);
    {copies}
    doubled<<<1, 32>>>(in, out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(in);
    cudaFree(out);
}}
""")
    told = [
        finding.message
        for finding in run_program(Sources([path])).findings
        if finding.message.id == "programs.copy_too_short"
    ]
    assert [(message.data["bytes"], message.data["size"]) for message in told] == [(bytes_copied, 128)]


LIMIT = "cudaFuncAttributeMaxDynamicSharedMemorySize"


@pytest.mark.parametrize(
    ("call", "told", "line"),
    [
        (f"cudaFuncSetAttribute(other, {LIMIT}, 60000);", "raised_for_another", 5),
        (f"cudaFuncSetAttribute(large, {LIMIT}, 50000);", "raised_too_little", 5),
        ("cudaFuncSetAttribute(large, cudaFuncAttributePreferredSharedMemoryCarveout, 100);", "raised_carveout", 5),
        # The last call for the kernel holds, and what another one asks for less of is none of this.
        (
            f"cudaFuncSetAttribute(other, {LIMIT}, 60000); cudaFuncSetAttribute(large, {LIMIT}, 50000);",
            "raised_too_little",
            5,
        ),
        (f"cudaFuncSetAttribute(other, {LIMIT}, 50000);", "launch_refused", 6),
        ("", "launch_refused", 6),
        (f"cudaFuncSetAttribute(large, {LIMIT}, 60000);", None, 0),
    ],
)
def test_a_limit_that_was_not_raised_for_a_kernel_is_told_at_the_call(
    tmp_path: Path, call: str, told: str | None, line: int
) -> None:
    path = tmp_path / "a.cu"
    path.write_text(f"""
__global__ void large(float *out) {{ extern __shared__ float s[]; s[threadIdx.x] = 1; out[threadIdx.x] = s[0]; }}
__global__ void other(float *out) {{ extern __shared__ float s[]; s[threadIdx.x] = 1; out[threadIdx.x] = s[0]; }}
int main() {{ float *out, host[32]; cudaMalloc(&out, sizeof host);
    {call}
    large<<<1, 32, 60000>>>(out);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost); cudaFree(out); return cudaGetLastError() != 0; }}
""")
    found = [f for f in run_program(Sources([path])).findings if f.kind == "launch_refused"]
    assert [(f.message.id, f.line) for f in found] == ([(f"programs.{told}", line)] if told is not None else [])


def test_a_pitch_that_is_not_the_one_of_the_allocation_is_told_at_its_copy(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("""
int main() {
    char host[4 * 100] = {}, *one, *other;
    size_t pitch, wide;
    cudaMallocPitch(&one, &pitch, 100, 4);
    cudaMallocPitch(&other, &wide, 600, 4);
    cudaMemcpy2D(one, pitch, host, 100, 100, 4, cudaMemcpyHostToDevice);
    cudaMemcpy2D(other, pitch, host, 100, 100, 4, cudaMemcpyHostToDevice);
    cudaMemcpy2D(host, 100, one, 100, 100, 1, cudaMemcpyDeviceToHost);
    cudaMemcpy2D(host, 100, one, 2 * pitch, 100, 2, cudaMemcpyDeviceToHost);
    cudaMemcpy2D(host, 100, one, 100, 100, 4, cudaMemcpyDeviceToHost);
}
""")
    of_copies = [f for f in run_program(Sources([path])).findings if f.message.id == "programs.copy_other_pitch"]
    rows = [(f.line, f.message.data["array"], f.message.data["pitch"], f.message.data["given"]) for f in of_copies]
    assert rows == [(8, "other", 1024, 512), (11, "one", 512, 100)]


@pytest.mark.parametrize(
    ("wait", "told"),
    [("cudaStreamSynchronize(s[0]);", [11]), ("sum++;", [None]), ("cudaStreamSynchronize(s[i]);", [])],
)
def test_a_wait_for_another_stream_is_named(tmp_path: Path, wait: str, told: list[int | None]) -> None:
    """Where there was no wait at all, none is spoken of."""
    path = tmp_path / "a.cu"
    path.write_text(f"""int main() {{
    int *h, *d, sum = 0;
    cudaMallocHost(&h, 1 << 16);
    cudaMalloc(&d, 1 << 16);
    cudaStream_t s[2];
    cudaStreamCreate(&s[0]);
    cudaStreamCreate(&s[1]);
    cudaMemset(d, 0, 1 << 16);
    cudaMemcpyAsync(h, d, 1 << 16, cudaMemcpyDeviceToHost, s[1]);
    for (int i = 0; i < 2; i++)
        {wait}
    for (int i = 0; i < 1 << 14; i++) sum += h[i];
    return sum != 0;
}}
""")
    early = [f.message for f in run_program(Sources([path])).findings if f.kind == "not_waited"]
    assert [message.data.get("waited") for message in early] == told
    assert all(("read_before_other" in message.id) is ("waited" in message.data) for message in early)


@pytest.mark.parametrize(("scope", "kinds"), [("_system", set()), ("", {"not_waited"})])
def test_host_and_kernel_that_add_at_once(tmp_path: Path, scope: str, kinds: set[str]) -> None:
    """By atomics of the whole system they may."""
    path = tmp_path / "a.cu"
    path.write_text(f"""
__global__ void counted(int *total) {{ atomicAdd{scope}(total, 1); }}
int main() {{
    int *total;
    cudaMallocManaged(&total, sizeof(int));
    *total = 0;
    counted<<<4, 64>>>(total);
    __sync_fetch_and_add(total, 1);
    cudaDeviceSynchronize();
    int sum = *total;
    cudaFree(total);
    return sum != 257;
}}
""")
    got = run_program(Sources([path]))
    assert got.exit == 0 and {finding.kind for finding in got.findings} == kinds


def test_a_kernel_that_a_gpu_ends_does_not_wait_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "a.cu"
    path.write_text("""
__device__ bool *flags;
__global__ void waits(int n) {
    flags[n] = false;
    while (!flags[n]);
}
int main() {
    waits<<<1, 32>>>(100);
    return cudaDeviceSynchronize() != cudaErrorIllegalAddress;
}
""")
    got = run_program(Sources([path]))
    assert got.exit == 0
    assert [(finding.kind, finding.line) for finding in got.findings] == [("out_of_bounds", 4)]


@pytest.mark.parametrize("use", ["p[0] = 1;", "if (e) return 1;"])
def test_a_program_that_uses_memory_it_was_refused_ends_for_want_of_it(tmp_path: Path, use: str) -> None:
    path = tmp_path / "a.cu"
    path.write_text(f"""
__global__ void k(float *p) {{ p[threadIdx.x] = 1; }}
int main() {{
    float *p = (float *)(1LL << 50);
    cudaError_t e = cudaMallocManaged(&p, 1LL << 45);
    {use}
    k<<<1, 32>>>(p);
    return cudaDeviceSynchronize();
}}
""")
    observation = run_program(Sources([path]))
    if "return" in use:
        assert (observation.exit, observation.cause) == (1, None)
    else:
        assert observation.cause is not None and observation.cause.id == "programs.went_on_without_memory"
        assert dict(observation.cause.data) == {"call": "cudaMallocManaged", "at": 5}


@pytest.mark.parametrize(
    ("read", "told"),
    [
        ("int *p = out; if (p[0] != 1) return 1;", ("programs.read_before_kernel", "p", 13)),
        ("if (out[0] != 1) return 1;", ("programs.read_before_kernel_somewhere", "result", 13)),
        ("if (first(out) != 1) return 1;", ("programs.read_before_kernel_somewhere", "result", 8)),
    ],
)
def test_memory_is_called_what_it_is_called_where_it_is_used(
    read: str, told: tuple[str, str, int], tmp_path: Path
) -> None:
    """Not what the function calls it that allocates it."""
    path = tmp_path / "a.cu"
    path.write_text(f"""
__global__ void fill(int *result) {{ result[threadIdx.x] = 1; }}
static int *allocated() {{
    void *p;
    cudaMallocHost(&p, 1 << 16);
    return (int *)p;
}}
static int first(const int *a) {{ return a[0]; }}
int main() {{
    int *out = allocated();
    out[0] = 0;
    fill<<<16, 1024>>>(out);
    {read}
    cudaDeviceSynchronize();
    return 0;
}}
""")
    (early,) = [f for f in run_program(Sources([path])).findings if f.kind == "not_waited"]
    assert (early.message.id, early.message.data["array"], early.line) == told
    assert early.message.data["line"] == 12  # A wait is looked for behind the launch.


@pytest.mark.parametrize(("wait", "told"), [("cudaEventSynchronize(end);", set()), ("", {"event_not_reached"})])
def test_a_program_that_gave_up_at_an_event_is_not_told_that_it_reads_nothing(
    wait: str, told: set[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.cu"
    path.write_text(f"""
#include <stdlib.h>
__global__ void fill(int *out) {{ out[threadIdx.x] = 1; }}
int main() {{
    int *d, h[32];
    float ms;
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaMalloc(&d, sizeof(h));
    cudaEventRecord(begin);
    fill<<<1, 32>>>(d);
    cudaEventRecord(end);
    {wait}
    if (cudaEventElapsedTime(&ms, begin, end)) exit(1);
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    cudaFree(d);
    return h[3] != 1;
}}
""")
    kinds = {f.kind for f in run_program(Sources([path])).findings}
    assert kinds & {"never_read", "event_not_reached"} == told


@pytest.mark.parametrize(
    ("given", "size", "told"),
    [
        ("p", "sizeof(p)", [("p", 8, 12)]),
        ("p", "sizeof(*p)", []),
        ("p", "sizeof(Settings)", []),
        ("&p->count", "2 * sizeof(int)", []),
    ],
)
def test_a_copy_into_constant_memory_of_the_size_of_a_pointer(
    given: str, size: str, told: list[tuple[str, int, int]], tmp_path: Path
) -> None:
    path = tmp_path / "a.cu"
    path.write_text(f"""
struct Settings {{ int count, radius; float scale; }};
__constant__ Settings settings;
__global__ void fill(float *out) {{ if (threadIdx.x < settings.count) out[threadIdx.x] = settings.radius; }}
static void configure(const Settings *p) {{
    cudaMemcpyToSymbol(settings, {given}, {size});
}}
int main() {{
    const Settings p = {{32, 2, 0.2f}};
    configure(&p);
    float *d, h[32];
    cudaMalloc(&d, sizeof(h));
    fill<<<1, 32>>>(d);
    cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
    cudaFree(d);
    return h[3] != 2;
}}
""")
    findings = [f for f in run_program(Sources([path])).findings if f.kind == "copy_size"]
    assert [(f.message.data["name"], f.message.data["bytes"], f.message.data["of"]) for f in findings] == told
    assert all(f.line == 6 for f in findings)
