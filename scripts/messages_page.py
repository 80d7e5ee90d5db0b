"""Every message on one page a language, with sample data: `python scripts/messages_page.py FOLDER`.

For whoever reads all that the grader says at one sitting, as a native reader does: the messages of `grader/words` by
their ids, then the texts of pages, terminal and command line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import messages
from message_samples import COUNTS, filled, sentences

from grader import i18n, words
from grader.words import Plural

STYLE = (
    "body{font:15px/1.5 sans-serif;max-width:70rem;margin:2rem auto}td{vertical-align:top;padding:.2rem .8rem .2rem 0;"
    "border-top:1px solid #ddd}td:first-child{color:#567;font:12px monospace}"
)


def areas() -> Iterator[tuple[str, object]]:
    """Every message of `grader.words`: its id and its words."""
    for area, texts in words.areas().items():
        yield from ((f"{area}.{name}", text) for name, text in texts.items())


def rows(language: str) -> Iterator[tuple[str, list[str]]]:
    """What stands on the page: an id, or "" for a text without one, and the sentences.

    Raises
    ------
    KeyError : a text puts in something that `message_samples.DATA` has no value for.
    """
    i18n.use(language)
    with_ids = set()
    for id, text in areas():
        with_ids |= {text} if isinstance(text, str) else {text.many} if isinstance(text, Plural) else set()
        yield id, sentences(id, text)
    for message in messages.template():
        if (message.id if isinstance(message.id, str) else message.id[1]) in with_ids:
            continue
        if isinstance(message.id, tuple):
            one, many = message.id
            yield "", [filled(i18n.ngettext(one, many, count), count) for count in COUNTS]
        elif isinstance(message.id, str) and message.id:
            yield "", [filled(i18n._(message.id))]


def page(language: str) -> str:
    """The page as HTML."""
    body = "\n".join(
        f"<tr><td>{escape(id)}</td><td>{'<br>'.join(map(escape, said))}</td></tr>" for id, said in rows(language)
    )
    return (
        f'<!DOCTYPE html>\n<html lang="{language}"><head><meta charset="utf-8"><title>{language}</title>'
        f"<style>{STYLE}</style></head><body><table>\n{body}\n</table></body></html>\n"
    )


def main() -> int:
    """Write `messages.<language>.html` for every language into the folder that is named."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    for language in i18n.languages():
        path = folder / f"messages.{language}.html"
        path.write_text(page(language), encoding="utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
