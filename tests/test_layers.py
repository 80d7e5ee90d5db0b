"""The import arrows of the design run one way, heavy imports have one owner, and no lab is known by name."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from grader.lab.labs import folders

PACKAGE = Path(__file__).parent.parent / "grader"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The parts of the package from the bottom up: each may import what stands above it in this list, and no other.
# A part that the list gives a set for may import of those only what the set names.
LAYERS: dict[str, set[str] | None] = {
    "ptx": set(),
    "message": set(),
    "i18n": set(),
    "words": {"i18n", "message"},
    "errors": {"message", "words"},
    "files": set(),
    "processes": set(),
    "devices": set(),
    "driver": set(),
    "preprocessor": set(),
    "yaml_file": {"message", "errors", "files"},
    "lab": {"message", "errors", "files", "yaml_file", "devices"},
    "measured": {"message"},
    "result": {"errors", "measured", "message"},
    "compiler": {"message", "errors", "devices", "files", "preprocessor", "processes"},
    "submission": {"message", "errors", "devices", "files", "preprocessor", "lab", "yaml_file"},
    "launching": {"message", "errors", "devices", "lab", "compiler", "submission", "ptx", "measured", "result"},
    "timing": {"message", "errors", "devices", "files", "lab", "launching", "ptx", "measured", "result"},
    "naming": {"result"},
    "course": {"message", "errors", "files", "lab", "naming", "measured", "result", "yaml_file"},
    "similarity": set(),
    "report": {"message", "words", "errors", "devices", "files", "i18n", "lab", "processes", "measured", "result"},
    "exports": {"message", "words", "i18n", "lab", "course", "similarity", "report", "measured", "result", "timing"},
    "diagnosis": None,
    "programs": {
        "message",
        "words",
        "errors",
        "devices",
        "driver",
        "files",
        "processes",
        "preprocessor",
        "compiler",
        "submission",
        "diagnosis",
        "ptx",
    },
    "running": None,
    "checks": None,
    "repair": None,
    "autograders": {"files", "lab", "__version__"},
    "gpu": None,
    "doctor": {"message", "driver", "errors", "processes", "compiler", "gpu", "programs", "report"},
    "grading": None,
    "proposing": None,
    "cli": None,
    "notebook": None,
    "__main__": {"cli", "processes"},
}
# Who may know a language: the words of messages, and what is shown to people. All others make messages.
SPEAKERS = {"i18n", "words", "report", "exports", "cli", "notebook"}
# Of the emulator only its plain records may be known outside `launching`.
EMULATOR_USERS = {"ptx", "launching", "programs", "timing"}

HEAVY = (
    "tree_sitter",
    "tree_sitter_cuda",
    "cuda",
    "weasyprint",
    "jinja2",
    "rich",
    "wasmtime",
    "ziglang",
    "openpyxl",
    "distributed",
)


@cache
def imports(path: Path) -> list[tuple[str, bool]]:
    """Modules that a file imports, and whether that happens when the file itself is imported."""
    modules = []
    for node, at_import in statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.Import):
            modules += [(alias.name, at_import) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            modules += [(name, at_import) for name in {of_name(node.module, alias.name) for alias in node.names}]
    return modules


def statements(body: Iterable[ast.AST], at_import: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """Statements with those inside them, and whether each is executed when the file is imported."""
    for node in body:
        yield node, at_import
        is_later = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or (
            isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        )
        for part_of_it in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from statements(getattr(node, part_of_it, ()), at_import and not is_later)


@cache
def of_name(module: str, name: str) -> str:
    """The module that `from module import name` is about: `module` itself, or the one of that name in it."""
    inner = PACKAGE.parent.joinpath(*module.split("."), name)
    return f"{module}.{name}" if inner.is_dir() or inner.with_suffix(".py").is_file() else module


def part(module: str) -> str:
    """The package's part that a module belongs to: `ptx` for grader.ptx.frontend.parser."""
    return f"{module}..".split(".")[1]


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_part_has_its_layer() -> None:
    assert {part_of(path) for path in MODULES} - {"__init__"} == set(LAYERS)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_arrows_run_one_way(path: Path) -> None:
    here = part_of(path)
    order = list(LAYERS)
    for module, _at_import in imports(path):
        there = part(module)
        if not module.startswith("grader.") or there in (here, "__version__"):
            continue
        assert order.index(there) < order.index(here), f"{path}: {here} may not import {module}, which stands above it"
        named = LAYERS[here]
        assert named is None or there in named, f"{path}: {here} may not import {module}"
        if there == "ptx" and here not in EMULATOR_USERS:
            assert module == "grader.ptx.records", f"{path}: imports {module}"


def rows_of_the_page() -> dict[str, int]:
    """The row of ARCHITECTURE.md's table of packages that each part stands in."""
    text = (PACKAGE.parent / "ARCHITECTURE.md").read_text("utf-8")
    table = text.split("| package | what it is |")[1].split("\n\n")[0]
    rows = [line.split("|")[1] for line in table.strip().split("\n")[1:]]
    return {part: number for number, row in enumerate(rows) for part in re.findall(r"`(\w+)`", row)}


def test_the_page_names_every_part_above_those_that_import_it() -> None:
    rows = rows_of_the_page()
    assert rows.keys() == LAYERS.keys() - {"__main__"}
    for path in MODULES:
        for module, _at_import in imports(path):
            here, there = part_of(path), part(module)
            if module.startswith("grader.") and here in rows and there in rows:
                assert rows[there] <= rows[here], f"{path}: {there} stands below {here} in ARCHITECTURE.md"


def test_every_path_on_the_page_exists() -> None:
    root = PACKAGE.parent
    text = (root / "ARCHITECTURE.md").read_text("utf-8")
    words = {word.rstrip("/") for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()}
    paths = {word for word in words if re.fullmatch(r"[\w.<>*-]+(?:/[\w.<>*-]+)+", word)}
    # A file without its folder stands beside one that is named with it.
    files = {word for word in words if re.fullmatch(r"\w+\.py", word)}
    assert len(paths) > 60 and len(files) > 5
    known = {path.name for folder in ("grader", "tests") for path in (root / folder).rglob("*.py")} | {"setup.py"}
    # Tables of parts name paths within these.
    places = (root, PACKAGE, PACKAGE / "submission", PACKAGE / "programs")
    lost = files - known
    for path in paths:
        pattern = re.sub(r"<\w+>", "*", path)
        # `launching/backend.Backend` is a class in a file.
        patterns = (pattern, f"{pattern}.py", f"{pattern.rpartition('.')[0]}.py")
        if not any(next(place.glob(each), None) for place in places for each in patterns):
            lost.add(path)
    assert not lost


MOST_LINES = 500
"""A file is one subject, read in one sitting: 150 to 500 lines."""
MOST_TINY = 0.07
"""Of all files, those of fewer than 50 lines: a subject of so few belongs to another one's file."""


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


NAMED_FILE = re.compile(r"(?<![\w./-])((?:[a-z_]+/)*[a-z_]+\.(?:py|wat))\b")


def test_files_that_comments_name_exist() -> None:
    """Docstrings and comments name files by their last parts; what has moved is followed."""
    own = {
        path.relative_to(PACKAGE.parent).as_posix()
        for folder in ("grader", "scripts", "tests", "benchmarks")
        for path in files_in(folder)
    }
    own.add("setup.py")
    lost = {
        f"{path.relative_to(PACKAGE.parent)}: {name}"
        for path in files_in("grader")
        for name in NAMED_FILE.findall(commented(path))
        if not any(f"/{file}".endswith(f"/{name}") for file in own)
    }
    assert not lost


def files_in(folder: str) -> list[Path]:
    return [path for suffix in ("py", "wat") for path in sorted((PACKAGE.parent / folder).rglob(f"*.{suffix}"))]


def commented(path: Path) -> str:
    """The docstrings and comments of a file."""
    text = path.read_text(encoding="utf-8")
    comment = r";;.*" if path.suffix == ".wat" else r'"""(?:.|\n)*?"""|#.*'
    return "\n".join(re.findall(comment, text))


def test_no_file_is_longer_than_one_subject() -> None:
    assert not {str(path.relative_to(PACKAGE)): lines_of(path) for path in MODULES if lines_of(path) > MOST_LINES}


def test_few_files_are_tiny() -> None:
    files = [path for path in MODULES if path.name != "__init__.py"]
    tiny = [str(path.relative_to(PACKAGE)) for path in files if lines_of(path) < 50]
    assert len(tiny) <= MOST_TINY * len(files), f"{len(tiny)} of {len(files)}: {tiny}"


def test_only_words_and_what_is_shown_know_a_language() -> None:
    users = {part_of(path) for path in MODULES for module, _at_import in imports(path) if part(module) == "i18n"}
    assert users <= SPEAKERS


def test_no_import_goes_in_a_circle() -> None:
    modules = {".".join(("grader", *path.relative_to(PACKAGE).with_suffix("").parts)): path for path in MODULES}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    # Imports for types alone count as well: what is read together is understood together.
    graph = {name: {m for m, _when in imports(path) if m in modules and m != name} for name, path in modules.items()}
    graphlib.TopologicalSorter(graph).prepare()


@pytest.mark.parametrize("path", sorted((PACKAGE / "ptx").rglob("*.py")), ids=lambda p: p.name)
def test_the_emulator_imports_numpy_its_runtime_and_itself_only(path: Path) -> None:
    for module, _at_import in imports(path):
        top = module.split(".")[0]
        runs_generated_code = top == "wasmtime" and path.parent.name == "native"
        assert (
            runs_generated_code
            or top in {"numpy", "__future__"}
            or module.startswith("grader.ptx")
            or top in sys.stdlib_module_names
        ), f"{path}: imports {module}"


# The emulator's rooms from the bottom up: each may import those before it.
ROOMS = (
    "records", "limits", "values", "affine", "frontend", "isa", "dataflow", "loops", "memory",
    "access", "heap", "observers", "machine", "work", "lowering", "native", "launch",
    "__init__",
)  # fmt: skip


@pytest.mark.parametrize("path", sorted((PACKAGE / "ptx").rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_emulator_s_rooms_stand_in_order(path: Path) -> None:
    here = path.relative_to(PACKAGE / "ptx").parts[0].removesuffix(".py")
    for module, _at_import in imports(path):
        if module.startswith("grader.ptx."):
            there = module.split(".")[2]
            assert ROOMS.index(there) <= ROOMS.index(here), f"{path}: {here} may not import {module}"


# The GPU's parts, each with those of the others that it may import; `device` is the border: what runs beside a
# student's kernel knows neither the grader's side nor NumPy.
GPU_PARTS: dict[str, set[str]] = {
    "messages": set(),
    "device": {"messages"},
    "process": {"messages"},
    "session": {"messages", "process"},
    "bench": {"messages", "process", "session"},
    "runs": {"messages", "process", "session", "bench"},
    "part": {"messages", "process", "session", "bench", "unmarked", "runs"},
    "calibrate": {"messages", "process", "session", "bench", "runs", "part"},
    "functions": {"bench", "unmarked"},
    "unmarked": {"messages", "process", "session", "bench"},
}


# What `submission` is made of, from the bottom up: each may import what stands above it.
SUBMISSION_PARTS = [
    "lexical",
    "source",
    "cpp",
    "submission_yaml",
    "search",
    "folder",
    "kernels",
    "records",
    "host_text",
    "structs",
    "compile_time",
    "constant_memory",
    "device_code",
    "changes",
    "binding",
    "functions",
]


@pytest.mark.parametrize(
    "path", sorted((PACKAGE / "submission").rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE / "submission"))
)
def test_a_submission_s_parts_import_those_above_them(path: Path) -> None:
    here = path.relative_to(PACKAGE / "submission").parts[0].removesuffix(".py")
    for module, _at_import in imports(path):
        if module.startswith("grader.submission."):
            there = module.split(".")[2]
            assert there in SUBMISSION_PARTS[: SUBMISSION_PARTS.index(here) + 1], f"{path}: may not import {module}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "gpu").rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_the_gpu_s_parts_keep_to_their_side(path: Path) -> None:
    here = path.relative_to(PACKAGE / "gpu").parts[0].removesuffix(".py")
    for module, _at_import in imports(path):
        if module.startswith("grader.gpu."):
            there = module.split(".")[2]
            assert there == here or there in GPU_PARTS[here], f"{path}: gpu/{here} may not import {module}"


# What runs beside a student's kernel knows of the rest: what is said, how it is sent, and constants.
GPU_PROCESS = {
    "grader.driver",
    "grader.gpu",
    "grader.gpu.messages",
    "grader.processes.channel",
    "grader.processes.limits",
    "grader.devices",
}


@pytest.mark.parametrize("path", sorted((PACKAGE / "gpu" / "device").glob("*.py")), ids=lambda p: p.name)
def test_the_gpu_process_imports_messages_and_cuda_only(path: Path) -> None:
    for module, _at_import in imports(path):
        assert (
            module.startswith(("grader.gpu.device", "cuda.bindings"))
            or module in GPU_PROCESS
            or module.split(".")[0] in {*sys.stdlib_module_names, "__future__"}
        ), f"{path}: imports {module}"


def test_the_gpu_process_loads_nothing_else_of_the_grader() -> None:
    program = (
        "import sys; import grader.gpu.device.worker; "
        "print(*sorted(name for name in sys.modules if name.startswith('grader.') or name == 'numpy'))"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    beside = {name for name in loaded if not name.startswith("grader.gpu.device")}
    assert beside == {*GPU_PROCESS, "grader.processes", "grader.timing"}


@pytest.mark.parametrize("library", HEAVY)
def test_heavy_libraries_are_imported_when_needed(library: str) -> None:
    users = {}
    for path in MODULES:
        for module, at_import in imports(path):
            if module.split(".")[0] == library:
                users[str(path.relative_to(PACKAGE.parent))] = at_import
    eager = [path for path, at_import in users.items() if at_import]
    assert not eager, f"{library} is imported at the top of {eager}"


def test_the_package_knows_no_lab_by_name() -> None:
    names = "|".join(re.escape(lab).replace("-", "[-_ ]?") for lab in folders())
    for path in MODULES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            assert not re.search(rf"\b(?:{names})\b", line, re.IGNORECASE), f"{path}:{number}: {line.strip()}"
