"""Times the launches that `prediction_launches.py --write FOLDER` wrote, on the GPU at hand.

    python benchmarks/time_launches.py FOLDER OUT

Needs nothing but `cuda-python`.  Each launch is timed as `grade` does it (docs/timing.md): in a CUDA graph, an event
before and after it, the L2 cache emptied before (cold) or two launches of the same before (warm); the median of up to
31, less what two events show with nothing between them.  Writes OUT/times.jsonl, a line a launch, and OUT/device.json.
A launch that ends its process, or does not end, is left out, and the next one begins in a new process.
"""

from __future__ import annotations

import ctypes
import json
import os
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FLUSH_BYTES = 192 << 20
GUARD = 1 << 20
PAIRS = 31
MOST_US = 12_000.0
"""Of all timed launches of a kernel together, cold or warm."""
STALLED_S = 10.0
KINDS = {"zero": 0, "unit": 1, "unit64": 2, "below": 3, "chain": 4, "rising": 5}
FORMATS = {"float32": "<f", "float64": "<d"} | {
    f"{sign}int{bits}": f"<{letter if sign else letter.lower()}"
    for bits, letter in ((8, "B"), (16, "H"), (32, "I"), (64, "Q"))
    for sign in ("", "u")
}


def call(name: str, *arguments: Any) -> Any:
    """A function of the driver; RuntimeError when it fails."""
    from cuda.bindings import driver

    status, *results = getattr(driver, name)(*arguments)
    if int(status) != 0:
        raise RuntimeError(f"{name}: {status}")
    return results[0] if len(results) == 1 else tuple(results)


class Bench:
    """A device with memory for every launch, and what times them."""

    def __init__(self, folder: Path, launches: list[dict[str, Any]]) -> None:
        from cuda.bindings import driver

        self.folder = folder
        call("cuInit", 0)
        self.device = call("cuDeviceGet", 0)
        self.context = call("cuDevicePrimaryCtxRetain", self.device)
        call("cuCtxSetCurrent", self.context)
        self.stream = call("cuStreamCreate", 0)
        self.external = int(driver.CUevent_record_flags.CU_EVENT_RECORD_EXTERNAL)
        self.relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self.opt_in = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.modules: dict[str, Any] = {}
        need = max(sum(GUARD + a["bytes"] for a in launch["arguments"] if "bytes" in a) for launch in launches)
        self.pool = int(call("cuMemAlloc", need + 4 * GUARD))
        self.flush = int(call("cuMemAlloc", FLUSH_BYTES))
        self.out = int(call("cuMemAlloc", 64))
        call("cuMemsetD8", self.pool, 0, need + 4 * GUARD)
        call("cuMemsetD8", self.flush, 0, FLUSH_BYTES)
        own = next(launch["program"] for launch in launches if launch["id"].startswith("own/"))
        self.harness = {n: self.function(own, f"harness_{n}") for n in ("fill", "read", "discard", "clock")}
        self.events = [(call("cuEventCreate", 0), call("cuEventCreate", 0)) for _pair in range(PAIRS)]
        self.nothing_us = 0.0
        self.busy()
        self.nothing_us = statistics.median(self.timed(None, PAIRS, cold=False))

    def function(self, program: str, entry: str) -> Any:
        """A kernel of a program."""
        if program not in self.modules:
            self.modules[program] = call("cuModuleLoadData", (self.folder / program).read_bytes())
        return call("cuModuleGetFunction", self.modules[program], entry.encode())

    def launch(self, function: Any, grid: Any, block: Any, shared: int, values: list[bytes]) -> None:
        """Enqueue a launch."""
        storage = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (ctypes.c_void_p * max(1, len(storage)))(*(ctypes.addressof(s) for s in storage))
        call("cuLaunchKernel", function, *grid, *block, shared, self.stream, ctypes.addressof(pointers), 0)

    def busy(self) -> None:
        """Bring the clock up."""
        for _again in range(40):
            self.launch(self.harness["clock"], (528, 1, 1), (256, 1, 1), 0, [_u64(self.out), _u64(10_000_000)])
        call("cuStreamSynchronize", self.stream)

    def clock_mhz(self) -> float:
        """Of the multiprocessors, now."""
        self.launch(self.harness["clock"], (528, 1, 1), (256, 1, 1), 0, [_u64(self.out), _u64(4_000_000)])
        call("cuStreamSynchronize", self.stream)
        raw = (ctypes.c_uint64 * 2)()
        call("cuMemcpyDtoH", ctypes.addressof(raw), self.out, 16)
        cycles, nanoseconds = raw
        return 1000.0 * cycles / max(1, nanoseconds)

    def prepare(self, launch: dict[str, Any]) -> tuple[Any, ...]:
        """Fill the arrays of a launch; what it takes to make it."""
        function = self.function(launch["program"], launch["entry"])
        if launch["shared_bytes"] > 48 * 1024:
            call("cuFuncSetAttribute", function, self.opt_in, launch["shared_bytes"])
        values, at = [], self.pool + GUARD
        for argument in launch["arguments"]:
            if "bytes" in argument:
                values.append(_u64(at))
                given = [_u64(at), _u64(argument["elements"]), struct.pack("<i", KINDS[argument["fill"]])]
                given.append(struct.pack("<I", argument["parameter"]))
                self.launch(self.harness["fill"], (1056, 1, 1), (256, 1, 1), 0, given)
                at += (argument["bytes"] + GUARD + 511) // 512 * 512
            else:
                kind = FORMATS[argument["dtype"]]
                values.append(
                    struct.pack(kind, float(argument["value"]) if kind in ("<f", "<d") else int(argument["value"]))
                )
        call("cuStreamSynchronize", self.stream)
        return function, launch["grid"], launch["block"], launch["shared_bytes"], values

    def timed(self, prepared: tuple[Any, ...] | None, pairs: int, cold: bool) -> list[float]:
        """µs of each of so many launches."""
        call("cuStreamBeginCapture", self.stream, self.relaxed)
        for begin, end in self.events[:pairs]:
            if cold:
                wide = [_u64(self.flush), _u64(FLUSH_BYTES // 16), _u64(self.out)]
                self.launch(self.harness["read"], (1056, 1, 1), (512, 1, 1), 0, wide)
                lines = [_u64(self.flush), _u64(FLUSH_BYTES // 128)]
                self.launch(self.harness["discard"], (1056, 1, 1), (512, 1, 1), 0, lines)
            call("cuEventRecordWithFlags", begin, self.stream, self.external)
            if prepared is not None:
                self.launch(*prepared)
            call("cuEventRecordWithFlags", end, self.stream, self.external)
        graph = call("cuStreamEndCapture", self.stream)
        executable = call("cuGraphInstantiate", graph, 0)
        call("cuGraphDestroy", graph)
        call("cuGraphLaunch", executable, self.stream)
        call("cuStreamSynchronize", self.stream)
        times = [1000 * float(call("cuEventElapsedTime", *pair)) - self.nothing_us for pair in self.events[:pairs]]
        call("cuGraphExecDestroy", executable)
        return times

    def measure(self, launch: dict[str, Any]) -> dict[str, Any]:
        """The times of a launch."""
        from cuda.bindings import driver

        prepared = self.prepare(launch)
        once = self.timed(prepared, 1, cold=False)[0]
        pairs = int(max(3, min(PAIRS, MOST_US // max(once, 1.0))))
        warm, cold = self.timed(prepared, pairs, cold=False), self.timed(prepared, pairs, cold=True)
        attributes = driver.CUfunction_attribute
        registers = call("cuFuncGetAttribute", attributes.CU_FUNC_ATTRIBUTE_NUM_REGS, prepared[0])
        static = call("cuFuncGetAttribute", attributes.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, prepared[0])
        local = call("cuFuncGetAttribute", attributes.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, prepared[0])
        threads = launch["block"][0] * launch["block"][1] * launch["block"][2]
        blocks = call("cuOccupancyMaxActiveBlocksPerMultiprocessor", prepared[0], threads, launch["shared_bytes"])
        return {
            "id": launch["id"],
            "cold_us": round(statistics.median(cold), 3),
            "cold_low_us": round(min(cold), 3),
            "warm_us": round(statistics.median(warm), 3),
            "pairs": pairs,
            "registers": int(registers),
            "static_shared": int(static),
            "local": int(local),
            "blocks": int(blocks),
        }


def _u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def worker(folder: Path, out: Path, first: int) -> None:
    """Time launches from the number `first` on."""
    launches = json.loads((folder / "launches.json").read_text(encoding="utf-8"))
    bench = Bench(folder, launches)
    with (out / "times.jsonl").open("a", encoding="utf-8") as lines:
        for number, launch in enumerate(launches[first:], first):
            (out / "at").write_text(str(number), encoding="utf-8")
            row = bench.measure(launch)
            if number % 20 == 0:
                row["mhz"] = round(bench.clock_mhz(), 1)
            lines.write(json.dumps(row) + "\n")
            lines.flush()
    name = call("cuDeviceGetName", 256, bench.device)
    properties = {
        "name": name.decode().rstrip("\0") if isinstance(name, bytes) else str(name),
        "driver": int(call("cuDriverGetVersion")),
        "nothing_us": round(bench.nothing_us, 3),
        "mhz": round(bench.clock_mhz(), 1),
    }
    (out / "device.json").write_text(json.dumps(properties), encoding="utf-8")


def once(folder: Path, prefixes: list[str]) -> None:
    """Make some launches once each, for a profiler that looks at what lies between `cuProfilerStart` and its stop."""
    launches = json.loads((folder / "launches.json").read_text(encoding="utf-8"))
    bench = Bench(folder, launches)
    for launch in launches:
        if any(launch["id"].startswith(prefix) for prefix in prefixes):
            prepared = bench.prepare(launch)
            call("cuProfilerStart")
            bench.launch(*prepared)
            call("cuStreamSynchronize", bench.stream)
            call("cuProfilerStop")
            print("PROFILED", launch["id"], flush=True)


def main() -> None:
    """Time all launches, in as many processes as it takes."""
    if sys.argv[1] == "--worker":
        worker(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))
        return
    if sys.argv[1] == "--once":
        once(Path(sys.argv[2]), sys.argv[3:])
        return
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    count = len(json.loads((folder / "launches.json").read_text(encoding="utf-8")))
    first, failures = 0, 0
    environment = {**os.environ, "CUDA_MODULE_LOADING": "EAGER"}
    while first < count and failures < 40:
        (out / "at").write_text(str(first), encoding="utf-8")
        command = [sys.executable, __file__, "--worker", str(folder), str(out), str(first)]
        process = subprocess.Popen(command, env=environment)
        seen, since = "", time.monotonic()
        while process.poll() is None:
            time.sleep(0.05)
            now = (out / "at").read_text(encoding="utf-8")
            if now != seen:
                seen, since = now, time.monotonic()
            elif time.monotonic() - since > STALLED_S:
                process.kill()
        if process.returncode == 0:
            break
        at = int((out / "at").read_text(encoding="utf-8") or first)
        print(f"launch {at} ended its process", flush=True)
        first, failures = at + 1, failures + 1


if __name__ == "__main__":
    main()
