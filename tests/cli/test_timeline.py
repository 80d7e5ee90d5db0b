"""What streams did, in the report of `grade run`: the picture, copies with their bandwidths."""

from __future__ import annotations

from grader.cli.run_report import text_of
from grader.i18n import use
from grader.programs.records import DeviceCall, Observation


def report(*calls: DeviceCall, device: str = "") -> str:
    use("en")
    return text_of(Observation(0, [], [], asked=list(calls), device=device))


def step(kind: str, stream: int, ticket: int, began_us: float | None = None, **fields: bool) -> DeviceCall:
    call = DeviceCall(kind, "cudaMemcpyAsync", "a.cu", 7, 1 << 20, stream, ticket, {stream: ticket}, **fields)
    call.began_us = began_us
    call.ended_us = None if began_us is None else began_us + 50
    return call


def test_in_order_streams_stand_above_one_another() -> None:
    told = report(step("copy_in", 33, 1), step("kernel", 33, 2), step("copy_in", 17, 1), step("kernel", 17, 2))
    assert "  stream 1  →→→ ███\n  stream 2  →→→ ███\n  → copies to the device   █ kernels\n" in told
    assert "Copies" not in told and "µs" not in told
    assert "Timeline" not in report(step("copy_in", 1, 1), step("kernel", 1, 2))


def test_a_gpus_copies_have_bandwidths_and_what_was_beside_them_is_told() -> None:
    calls = [step("copy_in", 17, 1, 0.0), step("copy_in", 17, 2, 50.0), step("kernel", 33, 1, 75.0)]
    told = report(*calls, step("copy_out", 1, 3, 125.0, is_pageable=True), device="NVIDIA H100")
    assert "  → a.cu:7  cudaMemcpyAsync 1 MiB  ×2  50 µs  21 GB/s\n" in told
    assert "  ← a.cu:7  cudaMemcpyAsync 1 MiB  (pageable memory)  50 µs  21 GB/s\n" in told
    assert "175 µs from left to right" in told
    assert "kernels 50 µs, copies between host and device 150 µs, both at the same time 25 µs" in told
