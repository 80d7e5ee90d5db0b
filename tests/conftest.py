"""What every test starts from."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from grader import i18n
from grader.processes import fork_server
from grader.programs import execution
from grader.programs.sources import Program
from grader.programs.toolchain.compile import HostProgram
from grader.programs.toolchain.zig import Library

# The same examples at every run, and no example is too slow: what a test says depends on the code alone.
settings.register_profile(
    "same everywhere", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
# `HYPOTHESIS_PROFILE=default` looks for examples that nobody has seen yet.
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same everywhere"))

# Whoever's machine this is: commands that the tests start speak English unless a test says otherwise.
for name in [name for name in os.environ if name.startswith("LC_") or name in ("LANG", "LANGUAGE")]:
    del os.environ[name]
os.environ["LANG"] = "C.UTF-8"

# A shell that runs the tests in the background, or `nohup`, has these ignored, and so would have the commands that the
# tests interrupt.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)


def pytest_configure(config: pytest.Config) -> None:
    """Where `tests/ptx/nvrtc.py` keeps what it compiled, if pytest keeps anything."""
    if hasattr(config, "cache"):
        os.environ["COMPILED_PTX"] = str(config.cache.mkdir("ptx"))


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Texts are asserted in English; a test that speaks another language must not hand it on to the next."""
    i18n.use("en")
    yield
    i18n.use("en")


@pytest.fixture(scope="session")
def fork_servers() -> Iterator[fork_server.Servers]:
    """What `forked` starts, for all modules."""
    servers: fork_server.Servers = {}
    yield servers
    for server in servers.values():
        server.end()


@pytest.fixture(scope="module", autouse=True)
def forked(request: pytest.FixtureRequest, fork_servers: fork_server.Servers) -> Iterator[None]:
    """Children are forked, as those of a group are: of the many that tests start none imports anything anew.

    Not in a module that is marked `started`: it is about how they start, or changes what they inherit.
    """
    if request.node.get_closest_marker("started"):
        yield
        return
    with fork_server.kept(fork_servers):
        yield


@pytest.fixture(scope="session")
def host_cache(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with compiled host code by its hash, kept for the next run of the tests where pytest keeps anything."""
    kept: pytest.Cache | None = getattr(pytestconfig, "cache", None)
    return kept.mkdir("programs") if kept is not None else tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module", autouse=True)
def compiled_once(host_cache: Path) -> Iterator[None]:
    """Host code is compiled once for all tests that run the same: a lab's reference, a harness, a sample."""
    compile_host = execution._host

    def compiled(program: Program, library: Library, architecture: str, cache: Path | None) -> HostProgram:
        return compile_host(program, library, architecture, cache or host_cache)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "_host", compiled)
        yield


@pytest.fixture
def compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that count what is compiled: nothing is compiled already."""

    def compiled(program: Program, library: Library, architecture: str, _cache: Path | None) -> HostProgram:
        return execution._compile_host(program, library, architecture)

    monkeypatch.setattr(execution, "_host", compiled)
