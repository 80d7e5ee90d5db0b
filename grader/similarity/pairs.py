"""Pairs of submissions that share more than the task explains."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log

from grader.similarity.fingerprints import Print, fingerprint

COMMON_SHARE = 0.5
"""What this part of a group has is the task's, or the lecture's."""
LEAST_SHARED = 0.55
"""Of the weight of the shorter submission: pairs above it are shown."""
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


def similar(sources: Mapping[str, str], known: Iterable[str] = (), archive: Mapping[str, str] | None = None) -> Similar:
    """Compare submissions with one another, and with those of an archive.

    Parameters
    ----------
    sources : texts by student.  known : texts that everybody was given: the starter.
    archive : texts of other years by name; they are not compared among themselves.
    """
    prints = {name: fingerprint(text) for name, text in sources.items()}
    older = {name: fingerprint(text) for name, text in (archive or {}).items()}
    everyone = {**older, **prints}
    given = [fingerprint(text) for text in known]
    counts = Counter(key for found in everyone.values() for key in found.hashes)
    rare_counts = Counter(word for found in everyone.values() for word in found.rare)
    left_out = {key for found in given for key in found.hashes} | _common(prints)
    known_rare = {word for found in given for word in found.rare}
    total = len(everyone)
    weights = {key: log((total + 1) / count) for key, count in counts.items() if key not in left_out}
    masses = {name: _mass(found, weights) for name, found in everyone.items()}
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
    told: set[int] = set()
    found: list[tuple[Pair, tuple[str, ...]]] = []
    for pair in pairs:
        left, right = group_of.get(pair.left), group_of.get(pair.right)
        if left is None or left != right:
            found.append((pair, (pair.left, pair.right)))
        elif left not in told:
            told.add(left)
            rest = tuple(name for name in groups[left] if name not in (pair.left, pair.right))
            found.append((pair, (pair.left, pair.right, *rest)))
    return found


def _common(prints: Mapping[str, Print]) -> set[int]:
    """What most of a group has; of two or three nobody can tell what is common."""
    if len(prints) < 4:
        return set()
    counts = Counter(key for found in prints.values() for key in found.hashes)
    return {key for key, count in counts.items() if count > COMMON_SHARE * len(prints)}


def _mass(found: Print, weights: Mapping[int, float]) -> float:
    return sum(weights.get(key, 0.0) for key in found.hashes)


def _candidates(
    prints: Mapping[str, Print], older: Mapping[str, Print], weights: Mapping[int, float]
) -> list[tuple[str, str]]:
    """Pairs that share anything at all, each once."""
    by_key: dict[int, list[str]] = defaultdict(list)
    for name, found in (*prints.items(), *older.items()):
        for key in found.hashes:
            if key in weights:
                by_key[key].append(name)
    counts: Counter[tuple[str, str]] = Counter()
    for names in by_key.values():
        for index, left in enumerate(names):
            if left in prints:
                counts.update((left, right) for right in names[index + 1 :])
    return sorted(pair for pair, count in counts.items() if count >= LEAST_PRINTS / 2)


def _lines(found: Print, shared: Collection[int]) -> tuple[int, ...]:
    lines = {
        line for key in shared for first, last in found.hashes[key] for line in range(first, min(last, first + 20) + 1)
    }
    return tuple(sorted(lines))
