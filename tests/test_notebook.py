"""`%%grade` in a notebook, run by a real kernel."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parent.parent / "submissions"


def outputs(cell: dict[str, Any], key: str) -> str:
    """What a cell shows as one media type, or printed."""
    found = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream" and output["name"] == key:
            found += output["text"]
        found += output.get("data", {}).get(key, "")
    return "".join(found)


@pytest.mark.slow
def test_a_cell_is_graded_in_a_real_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Jupyter keeps connections and histories in the user's home, where there is one.
    for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    program = (SAMPLES / "petrova" / "transpose.cu").read_text("utf-8")
    sources = [
        "%load_ext grader",
        f"%%grade transpose --lang en\n{program}",
        f"%%grade transpose --lang ru\n{program.replace('float buf[BLOCK][BLOCK];', 'float buf[BLOCK][BLOCK + 1];')}",
        "%%grade none-such\nint x;",
        "%%grade transpose --lang en\n__global__ void naive(float *a) { a[0] = ; }",
        "6 * 7",
    ]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    _load, conflict, mended, unknown, broken, after = json.loads(nbformat.writes(notebook))["cells"]

    page = "".join(outputs(conflict, "text/html"))
    assert "needs work: 76 of 91 points" in page
    assert "bank conflicts · padded · line 35</b> −10<br>" in page  # the magic's line is the first
    # Scripts, never the notebook's origin; of scripts the report's own.
    assert '<iframe sandbox="allow-scripts" srcdoc=' in page
    assert "script-src &#x27;sha256-" in page or "script-src &#39;sha256-" in page
    assert "76 of 91 points" in "".join(outputs(conflict, "text/plain"))
    assert "пройдено: 86 из 91" in "".join(outputs(mended, "text/html"))
    assert "there is no lab" in outputs(unknown, "stderr") or "none-such" in outputs(unknown, "stderr")
    assert "compiles" in outputs(broken, "text/html")
    # The kernel lives on.
    assert outputs(after, "text/plain") == "42"
