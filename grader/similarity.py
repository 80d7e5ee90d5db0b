"""Which submissions are alike beyond what chance and the task explain: a hint for the teacher, never a mark.

A source becomes tokens that renaming, reformatting, comments and the order of declarations do not change.  Of their
k-grams winnowing keeps some wherever they stand (Schleimer, Wilkerson, Aiken: Winnowing, local algorithms for document
fingerprinting, SIGMOD 2003): of each window of hashes the least is kept, so that every match of at least
`GRAM + WINDOW - 1` tokens is found.  Pairs that share more than the task explains are told.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from zlib import crc32

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
_ALIAS = re.compile(
    r"""
    ^[ \t]*\#[ \t]*define[ \t]+(?P<macro>\w+)(?P<call>\(\))?(?P<body>[ \t][^\n\\]*)$
  | \btypedef[ \t]+(?P<old>\w[\w \t]{0,60}?)[ \t]+(?P<typedef>\w+)[ \t]*;
  | \busing[ \t]+(?P<using>\w+)[ \t]*=[ \t]*(?P<new>\w[\w \t]{0,60});
    """,
    re.VERBOSE | re.MULTILINE,
)
_LONGEST_ALIAS = 8
_MIRRORED = {">": "<", ">=": "<="}
_SUFFIX = re.compile(r"(?<=[\d.])[fFuUlL]+$")
_HEX_SUFFIX = re.compile(r"[uUlL]+$")
# Constants that everybody writes.
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
    all_tokens: list[Token] = []
    rare: set[str] = set()
    aliases, text = _aliases(text)
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
            all_tokens.append(Token(value if value in ("0", "1", "2") else "N", line))
            if value not in _COMMON_NUMBERS:
                rare.add(f"number {value}")
        elif kind == "string":
            all_tokens.append(Token("S", line))
            if len(word) > 12:
                rare.add("string " + " ".join(re.findall(r"\w+", word)))
        elif kind == "word":
            for meaning in aliases.get(word, (word,)):
                is_known = (
                    meaning in _KEPT or meaning.startswith(("cuda", "curand", "cublas")) or not meaning[0].isalpha()
                )
                all_tokens.append(Token(meaning if is_known else "I", line))
        elif kind == "sign" and word not in "{}":
            all_tokens.append(Token(word, line))
    return Tokens(tuple(_in_normal_order(_factors_in_order(_without_grouping(all_tokens)))), frozenset(rare))


def _aliases(text: str) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """What other names of types, and macros for words of the language, stand for, by name: words and signs.

    And the text without what says so.
    """
    aliases: dict[str, tuple[str, ...]] = {}
    rest = text
    for match in _ALIAS.finditer(text):
        name = match["macro"] or match["typedef"] or match["using"]
        meaning = match["body"] or match["old"] or match["new"] or ""
        parts = [part for part in _TOKEN.finditer(meaning) if part.lastgroup != "comment"]
        words = tuple(part.group() for part in parts)
        if match["call"]:
            # `SYNC()` stands for what it calls.
            words = words[:-2] if words[-2:] == ("(", ")") else ()
        # Constants are macros, too, and stay what they are.
        is_alias = all(part.lastgroup in ("word", "sign") for part in parts) and any(word in _KEPT for word in words)
        if is_alias and len(words) <= _LONGEST_ALIAS:
            aliases[name] = words
            blank = re.sub(r"[^\n]", " ", match.group())
            rest = rest[: match.start()] + blank + rest[match.end() :]
    return aliases, rest


def _without_grouping(row: list[Token]) -> list[Token]:
    """The same without parentheses that call nothing and head nothing: `a = (b);`.

    Where they bind (`a * (b + c)`) they say little beside the rest.
    """
    kept: list[Token] = []
    is_kept: list[bool] = []
    for token in row:
        if token.key == "(":
            before = kept[-1].key if kept else ""
            calls = before[-1:].isalnum() or before[-1:] in ("_", ")", "]") or before == ">>>"
            is_kept.append(calls and before != "return")
            if not is_kept[-1]:
                continue
        elif token.key == ")" and is_kept and not is_kept.pop():
            continue
        kept.append(token)
    return kept


def _factors_in_order(row: list[Token]) -> list[Token]:
    """The same with the two simple factors of a product sorted, and every comparison one of less: `b > a`, `a < b`."""
    result = [Token(_MIRRORED.get(token.key, token.key), token.line) for token in row]
    for at, token in enumerate(result):
        if token.key == "*":
            left, right = _operand(result, at - 1, -1), _operand(result, at + 1, 1)
            if left and right and not _TYPES & {t.key for t in left}:
                one, other = sorted((left, right), key=lambda tokens: [t.key for t in tokens])
                result[at - len(left) : at + len(right) + 1] = [*one, token, *other]
    return result


def _operand(row: list[Token], at: int, step: int) -> list[Token]:
    """Return a name or a constant, with its member (`blockDim.x`), at that end of the tokens, else nothing."""
    end = at
    if _is_operand(row, at + 2 * step) and row[at + step].key == ".":
        end = at + 2 * step
    beyond = row[end + step].key if 0 <= end + step < len(row) else ""
    if not _is_operand(row, at) or beyond in (".", "->", "[", "(") or (step < 0 and beyond == "*"):
        return []
    return row[min(at, end) : max(at, end) + 1]


def _is_operand(row: list[Token], at: int) -> bool:
    return 0 <= at < len(row) and (row[at].key[-1].isalnum() or row[at].key[-1] == "_")


def _in_normal_order(row: list[Token]) -> Iterator[Token]:
    """Return the tokens with consecutive declarations sorted: their order means nothing."""
    run: list[list[Token]] = []
    for statement in _statements(row):
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


def _statements(row: list[Token]) -> Iterator[list[Token]]:
    """Return tokens up to each semicolon outside brackets; a head (`for (...)`) ends where its brackets do."""
    statement: list[Token] = []
    depth = 0
    for token in row:
        statement.append(token)
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.key, 0)
        ends = token.key == ";" or (token.key == ")" and statement[0].key not in _TYPES)
        if depth <= 0 and ends:
            yield statement
            statement, depth = [], 0
    if statement:
        yield statement


GRAM = 10
"""Tokens of a gram: shorter ones are idioms."""
WINDOW = 4


@dataclass(frozen=True, slots=True)
class Print:
    """A source's fingerprints: lines that each covers by hash, and the source's rare choices.

    hashes: by hash, pairs of first and last line, in order.
    """

    hashes: Mapping[int, tuple[tuple[int, int], ...]]
    rare: frozenset[str]


def fingerprint(text: str) -> Print:
    source = tokens(text)
    codes = [crc32(token.key.encode()) for token in source.tokens]
    grams = [hash(tuple(codes[at : at + GRAM])) for at in range(len(codes) - GRAM + 1)]
    kept: dict[int, list[tuple[int, int]]] = {}
    last = -1
    for start in range(max(0, len(grams) - WINDOW + 1)):
        window = grams[start : start + WINDOW]
        # The rightmost of the least, as the paper has it.
        at = start + max(range(len(window)), key=lambda n: (-window[n], n))
        if at != last:
            lines = [token.line for token in source.tokens[at : at + GRAM]]
            kept.setdefault(grams[at], []).append((min(lines), max(lines)))
            last = at
    return Print({key: tuple(places) for key, places in kept.items()}, source.rare)


COMMON_SHARE = 0.5
"""What this part of a group has is the task's, or the lecture's."""
LEAST_SHARED = 0.55
"""Share of the weight of the shorter submission from which a pair is shown."""
COPY_SHARE = 0.9
"""Pairs that share this much are copies of one work."""
LEAST_PRINTS = 12
"""Fingerprints that are left of a submission: fewer are too short to tell."""
RARE_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class Pair:
    """Two submissions that are alike.

    share: of what is particular to the shorter one, the part that the other has too, 0 to 1.
    left_lines, right_lines: lines that match, ascending.  rare: constants, strings and comments that only they share.
    """

    left: str
    right: str
    share: float
    left_lines: tuple[int, ...]
    right_lines: tuple[int, ...]
    rare: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Similar:
    """What was found out about a group.

    pairs: the most alike first.  too_short: whose work is too short to tell.
    archive: texts of other years that are part of a pair, by name.
    """

    pairs: tuple[Pair, ...]
    too_short: tuple[str, ...]
    archive: Mapping[str, str] = field(default_factory=dict)


def similar(
    sources: Mapping[str, str], starters: Iterable[str] = (), archive: Mapping[str, str] | None = None
) -> Similar:
    """Compare submissions with one another, and with those of an archive.

    sources: texts by student.  starters: texts that everybody was given: the starter.
    archive: texts of other years by name; they are not compared among themselves.
    """
    prints = {name: fingerprint(text) for name, text in sources.items()}
    older = {name: fingerprint(text) for name, text in (archive or {}).items()}
    everyone = {**older, **prints}
    given = [fingerprint(text) for text in starters]
    counts = Counter(key for source in everyone.values() for key in source.hashes)
    rare_counts = Counter(word for source in everyone.values() for word in source.rare)
    left_out = {key for source in given for key in source.hashes} | _common(prints)
    known_rare = {word for source in given for word in source.rare}
    total = len(everyone)
    weights = {key: log((total + 1) / count) for key, count in counts.items() if key not in left_out}
    masses = {name: sum(weights.get(key, 0.0) for key in source.hashes) for name, source in everyone.items()}
    too_short = tuple(name for name in prints if sum(key in weights for key in prints[name].hashes) < LEAST_PRINTS)
    pairs = []
    for left, right in _candidates(prints, older, weights):
        if left in too_short or right in too_short or not min(masses[left], masses[right]):
            continue
        one, other = everyone[left], everyone[right]
        shared = one.hashes.keys() & other.hashes.keys() & weights.keys()
        rare = sorted(
            word
            for word in (one.rare & other.rare) - known_rare
            if rare_counts[word] <= max(2, COMMON_SHARE * total / 4)
        )
        bonus = RARE_WEIGHT * sum(log((total + 1) / rare_counts[word]) for word in rare)
        weight = sum(weights[key] for key in shared) + bonus
        share = weight / (min(masses[left], masses[right]) + bonus)
        if share >= LEAST_SHARED and len(shared) >= LEAST_PRINTS / 2:
            pairs.append(Pair(left, right, round(share, 4), _lines(one, shared), _lines(other, shared), tuple(rare)))
    pairs.sort(key=lambda pair: (-pair.share, pair.left, pair.right))
    paired = {pair.right for pair in pairs}
    return Similar(tuple(pairs), too_short, {name: text for name, text in (archive or {}).items() if name in paired})


def alike(pairs: Sequence[Pair]) -> list[tuple[Pair, tuple[str, ...]]]:
    """The pairs with their members, the copies of one work together: n of them are one, not n(n-1)/2 pairs.

    Copies are those of which every two are a pair that shares `COPY_SHARE` or more; the most alike of their pairs
    stands for all.  In the order of `pairs`.
    """
    copies = {frozenset((pair.left, pair.right)) for pair in pairs if pair.share >= COPY_SHARE}
    groups: list[list[str]] = []
    placed: set[str] = set()
    for pair in pairs:
        if frozenset((pair.left, pair.right)) not in copies:
            continue
        for name in (pair.left, pair.right):
            if name in placed:
                continue
            placed.add(name)
            home = next((g for g in groups if all(frozenset((name, other)) in copies for other in g)), None)
            if home is None:
                groups.append([name])
            else:
                home.append(name)
    group_of = {name: number for number, group in enumerate(groups) for name in group if len(group) > 1}
    reported: set[int] = set()
    rows: list[tuple[Pair, tuple[str, ...]]] = []
    for pair in pairs:
        left, right = group_of.get(pair.left), group_of.get(pair.right)
        if left is None or left != right:
            rows.append((pair, (pair.left, pair.right)))
        elif left not in reported:
            reported.add(left)
            rest = tuple(name for name in groups[left] if name not in (pair.left, pair.right))
            rows.append((pair, (pair.left, pair.right, *rest)))
    return rows


def _common(prints: Mapping[str, Print]) -> set[int]:
    """Return what most of a group has; of two or three nobody can tell what is common."""
    if len(prints) < 4:
        return set()
    counts = Counter(key for source in prints.values() for key in source.hashes)
    return {key for key, count in counts.items() if count > COMMON_SHARE * len(prints)}


def _candidates(
    prints: Mapping[str, Print], older: Mapping[str, Print], weights: Mapping[int, float]
) -> list[tuple[str, str]]:
    by_key: dict[int, list[str]] = defaultdict(list)
    for name, source in (*prints.items(), *older.items()):
        for key in source.hashes:
            if key in weights:
                by_key[key].append(name)
    counts: Counter[tuple[str, str]] = Counter()
    for names in by_key.values():
        for index, left in enumerate(names):
            if left in prints:
                counts.update((left, right) for right in names[index + 1 :])
    return sorted(pair for pair, count in counts.items() if count >= LEAST_PRINTS / 2)


def _lines(fingerprint: Print, shared: Collection[int]) -> tuple[int, ...]:
    lines = {
        line
        for key in shared
        for first, last in fingerprint.hashes[key]
        for line in range(first, min(last, first + 20) + 1)
    }
    return tuple(sorted(lines))
