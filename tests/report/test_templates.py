"""Every name that a template asks for is a key of the typed view that it is given, and every page can be made."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jinja2 import Environment, FileSystemLoader, nodes

from grader import i18n
from grader.files import data_root
from grader.report import html
from grader.report.html import sheet_page
from grader.report.summary import failed_row, group_row
from grader.report.views import ReportPage
from tests import sample_results
from tests.report.jobs import job

ANY = object()
KNOWN = {"_", "ngettext", "namespace", "loop", "range"}
ENVIRONMENT = Environment(loader=FileSystemLoader(data_root() / "templates"), trim_blocks=True, lstrip_blocks=True)
Kinds = Mapping[str, Any]


def choices(kind: Any) -> list[Any]:
    """The kinds of a union but None."""
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        return [one for part in typing.get_args(kind) for one in choices(part)]
    return [] if kind is type(None) else [kind]


def members(kind: Any) -> Kinds | None:
    """The kinds of a record's keys; None for what is no record."""
    return typing.get_type_hints(kind) if typing.is_typeddict(kind) or dataclasses.is_dataclass(kind) else None


def element(kind: Any) -> Any:
    """What one is given who goes through a list, or takes something out of it or of a dictionary."""
    found = []
    for one in choices(kind):
        origin, arguments = typing.get_origin(one), typing.get_args(one)
        if origin is list or (origin is tuple and arguments[-1] is Ellipsis):
            found.append(arguments[0])
        elif origin is dict:
            found.append(arguments[1])
    return found[0] if len(found) == 1 else ANY


class Reader:
    """Reads a template with the kinds of its names; problems: what it asks for that is not there."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self._macros: dict[str, nodes.Macro] = {}
        self._depth = 0

    def template(self, name: str, kinds: dict[str, Any]) -> None:
        assert ENVIRONMENT.loader is not None
        source = ENVIRONMENT.loader.get_source(ENVIRONMENT, name)[0]
        if name.endswith(".j2"):
            self._name = name
            self.body(ENVIRONMENT.parse(source).body, kinds)

    def body(self, found: list[nodes.Node], kinds: dict[str, Any]) -> None:
        for node in found:
            self.statement(node, kinds)

    def statement(self, node: nodes.Node, kinds: dict[str, Any]) -> None:
        match node:
            case nodes.For():
                inner = {**kinds, **self.bound(node.target, element(self.kind(node.iter, kinds)))}
                if node.test is not None:
                    self.kind(node.test, inner)
                self.body(node.body, inner)
                self.body(node.else_, kinds)
            case nodes.Macro():
                self._macros[node.name] = node
            case nodes.Assign():
                kinds.update(self.bound(node.target, self.kind(node.node, kinds)))
            case nodes.Include():
                assert isinstance(node.template, nodes.Const)
                before = self._name
                self.template(str(node.template.value), kinds)
                self._name = before
            case nodes.Expr():
                self.kind(node, kinds)
            case nodes.If():
                self.kind(node.test, kinds)
                for part in (node.body, list[nodes.Node](node.elif_), node.else_):
                    self.body(part, kinds)
            case _:
                self.body(list(node.iter_child_nodes()), kinds)

    def bound(self, target: nodes.Node, kind: Any) -> dict[str, Any]:
        if isinstance(target, nodes.Name):
            return {target.name: kind}
        if isinstance(target, nodes.Tuple):
            parts = typing.get_args(kind) or [ANY] * len(target.items)
            return {
                name.name: part for name, part in zip(target.items, parts, strict=True) if isinstance(name, nodes.Name)
            }
        return {}

    def kind(self, node: nodes.Node, kinds: Kinds) -> Any:
        match node:
            case nodes.Name():
                if node.name not in kinds and node.name not in KNOWN and node.name not in self._macros:
                    self.problems.append(f"{self._name}:{node.lineno}: {node.name}")
                return kinds.get(node.name, ANY)
            case nodes.Getattr():
                return self.member(node, self.kind(node.node, kinds))
            case nodes.Getitem():
                kind = self.kind(node.node, kinds)
                self.kind(node.arg, kinds)
                return kind if isinstance(node.arg, nodes.Slice) else element(kind)
            case nodes.Filter():
                assert node.node is not None
                kind = self.kind(node.node, kinds)
                return kind if node.name in ("list", "selectattr") else ANY
            case nodes.Call():
                arguments = [self.kind(argument, kinds) for argument in node.args]
                for keyword in node.kwargs:
                    self.kind(keyword.value, kinds)
                self.kind(node.node, kinds)
                macro = self._macros.get(node.node.name) if isinstance(node.node, nodes.Name) else None
                if macro is not None and self._depth < 8:
                    self._depth += 1
                    given = {name.name: kind for name, kind in zip(macro.args, arguments, strict=True)}
                    self.body(macro.body, {**kinds, **given})
                    self._depth -= 1
                return ANY
        for child in node.iter_child_nodes():
            self.kind(child, kinds)
        return ANY

    def member(self, node: nodes.Getattr, kind: Any) -> Any:
        if kind is ANY:
            return ANY
        records = [known for one in choices(kind) if (known := members(one)) is not None]
        found = [known[node.attr] for known in records if node.attr in known]
        if records and not found:
            self.problems.append(f"{self._name}:{node.lineno}: {node.attr}")
        return found[0] if found else ANY


def test_the_report_asks_for_nothing_but_what_it_is_given() -> None:
    reader = Reader()
    reader.template("report.html.j2", dict(typing.get_type_hints(ReportPage)))
    assert reader.problems == []


def test_a_slip_in_a_template_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    slips = (
        "{% macro tag(v) %}{{ v.color }}{% endmacro %}{% for f in faults %}{{ f.staus.key }}"
        "{% for v in f.variants %}{{ tag(v) }}{% endfor %}{% endfor %}{{ faults[0].wher }}{{ studnet.name }}"
        "{% if pictures['x'].wid %}{% endif %}{% for c, t in listings[0].rows[0].tokens %}{{ c }}{% endfor %}"
    )
    reader = Reader()
    reader._name = "slips"
    reader.body(ENVIRONMENT.parse(slips).body, dict(typing.get_type_hints(ReportPage)))
    assert [problem.rpartition(" ")[2] for problem in reader.problems] == ["staus", "color", "wher", "studnet", "wid"]


def pages() -> Iterator[Any]:
    yield sample_results.passed()
    yield sample_results.failed()


def test_a_hint_is_steps_with_its_code_as_code() -> None:
    hint = (
        "Rows of buf are 32 words apart. Declare buf[32][32 + 1] (see N. 5). Call __syncthreads() before threadIdx.x."
    )
    found = html.steps(hint)
    assert ["".join(piece for piece, _is_code in row) for row in found] == [
        "Rows of buf are 32 words apart.",
        "Declare buf[32][32 + 1] (see N. 5).",
        "Call __syncthreads() before threadIdx.x.",
    ]
    code = [piece for row in found for piece, is_code in row if is_code]
    assert code == ["buf[32][32 + 1]", "__syncthreads()", "threadIdx.x"]


@pytest.mark.parametrize("language", i18n.languages())
def test_every_page_can_be_made(language: str) -> None:
    i18n.use(language)
    rows = [failed_row("nobody", "no file")]
    for result in pages():
        page = html.document(job(result, language=language))
        # What the template is not given fails there: undefined names are errors.
        assert "</html>" in html.render(page, html.figures(job(result, language=language), "screen"))
        added = {"figures", "pictures", "sweeps", "paged", "script", "script_hash"}
        assert set(page) == set(typing.get_type_hints(ReportPage)) - added
        rows.append(group_row(result, ["naive", "shared", "padded"], language, "x/report.html"))
    lines = [(row, (50.0, "50")) for row in rows]
    assert sheet_page(lines, ["naive", "shared", "padded"], "Title", language).count("<tr>") == 4
