"""Options that several commands have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from grader import i18n
from grader.i18n import _


class PathType(click.Path):
    """A path.  An empty one, as an unset variable of a script leaves it, would be the current folder."""

    def __init__(self, file_okay: bool = True) -> None:
        super().__init__(path_type=Path, file_okay=file_okay)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path that `value` names."""
        if isinstance(value, str | os.PathLike) and not os.fspath(value):
            self.fail(_("an empty path; write . for the current folder"), param, ctx)
        return super().convert(value, param, ctx)


class WholeNumber(click.ParamType[int]):
    """A whole number from `least` on; what is refused is told with what is allowed."""

    name = "integer"

    def __init__(self, least: int) -> None:
        self._least = least

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number that `value` is."""
        try:
            number = int(value)
        except ValueError:
            self.fail(self._refusal(value), param, ctx)
        if number < self._least:
            self.fail(self._refusal(value), param, ctx)
        return number

    def _refusal(self, value: object) -> str:
        return _("{value!r}; allowed: whole numbers from {least} on").format(value=value, least=self._least)


def one_lab(_context: click.Context, _parameter: click.Parameter, value: tuple[str, ...]) -> str | None:
    """The one lab of a command that takes one: of several the first would be dropped without a word."""
    given = list(dict.fromkeys(value))
    if len(given) > 1:
        raise click.BadParameter(_("{labs}: one lab at a time").format(labs=", ".join(given)))
    return given[0] if given else None


def backend_option(default: str = "auto") -> click.Option:
    """`--backend`, of every command that runs kernels."""
    from grader.grading.options import BACKENDS

    return click.Option(
        ["--backend"],
        type=click.Choice(BACKENDS),
        default=default,
        show_default=True,
        help=_("Where kernels run; auto takes a GPU when there is one."),
    )


def jobs_option(most: str = "") -> click.Option:
    """`--jobs N`, of every command that grades several submissions; most: what its default is, if not one per core."""
    return click.Option(
        ["--jobs"],
        type=WholeNumber(1),
        default=None,
        metavar="N",
        help=most or _("Submissions graded at the same time (default: one per core)."),
    )


def lang_option() -> click.Option:
    """`--lang`, of every command."""
    return click.Option(
        ["--lang"],
        type=click.Choice(i18n.languages()),
        default=i18n.language(),
        help=_("Language of messages and reports (default: the locale's)."),
    )


def no_pdf_option() -> click.Option:
    """`--no-pdf`, of every command that writes reports."""
    return click.Option(["--no-pdf"], is_flag=True, help=_("Write the HTML report only."))


def labs_option() -> click.Option:
    """`--labs DIR`, of every command that looks for labs."""
    return click.Option(
        ["labs_folders", "--labs"],
        multiple=True,
        type=PathType(),
        metavar="DIR",
        help=_("A folder with more labs; may be repeated."),
    )
