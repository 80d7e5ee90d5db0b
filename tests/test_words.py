"""Every message that the code makes has words in every language, with the same data; no words are left over."""

from __future__ import annotations

import ast
import inspect
import re
import string
import typing
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

from grader import i18n, words
from grader.diagnosis import regions
from grader.diagnosis.text import region_msg
from grader.measured import WrongPattern
from grader.message import Message, joined, msg, number, sizes_msg, verbatim
from grader.words import Plural, Words

PACKAGE = Path(words.__file__).parent.parent
MADE_BY_HELPERS = {"pieces.sentences", "pieces.verbatim", "pieces.sizes", "pieces.number"}
"""Ids that `grader.message` itself makes."""


IDS: dict[str, Words] = {
    f"{area}.{name}": value for area, texts in words.areas().items() for name, value in texts.items()
}


class Use(typing.NamedTuple):
    """A call of `msg` in the code; `names` is None where they are not written out."""

    place: str
    id: str
    names: frozenset[str] | None


def choices_of(node: ast.expr) -> list[ast.expr]:
    """What `a if … else b if … else c` may be."""
    return [*choices_of(node.body), *choices_of(node.orelse)] if isinstance(node, ast.IfExp) else [node]


@cache
def uses() -> tuple[list[Use], set[str]]:
    """All calls with a written id, and patterns of ids that are put together (`msg(f"checks.{name}.title")`)."""
    found, begun = [], set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "msg"):
                continue
            place, first = f"{path.relative_to(PACKAGE)}:{node.lineno}", node.args[0]
            names = frozenset(str(k.arg) for k in node.keywords) if all(k.arg for k in node.keywords) else None
            for choice in choices_of(first):
                if isinstance(choice, ast.Constant):
                    found.append(Use(place, str(choice.value), names))
                else:
                    assert isinstance(choice, ast.JoinedStr), f"{place}: an id that cannot be read"
                    parts = [
                        re.escape(str(v.value)) if isinstance(v, ast.Constant) else "[a-z_0-9]+" for v in choice.values
                    ]
                    begun.add("".join(parts))
    return found, begun


def takes(words_: Words) -> tuple[set[str], set[str]]:
    """Names that the data must have, and that they may have."""
    if callable(words_):
        parameters = inspect.signature(words_).parameters.values()
        if any(p.kind is p.VAR_KEYWORD for p in parameters):
            return set(), {"*"}
        return {p.name for p in parameters if p.default is p.empty}, {p.name for p in parameters}
    texts = (words_.one, words_.many) if isinstance(words_, Plural) else (words_,)
    names = {name for text in texts for _text, name, _form, _how in string.Formatter().parse(text) if name is not None}
    required = names | ({words_.by} if isinstance(words_, Plural) else set())
    return required, required


def test_every_message_has_words() -> None:
    assert [use for use in uses()[0] if use.id not in IDS] == []


def test_every_message_brings_what_its_words_need() -> None:
    wrong = []
    for use in uses()[0]:
        if use.names is not None and use.id in IDS:
            required, allowed = takes(IDS[use.id])
            if not required <= use.names or not (use.names <= allowed or "*" in allowed):
                wrong.append((use.place, use.id, sorted(use.names ^ required)))
    assert wrong == []


def test_no_words_are_left_over() -> None:
    named, begun = uses()
    used = {use.id for use in named} | MADE_BY_HELPERS
    assert sorted(id for id in IDS if id not in used and not any(re.fullmatch(b, id) for b in begun)) == []


def test_every_rule_of_wrong_values_has_words() -> None:
    tree = ast.parse((PACKAGE / "diagnosis" / "patterns.py").read_text(encoding="utf-8"))
    yielded = [node.value for node in ast.walk(tree) if isinstance(node, ast.Yield)]
    rules = {v.elts[0].value for v in yielded if isinstance(v, ast.Tuple) and isinstance(v.elts[0], ast.Constant)}
    # These two have a sentence of their own.
    assert rules - {"constant_columns", "constant_rows"} == {id.split(".")[1] for id in IDS if id.startswith("rules.")}


def test_every_region_of_wrong_elements_has_words() -> None:
    named = set()
    for shape, tile in (((24,), (4,)), ((24, 24), (8, 8)), ((13, 11), (4, 4)), ((4, 9, 9), (1, 3, 3))):
        whole = np.ones(shape, np.bool_)
        pending = [np.eye(*shape, dtype=np.bool_) if len(shape) == 2 else whole, *_lines(whole)]
        seen: set[bytes] = set()
        while pending and len(seen) < 60:
            mask = pending.pop()
            if mask.tobytes() in seen or not mask.any():
                continue
            seen.add(mask.tobytes())
            for name, data, region in regions._regions(mask, tile):
                named.add(name)
                pattern = WrongPattern(id=name, holds=1, of=1, data=data | {"size": 1})
                assert words.text(region_msg(pattern, len(shape)))
                pending.append(region)
    assert named <= {id.split(".")[1] for id in IDS if id.startswith("regions.")}
    assert len(named) > 25


def _lines(whole: np.ndarray) -> Iterator[np.ndarray]:
    """The first, a middle and the last line along each axis, and every third."""
    for axis, n in enumerate(whole.shape):
        for chosen in ([0], [n // 2], [n - 1], range(0, n, 3), range(n // 2)):
            mask = np.zeros_like(whole)
            mask[(slice(None),) * axis + (list(chosen),)] = True
            yield mask


NAMED_FREELY: dict[str, dict[str, object]] = {
    "pieces.sizes": {"rows": 33, "cols": 31},
    "regions.box": {"axes": 2, "low_0": 1, "high_0": 2, "low_1": 3, "high_1": 5},
    "regions.one_block": {"axes": 2, "block_0": 1, "block_1": 2},
}
"""Data of functions that take any names."""


def samples(words_: Words) -> Iterator[dict[str, object]]:
    """Data of every type that the words take, with the counts that plural forms turn on."""
    for n in (1, 2, 5):
        if callable(words_):
            hints = typing.get_type_hints(words_)
            yield {p.name: sample(hints[p.name], n) for p in inspect.signature(words_).parameters.values()}
        else:
            text = words_.many + words_.one if isinstance(words_, Plural) else words_
            forms = {name: form for _text, name, form, _how in string.Formatter().parse(text) if name is not None}
            data: dict[str, object] = {name: 1.5 if form else "some" for name, form in forms.items()}
            yield data | ({words_.by: n} if isinstance(words_, Plural) else {})


def sample(kind: object, n: int) -> object:
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)[0]
    if typing.get_origin(kind) is list:
        return [sample(typing.get_args(kind)[0], n + i) for i in range(n)]
    if typing.get_args(kind):
        return sample(typing.get_args(kind)[0], n)
    values: dict[object, object] = {int: n, float: n + 0.5, str: "some", bool: n > 1}
    return values[kind]


@pytest.mark.parametrize("language", i18n.languages())
def test_all_words_can_be_said(language: str) -> None:
    i18n.use(language)
    for id, words_ in IDS.items():
        for data in [NAMED_FREELY[id]] if id in NAMED_FREELY else samples(words_):
            said = words.text(Message(id, data))  # type: ignore[arg-type]
            assert said.strip(), id


def test_numbers_and_plurals_are_the_languages() -> None:
    message = number(6.25)
    assert words.text(message) == "6.25"
    assert [words.text(number(x)) for x in (17.0, 1.5e-30, float("nan"), None)] == ["17", "1.5e-30", "nan", "None"]
    i18n.use("ru")
    assert words.text(message) == "6,25"
    assert [words.text(msg("faults.bytes", n=n)) for n in (1, 2, 5)] == ["1 байт", "2 байта", "5 байт"]


def test_messages_survive_json() -> None:
    message = msg("pieces.sentences", parts=(sizes_msg({"n": 3}), msg("pieces.thread", thread=(1, 2, 0), block="b")))
    again = msgspec.json.decode(msgspec.json.encode(message), type=Message)
    assert again == message
    assert words.text(again) == words.text(message) == "n = 3 thread [1, 2, 0] of block b"


def test_sentences_are_put_together() -> None:
    assert joined(None, None) is None
    assert joined(None, verbatim("One.")) == verbatim("One.")
    assert words.text(joined(verbatim("One."), None, verbatim("Two."))) == "One. Two."


@pytest.mark.parametrize("id", ["checks.races.nothing", "no.such", "..os.path", "texts.N_", "checks", ""])
def test_what_has_no_words_says_so(id: str) -> None:
    with pytest.raises(words.NoWordsError):
        words.text(Message(id))


def test_data_that_do_not_fit_say_so() -> None:
    with pytest.raises(words.NoWordsError):
        words.text(msg("faults.bytes"))
    with pytest.raises(words.NoWordsError):
        words.text(msg("faults.bytes", n="many"))


def test_a_fault_is_named_for_what_was_found() -> None:
    """Not for what the check is about, nor for another fault of it."""
    titles = {
        "unreadable": "kernel cannot be read",
        "no_candidate": "kernel not found",
        "arrays": "parameters do not fit the task",
        "parameters": "parameters do not fit the task",
        "unknown_parameter": "parameters do not fit the task",
        "no_global": "no kernel in the files",
        "misspelt_global": "no kernel in the files",
    }
    for reason, title in titles.items():
        assert words.fault_title("present", msg(f"checks.present.{reason}")) == title


def test_a_sentence_without_a_full_stop_gets_one_before_the_next() -> None:
    said = [verbatim(part) for part in ("expected a member name", "In this kernel, line 7: expected a ;", "See it.")]
    assert words.text(joined(*said)) == "expected a member name. In this kernel, line 7: expected a ; See it."


@pytest.mark.parametrize(
    ("reason", "path", "shown"),
    [
        ("out/.handed-in/x/Морозов Денис/transpose.cu: empty", "out/.handed-in/x/Морозов Денис", "transpose.cu: empty"),
        ("/srv/a b/lab.cu: empty", "/srv/a b", "lab.cu: empty"),
        ("g/ann: no .cu file; looked for transpose.cu", "g/ann", "no .cu file; looked for transpose.cu"),
        ("l.cu: lies outside the student's folder g/ann", "g/ann", "l.cu: lies outside the student's folder ann"),
        ("big/g/ann/x.cu and g/ann/y.cu, g/anna/z.cu", "g/ann", "big/g/ann/x.cu and y.cu, g/anna/z.cu"),
        (f"{Path('ann').absolute()}/x.cu: empty", "ann", "x.cu: empty"),
    ],
)
def test_a_refusal_names_files_as_the_student_does(reason: str, path: str, shown: str) -> None:
    i18n.use("en")
    assert words.text(msg("session.refused", reason=reason, path=path)) == shown
