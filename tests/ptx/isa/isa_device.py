"""Run an instruction of `isa_cases` on a GPU: a kernel of PTX with one thread a row of operands."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.ptx.isa.isa_case import WIDTHS, Case

HEADER = ".version 8.6\n.target sm_{capability}\n.address_size 64\n"
THREADS = 128


def _load(position: int, name: str) -> list[str]:
    width = WIDTHS[name]
    if name == "pred":
        return [f"ld.global.u8 %h60, [%rd{position}];", f"setp.ne.u16 %p{position}, %h60, 0;"]
    if width == 8:
        return [f"ld.global.u8 %r{position}, [%rd{position}];"]
    register = {16: "h", 32: "r", 64: "x"}[width]
    return [f"ld.global.b{width} %{register}{position}, [%rd{position}];"]


def _register(position: int, name: str) -> str:
    return "%" + {1: "p", 8: "r", 16: "h", 32: "r", 64: "x"}[WIDTHS[name]] + str(position)


def _bytes(name: str) -> int:
    return max(1, WIDTHS[name] // 8)


def kernel_text(item: Case, capability: int = 90) -> str:
    """PTX with one entry `probe(n, inputs…, outputs…)`; the carry is the last of both, as a byte."""
    inputs = [*item.inputs, *(["pred"] if item.carry_in else [])]
    outputs = [*item.outputs, *(["pred"] if item.carry_out else [])]
    fixed = dict(item.immediates)
    pointers = [name for i, name in enumerate(inputs) if i not in fixed] + outputs
    parameters = ",\n".join(["  .param .u32 n", *(f"  .param .u64 p{i}" for i in range(len(pointers)))])
    body = [
        "ld.param.u32 %r90, [n];",
        "mov.u32 %r91, %ctaid.x;",
        f"mov.u32 %r92, %tid.x;  mad.lo.u32 %r92, %r91, {THREADS}, %r92;",
        "setp.ge.u32 %p90, %r92, %r90;",
        "@%p90 ret;",
    ]
    operands, pointer = [], 0
    for i, name in enumerate(inputs):
        if i in fixed:
            operands.append(str(fixed[i]))
            continue
        body += [f"ld.param.u64 %rd{i}, [p{pointer}];", f"mad.wide.u32 %rd{i}, %r92, {_bytes(name)}, %rd{i};"]
        body += _load(i, name)
        operands.append(_register(i, name))
        pointer += 1
    results = [_register(20 + i, name) for i, name in enumerate(item.outputs)]
    subtracts = item.spelling.startswith("sub")
    if item.carry_in:
        operands.pop()
        chain = "sub.cc.u32 %r80, 0, %r81;" if subtracts else "add.cc.u32 %r80, %r81, 0xffffffff;"
        body += [f"selp.u32 %r81, 1, 0, %p{len(inputs) - 1};", chain]
    body.append(f"{item.spelling} {'|'.join(results)}, {', '.join(operands)};")
    if item.carry_out:
        body += [f"{'subc' if subtracts else 'addc'}.u32 %r82, 0, 0;", "setp.ne.u32 %p21, %r82, 0;"]
        results.append("%p21")
    for i, name in enumerate(outputs):
        body += [f"ld.param.u64 %rd40, [p{pointer}];", f"mad.wide.u32 %rd40, %r92, {_bytes(name)}, %rd40;"]
        if name == "pred":
            body += [f"selp.u16 %h40, 1, 0, {results[i]};", "st.global.u8 [%rd40], %h40;"]
        else:
            body.append(f"st.global.b{WIDTHS[name]} [%rd40], {results[i]};")
        pointer += 1
    registers = [
        ".reg .pred %p<100>;",
        ".reg .b16 %h<100>;",
        ".reg .b32 %r<100>;",
        ".reg .b64 %x<100>;",
        ".reg .b64 %rd<100>;",
    ]
    lines = "\n".join([*registers, *body, "ret;"])
    return f"{HEADER.format(capability=capability)}.visible .entry probe(\n{parameters})\n{{\n{lines}\n}}\n"


class Device:
    """A CUDA context; raises RuntimeError naming the call that failed."""

    def __init__(self) -> None:
        from cuda.bindings import driver

        self.driver = driver
        self.check(driver.cuInit(0))
        device = self.check(driver.cuDeviceGet(0))
        context = self.check(driver.cuDevicePrimaryCtxRetain(device))
        self.check(driver.cuCtxSetCurrent(context))
        major = self.check(driver.cuDeviceGetAttribute(driver.CUdevice_attribute(75), device))
        minor = self.check(driver.cuDeviceGetAttribute(driver.CUdevice_attribute(76), device))
        self.capability = 10 * major + minor

    def check(self, answer: Any) -> Any:
        if int(answer[0]) != 0:
            raise RuntimeError(str(answer[0]))
        return answer[1] if len(answer) > 1 else None

    def run(self, item: Case, rows: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Results of every row, in the form of `isa_run.emulate`."""
        inputs = [*item.inputs, *(["pred"] if item.carry_in else [])]
        outputs = [*item.outputs, *(["pred"] if item.carry_out else [])]
        fixed = dict(item.immediates)
        driver = self.driver
        module = self.check(driver.cuModuleLoadData(kernel_text(item, self.capability).encode() + b"\0"))
        function = self.check(driver.cuModuleGetFunction(module, b"probe"))
        columns = list(zip(*rows, strict=True))
        given = [(columns[i], t) for i, t in enumerate(inputs) if i not in fixed]
        hosts: list[np.ndarray] = [np.array(column, f"u{_bytes(t)}") for column, t in given]
        hosts += [np.zeros(len(rows), f"u{_bytes(t)}") for t in outputs]
        pointers = [self.check(driver.cuMemAlloc(h.nbytes)) for h in hosts]
        for host, pointer in zip(hosts, pointers, strict=True):
            self.check(driver.cuMemcpyHtoD(pointer, host.ctypes.data, host.nbytes))
        values: list[np.ndarray] = [
            np.array([len(rows)], np.uint32),
            *(np.array([int(p)], np.uint64) for p in pointers),
        ]
        addresses = np.array([v.ctypes.data for v in values], np.uint64)
        blocks = -(-len(rows) // THREADS)
        self.check(driver.cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, 0, addresses.ctypes.data, 0))
        self.check(driver.cuCtxSynchronize())
        results = hosts[len(hosts) - len(outputs) :]
        for host, pointer in zip(results, pointers[len(hosts) - len(outputs) :], strict=True):
            self.check(driver.cuMemcpyDtoH(host.ctypes.data, pointer, host.nbytes))
        for pointer in pointers:
            self.check(driver.cuMemFree(pointer))
        self.check(driver.cuModuleUnload(module))
        return list(zip(*(h.tolist() for h in results), strict=True))
