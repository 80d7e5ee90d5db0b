"""Host code judged: sound styles lose nothing, and each wrong one is told at its line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from grader.lab import labs
from grader.programs.observation import observed
from grader.running.evidence import HostCode
from grader.running.host_code import host_code
from grader.submission.binding.bind import bind
from grader.submission.folder import find_sources, read_sources
from grader.submission.host_text import mistakes_of_host
from grader.submission.kernels.records import NOTHING_OBSERVED, SeenChange

HEAD = """\
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
#include <ctime>
#include <chrono>
#include <vector>
#include <algorithm>
#include <stdexcept>
#include <cassert>
__global__ void mul(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.y * blockDim.y + threadIdx.y, j = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && j < n) { float s = 0; for (int k = 0; k < n; k++) s += a[i * n + k] * b[k * n + j]; c[i * n + j] = s; }
}
const int n = 32, bytes = n * n * 4;
float h[n * n], r[n * n], e[n * n];
void cpu() { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { e[i * n + j] = 0; for (int k = 0; k < n; k++) e[i * n + j] += h[i * n + k] * h[k * n + j]; } }
float *a, *b, *c;
void give() { for (int i = 0; i < n * n; i++) h[i] = i % 5; cpu(); cudaMalloc(&a, bytes); cudaMalloc(&b, bytes); cudaMalloc(&c, bytes); cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice); cudaMemcpy(b, h, bytes, cudaMemcpyHostToDevice); }
"""
SOUND = {
    "asked after the launch": """
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaError_t x = cudaGetLastError(); if (x) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (fabs(r[i] - e[i]) > 1e-3) return 2; return 0; }""",
    "a launch to warm up before the copies": """
int main() { give(); float *d, *f; cudaMalloc(&d, bytes); cudaMalloc(&f, bytes);
for (int time = 0; time < 2; time++) { mul<<<dim3(2, 2), dim3(16, 16)>>>(d, f, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(d, h, bytes, cudaMemcpyHostToDevice); cudaMemcpy(f, h, bytes, cudaMemcpyHostToDevice); }
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (fabs(r[i] - e[i]) > 1e-3) return 2; return 0; }""",
    "peeked at by a macro": """
#define CHECK(x) do { cudaError_t y = (x); if (y != cudaSuccess) { printf("%s\\n", cudaGetErrorString(y)); exit(1); } } while (0)
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); CHECK(cudaPeekAtLastError()); CHECK(cudaDeviceSynchronize());
CHECK(cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost)); bool ok = true; for (int i = 0; i < n * n; i++) ok = ok && r[i] == e[i]; puts(ok ? "ok" : "no"); }""",
    "a function that asks": """
void checkKernel(const char *what) { cudaDeviceSynchronize(); cudaError_t x = cudaGetLastError(); if (x != cudaSuccess) { puts(what); exit(1); } }
int maxDiff() { int k = 0; for (int i = 1; i < n * n; i++) if (fabs(r[i] - e[i]) > fabs(r[k] - e[k])) k = i; return k; }
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); checkKernel("mul"); cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); printf("%d\\n", maxDiff()); }""",
    "only the synchronization is looked at": """
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaDeviceSynchronize() != cudaSuccess) { puts("failed"); return 1; }
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return memcmp(r, e, bytes) != 0; }""",
    "only the copy back is looked at": """
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaError_t x = cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost);
if (x != cudaSuccess) return 1; return std::equal(r, r + n * n, e) ? 0 : 1; }""",
    "exceptions": """
struct Failed : std::runtime_error { using std::runtime_error::runtime_error; };
void ok(cudaError_t x) { if (x) throw Failed(cudaGetErrorString(x)); }
int main() try { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); ok(cudaGetLastError()); ok(cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost));
for (int i = 0; i < n * n; i++) if (std::abs(r[i] - e[i]) > 1e-3f) throw Failed("wrong"); } catch (const Failed &f) { puts(f.what()); return 1; }""",
    "events": """
int main() { give(); cudaEvent_t p, q; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventRecord(p); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
cudaEventRecord(q); cudaEventSynchronize(q); float ms; cudaEventElapsedTime(&ms, p, q); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); float worst = 0; for (int i = 0; i < n * n; i++) worst = fmaxf(worst, fabsf(r[i] - e[i])); printf("%d %d\\n", worst < 1e-3, ms > 0); }""",
    "which of two streams is through first": """
int main() { give(); float ms, more; cudaEvent_t p, q, s; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventCreate(&s); cudaStream_t x, y; cudaStreamCreate(&x); cudaStreamCreate(&y);
for (int i = 0; i < 5; i++) mul<<<dim3(2, 2), dim3(16, 16), 0, x>>>(a, b, c, n); cudaEventRecord(p, x);
float *d; cudaMalloc(&d, bytes); mul<<<dim3(2, 2), dim3(16, 16), 0, y>>>(a, b, d, n); cudaEventRecord(q, y); cudaDeviceSynchronize(); cudaEventElapsedTime(&ms, p, q); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms > 1e6f; }""",
    "what an empty time takes is taken off": """
int main() { give(); float ms, more; cudaEvent_t p, q, s; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventCreate(&s); cudaEventRecord(p); cudaEventRecord(q); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaEventRecord(s); cudaEventSynchronize(s);
cudaEventElapsedTime(&more, p, q); cudaEventElapsedTime(&ms, q, s); ms -= more; if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms > 1e6f; }""",
    "a time each for two kernels": """
__global__ void other(float *c) { c[threadIdx.x] = 1; }
int main() { give(); float ms, more; cudaEvent_t p, q; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventRecord(p); other<<<1, 32>>>(c); cudaEventRecord(q); cudaEventSynchronize(q); cudaEventElapsedTime(&more, p, q);
if (cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost)) return 1; cudaEventRecord(p); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaEventRecord(q); cudaEventSynchronize(q); cudaEventElapsedTime(&ms, p, q); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms + more > 1e6f; }""",
    "a time of all, less that of the first": """
__global__ void other(float *c) { c[threadIdx.x] = 1; }
int main() { give(); float ms, more; cudaEvent_t p, q; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventRecord(p); other<<<1, 32>>>(c); cudaEventRecord(q); cudaEventSynchronize(q); cudaEventElapsedTime(&more, p, q);
if (cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost)) return 1; mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaEventRecord(q); cudaEventSynchronize(q); cudaEventElapsedTime(&ms, p, q); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms - more > 1e6f; }""",
    "memory of a pool is timed": """
int main() { give(); float ms, more; cudaEvent_t p, q, s; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventCreate(&s); float *d; cudaEventRecord(p); cudaMallocAsync(&d, bytes, 0); cudaEventRecord(q); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaEventSynchronize(q);
cudaEventElapsedTime(&ms, p, q); cudaFreeAsync(d, 0); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms > 1e6f; }""",
    "managed memory is brought over in time": """
int main() { give(); float ms, more; cudaEvent_t p, q, s; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventCreate(&s); float *d; cudaMallocManaged(&d, bytes); cudaMemset(d, 0, bytes); cudaEventRecord(p); cudaMemPrefetchAsync(d, bytes, 0); cudaEventRecord(q); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
cudaEventSynchronize(q); cudaEventElapsedTime(&ms, p, q); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms > 1e6f; }""",
    "a clock with synchronization": """
int main() { give(); clock_t t = clock(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaDeviceSynchronize(); t = clock() - t;
if (cudaGetLastError()) return 1; cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) assert(r[i] == e[i]); return t < 0; }""",
    "chrono around the copies": """
int main() { give(); auto t = std::chrono::steady_clock::now(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); auto x = cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost);
auto u = std::chrono::steady_clock::now(); if (x) return 1; return std::mismatch(r, r + n * n, e).first == r + n * n && u > t ? 0 : 1; }""",
    "seeded by the time": """
int main() { srand(time(NULL)); give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); clock_t t = clock(); cpu(); t = clock() - t;
if (cudaGetLastError() != cudaSuccess) return 1; cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); int bad = 0; for (int i = 0; i < n * n; i++) if (r[i] != e[i]) bad++; return bad; }""",
    "managed memory": """
int main() { float *x, *y, *z; cudaMallocManaged(&x, bytes); cudaMallocManaged(&y, bytes); cudaMallocManaged(&z, bytes);
for (int i = 0; i < n * n; i++) { x[i] = y[i] = h[i] = i % 3; } cpu(); mul<<<dim3(2, 2), dim3(16, 16)>>>(x, y, z, n); if (cudaDeviceSynchronize()) return 1;
for (int i = 0; i < n * n; i++) if (z[i] != e[i]) return 1; cudaFree(x); cudaFree(y); cudaFree(z); return 0; }""",
    "pinned memory and a stream": """
int main() { give(); float *p; cudaMallocHost(&p, bytes); cudaStream_t s; cudaStreamCreate(&s); mul<<<dim3(2, 2), dim3(16, 16), 0, s>>>(a, b, c, n);
cudaMemcpyAsync(p, c, bytes, cudaMemcpyDeviceToHost, s); cudaError_t x = cudaStreamSynchronize(s); if (x != cudaSuccess) return 1;
for (int i = 0; i < n * n; i++) if (fabs(p[i] - e[i]) > 0.01) return 1; cudaFreeHost(p); cudaStreamDestroy(s); return 0; }""",
    "launched by a call": """
int main() { give(); int m = n; void *args[] = {&a, &b, &c, &m}; if (cudaLaunchKernel((void *)mul, dim3(2, 2), dim3(16, 16), args, 0, 0) != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] - e[i] > 1e-4 || e[i] - r[i] > 1e-4) return 1; return 0; }""",
    "a loop of launches, asked once": """
int main() { give(); for (int i = 0; i < 3; i++) mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaError_t x = cudaGetLastError(); if (x) { puts(cudaGetErrorName(x)); return 1; }
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); double sum = 0; for (int i = 0; i < n * n; i++) sum += (r[i] - e[i]) * (r[i] - e[i]); printf("%d\\n", sqrt(sum) < 1e-3); bool same = r[0] == e[0]; return !same; }""",
    "a library of checks": """
#include <helper_cuda.h>
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); getLastCudaError("mul failed"); checkCudaErrors(cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost));
for (int i = 0; i < n * n; ++i) if (fabs(r[i] - e[i]) > 1e-5) { printf("differs at %d\\n", i); return 1; } puts("PASSED"); }""",
    "a struct that owns": """
struct Device { float *p; size_t size; Device(const float *from, size_t k) : size(k) { cudaMalloc(&p, k); if (from) cudaMemcpy(p, from, k, cudaMemcpyHostToDevice); }
bool fetch(float *to) { return cudaMemcpy(to, p, size, cudaMemcpyDeviceToHost) == cudaSuccess; } ~Device() { cudaFree(p); } };
int main() { for (int i = 0; i < n * n; i++) h[i] = i % 7; cpu(); Device x(h, bytes), y(h, bytes), z(nullptr, bytes); mul<<<dim3(2, 2), dim3(16, 16)>>>(x.p, y.p, z.p, n);
if (!z.fetch(r)) return 1; return !std::is_permutation(r, r + 4, e); }""",
    "gotos of C": """
int main() { cudaError_t x; int code = 1; give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if ((x = cudaGetLastError()) != cudaSuccess) goto end;
if ((x = cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost)) != cudaSuccess) goto end; code = 0; for (int i = 0; i < n * n; i++) if (r[i] != e[i]) code = 2;
end: cudaFree(a); cudaFree(b); cudaFree(c); return code; }""",
    "words of another language": """
bool sprawdzWynik(const float *x, const float *y) { for (int i = 0; i < n * n; i++) { float roznica = x[i] - y[i]; if (roznica > 1e-3f || roznica < -1e-3f) return false; } return true; }
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaPeekAtLastError()) return 1; cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); puts(sprawdzWynik(r, e) ? "dobrze" : "zle"); }""",
    "vectors": """
int main() { give(); std::vector<float> got(n * n), want(e, e + n * n); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (auto x = cudaGetLastError(); x != cudaSuccess) return x;
cudaMemcpy(got.data(), c, bytes, cudaMemcpyDeviceToHost); return got == want || std::equal(got.begin(), got.end(), want.begin()) ? 0 : 1; }""",
    "held against what is known": """
int main() { give(); std::vector<float> got(n * n); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(got.data(), c, bytes, cudaMemcpyDeviceToHost); return got == std::vector<float>(e, e + n * n) ? 0 : 1; }""",
    "each in turn": """
int main() { give(); std::vector<float> got(n * n); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(got.data(), c, bytes, cudaMemcpyDeviceToHost); bool ok = true; for (const float &v : got) ok &= v >= 0.f; return !ok; }""",
    "memory left to the exit": """
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaThreadSynchronize() != cudaSuccess) return 1; cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost);
int i = 0; while (i < n * n && r[i] == e[i]) i++; return i != n * n; }""",
    "one element looked at, then all of them": """
int main() { give(); double two; float first; float ends[2]; mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(&first, c, sizeof(first), cudaMemcpyDeviceToHost); cudaMemcpy(&two, c, sizeof(two), cudaMemcpyDeviceToHost);
cudaMemcpy(ends, c, sizeof(ends), cudaMemcpyDeviceToHost); cudaMemcpy(r, c, sizeof(r), cudaMemcpyDeviceToHost); return memcmp(r, e, sizeof(r)) != 0; }""",
    "only its last row is copied back": """
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c + n * (n - 1), n * sizeof(float), cudaMemcpyDeviceToHost); return r[0] != e[n * (n - 1)]; }""",
    "a part of it as a rectangle": """
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy2D(r, 2 * sizeof(float), c, n * sizeof(float), 2 * sizeof(float), n, cudaMemcpyDeviceToHost); return r[0] != e[0]; }""",
    "mapped memory": """
int main() { give(); float *p, *q; cudaHostAlloc(&p, bytes, cudaHostAllocMapped); cudaHostGetDevicePointer(&q, p, 0); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, q, n);
if (cudaDeviceSynchronize()) return 1; return memcmp(p, e, bytes) != 0; }""",
    "read by another kernel": """
__global__ void twice(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
int main() { give(); for (int i = 0; i < 2; i++) { mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); twice<<<n, n>>>(c); }
if (cudaGetLastError()) return 1; cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] != 2 * e[0]; }""",
    "by way of another array, after a run to warm up": """
int main() { give(); float *o; cudaMalloc(&o, bytes); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, o, n); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
if (cudaGetLastError()) return 1; cudaMemcpy(a, c, bytes, cudaMemcpyDeviceToDevice); cudaMemcpy(r, a, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0]; }""",
    "sizes in bytes with another name": """
const size_t room = sizeof(float) * n * n;
int main() { float *x; for (int i = 0; i < n * n; i++) h[i] = i % 3; cpu(); cudaMalloc(&x, room); cudaMalloc(&c, 4 * n * n); cudaMemcpy(x, h, room, cudaMemcpyHostToDevice);
mul<<<dim3(2, 2), dim3(16, 16)>>>(x, x, c, n); if (cudaGetLastError()) return 1; cudaMemcpy(r, c, room, cudaMemcpyDeviceToHost); return r[0] != e[0]; }""",
}
# ruff: noqa: E501 - programs as students write them
# What is told: kind, and a text of its line.
WRONG = {
    "never looked at": (
        """
int main() { give();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return memcmp(r, e, bytes) != 0; }""",
        [("unchecked", "mul<<<")],
    ),
    "asked too early": (
        """
int main() { give(); if (cudaGetLastError()) return 1;
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
cudaDeviceSynchronize(); cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] == e[0]; }""",
        [("unchecked", "mul<<<")],
    ),
    "a macro that checks errors is no comparison": (
        """
#define CHECK(x) if ((x) != cudaSuccess) exit(1)
int main() { give();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
CHECK(cudaGetLastError()); CHECK(cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost)); printf("%f\\n", r[0]); }""",
        [("not_compared", "mul<<<")],
    ),
    "a difference is looked at": (
        """
int main() { give();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost);
float d = r[0] - e[0]; if (d > 1e-2f || d < -1e-2f) puts("wrong"); }""",
        [],
    ),
    "a sum moves along one array": (
        """
int main() { give();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost);
float d = r[1] - r[0]; if (d > 1e-2f) puts("rises"); }""",
        [("not_compared", "mul<<<")],
    ),
    "given back by the C library": (
        """
int main() { give(); float *p; cudaMallocHost(&p, bytes); memcpy(p, h, bytes);
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); int bad = r[0] != e[0];
free(p); return bad; }""",
        [("crash", "free(p)")],
    ),
    "memory of both kinds by one name": (
        """
int main() { give(); float *p; cudaMallocHost(&p, bytes); p = (float *)malloc(bytes);
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); int bad = r[0] != e[0];
free(p); return bad; }""",
        [],
    ),
    "ends at a time that fails": (
        """
int main() { give(); cudaEvent_t x, y; cudaEventCreate(&x); cudaEventCreate(&y); cudaEventRecord(y); float ms;
if (cudaEventElapsedTime(&ms, x, y)) return 1;
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0]; }""",
        [("launch", "cudaEventElapsedTime")],
    ),
    "copied the wrong way": (
        """
int main() { give();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyHostToDevice);
return r[0] == e[0]; }""",
        [("copy", "cudaMemcpy(r, c, bytes, cudaMemcpyHostToDevice)")],
    ),
    "copied too much": (
        """
float big[2 * n * n];
int main() { give();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(big, c, 2 * bytes, cudaMemcpyDeviceToHost);
return big[0] == e[0]; }""",
        [("copy", "cudaMemcpy(big, ")],
    ),
    "nothing is copied back": (
        """
int main() { give();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
if (cudaDeviceSynchronize()) return 1; return r[0] != e[0]; }""",
        [("copy", "mul<<<")],
    ),
    "an input is copied back": (
        """
int main() { give();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
if (cudaGetLastError()) return 1; cudaMemcpy(r, a, bytes, cudaMemcpyDeviceToHost); printf("%f\\n", r[0]); }""",
        [("copy", "cudaMemcpy(r, a, ")],
    ),
    "as many bytes as a pointer has": (
        """
int main() { give(); float *q = (float *)malloc(bytes);
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(q, c, sizeof(q), cudaMemcpyDeviceToHost); return q[0] != e[0]; }""",
        [("copy", "cudaMemcpy(q, ")],
    ),
    "as many bytes as a vector has by itself": (
        """
int main() { give(); std::vector<float> q(n * n); const size_t all = sizeof(q);
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(q.data(), c, all, cudaMemcpyDeviceToHost); return q[0] != e[0]; }""",
        [("copy", "cudaMemcpy(q.data()")],
    ),
    "an input that nothing is copied into": (
        """
int main() { float *x; give(); cudaMalloc(&x, bytes);
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, x, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0]; }""",
        [("unfilled", "mul<<<")],
    ),
    "a byte for each element": (
        """
int main() { float *x; give();
cudaMalloc(&x, n * n);
cudaMemcpy(x, h, n * n, cudaMemcpyHostToDevice);
mul<<<dim3(2, 2), dim3(16, 16)>>>(x, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0]; }""",
        [("copy", "cudaMalloc(&x")],
    ),
    "the clock is read too early": (
        """
int main() { give(); auto t = std::chrono::high_resolution_clock::now();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
auto u = std::chrono::high_resolution_clock::now(); if (cudaDeviceSynchronize()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] == e[0] && u > t; }""",
        [("time", "auto u =")],
    ),
    "a time of nothing": (
        """
int main() { give(); float ms, more; cudaEvent_t p, q, s; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventCreate(&s); cudaEventRecord(p);
cudaEventRecord(q);
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaEventSynchronize(q); cudaEventElapsedTime(&ms, p, q); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms > 1e6f; }""",
        [("time", "cudaEventRecord(q)")],
    ),
    "a time that begins before another kernel": (
        """
__global__ void other(float *c) { c[threadIdx.x] = 1; }
int main() { give(); float ms, more; cudaEvent_t p, q; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventRecord(p); other<<<1, 32>>>(c); cudaEventRecord(q); cudaEventSynchronize(q); cudaEventElapsedTime(&more, p, q);
if (cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost)) return 1; mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); cudaEventRecord(q); cudaEventSynchronize(q); cudaEventElapsedTime(&ms, p, q); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms + more > 1e6f; }""",
        [("time", "cudaEventRecord(p)")],
    ),
    "events the wrong way round": (
        """
int main() { give(); float ms, more; cudaEvent_t p, q, s; cudaEventCreate(&p); cudaEventCreate(&q); cudaEventCreate(&s); cudaEventRecord(p); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
cudaEventRecord(q); cudaEventSynchronize(q);
cudaEventElapsedTime(&ms, q, p); if (cudaGetLastError() != cudaSuccess) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) if (r[i] != e[i]) return 1; return ms > 1e6f; }""",
        [("time", "cudaEventElapsedTime")],
    ),
    "nothing is right": (
        """
int main() { give(); clock_t t = clock();
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n);
t = clock() - t; cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); printf("%f %ld\\n", r[0], (long)t); }""",
        [("unchecked", "mul<<<"), ("time", "t = clock() - t"), ("not_compared", "mul<<<")],
    ),
}


def program(main: str) -> str:
    """A statement a line, as programs are written."""
    return HEAD + "\n".join(line if line[:1] == "#" else line.replace("; ", ";\n") for line in main.split("\n"))


SMALLER = SeenChange("matmul.cu", 17, "n", "2048", "32", 32)


def judged(
    tmp_path: Path, text: str, runs: bool = True, kernel: str = "mul", change: SeenChange | None = None
) -> HostCode:
    (tmp_path / "matmul.cu").write_text(text)
    lab = labs.find("matmul")
    found = find_sources(tmp_path / "matmul.cu", lab.id, {lab.id})
    sources = read_sources(found)
    seen = observed(sources) if runs else NOTHING_OBSERVED
    if change is not None:
        seen = replace(seen, runs=tuple(replace(run, change=change) for run in seen.runs))
    submission = bind(found, sources, lab, observed=seen)
    own = next(one for one in submission.kernels if one.name == kernel)
    return host_code(submission, own, mistakes=mistakes_of_host(submission))


@pytest.mark.slow
@pytest.mark.parametrize("main", SOUND.values(), ids=SOUND)
def test_a_sound_style_loses_nothing(main: str, tmp_path: Path) -> None:
    found = judged(tmp_path, program(main))
    assert found.is_there
    assert found.is_observed
    assert found.faults == ()


@pytest.mark.parametrize("main", SOUND.values(), ids=SOUND)
def test_a_sound_style_reads_sound(main: str, tmp_path: Path) -> None:
    found = judged(tmp_path, program(main), runs=False)
    assert not found.is_observed
    assert [fault.kind for fault in found.faults] == []


@pytest.mark.slow
@pytest.mark.parametrize(("fetched", "ends"), [("", True), ("cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost);", False)])
def test_a_program_ends_at_a_time_where_it_has_fetched_nothing_yet(fetched: str, ends: bool, tmp_path: Path) -> None:
    launch = "mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;"
    main = f"""
int main() {{ give(); float ms; cudaEvent_t p, q; cudaEventCreate(&p); cudaEventCreate(&q);
{launch} {fetched}
cudaEventRecord(p); {launch} cudaDeviceSynchronize();
if (cudaEventElapsedTime(&ms, p, q)) return 1; cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0]; }}"""
    (fault,) = judged(tmp_path, program(main)).faults
    assert fault.kind == ("copy" if ends else "time")
    assert ("checks.host_code.ended_here" in repr(fault.message)) is ends


@pytest.mark.slow
def test_of_a_program_that_was_cut_short_nobody_says_that_it_never_looks(tmp_path: Path) -> None:
    main = """
int main() { give(); mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); for (volatile long k = 1; k; k++) r[0] += k % 3;
if (cudaGetLastError()) return 1; cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[1] != e[1]; }"""
    found = judged(tmp_path, program(main))
    assert found.is_observed
    assert found.faults == ()
    assert found.partly is not None
    assert (found.partly.ended, found.partly.change) == (False, None)


@pytest.mark.slow
@pytest.mark.parametrize(("main", "wanted"), WRONG.values(), ids=WRONG)
def test_a_wrong_style_is_told_at_its_line(main: str, wanted: list[tuple[str, str]], tmp_path: Path) -> None:
    lines = program(main).split("\n")
    found = judged(tmp_path, program(main))
    assert [(fault.kind, fault.line) for fault in (*found.faults, *found.of_launch)] == [
        (kind, next(number for number, line in enumerate(lines, 1) if text in line)) for kind, text in wanted
    ]


def test_a_copy_that_brings_back_two_kernels_results_is_paid_for_by_both(tmp_path: Path) -> None:
    main = """
__global__ void other(float *c, int n) { for (int i = threadIdx.x; i < n * n; i += 32) c[i] = 1; }
int main() { give(); int bad = 0; for (int v = 0; v < 2; v++) {
if (v) mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); else other<<<1, 32>>>(c, n);
if (cudaGetLastError()) return 1; cudaMemcpy(r, c, n * n, cudaMemcpyDeviceToHost); for (int i = 0; i < n * n; i++) bad += r[i] != e[i]; } return bad; }"""
    for kernel, change in (("mul", None), ("other", None), ("mul", SMALLER)):
        found = judged(tmp_path, program(main), kernel=kernel, change=change)
        assert [fault.kind for fault in found.faults] == ["copy"]
        # What was not seen as it is, is not said of it as it is.
        assert (found.partly.change if found.partly else None) == change


OF_TEXT = ("zero_quotient", "zeros_copied", "elements_for_bytes", "not_noticed_half")


@pytest.mark.parametrize(
    ("given", "compared", "wanted"),
    [
        ("rand() / RAND_MAX", "bytes", {"zero_quotient"}),
        ("0", "bytes", {"zeros_copied"}),
        ("i % 5", "own", {"elements_for_bytes"}),
        ("i % 5", "own + 0", {"not_noticed_half"}),
    ],
)
def test_what_the_text_explains_is_told_in_its_line_alone(
    given: str, compared: str, wanted: set[str], tmp_path: Path
) -> None:
    main = f"""
int main() {{ give(); float *got = r, *want = e; int own = n * n; memset(got, 0, own * sizeof(float));
mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); puts(memcmp(got, want, {compared}) ? "FAILED" : "PASSED"); }}"""
    found = judged(tmp_path, program(main).replace("h[i] = i % 5", f"h[i] = {given}"))
    assert {name for f in found.untidy if (name := f.message.id.rpartition(".")[2]) in OF_TEXT} == wanted


@pytest.mark.slow
@pytest.mark.parametrize(
    ("copy", "wanted"),
    [
        ("cudaMemcpy(a, h, n * n, cudaMemcpyHostToDevice);", ["copy_of_count_into"]),
        ("cudaMemcpy(a, h, bytes, cudaMemcpyDeviceToHost);", ["copy_from_device"]),
        # Where a size was made smaller, another one may have to be.
        ("cudaMemcpy(a, h, 2 * bytes, cudaMemcpyHostToDevice);", []),
    ],
)
def test_a_run_at_a_smaller_size_shows_what_no_size_changes(copy: str, wanted: list[str], tmp_path: Path) -> None:
    main = f"""
int main() {{ give(); {copy} mul<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, n); if (cudaGetLastError()) return 1;
cudaMemcpy(r, c, bytes, cudaMemcpyDeviceToHost); return r[0] != e[0]; }}"""
    text = HEAD.replace("cudaMemcpy(a, h, bytes, cudaMemcpyHostToDevice); ", "", 1) + main
    found = judged(tmp_path, text, change=SMALLER)
    assert [fault.message.id.rpartition(".")[2] for fault in found.faults] == wanted


def test_calls_by_a_macro_that_is_handed_their_names_are_host_code(tmp_path: Path) -> None:
    text = program(SOUND["asked after the launch"]).replace("cudaMemcpy(", "CU(cudaMemcpy, ")
    found = judged(tmp_path, f"#define CU(f, ...) if (f(__VA_ARGS__) != cudaSuccess) exit(1)\n{text}", runs=False)
    assert (found.is_there, found.faults) == (True, ())


def test_kernels_alone_have_no_host_code(tmp_path: Path) -> None:
    assert not judged(tmp_path, HEAD[: HEAD.index("float *a, *b, *c;")], runs=False).is_there
