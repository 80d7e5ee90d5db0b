"""Writes `grader/report/letters.json`, the outlines of the letters in figures: `python scripts/letters.py FOLDER`.

FOLDER: where DejaVuSans.ttf and DejaVuSans-Bold.ttf lie (version 2.37; Debian's fonts-dejavu-core).  Outlines are SVG
paths in the font's units, y upwards, so that nobody needs the font, nor anything that reads fonts, to draw a figure.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

TARGET = Path(__file__).parents[1] / "grader" / "report" / "letters.json"
LATIN = [*range(0x20, 0x7F), *range(0xA0, 0x180)]
GREEK, CYRILLIC = range(0x370, 0x400), range(0x400, 0x530)
OTHER_ALPHABETS = [*range(0x531, 0x588), *range(0x5D0, 0x5EB), *range(0x10D0, 0x10FD)]
MARKS = [
    *range(0x2010, 0x2027), *range(0x2030, 0x203B), *range(0x2070, 0x209D), 0x20AC, 0x2116, 0x2122,
    *range(0x2190, 0x219A), 0x21D2, 0x2202, 0x2206, 0x220F, *range(0x2211, 0x2216), 0x221A, 0x221E, 0x2229, 0x222B,
    0x2248, 0x2260, 0x2261, 0x2264, 0x2265, 0x258E, 0x25CB, 0x25CF, 0x2713, 0x2717,
]  # fmt: skip
FACES = {
    "regular": ("DejaVuSans.ttf", [*LATIN, *GREEK, *CYRILLIC, *OTHER_ALPHABETS, *MARKS]),
    "bold": ("DejaVuSans-Bold.ttf", [*range(0x20, 0x7F), *range(0xA0, 0x100), *range(0x401, 0x452), 0x2026]),
}


def main() -> None:
    """Write the file."""
    from fontTools.pens.basePen import decomposeQuadraticSegment
    from fontTools.pens.recordingPen import DecomposingRecordingPen
    from fontTools.ttLib import TTFont

    def outline(glyphs: object, name: str) -> str:
        pen = DecomposingRecordingPen(glyphs)
        glyphs[name].draw(pen)  # type: ignore[index]
        parts: list[str] = []
        for operation, points in pen.value:
            if operation == "qCurveTo":
                if points[-1] is None:
                    # A contour without a point of its own begins between two that are not on it.
                    ring = points[:-1]
                    start = ((ring[0][0] + ring[-1][0]) / 2, (ring[0][1] + ring[-1][1]) / 2)
                    parts.append(f"M{start[0]:g} {start[1]:g}")
                    points = (*ring, start)
                for control, end in decomposeQuadraticSegment(points):
                    parts.append(f"Q{control[0]:g} {control[1]:g} {end[0]:g} {end[1]:g}")
            else:
                letter = {"moveTo": "M", "lineTo": "L", "closePath": "z", "endPath": "z"}[operation]
                parts.append(letter + " ".join(f"{x:g} {y:g}" for x, y in points))
        return "".join(parts)

    faces: dict[str, dict[str, tuple[int, str]]] = {}
    units = 0
    for face, (file, wanted) in FACES.items():
        font = TTFont(Path(sys.argv[1]) / file)
        units = font["head"].unitsPerEm
        names, glyphs = font.getBestCmap(), font.getGlyphSet()
        known = {code: names[code] for code in wanted if code in names}
        faces[face] = {chr(code): (glyphs[name].width, outline(glyphs, name)) for code, name in known.items()}
        faces[face][""] = (glyphs[".notdef"].width, outline(glyphs, ".notdef"))
        licence = font["name"].getDebugName(13)
    written = {"licence": licence, "units": units, **faces}
    TARGET.write_text(json.dumps(written, ensure_ascii=False, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
