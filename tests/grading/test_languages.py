"""A result graded in one language is, said again in another, what grading in that one gives, byte for byte."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader import i18n
from grader.files import data_root
from grader.grading import pipeline
from grader.grading.options import GradeOptions
from grader.lab import labs
from grader.result import decode, encode
from grader.words import told

KERNELS = data_root() / "tests" / "kernels"


def graded(language: str, lab: str, file: str) -> bytes:
    i18n.use(language)
    return encode(
        pipeline.grade(KERNELS / lab / file, replace(labs.find(lab), sweeps=()), GradeOptions(backend="emulator"))
    )


def said_again(language: str, result: bytes) -> bytes:
    i18n.use(language)
    return encode(told(decode(result)))


@pytest.mark.parametrize(
    ("lab", "file"),
    [
        ("transpose", "bad/missing_barrier.cu"),
        ("transpose", "bad/block_too_large.cu"),
        ("matmul", "bad/tile_index_turned.cu"),
        pytest.param("transpose", "bad/conflicts_left.cu", marks=pytest.mark.slow),
        pytest.param("transpose", "bad/tile_for_show.cu", marks=pytest.mark.slow),
        pytest.param("matmul", "bad/sum_never_set.cu", marks=pytest.mark.slow),
        pytest.param("matmul", "bad/not_unrolled.cu", marks=pytest.mark.slow),
        pytest.param("box-blur", "bad/array_too_small.cu", marks=pytest.mark.slow),
        pytest.param("batch-square", "bad/size_fixed_at_five.cu", marks=pytest.mark.slow),
        pytest.param("box-blur", "good/dynamic_shared.cu", marks=pytest.mark.slow),
    ],
)
def test_there_and_back(lab: str, file: str) -> None:
    english, russian = graded("en", lab, file), graded("ru", lab, file)
    assert english != russian
    assert said_again("ru", english).decode() == russian.decode()
    assert said_again("en", said_again("ru", english)).decode() == english.decode()
