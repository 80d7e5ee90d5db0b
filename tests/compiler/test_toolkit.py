"""An NVRTC that brings no headers of the device, as those before 13.3: a toolkit's are found, or it is said plainly."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from grader.compiler.process import CompilerProcess
from grader.compiler.worker import header_folders, matching_folder
from grader.errors import InternalError
from grader.processes import child
from grader.processes.limits import landlock_version

pytestmark = pytest.mark.started

HALVES = "#include <cuda_fp16.h>\n__global__ void k(__half *a) { a[0] = __hadd(a[1], a[2]); }\n"
GROUPS = (
    "#include <cooperative_groups.h>\n__global__ void k(int *a) { auto g = cooperative_groups::this_thread_block(); "
    "g.sync(); a[0] = g.size(); }\n"
)
PLAIN = "__global__ void k(int *a) { a[0] = 1; }\n"


def make_toolkit(include: Path, version: int) -> Path:
    """A folder that looks like a toolkit's headers of `version`, 13000 for 13.0."""
    for name in ("cooperative_groups.h", "crt/mma.h", "cccl/nv/target"):
        (include / name).parent.mkdir(parents=True, exist_ok=True)
        (include / name).touch()
    (include / "cuda.h").write_text(f"/* all of it */\n#define CUDA_VERSION {version}\n")
    return include


def test_where_headers_are_looked_for(tmp_path: Path) -> None:
    wheels = tmp_path / "site-packages" / "nvidia" / "cu13" / "include"
    wheels.mkdir(parents=True)
    environment = {"CUDA_HOME": "/opt/cuda", "CUDA_PATH": "relative"}
    expected = [Path("/opt/cuda/include"), wheels, Path("/usr/local/cuda/include")]
    assert header_folders(environment, ["/nowhere", str(tmp_path / "site-packages")]) == expected
    assert header_folders({}, []) == [Path("/usr/local/cuda/include")]


def test_the_version_decides_between_toolkits(tmp_path: Path) -> None:
    old, near, same = (make_toolkit(tmp_path / str(version), version) for version in (12080, 13010, 13000))
    assert matching_folder([old, near, same], (13, 0)) == same
    assert matching_folder([old, near, same], (13, 2)) == near
    assert matching_folder([old], (13, 0)) is None
    assert matching_folder([tmp_path / "none"], (13, 0)) is None
    (same / "crt" / "mma.h").unlink()
    assert matching_folder([same, near], (13, 0)) == near


def test_the_real_folder_is_given(tmp_path: Path) -> None:
    real = make_toolkit(tmp_path / "cuda-13.0" / "include", 13000)
    (tmp_path / "cuda").symlink_to(tmp_path / "cuda-13.0")
    assert matching_folder([tmp_path / "cuda" / "include"], (13, 0)) == real


@pytest.fixture(scope="module")
def own_headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Headers of the device as the installed NVRTC unpacks them, with the version that a toolkit's would tell."""
    folder = tmp_path_factory.mktemp("headers")
    with CompilerProcess(headers=folder) as compiler:
        assert compiler.compile({"a.cu": HALVES}, ["k"], "compute_75").ok
        major, minor = (int(part) for part in compiler.nvrtc_version().split("."))
    (include,) = folder.iterdir()
    (include / "cuda.h").write_text(f"#define CUDA_VERSION {major * 1000 + minor * 10}\n")
    return include


@pytest.fixture(scope="module")
def older_nvrtc(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the installed NVRTC whose function for unpacking headers has another name, so that nobody finds it."""
    spec = importlib.util.find_spec("nvidia")
    found = (
        [
            path
            for place in spec.submodule_search_locations or []
            for path in Path(place).glob("cu*/lib")
            if [*path.glob("libnvrtc.so*")]
        ]
        if spec
        else []
    )
    if not found:
        pytest.skip("NVRTC is not installed as a package")
    folder = tmp_path_factory.mktemp("older")
    for path in found[0].glob("libnvrtc*"):
        code = path.read_bytes()
        assert "builtins" in path.name or b"\0nvrtcInstallBundledHeaders\0" in code
        renamed = code.replace(b"\0nvrtcInstallBundledHeaders\0", b"\0nvrtcInstallBundledHeadery\0")
        (folder / path.name).write_bytes(renamed)
    return next(folder.glob("libnvrtc.so*"))


@pytest.fixture
def with_older_nvrtc(older_nvrtc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiler processes load the older NVRTC first; the bindings take the one that is loaded."""
    load = f"import ctypes; ctypes.CDLL({str(older_nvrtc)!r}); "
    monkeypatch.setattr(child, "_START", load + child._START)


@pytest.mark.usefixtures("with_older_nvrtc")
@pytest.mark.parametrize("use_landlock", [True, False])
def test_headers_of_a_toolkit_stand_in(own_headers: Path, tmp_path: Path, use_landlock: bool) -> None:
    beside = own_headers.parent / "secret.h"
    beside.write_text("const int the_solution = 42;\n")
    with CompilerProcess(headers=tmp_path, toolkits=[own_headers], use_landlock=use_landlock) as compiler:
        for source in (HALVES, GROUPS if use_landlock else PLAIN):
            result = compiler.compile({"main.cu": source}, ["k"], "compute_75")
            assert result.ok, result.log
        leak = f'#include "{beside}"\n{HALVES}'
        refused = compiler.compile({"main.cu": leak}, ["k"], "compute_75")
    reason = "errors" if use_landlock and landlock_version() else "forbidden_include"
    assert (refused.ok, refused.reason) == (False, reason)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("with_older_nvrtc")
def test_no_headers_anywhere(tmp_path: Path) -> None:
    with CompilerProcess(headers=tmp_path, toolkits=[tmp_path / "none"]) as compiler:
        version = compiler.nvrtc_version()
        for _attempt in range(2):
            with pytest.raises(InternalError) as caught:
                compiler.compile({"main.cu": HALVES}, ["k"], "compute_75")
            assert str(caught.value) == (
                f"NVRTC {version} comes without device headers (cuda_fp16.h, cooperative_groups.h, …), and no CUDA "
                "toolkit of that version was found; run: pip install --upgrade nvidia-cuda-nvrtc, or set CUDA_HOME to "
                "a toolkit's folder"
            )
        assert compiler.compile({"main.cu": PLAIN}, ["k"], "compute_75").ok
