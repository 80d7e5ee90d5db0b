"""Whole programs, built with nvcc and run by the real runtime: they launch and print what the sandbox says they do.

Both are held against the `expected.yaml` of `tests/programs`: the sandbox there, the GPU here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.programs.expected import PROGRAMS, expected_of, files_of, wanted_launches

HERE = Path(__file__).parent
GRADER = Path(__file__).parents[2] / "grader"
STAND_INS = (GRADER / "programs/toolchain/include", GRADER / "compiler/stand_ins")
HELPERS = (
    "book.h",
    "common.h",
    "cpu_anim.h",
    "cpu_bitmap.h",
    "exception.h",
    "helper_cuda.h",
    "helper_functions.h",
    "helper_image.h",
    "helper_math.h",
    "helper_string.h",
    "helper_timer.h",
    "wb.h",
)
"""Headers of samples and courses, which no toolkit has: the grader's own serve for nvcc as well."""
UNDEFINED = {"race", "uninitialized", "stream_race", "out_of_bounds", "use_after_free", "copy_size", "not_waited"}
"""What a program prints after these is anybody's guess."""
TIME = re.compile(
    r"[-+]?\d+(?:[.,]\d+)?(?:e[-+]?\d+)?(?=\s*(?:ms|us|ns|s|sec\w*|мс|мкс|нс|сек\w*|с|[GMT](?:B|FLOP)\S*)\b)"
)
LIBRARIES = {name: name for name in ("cublas", "cublasLt", "cufft", "curand", "cusolver", "cusparse", "nvrtc")}
LIBRARIES |= {"cuda": "cuInit"}
DEVICE = re.compile(r'GPU Device \d+: "\w+" with compute capability \d+\.\d+')
"""How NVIDIA's sample headers name the device."""
RUNNING = [folder for folder in PROGRAMS if not {"cause", "refused"} & expected_of(folder).keys()]


@pytest.fixture(scope="session")
def nvcc() -> str:
    found = shutil.which("nvcc")
    if found is None:
        pytest.skip("no nvcc")
    return found


@pytest.fixture(scope="session")
def launch_log(nvcc: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("log") / "liblaunch_log.so"
    command = [nvcc, "-shared", "-Xcompiler", "-fPIC", "-cudart", "none", "-o", str(library)]
    subprocess.run([*command, str(HERE / "launch_log.cpp"), "-ldl"], check=True, capture_output=True)
    return library


def built(folder: Path, expected: dict[str, Any], nvcc: str, place: Path) -> Path:
    # As "common.h", and as "../common/common.h", which a textbook's programs include.
    helpers = place / "helpers" / "common"
    helpers.mkdir(parents=True)
    for name in HELPERS:
        shutil.copy(next(folder / name for folder in STAND_INS if (folder / name).is_file()), helpers)
    program = place / "program"
    files = files_of(folder, expected)
    text = b"".join(path.read_bytes() for path in files)
    # nvcc's own default is C++17.
    standard = "c++20" if b"<concepts>" in text else "c++17"
    command = [nvcc, "-arch=native", f"-std={standard}", "-w", "-rdc=true", "--extended-lambda", "-cudart", "shared"]
    command += ["-I", str(helpers), "-I", str(folder)]
    command += ["-Xcompiler", "-fopenmp"] if b"<omp.h>" in text else []
    command += [
        "-o",
        str(program),
        *map(str, files),
        *(f"-l{name}" for name, sign in LIBRARIES.items() if sign.encode() in text),
    ]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", cwd=folder)
    assert done.returncode == 0, done.stderr
    return program


def name_of(mangled: str) -> str:
    """A kernel's name as a profiler writes it: `tiled<16>`, without its result and its parameters."""
    # Static kernels of several files are told apart by a word that nvcc puts before them.
    mangled = re.sub(r"^__nv_static_.*?_(?=_Z)", "", mangled)
    plain = subprocess.run(["c++filt", mangled], capture_output=True, text=True, check=True).stdout.strip()
    plain = re.sub(r"\((?:int|unsigned int|bool|long|unsigned long)\)", "", plain).removeprefix("void ")
    plain = plain.replace("(anonymous namespace)::", "")
    depth = 0
    for place, char in enumerate(plain):
        depth += {"<": 1, ">": -1}.get(char, 0)
        if char == "(" and depth == 0:
            return plain[:place]
    return plain


@pytest.mark.parametrize("folder", RUNNING, ids=[folder.name for folder in RUNNING])
def test_a_gpu_launches_and_prints_the_same(folder: Path, nvcc: str, launch_log: Path, tmp_path: Path) -> None:
    expected = expected_of(folder)
    if "only_here" in expected:
        pytest.skip(expected["only_here"])
    program = built(folder, expected, nvcc, tmp_path)
    log = tmp_path / "launches.jsonl"
    done = subprocess.run(
        [str(program), *expected.get("arguments", [])],
        input=expected.get("stdin", "").encode(),
        capture_output=True,
        env={**os.environ, "LD_PRELOAD": str(launch_log), "LAUNCH_LOG": str(log)},
        cwd=folder,
        timeout=120,
    )
    asked = [json.loads(line) for line in log.read_text().splitlines()] if log.is_file() else []
    got = [
        {key: name_of(launch[key]) if key == "kernel" else launch[key] for key in wanted if key in launch}
        for launch, wanted in zip(asked, wanted_launches(expected), strict=False)
    ]
    wanted = [
        {
            key: value + [1] * (3 - len(value)) if key in ("grid", "block") else value
            for key, value in launch.items()
            if key in ("kernel", "grid", "block", "shared_bytes")
        }
        for launch in wanted_launches(expected)
    ]
    # What a library launches follows from the device, and a lambda's type is called as each compiler likes.
    if not {"extra", "only_printed"} & expected.keys():
        for launch in [*got, *wanted]:
            if "kernel" in launch:
                launch["kernel"] = re.sub(r"<.*lambda.*", "<…>", str(launch["kernel"]))
        assert got == wanted
        assert len(asked) == len(wanted)
    if not UNDEFINED & {kind for kind, _ in expected.get("findings", [])}:
        # A signal's number as a shell tells it.
        status = done.returncode if done.returncode >= 0 else 128 - done.returncode
        assert status == expected["exit"]
        if "stdout" in expected:
            printed, wanted_text = (
                TIME.sub("#", DEVICE.sub("#", text)) for text in (done.stdout.decode(), expected["stdout"])
            )
            assert printed == wanted_text
