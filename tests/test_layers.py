"""The import arrows of the design run one way, heavy imports have one owner, and no lab is known by name."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from grader.lab_files.labs import folders

PACKAGE = Path(__file__).parent.parent / "grader"
MODULES = sorted(PACKAGE.rglob("*.py"))

# The parts of the package from the bottom up: each may import what stands above it in this list, and no other.
# A part that the list gives a set for may import of those only what the set names.
LAYERS: dict[str, set[str] | None] = {
    "ptx": set(),
    "message": set(),
    "errors": {"message"},
    "i18n": set(),
    "files": set(),
    "places": set(),
    "titles": {"i18n"},
    "yaml_file": {"message", "errors", "i18n"},
    "lab": {"message"},
    "words": {"i18n", "message"},
    "result": {"errors", "message"},
    "oracle": {"message", "errors", "i18n", "lab"},
    "wording": {"i18n", "lab", "oracle"},
    "timing": {"message", "errors", "files", "i18n", "lab", "result"},
    "compiler": {"message", "errors", "i18n"},
    "submission": {"message", "errors", "i18n", "lab", "yaml_file"},
    "backends": {"message", "errors", "i18n", "oracle", "ptx", "result"},
    "witnesses": {"message", "backends", "errors", "i18n", "result"},
    "report": {"message", "words", "errors", "files", "i18n", "lab", "places", "result", "titles"},
    "diagnosis": None,
    "running": None,
    "checks": None,
    "lab_files": None,
    "gpu": None,
    "sweeps": None,
    "doctor": {"message", "backends", "compiler", "i18n", "report"},
    "grading": None,
    "cli": None,
    "__main__": {"cli"},
}
# Of the emulator only its plain records may be known outside `backends`.
EMULATOR_USERS = {"ptx", "backends"}

HEAVY = ("tree_sitter", "tree_sitter_cuda", "cuda", "matplotlib", "weasyprint", "jinja2", "rich", "wasmtime")


def imports(path: Path) -> list[tuple[str, bool]]:
    """Modules that a file imports, and whether that happens when the file itself is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef))
        or (isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.unparse(outer.test))
        for node in ast.walk(outer)
    }
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, id(node) not in inside) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{a.name}" for a in node.names] if node.module == "grader" else [node.module]
            found += [(name, id(node) not in inside) for name in names]
    return found


def part(module: str) -> str:
    """The package's part that a module belongs to: `ptx` for grader.ptx.parser."""
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


@pytest.mark.parametrize("path", sorted((PACKAGE / "ptx").rglob("*.py")), ids=lambda p: p.name)
def test_the_emulator_imports_numpy_its_runtime_and_itself_only(path: Path) -> None:
    import sys

    for module, _at_import in imports(path):
        top = module.split(".")[0]
        runs_generated_code = top == "wasmtime" and path.parent.name == "native"
        assert (
            runs_generated_code
            or top in {"numpy", "__future__"}
            or module.startswith("grader.ptx")
            or top in sys.stdlib_module_names
        ), f"{path}: imports {module}"


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
