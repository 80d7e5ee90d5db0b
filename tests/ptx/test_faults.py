"""What a student can write that no GPU would run: an outcome with its line, never a failure of the emulator."""

from __future__ import annotations

import contextlib
import gc
import re
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.launching.backend import BufferArgument, Code, LaunchRequest, ScalarArgument
from grader.launching.emulator import Emulator
from grader.ptx import affine, values
from grader.ptx.frontend.parser import parse
from grader.ptx.launch import Launch, launch
from grader.ptx.limits import DeviceTrap, InvalidInstruction, LimitExceeded, Limits, PtxError
from grader.ptx.memory import Device
from grader.ptx.values import Lanes, Vec
from tests.ptx.nvrtc import compile_ptx
from tests.ptx.ptx_text import module_text
from tests.ptx.running import compiled, run

KERNEL = 'extern "C" __global__ void k(int* out, int n) {\n'


def outcome(source: str, block: int = 32) -> tuple[str, str, int]:
    """(status, reason, line) of a kernel whose body starts at line 2, as the grader sees it."""
    out = BufferArgument("out", (64,), "int32", np.zeros(64, np.int32), True)
    request = LaunchRequest("k", (1, 1, 1), (block, 1, 1), 0, (out, ScalarArgument(1, "int32")), observe=True)
    result = Emulator().run(Code(source, compile_ptx(source)), request)
    return result.status, result.reason, result.line


ADDRESSES = {
    "null": "    *(volatile int*)0 = 1;",
    "one past null, behind a test": "    int* p = n > 5 ? out : (int*)8;\n    p[threadIdx.x] = 1;",
    "small": "    *(int*)16ull = 1;",
    "below the windows": "    ((int*)0x0700000000000000ull)[threadIdx.x] = 1;",
    "between windows": "    *(int*)(0x7FFCFFFFFFFCull + 4ull * (threadIdx.x & 1)) = 1;",
    "above all": "    *(int*)0x7FFF00000000ull = 1;",
    "negative": "    *(int*)(0ull - 64 + 4 * threadIdx.x) = 1;",
    "half of them": "    int* p = threadIdx.x & 1 ? out : (int*)0xFFFF000000000000ull;\n    p[0] = 1;",
    "everywhere": "    *(int*)((unsigned long long)threadIdx.x << 59 | 4) = 1;",
    "a float as a pointer": "    *(int*)(unsigned long long)(1e18 * threadIdx.x) = 1;",
}


def test_what_of_a_vector_is_inside_is_loaded_and_stored() -> None:
    """The rest lies in the page that a device's driver has mapped: it is told, and does not take the other elements."""
    source = """extern "C" __global__ void k(const float4* in, float* out, int4* all) {
    float4 v = in[threadIdx.x];
    out[threadIdx.x] = v.x + v.y + v.z + v.w;
    all[threadIdx.x] = make_int4(1, 2, 3, 4);
}
"""
    values = np.arange(1, 15, dtype=np.float32)
    result = run(source, 1, 4, values, np.zeros(4, np.float32), np.zeros(15, np.int32))
    assert result[1].tolist() == [10, 26, 42, 27]
    assert result[2].tolist() == [1, 2, 3, 4] * 3 + [1, 2, 3]
    assert [(h.kind, h.line, h.count) for h in result.hazards] == [("out_of_bounds", 2, 1), ("out_of_bounds", 4, 1)]


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize("load", [False, True])
def test_wild_pointers_are_out_of_bounds(name: str, load: bool) -> None:
    body = ADDRESSES[name]
    if load:
        start, _, target = body.removesuffix(" = 1;").rpartition("    ")
        body = f"{start}    out[1] = {target};"
    source = KERNEL + body + "\n}"
    try:
        result = run(source, 1, 32, np.zeros(64, np.int32), 1)
    except DeviceTrap as error:
        # The compiler itself puts a trap where it sees a null pointer.
        assert error.line in (2, 3)
    else:
        hazards = [h for h in result.hazards if h.kind == "out_of_bounds"]
        assert hazards and {h.line for h in hazards} <= {2, 3}
        assert {h.detail for h in hazards} <= {"unmapped", "before", "after", "misaligned"}


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("    if (threadIdx.x == 3) __trap();\n    out[0] = 1;", 2),
        ('    out[0] = 1;\n    asm volatile("trap;");\n    out[1] = 2;', 3),
        ("    out[0] = 1;\n    __brkpt();\n    out[1] = 2;", 3),
        ("    for (int i = 0; i < n; ++i) { out[i] = 2;\n    __trap(); }", 3),
    ],
)
def test_a_trap_ends_the_kernel_whatever_follows(body: str, line: int) -> None:
    assert outcome(KERNEL + body + "\n}") == ("fault", "trap", line)


CALLS = {
    "made up": "((void (*)(int))0x1234)(n);",
    "by thread": "((void (*)(int))(0x1000ull + 16 * threadIdx.x))(n);",
    "of another kind": "((void (*)(int, int))other)(n, n);",
    "next to one": "((void (*)(int*))((char*)other + 8))(out);",
}


@pytest.mark.parametrize("name", CALLS)
def test_made_up_function_pointers(name: str) -> None:
    source = "__device__ __noinline__ void other(int* p) { p[1] = 2; }\n__device__ void (*volatile kept)(int*);\n"
    source += KERNEL + "    kept = other;\n    " + CALLS[name].replace("other)", "kept)") + "\n}"
    assert outcome(source)[:2] == ("fault", "trap")


ASSEMBLY = [
    "st.global.v2.u32 [%0], {1};",
    "st.global.u32 [%0], {1, 2};",
    "ld.global.v4.u32 {_, _}, [%0];",
    "ld.global.u32 7, [%0];",
    "st.global.u32 5, 7;",
    "mov.u32 3, 4;",
    "mov;",
    "mov.b64 %%rx, {1, 2, 3};",
    "add.u32;",
    "add;",
    "atom.global.add.u32 _, 5, 7;",
    "atom.global.cas.b32;",
    "bar.red.popc.u32 1, 2;",
    "bar.sync;",
    "shfl.sync.idx.b32 _, 1, 2;",
    "vote.sync.ballot.b32 _;",
    "cvta.to;",
    "isspacep.global;",
    "this is not ptx;",
    "add.u32 %%nothing, 1, 2;",
    "bra nowhere;",
    "ld.global.u32 _, [%0 + nonsense];",
    "st.global.u32 [%0], " + "9" * 5000 + ";",
    "mov.u32 _, {{{{{1}}}}};",
]


@pytest.mark.parametrize("text", ASSEMBLY, ids=[text[:30] for text in ASSEMBLY])
def test_assembly_that_the_assembler_refuses_is_no_fault_of_the_emulators(text: str) -> None:
    """The compiler's process asks the assembler first; what comes here all the same costs nobody points."""
    source = KERNEL + f'    out[0] = 1;\n    asm volatile("{{ .reg .b64 %%rx; {text} }}" :: "l"(out));\n}}'
    assert outcome(source)[0] in ("ok", "unsupported")


@pytest.mark.parametrize(
    "body",
    [
        'printf("%a\\n");',
        'printf("%s %s\\n");',
        'printf("%d %f %*d %c %p");',
        "printf((const char*)0);",
        "printf((const char*)out, n);",
        'printf("%s", (const char*)77);',
        'printf("%5000.4000f|%-*.*e", 1.0, -5, -7, 2.0);',
    ],
)
def test_printf_that_does_not_fit_its_arguments(body: str) -> None:
    assert outcome('extern "C" __device__ int printf(const char*, ...);\n' + KERNEL + body + "\n}")[0] == "ok"


@settings(deadline=None, max_examples=300)
@given(
    st.text(st.sampled_from("%%%%dioxXucsfeEgGaAp*.-+ #0123456789hljztL$n\\'"), max_size=24),
    st.binary(min_size=64, max_size=64),
)
def test_any_format_prints_something(template: str, arguments: bytes) -> None:
    from grader.ptx.lowering import builtins
    from grader.ptx.memory import LOCAL_WINDOW, Window, local_array

    class BlockBatch:
        local = Window("local")
        device = Device()

    array = local_array(BlockBatch.local, "buffer", 64, 1)
    array.data[:64] = np.frombuffer(arguments, np.uint8)
    for base in (array.base + LOCAL_WINDOW, 0, array.base + LOCAL_WINDOW + 60, 1 << 63):
        assert isinstance(builtins._format(BlockBatch, template, base, 0), str)  # type: ignore[arg-type]


# -- numbers without end ----

DIGITS = "9" * 5000


@pytest.mark.parametrize(
    "text",
    [
        f".global .u32 a = {DIGITS};",
        f".global .u32 a[2] = {{1, {DIGITS}}};",
        f".global .u32 a[{DIGITS}];",
        f".global .f32 a[1] = {{{'0x' + 'f' * 5000}}};",
        f".global .align {DIGITS} .u32 a;",
        f'.file {DIGITS} "a.cu"',
        f".version {DIGITS}.0",
        ".global .u32 a[1] = " + "{" * 5000 + "1" + "}" * 5000 + ";",
        ".global .u32 a = " + "(" * 5000 + "1" + ")" * 5000 + ";",
        f".visible .entry k() .maxntid {DIGITS} {{ ret; }}",
        f".visible .entry k() {{ .loc {DIGITS} 1 1\n ret; }}",
        f".visible .entry k() {{ .reg .b32 %r<{DIGITS}>; ret; }}",
        f".visible .entry k() {{ .reg .b32 %r<4>; mov.u32 %r{DIGITS}, 1; ret; }}",
        f".visible .entry k() {{ .reg .b32 %r<4>; mov.u32 %r1, {DIGITS}; ret; }}",
        f".visible .entry k() {{ .reg .b32 %r<4>; ld.u32 %r1, [%r1+{DIGITS}]; ret; }}",
    ],
    ids=range(15),
)
def test_numbers_of_thousands_of_digits(text: str) -> None:
    header = "" if text.startswith(".version") else ".version 8.0\n"
    with contextlib.suppress(PtxError):
        parse(f"{header}.target sm_75\n.address_size 64\n{text}\n")


def mutations() -> list[str]:
    text = compile_ptx(
        "__device__ float table[4] = {1, 2, 3, 4};\n" + KERNEL + "__shared__ int s[64]; s[threadIdx.x] = n;\n"
        "__syncthreads(); if (n > 3) atomicAdd(out, s[63 - threadIdx.x]); else out[n] = __shfl_sync(~0u, n, 3);\n"
        'asm volatile("{ .reg .pred %%q; setp.ne.u32 %%q, %0, 0; @%%q bra L; trap; L: }" :: "r"(n));\n'
        "out[1] = table[n & 3]; }"
    )
    return [line for line in text.split("\n") if not line.startswith(".b8")]


@pytest.mark.slow
@settings(deadline=None, max_examples=500, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_broken_ptx_is_refused_or_runs(data: Any) -> None:
    """Lines and tokens of real PTX, cut, swapped and repeated: our own errors, or a result."""
    lines = mutations().copy()
    tokens = sorted({token for line in lines for token in re.findall(r"[\w.%$]+|[^\w\s]", line)})
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        parts = re.findall(r"[\w.%$]+|[^\w\s]|\s+", lines[at])
        if not parts:
            continue
        position = data.draw(st.integers(0, len(parts) - 1))
        match data.draw(st.sampled_from(["cut", "swap", "repeat", "drop"])):
            case "cut":
                parts = parts[:position]
            case "swap":
                parts[position] = data.draw(st.sampled_from(tokens))
            case "repeat":
                parts.insert(position, parts[position] * data.draw(st.integers(1, 40)))
            case "drop":
                del parts[position]
        lines[at] = "".join(parts)
    try:
        module = parse("\n".join(lines))
        device = Device()
        out = device.buffer("out", np.zeros(64, np.int32))
        launch(
            module, Launch("k", (2,), (64,), [out, np.int32(5)], device=device, observe=True, limits=Limits(seconds=2))
        )
    except PtxError:
        pass


# -- memory ----


@pytest.mark.parametrize(
    ("source", "line", "block"),
    [
        ("__device__ char x[1 << 29];\n" + KERNEL + "    x[n] = 1; }", 3, 32),
        (
            "__device__ int y[3]; __device__ double x[1 << 24];\n" + KERNEL + "\n    out[0] = y[n]; out[1] = x[n]; }",
            4,
            32,
        ),
        (KERNEL + "    volatile int a[100000];\n    a[n] = 1; out[0] = a[n + 1]; }", 2, 1024),
        (
            "__device__ __noinline__ int f(int d) { volatile int a[2000]; a[d] = d;\n"
            "    return d > 300 ? a[d] : f(d + 1) + a[d - 1]; }\n" + KERNEL + "    out[0] = f(n); }",
            1,
            1024,
        ),
    ],
)
def test_memory_is_looked_at_before_it_is_taken(source: str, line: int, block: int) -> None:
    with pytest.raises(LimitExceeded) as caught:
        run(source, 64, block, np.zeros(64, np.int32), 1)
    assert caught.value.kind == "memory"
    assert abs(caught.value.line - line) <= 1
    assert outcome(source, block)[:2] == ("fault", "memory")


def test_blocks_with_much_shared_memory_run_a_few_at_a_time() -> None:
    import tracemalloc

    source = 'extern "C" __global__ void k(volatile int* out, int n) { extern __shared__ int s[];\n'
    source += "s[threadIdx.x] = n; while (out[0] > 5); out[blockIdx.x] = s[0]; }"
    compiled(source)
    tracemalloc.start()
    result = run(
        source,
        512,
        1,
        np.zeros(512, np.int32),
        3,
        shared_bytes=227 << 10,
        max_shared_bytes=227 << 10,
        limits=Limits(seconds=3600),
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (result[0] == 3).all()
    assert peak < 500 << 20


def test_nothing_holds_a_launch_that_is_over_but_where_its_threads_stood(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = __import__("grader.ptx.machine.batch", fromlist=["BlockBatch"])
    seen: list[weakref.ref[Any]] = []
    roots: weakref.WeakSet[Lanes] = weakref.WeakSet()
    start = machine.BlockBatch.__init__

    def watched(self: Any, *args: Any, **more: Any) -> None:
        start(self, *args, **more)
        seen.extend(weakref.ref(thing) for thing in (self, self.device, self.layout.root))
        roots.add(self.layout.root)

    monkeypatch.setattr(machine.BlockBatch, "__init__", watched)
    sources = [
        KERNEL + "__shared__ int s[64]; int t = threadIdx.x; s[t % 64] = t; __syncthreads();\n"
        "for (int i = 0; i < n + t % 3; ++i) { out[t % 64] = s[(t + i) % 64]; if (t % 2) __syncwarp(); }\n"
        "__threadfence(); atomicAdd(out, out[t % 64 + i0()]); }",
        KERNEL + "while (atomicCAS(out, 0, 1)); __threadfence(); atomicExch(out, 0); out[1] = __any_sync(~0u, n); }",
        KERNEL + "if (threadIdx.x == 3) __trap(); out[n] = 1; }",
        "__device__ int counter; " + KERNEL + "atomicAdd(&counter, n); }",
    ]
    sources[0] = "__device__ int i0() { return 0; }\n" + sources[0]
    for source in sources:
        compiled(source)
    gc.collect()
    gc.disable()
    try:
        for source in sources:
            with contextlib.suppress(DeviceTrap):
                run(source, 3, 64, np.zeros(64, np.int32), 3)
            assert seen
            assert [ref for ref in seen if ref() is not None and ref() not in roots] == [], source
            assert [vec for vec in gc.get_objects() if isinstance(vec, Vec) and not vec.lasting] == [], source
            monkeypatch.setattr(affine, "KEPT_BYTES", 0)
            monkeypatch.setattr(values, "KEPT_BYTES", 0)
            with contextlib.suppress(DeviceTrap):
                run(source, 2, 64, np.zeros(64, np.int32), 3)
            assert [ref for ref in seen if ref() is not None] == [], source
            monkeypatch.undo()
            monkeypatch.setattr(machine.BlockBatch, "__init__", watched)
    finally:
        gc.enable()


def test_what_is_kept_for_later_launches_has_its_limits() -> None:
    # Another shape each time, and a loop in which something new is worked out of the coordinates all the time.
    source = KERNEL + "int t = threadIdx.x; for (int i = 0; i < n; ++i) out[t] += t * i / 3 % 5; }"
    for blocks in range(1, 40):
        run(source, blocks, 64, np.zeros(64, np.int32), 3 if blocks % 5 else 300)
        kept = affine._kept.values()
        assert len(kept) <= affine.KEPT_SHAPES
        assert sum(known.layout.kept_bytes for known in kept) <= values.KEPT_BYTES


def test_a_form_that_cannot_be_is_told_from_one_that_is_lacking() -> None:
    device = Device()
    with pytest.raises(InvalidInstruction, match="no valid instruction"):
        launch(
            parse(module_text("st.global.v2.u32 [%rd1], {%r1};\nret;")),
            Launch("k", (1,), (1,), [device.buffer("o", 8)]),
        )


@pytest.mark.parametrize("text", ["frobnicate.b32 %0, %0;", "addd.s32 %0, %0, 1;", "sortof;"])
def test_a_name_that_no_instruction_has_costs_nothing_here(text: str) -> None:
    """The assembler refuses it before a kernel is run; see the compiler's tests."""
    status, reason, line = outcome(KERNEL + f'    asm volatile("{text}" : "+r"(n));\n    out[0] = n;\n}}')
    assert (status, reason, line) == ("unsupported", "no_instruction", 2)


def test_every_instruction_that_is_executed_has_its_name_in_the_list() -> None:
    from grader.ptx.isa.instructions import MNEMONICS, OPCODES

    assert set(OPCODES) <= MNEMONICS


def test_what_a_kernel_without_an_end_did_before_stands_in_the_file_that_was_compiled() -> None:
    source = KERNEL + "    for (long long i = 4096; i < 1ll << 40; i += n) out[i & 0xffff] = out[n] + i;\n}\n"
    out = BufferArgument("out", (64,), "int32", np.zeros(64, np.int32), True)
    request = LaunchRequest("k", (1, 1, 1), (1, 1, 1), 0, (out, ScalarArgument(1, "int32")), observe=True)
    result = Emulator().run(Code(source, compile_ptx(source)), request)
    assert result.reason == "steps"
    assert {(hazard.kind, hazard.file, hazard.line) for hazard in result.hazards} == {("out_of_bounds", "", 2)}


def test_shared_memory_in_a_namespace_is_called_as_in_the_source() -> None:
    source = (
        "namespace own { extern __shared__ float dynamic[]; }\n"
        'extern "C" __global__ void k(float* out) { out[threadIdx.x] = own::dynamic[threadIdx.x]; }\n'
    )
    (hazard,) = run(source, 1, 32, np.zeros(32, np.float32), shared_bytes=128).hazards
    assert (hazard.kind, hazard.array) == ("uninitialized", "dynamic")
