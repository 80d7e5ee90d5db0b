"""Disguised copies are found, independent solutions of the same task are not."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import pytest

from grader.files import data_root
from grader.similarity import Pair, alike, similar, tokens
from tests.pace import at_most

ROOT = data_root()
LABS = {"transpose": "transpose", "matmul": "matmul", "box-blur": "blur", "batch-square": "batch"}


def solutions(lab: str) -> dict[str, str]:
    """Solutions of a lab that were written apart from one another."""
    files = [
        *(ROOT / "tests" / "kernels" / lab / "good").rglob("*.cu"),
        *(ROOT / "tests" / "programs").glob(f"{LABS[lab]}_*/*.cu"),
        *(ROOT / "submissions").glob(f"*/{lab}.cu"),
    ]
    return {str(file.relative_to(ROOT)): file.read_text("utf-8", errors="replace") for file in sorted(files)}


def disguised(text: str, chance: random.Random) -> str:
    """A copy with other names, no comments, another layout, and independent declarations in another order."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    words = sorted(set(re.findall(r"\b[a-zA-Z_]\w*\b", re.sub(r'"[^"]*"|^\s*#.*$', "", text, flags=re.MULTILINE))))
    keywords = {word for word in words if tokens(word).tokens[0].key == word}
    names = {
        w: f"{chance.choice('abcdef')}{n}_{chance.randrange(99)}" for n, w in enumerate(words) if w not in keywords
    }
    text = re.sub(r'"[^"\n]*"|\b[a-zA-Z_]\w*\b', lambda found: names.get(found.group(), found.group()), text)
    lines: list[str] = []
    run: list[str] = []
    declaration = re.compile(r"\s*(const |unsigned )*(int|float|size_t|double)\s[^()]*=[^;]*;\s*")
    for line in text.split("\n"):
        if declaration.fullmatch(line):
            run.append(line)
            continue
        chance.shuffle(run)
        lines += [*run, line]
        run = []
    text = re.sub(r"[ \t]+", lambda _found: " " * chance.randint(1, 3), "\n".join([*lines, *run]))
    text = re.sub(r"\n\s*\n", "\n", text)
    return "// all my own work, honestly\n" + text.replace("{", "\n{\n")


def given(lab: str) -> list[str]:
    return [file.read_text() for file in (ROOT / "assignments" / lab).glob("*.cu")]


def test_disguised_copies_are_found_and_independent_solutions_are_not() -> None:
    copies = found = independent = wrongly = 0
    for lab in LABS:
        chance = random.Random(lab)
        group = solutions(lab)
        alone = similar(group, given(lab))
        # Not independent: one was made from the other.
        wrongly += len(alone.pairs)
        independent += len(group) * (len(group) - 1) // 2
        several = sorted(set(group) - set(alone.too_short))
        for name in chance.sample(several, 5):
            pairs = similar({**group, "copy": disguised(group[name], chance)}, given(lab)).pairs
            copies += 1
            found += any({pair.left, pair.right} == {"copy", name} for pair in pairs)
    assert found >= 0.95 * copies
    assert wrongly <= 0.01 * independent


def other_types(text: str) -> str:
    return "typedef float real_t;\nusing idx_t = int;\n" + re.sub(
        r"\b(?:float|int)\b(?! main)", lambda m: {"float": "real_t", "int": "idx_t"}[m[0]], text
    )


def more_parentheses(text: str) -> str:
    return re.sub(r'= ([^;={}"]+);', r"= (\1);", text)


def turned_round(text: str) -> str:
    text = re.sub(r"\b(\w+) < (\w+)\b", r"\2 > \1", text)
    return re.sub(r"\b(\w+(?:\.\w)?) \* (\w+(?:\.\w)?)\b(?! ?[<>])", r"\2 * \1", text)


def macros(text: str) -> str:
    return "#define TX threadIdx.x\n#define SYNC() __syncthreads()\n" + text.replace("threadIdx.x", "TX").replace(
        "__syncthreads()", "SYNC()"
    )


def useless_lines(text: str) -> str:
    return re.sub(r"(?m)^( +\w[^;{}()]*;)$", r"\1\nint unused = 3;", text)


def test_neither_types_nor_parentheses_nor_turned_operands_hide_a_copy() -> None:
    copies = found = 0
    for lab in LABS:
        chance = random.Random(f"more {lab}")
        group = solutions(lab)
        several = sorted(set(group) - set(similar(group, given(lab)).too_short))
        changes = (other_types, more_parentheses, turned_round, macros, useless_lines)
        made = dict(zip(chance.sample(several, len(changes)), changes, strict=True))
        handed_in = {f"copy of {name}": disguised(change(group[name]), chance) for name, change in made.items()}
        pairs = similar({**group, **handed_in}, given(lab)).pairs
        copies += len(made)
        found += sum(any({p.left, p.right} == {name, f"copy of {name}"} for p in pairs) for name in made)
    assert found >= 0.95 * copies


def test_a_pair_shows_which_lines_match() -> None:
    group = solutions("transpose")
    name = "submissions/ivanov/transpose.cu"
    mixed = "int unlike(int a) { return a * 7919; }\n" * 3 + group[name]
    (pair,) = [p for p in similar({**group, "zz": mixed}).pairs if {p.left, p.right} == {name, "zz"}]
    assert pair.share > 0.95
    assert set(pair.right_lines) == {line + 3 for line in pair.left_lines}


def test_what_everybody_was_given_is_left_out() -> None:
    group = solutions("matmul")
    starter = next(iter(group.values()))
    handed_in = {str(n): starter + f"\n// {n}\n" for n in range(3)}
    assert len(similar(handed_in).pairs) == 3
    assert similar(handed_in, [starter]).pairs == ()
    assert set(similar(handed_in, [starter]).too_short) == {"0", "1", "2"}


def test_what_most_of_a_group_has_is_left_out() -> None:
    group = solutions("matmul")
    lecture = group.pop("tests/kernels/matmul/good/blocks_4x4.cu")
    own = dict(list(group.items())[:8])
    assert similar({name: lecture + text for name, text in own.items()}).pairs == similar(own).pairs


def test_short_work_is_said_to_be_so() -> None:
    short = "__global__ void k(float *a) { a[threadIdx.x] = 1; }"
    found = similar({"a": short, "b": short})
    assert (found.pairs, found.too_short) == ((), ("a", "b"))


def test_rare_choices_weigh_more() -> None:
    group = solutions("box-blur")
    left, right = sorted(group)[:2]
    plain = {**group, "one": group[left], "two": group[right]}
    odd = "\nfloat odd = 0.73519f; // who writes such a remark\n"
    spiced = {**group, "one": group[left] + odd, "two": group[right] + odd}

    def share(sources: dict[str, str]) -> float:
        from grader import similarity

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(similarity, "LEAST_SHARED", 0.0)
            found = similarity.similar(sources).pairs
        return next((p.share for p in found if {p.left, p.right} == {"one", "two"}), 0.0)

    assert share(spiced) > share(plain)


def test_another_year_is_compared_with_this_one_only() -> None:
    group = solutions("transpose")
    name = "submissions/sidorov/transpose.cu"
    older = {"2025/a": group[name], "2025/b": group[name]}
    pairs = similar(group, given("transpose"), older)
    with_older = {(pair.left, pair.right) for pair in pairs.pairs if "2025" in pair.right}
    assert {(name, "2025/a"), (name, "2025/b")} <= with_older
    assert not any("2025" in left for left, _right in with_older)
    assert set(pairs.archive) == {"2025/a", "2025/b"}


@pytest.mark.slow
def test_three_hundred_are_compared_in_time() -> None:
    chance = random.Random(300)
    some = [text for lab in LABS for text in solutions(lab).values()]
    group = {str(n): disguised(chance.choice(some), chance) for n in range(300)}
    with at_most(40):
        similar(group)


def test_any_text_has_tokens() -> None:
    for text in ("", "\x00", "/*", '"', "#define", "a\\\n", "é" * 100, Path(__file__).read_text("utf-8")):
        tokens(text)


WORDS = ["if", "for", "while", "return", "min", "max", "abs", "exit", "printf", "free", "rand", "exp", "sqrt", "x", "y"]


def made(seed: int, count: int = 120, more: str = "") -> str:
    """A source of so many tokens, a line each, that has nothing in common with one of another seed."""
    return "\n".join(random.Random(seed).choices(WORDS, k=count)) + more


def test_the_share_is_of_what_the_shorter_one_has() -> None:
    found = similar({"a": made(1), "b": made(1) + "\n" + made(2, 400), "c": made(3)})
    (pair,) = found.pairs
    assert (pair.left, pair.right, pair.share, pair.rare) == ("a", "b", 1.0, ())
    assert pair.left_lines == pair.right_lines
    assert found.too_short == ()


def test_half_of_a_source_is_no_pair() -> None:
    halves = {"a": made(1) + "\n" + made(2), "b": made(1) + "\n" + made(3)}
    assert similar(halves).pairs == ()
    thirds = {"a": made(1, 240) + "\n" + made(2, 50), "b": made(1, 240) + "\n" + made(3, 50)}
    (pair,) = similar(thirds).pairs
    assert 0.65 < pair.share < 0.95


def test_of_three_nobody_can_tell_what_is_common() -> None:
    group = {str(n): made(1) + "\n" + made(10 + n) for n in range(3)}
    shared = {**group, "0": made(1), "1": made(1)}
    assert [(pair.left, pair.right) for pair in similar(shared).pairs] == [("0", "1"), ("0", "2"), ("1", "2")]
    # Three of four have it: it is the lecture's.
    four = {**shared, "3": made(99)}
    assert similar(four).pairs == ()
    assert similar(four).too_short == ("0", "1")


def test_a_rare_choice_is_one_of_two_or_of_an_eighth_of_a_group() -> None:
    odd = "\n4711"
    group = {str(n).zfill(2): made(100 + n) for n in range(21)}
    two = {**group, "x": made(1, more=odd), "y": made(1, more=odd)}
    (pair,) = similar(two).pairs
    assert pair.rare == ("number 4711",)
    # Of 24, three may have it; a fourth makes it common.
    three = {**two, "z": made(2, more=odd)}
    assert similar(three).pairs[0].rare == ("number 4711",)
    assert similar({**three, "zz": made(3, more=odd)}).pairs[0].rare == ()
    # What everybody was given is nobody's choice.
    assert similar(two, [made(50, more=odd)]).pairs[0].rare == ()


def test_copies_of_one_work_are_told_once() -> None:
    def pair(left: str, right: str, share: float) -> Pair:
        return Pair(left, right, share, (), (), ())

    four = [pair(a, b, 1.0) for a, b in itertools.combinations("abcd", 2)]
    # e is like a alone: no copy of the others.  f and g are copies of each other.
    found = alike([*four, pair("f", "g", 0.95), pair("a", "e", 0.92), pair("b", "f", 0.6)])
    assert [members for _pair, members in found] == [tuple("abcd"), ("f", "g"), ("a", "e"), ("b", "f")]
    assert [p.share for p, _members in found] == [1.0, 0.95, 0.92, 0.6]
    # Of fifty, one line instead of 1225.
    many = [pair(f"{a:02}", f"{b:02}", 0.97) for a, b in itertools.combinations(range(50), 2)]
    assert [len(members) for _pair, members in alike(many)] == [50]


def test_the_most_alike_come_first() -> None:
    group = {
        "a": made(1, 200),
        "b": made(1, 200),
        "c": made(2, 240) + "\n" + made(3, 40),
        "d": made(2, 240) + "\n" + made(4, 40),
        "e": made(5),
    }
    assert [(pair.left, pair.right) for pair in similar(group).pairs] == [("a", "b"), ("c", "d")]
