"""Tests that need an NVIDIA GPU; machines without one skip them with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess
from grader.compiler.result import CompileResult
from grader.gpu.messages import NoDevice
from grader.gpu.process import GpuProcess, has_driver
from grader.gpu.session import GpuSession, compile_helpers

HERE = f"{Path(__file__).parent}/"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if str(item.path).startswith(HERE):
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session", autouse=True)
def device_is_there() -> None:
    if not has_driver():
        pytest.skip("no NVIDIA driver")


@pytest.fixture(scope="session")
def compiler() -> Iterator[CompilerProcess]:
    with CompilerProcess() as process:
        yield process


@pytest.fixture
def session(compiler: CompilerProcess) -> Iterator[GpuSession]:
    """A GPU process of one's own."""
    session = opened(compiler)
    yield session
    session.close()


@pytest.fixture(scope="session")
def lasting_session(compiler: CompilerProcess) -> Iterator[GpuSession]:
    """A GPU process for all tests whose kernels are right."""
    session = opened(compiler)
    yield session
    session.close()


def opened(compiler: CompilerProcess) -> GpuSession:
    process = GpuProcess()
    ready = process.ready()
    if isinstance(ready, NoDevice):
        pytest.skip(ready.reason)
    return GpuSession(process, compile_helpers(compiler, ready.architecture), {})


class Loader:
    """Compiles a CUDA source for the device and loads it."""

    def __init__(self, compiler: CompilerProcess, session: GpuSession) -> None:
        self._compiler = compiler
        self._session = session

    def __call__(self, source: str, *names: str, module: str = "test") -> CompileResult:
        result = self._compiler.compile({"test.cu": source}, list(names), self._session.device.architecture)
        assert result.ok, result.log
        self._session.add(module, result.cubin)
        return result


@pytest.fixture
def load(compiler: CompilerProcess, session: GpuSession) -> Loader:
    return Loader(compiler, session)
