"""The preprocessor's macros: what `#define` says, and its replacement token by token."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from grader.submission.effort import spend
from grader.submission.expressions.syntax import MAX_DEPTH
from grader.submission.expressions.tokens import MAX_TOKENS, NotReadable, Token, tokens

MAX_STEPS = 4096


@dataclass(frozen=True, slots=True)
class Macro:
    """A `#define`: `parameters` is None for one without parentheses."""

    body: str
    parameters: tuple[str, ...] | None = None
    line: int = 0


def expand(given: Sequence[Token], macros: Mapping[str, Macro]) -> list[Token]:
    """Macros replaced token by token, as the preprocessor does: `#define N 4+4` keeps `N*2` at 12.

    Raises
    ------
    NotReadable : the result has more than `MAX_TOKENS` tokens, or the way there takes too many steps.
    """
    return _expand(given, macros, frozenset(), iter(range(MAX_STEPS)))


def _expand(
    given: Sequence[Token], macros: Mapping[str, Macro], hidden: frozenset[str], steps: Iterator[int]
) -> list[Token]:
    # Macros may double at each level and still come to nothing: the work is bounded, not only the result.
    if len(hidden) > MAX_DEPTH or next(steps, None) is None:
        raise NotReadable("macros nested too deep")
    spend(4)
    result: list[Token] = []
    index = 0
    while index < len(given):
        token = given[index]
        index += 1
        macro = macros.get(token.text) if token.kind == "name" and token.text not in hidden else None
        if macro is None:
            result.append(token)
        else:
            body = tokens(macro.body)
            if macro.parameters is not None:
                if index >= len(given) or given[index].text != "(":
                    result.append(token)
                    continue
                arguments, index = _macro_arguments(given, index)
                expanded = [_expand(argument, macros, hidden, steps) for argument in arguments]
                by_name = dict(zip(macro.parameters, expanded, strict=False))
                body = [inner for t in body for inner in (by_name.get(t.text, [t]) if t.kind == "name" else [t])]
            result.extend(_expand(body, macros, hidden | {token.text}, steps))
        if len(result) > MAX_TOKENS:
            raise NotReadable("macros grow too large")
    return result


def _macro_arguments(given: Sequence[Token], opening: int) -> tuple[list[list[Token]], int]:
    """The arguments of a macro whose "(" is at `opening`, and the index after its ")"."""
    arguments: list[list[Token]] = [[]]
    depth = 0
    for index in range(opening, len(given)):
        token = given[index]
        if token.text == "(":
            depth += 1
            if depth == 1:
                continue
        elif token.text == ")":
            depth -= 1
            if depth == 0:
                return arguments, index + 1
        if token.text == "," and depth == 1:
            arguments.append([])
        else:
            arguments[-1].append(token)
    raise NotReadable("a macro call without its )")
