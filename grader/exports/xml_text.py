"""Text as XML 1.0 can hold it."""

from __future__ import annotations

import re

from grader.report.visible import clipped, visible

_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """`text` (see `clipped`), visible, with U+FFFD for what XML has no way to write (XML 1.0, production 2, Char)."""
    return _NO_XML.sub("\ufffd", visible(clipped(text)))
