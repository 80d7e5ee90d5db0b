"""What is told of a machine without Pango."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

REASONS = {
    "cannot load library 'libpango-1.0-0'": (
        "OSError(\"cannot load library 'libpango-1.0-0': libpango-1.0-0: cannot open shared object file: No such file "
        "or directory.  Additionally, ctypes.util.find_library() did not manage to locate a library called "
        "'libpango-1.0-0'\")"
    ),
    "No module named 'weasyprint'": "ImportError(\"No module named 'weasyprint'\")",
    "OSError": "OSError('')",
    "first": "OSError('first\\nsecond\\nthird')",
}


@pytest.mark.parametrize("shown", REASONS)
def test_one_short_reason(tmp_path: Path, shown: str) -> None:
    (tmp_path / "weasyprint.py").write_text(f"print('advice')\nraise {REASONS[shown]}\n")
    program = (
        "import sys\nsys.path.insert(0, sys.argv[1])\nfrom grader.report import pdf\n"
        "try:\n    pdf.load()\nexcept pdf.PdfUnavailable as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{shown}\n", "")
