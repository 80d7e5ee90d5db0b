"""A source as tokens that renaming, reformatting, comments and the order of declarations do not change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_WORDS = """
    if else for while do switch case default break continue return goto sizeof new delete true false nullptr NULL
    const static inline constexpr extern volatile unsigned signed struct class template typename using namespace typedef
    void bool char short int long float double size_t auto half __half dim3 uint int4 float2 float4
    __global__ __device__ __host__ __shared__ __constant__ __restrict__ __launch_bounds__ __forceinline__ __noinline__
    threadIdx blockIdx blockDim gridDim warpSize x y z w
    __syncthreads __syncwarp __shfl_sync __shfl_down_sync __shfl_up_sync __shfl_xor_sync __ballot_sync __ldg
    atomicAdd atomicMax atomicMin atomicCAS atomicExch min max abs fabs fabsf sqrt sqrtf exp expf fmaf rand srand
    printf fprintf malloc calloc free memset memcpy exit main define ifdef ifndef endif
"""
_DECLARING = """
    const unsigned signed char short int long float double bool size_t auto half __half dim3 uint
    __shared__ static constexpr extern volatile
"""
_KEPT = frozenset(_WORDS.split())
"""What no disguise can rename: words of the language and of CUDA."""
_TYPES = frozenset(_DECLARING.split())
_TOKEN = re.compile(
    r"""
    (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<include>^[ \t]*\#[ \t]*(?:include|pragma)[^\n]*)
  | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)[a-zA-Z]*)
  | (?P<word>[^\W\d]\w*)
  | (?P<sign><<<|>>>|\+\+|--|->|<<=?|>>=?|[-+*/%&|^=!<>]=|&&|\|\||::|[^\s\w])
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_SUFFIX = re.compile(r"(?<=[\d.])[fFuUlL]+$")
_HEX_SUFFIX = re.compile(r"[uUlL]+$")
# Of constants, what everybody writes.
_POWERS = "0 1 2 3 4 8 16 32 64 128 256 512 1024 0. 0.0 1.0"
_COMMON_NUMBERS = frozenset(_POWERS.split())
_LEAST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Token:
    """A token: what is compared, and its line in the file."""

    key: str
    line: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """A source: its tokens in a normal order, and its rare choices (constants, strings, comments)."""

    tokens: tuple[Token, ...]
    rare: frozenset[str]


def tokens(text: str) -> Tokens:
    """The tokens of a source."""
    found: list[Token] = []
    rare: set[str] = set()
    line, last = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        kind, word = match.lastgroup, match.group()
        if kind == "comment":
            words = re.findall(r"\w+", word.lower())
            if len(words) >= _LEAST_WORDS:
                rare.add("comment " + " ".join(words))
        elif kind == "number":
            value = (_HEX_SUFFIX if word[:2] in ("0x", "0X") else _SUFFIX).sub("", word)
            found.append(Token(value if value in ("0", "1", "2") else "N", line))
            if value not in _COMMON_NUMBERS:
                rare.add(f"number {value}")
        elif kind == "string":
            found.append(Token("S", line))
            if len(word) > 12:
                rare.add("string " + " ".join(re.findall(r"\w+", word)))
        elif kind == "word":
            is_known = word in _KEPT or word.startswith(("cuda", "curand", "cublas"))
            found.append(Token(word if is_known else "I", line))
        elif kind == "sign" and word not in "{}":
            found.append(Token(word, line))
    return Tokens(tuple(_in_normal_order(found)), frozenset(rare))


def _in_normal_order(found: list[Token]) -> Iterator[Token]:
    """The same with declarations that follow one another sorted: their order says nothing."""
    run: list[list[Token]] = []
    for statement in _statements(found):
        if statement and statement[0].key in _TYPES and statement[-1].key == ";":
            run.append(statement)
            continue
        yield from _sorted(run)
        run = []
        yield from statement
    yield from _sorted(run)


def _sorted(run: list[list[Token]]) -> Iterator[Token]:
    for statement in sorted(run, key=lambda tokens: [token.key for token in tokens]):
        yield from statement


def _statements(found: list[Token]) -> Iterator[list[Token]]:
    """Tokens up to each semicolon outside brackets; a head (`for (...)`, a function's) ends where its brackets do."""
    statement: list[Token] = []
    depth = 0
    for token in found:
        statement.append(token)
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.key, 0)
        ends = token.key == ";" or (token.key == ")" and statement[0].key not in _TYPES)
        if depth <= 0 and ends:
            yield statement
            statement, depth = [], 0
    if statement:
        yield statement
